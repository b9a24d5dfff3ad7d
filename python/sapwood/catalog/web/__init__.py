"""Web pages to browse a catalogue: read-only, without scripts or external resources."""

from __future__ import annotations

import secrets
from importlib.resources import files
from urllib.parse import SplitResult, parse_qs

from ...display.pages import Page, PageServer
from ...errors import KeyInFileError, SapwoodError
from .._catalog import Catalog
from . import _pages
from ._html import Html, tag

__all__ = ["CatalogPage"]

LAST_PAGE = 1_000_000
LARGEST = 2**62
"""The largest version that is looked up; databases cannot store larger numbers."""


class CatalogPage(PageServer):
    """Serves a catalogue until it is closed: the list at ``/``, a dataset at ``/dataset?name=NAME``."""

    def __init__(self, host: str, port: int, catalog: Catalog) -> None:
        self._catalog = catalog
        self._style = (files(__package__) / "style.css").read_text(encoding="utf-8")
        super().__init__(host, port, self._answer, "sapwood-catalog-web")

    def _answer(self, where: SplitResult) -> Page:
        asked = {name: values[-1].strip() for name, values in parse_qs(where.query).items()}
        try:
            if where.path == "/":
                product, page = asked.get("product", ""), min(_number(asked, "page") or 0, LAST_PAGE)
                named = asked.get("q", ""), product, _number(asked, "at_least")
                return self._page("Catalogue", _pages.datasets(self._catalog, *named, page))
            if where.path == "/dataset" and (name := asked.get("name")):
                return self._page(name, _pages.dataset(self._catalog, name, _number(asked, "version")))
        except KeyInFileError as error:
            return self._page("Not found", _pages.message("Not found", str(error)), 404)
        except (SapwoodError, OSError) as error:
            return self._page("Error", _pages.message("The catalogue cannot be read", str(error)), 503)
        return self._page("Not found", _pages.message("Not found", "This page does not exist."), 404)

    def _page(self, title: str, body: Html, status: int = 200) -> Page:
        nonce = secrets.token_urlsafe(16)
        head = [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width"),
            tag("title", f"{title} · sapwood catalogue"),
            tag("style", Html(self._style), nonce=nonce),
        ]
        top = tag("header", [tag("a", "sapwood catalogue", href="/"), tag("span", self._catalog.url)])
        page = tag("html", [tag("head", head), tag("body", [top, tag("main", body)])], lang="en")
        policy = f"default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'"
        return Page(f"<!doctype html>\n{page}", status=status, policy=policy)


def _number(asked: dict[str, str], name: str) -> int | None:
    text = asked.get(name, "")
    return min(int(text), LARGEST) if text.isascii() and text.isdigit() and len(text) < 20 else None
