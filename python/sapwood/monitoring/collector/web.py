"""The web page of ``sapwood monitor`` and the data that it shows."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from importlib.resources import files
from urllib.parse import SplitResult, parse_qs

from ...display.pages import Page, PageServer
from .store import Store

LONGEST_WINDOW = 366 * 86400.0


class WebPage(PageServer):
    """Serves the page at ``/`` and its data at ``/data.json`` until it is closed."""

    def __init__(self, host: str, port: int, path: str | os.PathLike[str], counts: Mapping[str, int]) -> None:
        self._page = (files(__package__) / "page.html").read_text(encoding="utf-8")
        self._path, self._counts = path, counts
        super().__init__(host, port, self._answer, "sapwood-monitor-web")

    def _answer(self, where: SplitResult) -> Page:
        if where.path == "/":
            nonce = secrets.token_urlsafe(16)
            own = f"'nonce-{nonce}'"
            policy = f"default-src 'none'; script-src {own}; style-src {own}; connect-src 'self'"
            return Page(self._page.replace("NONCE", nonce), policy=policy)
        if where.path == "/data.json":
            return Page(json.dumps(self._figures(where.query), allow_nan=False), "application/json")
        return Page("Not found: the page is at /.", "text/plain", 404)

    def _figures(self, query: str) -> dict[str, object]:
        seconds = 3600.0
        with contextlib.suppress(ValueError, KeyError):
            seconds = float(parse_qs(query)["seconds"][0])
        seconds = min(max(seconds, 60.0), LONGEST_WINDOW) if seconds == seconds else 3600.0
        store = Store(self._path)
        try:
            return {**store.summary(seconds), "counts": dict(self._counts)}
        finally:
            store.close()
