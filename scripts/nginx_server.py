"""A real web server for tests and benchmarks on a free local port: nginx, with WebDAV if available.

    python scripts/nginx_server.py --root DIR          http:// and dav://
    python scripts/nginx_server.py --root DIR --tls    https:// and davs://, with a new certificate

Prints one line of JSON when it is ready, {"url": "http://localhost:PORT", "authority": FILE or null}, and
serves until its standard input ends. scripts/nginx.sh provides nginx.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import certificate
from certificate import Certificate
from local_server import free_port, is_ready, listens, parser, serve, stop

READY_SECONDS = 10.0
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
    """The server's program, or None."""
    unpacked = UNPACKED / "usr/sbin/nginx"
    return (
        str(unpacked) if unpacked.exists() else shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    )


def module() -> Path | None:
    """The module that lists directories by WebDAV, or None."""
    places = [UNPACKED / MODULE] if (UNPACKED / "usr/sbin/nginx").exists() else [Path("/") / MODULE]
    return next((place for place in places if place.exists()), None)


def missing() -> str | None:
    """The missing software, or None."""
    return None if program() else "nginx is not installed (make servers provides it if there is apt)"


@dataclass
class Server:
    """A running web server."""

    port: int
    scheme: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        """The URL of the folder, without a final slash."""
        return f"{self.scheme}://localhost:{self.port}"

    def requests(self) -> list[tuple[str, int, int]]:
        """The answered requests: method, status, number of ranges (0: the whole file)."""
        rows = [line.split("\t") for line in self.log.read_text().splitlines()]
        return [
            (method, int(status), 0 if ranges == "-" else ranges.count(",") + 1)
            for method, status, ranges in rows
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
            stop(server.process)


def _start(config: Path) -> subprocess.Popen[bytes]:
    if (binary := program()) is None:
        raise RuntimeError(missing())
    libraries = [str(folder) for folder in sorted(UNPACKED.glob("usr/lib/*-linux-*"))]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)} if libraries else None
    command = [binary, "-p", str(config.parent), "-c", str(config), "-e", str(config.parent / "error.log")]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment)


def _wait_until_ready(server: Server, errors: Path) -> None:
    def ready() -> bool:
        return server.log.exists() and listens(server.port)

    if not is_ready(ready, READY_SECONDS, server.process):
        log = errors.read_text(errors="replace") if errors.exists() else ""
        raise RuntimeError(f"nginx does not start:\n{log[-2000:]}")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--root", type=Path, required=True, help="folder to serve")
    arguments.add_argument("--tls", action="store_true", help="use TLS, with a new certificate")
    options = arguments.parse_args()
    if (lack := missing() or (certificate.missing() if options.tls else None)) is not None:
        raise SystemExit(f"nginx_server: {lack}")
    with tempfile.TemporaryDirectory() as folder:
        tls = certificate.make(Path(folder)) if options.tls else None
        with web_server(options.root.resolve(), tls) as server:
            serve({"url": server.url, "authority": str(tls.authority) if tls else None})


if __name__ == "__main__":
    main()
