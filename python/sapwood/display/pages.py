"""A small read-only HTTP server for pages, made for browsers on this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import SplitResult, urlsplit

READ_TIMEOUT_S = 10
"""A connection that is silent for this long is closed."""


@dataclass(frozen=True)
class Page:
    """An answer to a browser."""

    text: str
    kind: str = "text/html"
    status: int = 200
    policy: str = "default-src 'none'"
    """The Content-Security-Policy: what the browser may load and run for the page."""


class PageServer:
    """Answers GET and HEAD requests in its own threads until it is closed."""

    def __init__(self, host: str, port: int, answer: Callable[[SplitResult], Page], name: str) -> None:
        class Handler(_Handler):
            pass

        Handler.answer = staticmethod(answer)
        all_interfaces = host in ("", "0.0.0.0", "::")
        local_names = {host, f"[{host}]", "localhost", "127.0.0.1", "[::1]"}
        Handler.own_names = None if all_interfaces else local_names
        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        address = self._server.server_address
        self.address: tuple[str, int] = str(address[0]), int(address[1])
        threading.Thread(target=self._server.serve_forever, name=name, daemon=True).start()

    @property
    def url(self) -> str:
        """The URL of the server's root."""
        return f"http://{self.address[0]}:{self.address[1]}/"

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    answer: Callable[[SplitResult], Page]
    own_names: set[str] | None
    server_version, sys_version = "sapwood", ""
    timeout = READ_TIMEOUT_S

    def do_GET(self) -> None:
        # Guards against DNS rebinding: another site can make its own host name resolve to this machine.
        name = self.headers.get("Host", "")
        if not name.endswith("]") and ":" in name:
            name = name.rpartition(":")[0]
        if self.own_names is not None and name not in self.own_names:
            self._send(Page(f"The host name {name!r} does not belong to this server.", "text/plain", 403))
        else:
            self._send(self.answer(urlsplit(self.path)))

    do_HEAD = do_GET

    def _send(self, page: Page) -> None:
        body = page.text.encode("utf-8", "replace")
        self.send_response(page.status)
        self.send_header("Content-Type", f"{page.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", f"{page.policy}; frame-ancestors 'none'; base-uri 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(OSError):
                self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""
