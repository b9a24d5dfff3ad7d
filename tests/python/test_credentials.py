"""Tokens and certificates over https, with a server from the standard library."""

from __future__ import annotations

import contextlib
import http.server
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sapwood
from sapwood import errors
from sapwood.cli._app import app

CONTENT = b"this is no ROOT file, but it has bytes"


pytestmark = pytest.mark.usefixtures("no_credentials")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, and its key, in one file."""
    folder = tmp_path_factory.mktemp("certificate")
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "both.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "30",
        "-subj",
        "/CN=localhost",
    ]
    names = [
        "-addext",
        "subjectAltName=DNS:localhost",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    try:
        subprocess.run([*command, *names], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    both.write_text(certificate.read_text() + key.read_text())
    return both


@pytest.fixture
def serve(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Serves the content over TLS to those who show a token, or a certificate."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with contextlib.ExitStack() as stack:

        def start(token: str | None = None, wants_certificate: bool = False) -> str:
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    refused = token is not None and self.headers["Authorization"] != f"Bearer {token}"
                    body = b"" if refused else CONTENT
                    self.send_response(403 if refused else 200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: object) -> None:
                    return None

            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            if wants_certificate:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return f"https://localhost:{server.server_port}/f.root"

        yield start


def test_tokens_of_a_file_are_read_again(
    serve: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, file = serve(token="fresh"), tmp_path / "token"
    monkeypatch.setenv("BEARER_TOKEN_FILE", str(file))
    with pytest.raises(errors.PermissionError, match="no credentials were found"):
        sapwood.open(url)
    file.write_text("stale")
    with pytest.raises(
        errors.PermissionError, match=r"answered 403 Forbidden; found: .*BEARER_TOKEN_FILE"
    ) as refused:
        sapwood.open(url)
    assert "stale" not in str(refused.value)
    file.write_text("fresh\n")
    with pytest.raises(errors.NotRootError):
        sapwood.open(url)


def test_proxies_are_shown(
    serve: Callable[..., str], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve(wants_certificate=True)
    with pytest.raises(errors.NetworkError):
        sapwood.open(url, deadline=10)
    monkeypatch.setenv("X509_USER_PROXY", str(certificate))
    with pytest.raises(errors.NotRootError):
        sapwood.open(url, deadline=10)


@pytest.mark.parametrize(
    ("scheme", "other", "answer"),
    [
        ("http", "https", b"\x15\x03\x01\x00\x02\x02\x46"),  # TLS: unexpected message
        ("https", "http", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    ],
)
def test_a_server_of_the_other_scheme_is_not_asked_again(scheme: str, other: str, answer: bytes) -> None:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1000)
            self.request.sendall(answer)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(errors.NetworkError, match=f"{other}:// instead of {scheme}://") as refused:
            sapwood.open(f"{scheme}://127.0.0.1:{server.server_address[1]}/nano.root")
        server.shutdown()
    assert "tried" not in str(refused.value)


def test_a_certificate_for_another_host_has_a_hint_of_its_own(
    serve: Callable[..., str], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = serve().replace("localhost", "127.0.0.1")
    with pytest.raises(errors.NetworkError, match="the server's certificate is for another host") as refused:
        sapwood.open(other)
    assert "authority" not in str(refused.value)
    doctor = CliRunner().invoke(app, ["doctor", other])
    assert doctor.exit_code == 5 and "for another host" in doctor.output.replace("\n", " ")
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(errors.NetworkError, match="no authority that is trusted here vouches"):
        sapwood.open(serve())
