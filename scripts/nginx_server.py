"""A real web server for tests and benchmarks, on a free port of this machine: nginx, with WebDAV if it can.

    python scripts/nginx_server.py --root DIR          http:// and dav://
    python scripts/nginx_server.py --root DIR --tls    https:// and davs://, with a certificate made for it

Prints one line of JSON when it is ready, {"url": "http://localhost:PORT", "authority": FILE or null}, and
serves until its standard input ends. scripts/nginx.sh brings nginx.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import certificate
from certificate import Certificate
from xrootd_server import free_port

READY_SECONDS = 10.0
STOP_SECONDS = 5.0
REPOSITORY = Path(__file__).resolve().parents[1]
UNPACKED = REPOSITORY / ".venv" / "nginx"
MODULE = "usr/lib/nginx/modules/ngx_http_dav_ext_module.so"

CONFIG = """
{modules}
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    log_format ranges '$request_method\\t$status\\t$http_range';
    access_log {folder}/access.log ranges;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 100000;
    server {{
        listen 127.0.0.1:{port}{ssl};
        ssl_protocols TLSv1.2 TLSv1.3;
        {settings}
        location / {{
            root {root};
            {dav}
        }}
    }}
}}
"""


def program() -> str | None:
    """The server's program, if it is there."""
    unpacked = UNPACKED / "usr/sbin/nginx"
    return (
        str(unpacked) if unpacked.exists() else shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    )


def module() -> Path | None:
    """The module that lists directories by WebDAV, if it is there."""
    places = [UNPACKED / MODULE] if (UNPACKED / "usr/sbin/nginx").exists() else [Path("/") / MODULE]
    return next((place for place in places if place.exists()), None)


def missing() -> str | None:
    """What has to be installed, or None if all is there."""
    return None if program() else "nginx is not installed (make servers brings it, where there is apt)"


@dataclass
class Server:
    """A running web server."""

    port: int
    scheme: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        """What the path of a file, beginning with "/", is added to."""
        return f"{self.scheme}://localhost:{self.port}"

    def asked(self) -> list[tuple[str, int, int]]:
        """The requests it has answered: method, status, number of ranges (0: the whole)."""
        rows = [line.split("\t") for line in self.log.read_text().splitlines()]
        return [
            (method, int(status), 0 if asked == "-" else asked.count(",") + 1)
            for method, status, asked in rows
        ]


@contextmanager
def web_server(root: Path, tls: Certificate | None = None, settings: str = "") -> Iterator[Server]:
    """A server of one folder; `settings` are added to its configuration."""
    with tempfile.TemporaryDirectory(prefix="nginx", ignore_cleanup_errors=True) as name:
        folder, port, extra = Path(name), free_port(), module()
        if tls is not None:
            settings += f"ssl_certificate {tls.certificate};\nssl_certificate_key {tls.key};\n"
        config = folder / "nginx.conf"
        config.write_text(
            CONFIG.format(
                modules=f"load_module {extra};" if extra else "",
                dav="dav_ext_methods PROPFIND OPTIONS;" if extra else "",
                ssl=" ssl" if tls else "",
                folder=folder,
                port=port,
                root=root,
                settings=settings,
            )
        )
        server = Server(port, "https" if tls else "http", _start(config), folder / "access.log")
        try:
            _wait_until_ready(server, folder / "error.log")
            yield server
        finally:
            server.process.terminate()
            try:
                server.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.process.wait()


def _start(config: Path) -> subprocess.Popen[bytes]:
    if (binary := program()) is None:
        raise RuntimeError(missing())
    libraries = [str(folder) for folder in sorted(UNPACKED.glob("usr/lib/*-linux-*"))]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)} if libraries else None
    command = [binary, "-p", str(config.parent), "-c", str(config), "-e", str(config.parent / "error.log")]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment)


def _wait_until_ready(server: Server, errors: Path) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and server.process.poll() is None:
        if server.log.exists() and _listens(server.port):
            return
        time.sleep(0.02)
    said = errors.read_text(errors="replace") if errors.exists() else ""
    raise RuntimeError(f"nginx does not start:\n{said[-2000:]}")


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, required=True, help="folder to serve")
    parser.add_argument("--tls", action="store_true", help="with TLS and a certificate of its own")
    options = parser.parse_args()
    if (lack := missing() or (certificate.missing() if options.tls else None)) is not None:
        raise SystemExit(f"nginx_server: {lack}")
    with tempfile.TemporaryDirectory() as folder:
        tls = certificate.make(Path(folder)) if options.tls else None
        with web_server(options.root.resolve(), tls) as server:
            authority = str(tls.authority) if tls else None
            print(json.dumps({"url": server.url, "authority": authority}), flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    main()
