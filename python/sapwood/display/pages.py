"""Serves pages to browsers on this machine: small, read only, and nobody else's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import SplitResult, urlsplit

SECONDS = 10
"""How long a browser may be silent."""


@dataclass(frozen=True)
class Page:
    """What a browser is answered."""

    text: str
    kind: str = "text/html"
    status: int = 200
    policy: str = "default-src 'none'"
    """What the browser may load and run for it, as a Content-Security-Policy."""


class PageServer:
    """Answers GET and HEAD in threads of its own until it is closed."""

    def __init__(self, host: str, port: int, answer: Callable[[SplitResult], Page], name: str) -> None:
        class Handler(_Handler):
            pass

        Handler.answer = staticmethod(answer)
        everywhere = host in ("", "0.0.0.0", "::")
        Handler.own_names = None if everywhere else {host, f"[{host}]", "localhost", "127.0.0.1", "[::1]"}
        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        at = self._server.server_address
        self.address: tuple[str, int] = str(at[0]), int(at[1])
        threading.Thread(target=self._server.serve_forever, name=name, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"http://{self.address[0]}:{self.address[1]}/"

    def close(self) -> None:
        """Serves no more."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    answer: Callable[[SplitResult], Page]
    own_names: set[str] | None
    server_version, sys_version = "sapwood", ""
    timeout = SECONDS

    def do_GET(self) -> None:
        # A page of somebody else that has its own name point here is not answered.
        name = self.headers.get("Host", "")
        if not name.endswith("]") and ":" in name:
            name = name.rpartition(":")[0]
        if self.own_names is not None and name not in self.own_names:
            self._send(Page("This is not the name of this machine.", "text/plain", 403))
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
        """Nothing is logged."""
