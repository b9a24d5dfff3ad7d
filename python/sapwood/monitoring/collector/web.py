"""The page, and the figures that it shows."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import parse_qs, urlsplit

from .store import Store

LONGEST_WINDOW = 366 * 86400.0


class WebPage:
    """Serves the page at ``/`` and its figures at ``/data.json`` until it is closed."""

    def __init__(self, host: str, port: int, path: str | os.PathLike[str], counts: Mapping[str, int]) -> None:
        page = (files(__package__) / "page.html").read_text(encoding="utf-8")

        class Handler(_Handler):
            pass

        Handler.page, Handler.path_of_store, Handler.counts = page, path, counts
        Handler.own_names = (
            None if host in ("", "0.0.0.0", "::") else {host, "localhost", "127.0.0.1", "[::1]"}
        )
        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        at = self._server.server_address
        self.address: tuple[str, int] = str(at[0]), int(at[1])
        threading.Thread(target=self._server.serve_forever, name="sapwood-monitor-web", daemon=True).start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.address[0]}:{self.address[1]}/"

    def close(self) -> None:
        """Serves no more."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    page: str
    path_of_store: str | os.PathLike[str]
    counts: Mapping[str, int]
    own_names: set[str] | None
    server_version, sys_version = "sapwood", ""
    timeout = 10

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        # A page of somebody else that has its own name point here is not answered.
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if self.own_names is not None and name not in self.own_names:
            self._answer(403, "text/plain", "This is not the name of this machine.")
        elif where.path == "/":
            nonce = secrets.token_urlsafe(16)
            own = f"'nonce-{nonce}'"
            policy = f"default-src 'none'; script-src {own}; style-src {own}; connect-src 'self'"
            self._answer(200, "text/html", self.page.replace("NONCE", nonce), policy)
        elif where.path == "/data.json":
            self._answer(200, "application/json", json.dumps(self._figures(where.query), allow_nan=False))
        else:
            self._answer(404, "text/plain", "There is only /.")

    def _figures(self, query: str) -> dict[str, object]:
        seconds = 3600.0
        with contextlib.suppress(ValueError, KeyError):
            seconds = float(parse_qs(query)["seconds"][0])
        seconds = min(max(seconds, 60.0), LONGEST_WINDOW) if seconds == seconds else 3600.0
        store = Store(self.path_of_store)
        try:
            return {**store.summary(seconds), "counts": dict(self.counts)}
        finally:
            store.close()

    def _answer(self, status: int, kind: str, text: str, policy: str = "default-src 'none'") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""
