"""Network faults, each on every protocol where it can occur: all of them end in time.

``MATRIX`` says how: with the right data, or with an error of a type that says what happened.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import http_fake as web
import numpy as np
import pytest
import xrootd_fake as root

import sapwood
from sapwood import _core, errors

HAS_XROOTD = bool(list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so")))
needs_xrootd = pytest.mark.skipif(
    not HAS_XROOTD, reason="root:// is not tested: no XRootD client (make servers build)"
)

RIGHT = None  # the right data
LATE = errors.DeadlineError
BROKEN = errors.NetworkError
WRONG = errors.ServerError
DENIED = errors.PermissionError
NEVER = "does not happen there"

PROTOCOLS = ("http", "https", "s3", "root")
MATRIX: list[tuple[Any, ...]] = [
    # fault                             http    https   s3      root
    ("nobody takes the connection",     LATE,   LATE,   LATE,   LATE),
    ("silence at the connection",       LATE,   LATE,   LATE,   LATE),
    ("silence while opening",           LATE,   LATE,   LATE,   LATE),
    ("one reset while opening",         RIGHT,  RIGHT,  RIGHT,  RIGHT),
    ("resets while opening",            BROKEN, BROKEN, BROKEN, LATE),  # XrdCl tries until time is up
    ("silence in an answer",            LATE,   LATE,   LATE,   LATE),
    ("1 kB/s",                          LATE,   LATE,   LATE,   LATE),
    ("one reset",                       RIGHT,  RIGHT,  RIGHT,  RIGHT),
    ("resets",                          BROKEN, BROKEN, BROKEN, BROKEN),
    ("one answer cut off",              RIGHT,  RIGHT,  RIGHT,  RIGHT),
    ("answers cut off",                 BROKEN, BROKEN, BROKEN, BROKEN),
    ("one answer too short",            RIGHT,  RIGHT,  RIGHT,  RIGHT),
    ("answers too short",               WRONG,  WRONG,  WRONG,  BROKEN),
    ("a credential expired",            DENIED, DENIED, DENIED, DENIED),
    ("a credential is renewed",         NEVER,  RIGHT,  RIGHT,  NEVER),
    ("redirects in a circle",           WRONG,  WRONG,  WRONG,  WRONG),
    ("a server says wait at first",     RIGHT,  RIGHT,  RIGHT,  RIGHT),
    ("a server always says wait",       WRONG,  WRONG,  WRONG,  LATE),
    ("it says wait in a read",          RIGHT,  RIGHT,  RIGHT,  RIGHT),
    ("it always says so in a read",     LATE,   LATE,   WRONG,  LATE),
    ("the answer is announced",         NEVER,  NEVER,  NEVER,  RIGHT),
    ("it is announced and never comes", NEVER,  NEVER,  NEVER,  LATE),
]  # fmt: skip

CASES = [
    pytest.param(fault, protocol, outcome, id=f"{fault}-{protocol}")
    for fault, *outcomes in MATRIX
    for protocol, outcome in zip(PROTOCOLS, outcomes, strict=True)
    if outcome is not NEVER
]

ALWAYS = 10**9
OPENING, READING = "opening", "reading"

OF_WEB: dict[str, tuple[str, web.Misdeed, int]] = {
    "silence while opening": (OPENING, web.silence, ALWAYS),
    "one reset while opening": (OPENING, web.reset, 1),
    "resets while opening": (OPENING, web.reset, ALWAYS),
    "silence in an answer": (READING, web.stall, ALWAYS),
    "1 kB/s": (READING, web.slow, ALWAYS),
    "one reset": (READING, web.reset, 1),
    "resets": (READING, web.reset, ALWAYS),
    "one answer cut off": (READING, web.cut, 1),
    "answers cut off": (READING, web.cut, ALWAYS),
    "one answer too short": (READING, web.short, 1),
    "answers too short": (READING, web.short, ALWAYS),
    "a credential expired": (OPENING, web.answer("401 Unauthorized"), ALWAYS),
    "redirects in a circle": (OPENING, web.answer("307 Go", Location="/runs/f.root"), ALWAYS),
    "a server says wait at first": (OPENING, web.answer("503 Busy", Retry_After="1"), 1),
    "a server always says wait": (OPENING, web.answer("503 Busy", Retry_After="60"), ALWAYS),
    "it says wait in a read": (READING, web.answer("503 Busy", Retry_After="1"), 1),
    "it always says so in a read": (READING, web.answer("503 Busy", Retry_After="60"), ALWAYS),
}
OF_S3: dict[str, tuple[str, web.Misdeed, int]] = {
    **OF_WEB,
    "a credential expired": (OPENING, web.refusal("400 Bad Request", "ExpiredToken"), ALWAYS),
    "a server says wait at first": (OPENING, web.refusal("503 Slow Down", "SlowDown"), 1),
    "a server always says wait": (OPENING, web.refusal("503 Slow Down", "SlowDown"), ALWAYS),
    "it says wait in a read": (READING, web.refusal("503 Slow Down", "SlowDown"), 1),
    "it always says so in a read": (READING, web.refusal("503 Slow Down", "SlowDown"), ALWAYS),
}
OF_ROOT: dict[str, tuple[int, root.Answer | root.Misdeed, int]] = {
    "silence while opening": (root.OPEN, root.silence, ALWAYS),
    "one reset while opening": (root.OPEN, root.reset, 1),
    "resets while opening": (root.OPEN, root.reset, ALWAYS),
    "silence in an answer": (root.READV, root.stall, ALWAYS),
    "1 kB/s": (root.READV, root.slow, ALWAYS),
    "one reset": (root.READV, root.reset, 1),
    "resets": (root.READV, root.reset, ALWAYS),
    "one answer cut off": (root.READV, root.cut, 1),
    "answers cut off": (root.READV, root.cut, ALWAYS),
    "one answer too short": (root.READV, root.short, 1),
    "answers too short": (root.READV, root.short, ALWAYS),
    "a credential expired": (root.OPEN, root.error(3010, "expired"), ALWAYS),
    "a server says wait at first": (root.OPEN, root.wait(1), 1),
    "a server always says wait": (root.OPEN, root.wait(60), ALWAYS),
    "it says wait in a read": (root.READV, root.wait(1), 1),
    "it always says so in a read": (root.READV, root.wait(60), ALWAYS),
    "the answer is announced": (root.READV, root.respond_later(0.2), ALWAYS),
    "it is announced and never comes": (root.READV, root.respond_later(1e9), ALWAYS),
}

ENTRIES = 50_000


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file whose tree ``t`` does not come with what is read from the end while opening."""
    uproot = pytest.importorskip("uproot")
    path = tmp_path_factory.mktemp("faults") / "f.root"
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"x": "f8"}).extend({"x": np.arange(ENTRIES, dtype="f8")})
        file.mktree("filler", {"y": "f8"}).extend({"y": np.zeros(400_000)})
    return path.read_bytes()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("https:// is not tested: there is no openssl")
    folder = tmp_path_factory.mktemp("tls")
    (folder / "settings").write_text(
        "[req]\nprompt=no\ndistinguished_name=name\nx509_extensions=more\n[name]\nCN=localhost\n"
        "[more]\nsubjectAltName=IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n"
    )
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -config settings -keyout key -out cert"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "key").read_text() + (folder / "cert").read_text())
    return both


pytestmark = pytest.mark.usefixtures("no_credentials")


@contextlib.contextmanager
def full_house() -> Iterator[int]:
    """The port of a machine that does not take connections any more, nor refuses them."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


class Web:
    """The file on a server of http://, https:// or s3://."""

    def __init__(self, protocol: str, server: web.FakeServer, tmp_path: Path) -> None:
        self.protocol, self.server = protocol, server
        self.credential = tmp_path / "credential"
        self.url = self.url_at(server.port)

    def url_at(self, port: int) -> str:
        if self.protocol == "s3":
            os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
            return "s3://runs/f.root"
        return f"{self.protocol}://127.0.0.1:{port}/runs/f.root"

    def write_credential(self, name: str) -> None:
        """Writes what the server is shown: a token, or an access key."""
        profile = f"[default]\naws_access_key_id={name}\naws_secret_access_key=s\naws_session_token=t\n"
        # All at once, as whoever renews credentials does it; by several requests at the same time.
        new = self.credential.with_suffix(f".{threading.get_ident()}")
        new.write_text(profile if self.protocol == "s3" else name)
        new.replace(self.credential)

    def misbehave(self, fault: str, phase: str) -> bool:
        """Begins to do what the fault says, if it belongs to this phase."""
        if fault == "a credential is renewed":
            refused = (OF_S3 if self.protocol == "s3" else OF_WEB)["a credential expired"][1]

            def renew(request: web.Request) -> web.Misdeed | None:
                if "new" in request.headers.get("authorization", ""):
                    return None
                self.write_credential("new")
                return refused

            self.server.behave = renew
            return True
        when, misdeed, times = (OF_S3 if self.protocol == "s3" else OF_WEB)[fault]
        if when == phase:
            left = iter(range(times))
            self.server.behave = lambda request: misdeed if next(left, None) is not None else None
        return when == phase


class Root:
    """The file on a server of root://."""

    def __init__(self, server: root.FakeServer) -> None:
        self.server = server
        self.url = server.url

    def url_at(self, port: int) -> str:
        return f"root://127.0.0.1:{port}//f.root"

    def misbehave(self, fault: str, phase: str) -> bool:
        """Begins to do what the fault says, if it belongs to this phase."""
        circle = (root.OPEN, root.redirect(self.server.port), ALWAYS)
        number, misdeed, times = circle if fault == "redirects in a circle" else OF_ROOT[fault]
        begins = (number == root.OPEN) == (phase == OPENING)
        if begins:
            self.server.counts.clear()
            self.server.behave = lambda n, before: misdeed if n == number and before < times else None
        return begins


@pytest.fixture
def place(
    request: pytest.FixtureRequest, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Web | Root]:
    """The file on a server of the protocol that the test names."""
    protocol = request.param
    if protocol == "root":
        if not HAS_XROOTD:
            pytest.skip("root:// is not tested: no XRootD client (make servers build)")
        with root.FakeServer(content) as fake:
            yield Root(fake)
        return
    tls = None
    if protocol == "https":
        certificate = request.getfixturevalue("certificate")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        monkeypatch.setenv("X509_CERT_FILE", str(certificate))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "")
    with web.FakeServer(content, tls) as server:
        found = Web(protocol, server, tmp_path)
        found.write_credential("old")
        monkeypatch.setenv("BEARER_TOKEN_FILE", str(found.credential))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(found.credential))
        yield found


@pytest.mark.parametrize(("fault", "place", "outcome"), CASES, indirect=["place"])
def test_every_fault_ends_in_time(fault: str, place: Web | Root, outcome: type[Exception] | None) -> None:
    deadline = 0.5 if outcome is LATE else 10.0
    with contextlib.ExitStack() as stack:
        url, opening = place.url, True
        if fault == "nobody takes the connection":
            url = place.url_at(stack.enter_context(full_house()))
        elif fault == "silence at the connection":
            silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = place.url_at(silent.getsockname()[1])
        else:
            opening = place.misbehave(fault, OPENING)
        if outcome is not RIGHT:
            stack.enter_context(pytest.raises(outcome))
        start = time.monotonic()
        stack.callback(lambda: check_time(start, deadline))
        with sapwood.open(f"{url}:t", deadline=deadline if opening else 10) as tree:
            if not opening:
                assert place.misbehave(fault, READING)
            start = time.monotonic()
            read = tree["x"].array(library="np", deadline=deadline)
            np.testing.assert_array_equal(read, np.arange(ENTRIES))


def check_time(start: float, deadline: float) -> None:
    assert time.monotonic() - start < deadline + 3


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("http://127.0.0.1:{port}/f.root", BROKEN, "is the port right, and does the server run"),
        ("s3://runs/f.root", BROKEN, "127.0.0.1:{port} cannot be reached"),
        pytest.param("root://127.0.0.1:{port}//f.root", BROKEN, "is the port right", marks=needs_xrootd),
        pytest.param("root:///f.root", errors.UsageError, "root://host//path", marks=needs_xrootd),
        ("htp://host/f.root", errors.UnsupportedTypeError, "use a local path"),
    ],
)
def test_errors_say_what_to_do(
    url: str, kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        # Bound, but it does not listen.
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(kind) as caught:
            sapwood.open(url.format(port=port), deadline=20)
    assert words.format(port=port) in str(caught.value)


def test_a_server_without_a_trusted_certificate_is_reported_at_once(
    content: bytes, certificate: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with web.FakeServer(content, tls) as server, pytest.raises(BROKEN, match="X509_CERT_DIR"):
        sapwood.open(f"{server.url}/f.root", deadline=20)


@needs_xrootd
def test_the_message_of_a_server_is_shown(
    content: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("X509_USER_PROXY", str(tmp_path / "no-proxy"))
    with root.FakeServer(content) as server:
        server.behave = lambda number, before: (
            root.error(3010, "not for you") if number == root.OPEN else None
        )
        with pytest.raises(DENIED, match=r"not for you.*X509_USER_PROXY.*found: X.509 proxy"):
            sapwood.open(server.url, deadline=20)
