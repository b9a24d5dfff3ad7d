"""The pages of the catalogue: the list of datasets, and a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from urllib.parse import urlencode

from ...display.units import human_bytes
from .._catalog import Catalog
from .._records import Dataset, Input, Match, Product, Related, Version
from ._html import Content, Html, table, tag

PER_PAGE = 100
UNKNOWN = "-"
MOST_RELATED = 50
"""Most lines of lineage; `sapwood catalog lineage` lists all."""


def datasets(catalog: Catalog, name: str, product: str, at_least: int | None, page: int) -> Html:
    """The list of datasets, or search results."""
    asked = {"product": product or None, "at_least": at_least}
    some = catalog.datasets(name or None, **asked, limit=PER_PAGE, offset=PER_PAGE * page)  # type: ignore[arg-type]
    total = catalog.count(name or None, **asked)  # type: ignore[arg-type]
    searched = bool(name or product or at_least is not None)
    matches = catalog.having(product or "*", at_least=at_least) if product or at_least is not None else []
    if some:
        found = _datasets_table(some, matches)
    elif searched:
        found = tag("p", ["No matching datasets. ", tag("a", "Show all", href="/")], class_="empty")
    else:
        add = tag("code", "sapwood catalog add s3://bucket/dataset")
        found = tag("p", ["The catalogue is empty. Add a dataset: ", add], class_="empty")
    what = "found" if searched else "in the catalogue"
    count = tag("h2", f"{total:,} dataset{'' if total == 1 else 's'} {what}")
    query = {"q": name, "product": product, "at_least": "" if at_least is None else str(at_least)}
    return Html(
        tag("section", _form(query)) + tag("section", [count, found, _page_links(query, page, total)])
    )


def dataset(catalog: Catalog, name: str, version: int | None) -> Html:
    """A dataset, with the products of one version or of the newest."""
    one, versions = catalog[name], catalog.versions(name)
    products = catalog.products(name, version=version)
    everything = catalog.products(name, history=True)
    shown = one.version if version is None else version
    older = [held for held in everything if held.until is not None and held not in products]
    return Html(
        _head(one)
        + tag(
            "section",
            [
                tag("h2", f"Products of version {shown}"),
                _products_table(products, f"No products of version {shown} are in the catalogue."),
                tag("details", [tag("summary", _replaced(older)), _products_table(older, "")])
                if older and version is None
                else None,
            ],
        )
        + tag("section", [tag("h2", "Versions"), _versions_table(one, versions)])
        + tag(
            "div",
            [
                _related("Made from", catalog.ancestors(name), "No inputs are in the catalogue."),
                _related("Used by", catalog.descendants(name), "No derived datasets are in the catalogue."),
            ],
            class_="halves",
        )
    )


def message(title: str, text: str) -> Html:
    """An error page."""
    return tag("section", [tag("h2", title), tag("p", text), tag("a", "All datasets", href="/")])


def _form(query: dict[str, str]) -> Html:
    fields = [
        tag("label", ["Name or location", _input("q", query, "search")], class_="wide"),
        tag("label", ["Product", _input("product", query, "search")]),
        tag("label", ["Written by version ≥", _input("at_least", query, "number", min="1")]),
        tag("button", "Search"),
    ]
    return tag("form", fields, action="/", method="get", role="search")


def _input(name: str, query: dict[str, str], kind: str, **attributes: str) -> Html:
    return tag("input", name=name, type=kind, value=query[name] or None, **attributes)


def _page_links(query: dict[str, str], page: int, total: int) -> Html | None:
    if total <= PER_PAGE:
        return None
    before, after = page > 0, PER_PAGE * (page + 1) < total
    asked = {key: value for key, value in query.items() if value}
    links = [
        tag("a", text, href=f"/?{urlencode({**asked, 'page': number})}") if there else tag("span")
        for text, number, there in (("← previous", page - 1, before), ("next →", page + 1, after))
    ]
    return tag("nav", links, class_="pages")


def _datasets_table(datasets: Sequence[Dataset], matches: Sequence[Match]) -> Html:
    found: dict[str, list[Html]] = {}
    for match in matches:
        text = f"{match.product.name} v{match.product.version}"
        found.setdefault(match.dataset, []).append(tag("span", text, class_="chip"))
    numbers = [(title, "number") for title in ("Version", "Products", "Entries", "Size")]
    rows = [
        [
            [_link(one.name), tag("div", one.locations[:1], class_="place"), found.get(one.name, [])[:12]],
            f"v{one.version}",
            _count(one.products),
            _count(one.entries),
            _size(one.nbytes),
            _time(one.changed),
        ]
        for one in datasets
    ]
    return table([("Dataset", "name"), *numbers, ("Changed", "when")], rows)


def _head(one: Dataset) -> Html:
    figures: list[tuple[str, Content]] = [
        ("entries", _count(one.entries)),
        ("products", _count(one.products)),
        ("in products", _size(one.nbytes)),
        ("objects", _count(one.objects)),
        ("newest version", f"v{one.version}"),
    ]
    cards = [tag("section", [tag("b", value), tag("span", what, class_="faint")]) for what, value in figures]
    times = ["changed ", _time(one.changed), ", refreshed ", _time(one.refreshed)]
    locations = [tag("li", tag("code", location)) for location in one.locations]
    return Html(
        tag("h1", one.name)
        + tag("div", [f"tree {one.tree} · ", times], class_="faint")
        + tag("div", cards, class_="figures")
        + tag(
            "section", [tag("h2", "Location" if len(locations) == 1 else "Locations"), tag("ul", locations)]
        )
    )


def _products_table(products: Sequence[Product], empty: str) -> Html:
    if not products:
        return tag("p", empty, class_="empty")
    largest = max([one.nbytes or 0 for one in products], default=0)
    numbers = [(title, "number") for title in ("Written by", "Branches", "Entries", "Objects", "Size")]
    rows = [
        [
            one.name,
            f"v{one.version}",
            _count(one.branches),
            _count(one.entries),
            _count(one.objects),
            _size(one.nbytes),
            tag("meter", value=one.nbytes, max=largest, title=_size(one.nbytes)) if one.nbytes else None,
        ]
        for one in products
    ]
    return table([("Product", "name"), *numbers, ("", "")], rows)


def _versions_table(one: Dataset, versions: Sequence[Version]) -> Html:
    rows = [
        [
            tag("a", f"v{version.version}", href=_where(one.name, version.version)),
            _time(version.time),
            [
                tag("span", version.operation),
                tag("div", version.what, class_="place") if version.what else None,
                _inputs(version.inputs),
            ],
            tag("span", "expired", class_="faint") if version.expired else _count(version.entries),
            [version.who, tag("div", version.tool, class_="place")],
            [tag("span", name, class_="chip") for name in version.tags],
        ]
        for version in versions
    ]
    titles = [("Version", ""), ("When", "when"), ("What", "what"), ("Entries", "number")]
    return table([*titles, ("Who", "when"), ("Tags", "")], rows)


def _inputs(inputs: Sequence[Input]) -> Html | None:
    if not inputs:
        return None
    first = inputs[0]
    text = f"from {first.dataset or first.url}{f'@{first.version}' if first.version else ''}"
    return tag("div", text + (f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""), class_="place")


def _related(title: str, related: Sequence[Related], empty: str) -> Html:
    lines = [
        tag(
            "li",
            [
                _link(one.dataset) if one.dataset else tag("code", one.url),
                f"@{one.version}" if one.version else None,
                tag("span", f" for {one.of}" if title == "Made from" else f" from {one.of}", class_="faint")
                if one.steps > 1
                else None,
            ],
            class_=f"step{min(one.steps, 4)}",
        )
        for one in related
    ]
    lines = list(dict.fromkeys(lines))
    if len(lines) > MOST_RELATED:
        lines[MOST_RELATED:] = [tag("li", f"and {len(lines) - MOST_RELATED:,} more", class_="faint")]
    return tag("section", [tag("h2", title), tag("ul", lines) if lines else tag("p", empty, class_="empty")])


def _replaced(older: Sequence[Product]) -> str:
    return f"{len(older):,} replaced or dropped by later versions"


def _where(name: str, version: int | None = None) -> str:
    return f"/dataset?{urlencode({'name': name} | ({} if version is None else {'version': version}))}"


def _link(name: str) -> Html:
    return tag("a", name, href=_where(name))


def _count(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def _size(nbytes: int | None) -> str:
    return UNKNOWN if nbytes is None else human_bytes(nbytes)


def _time(time: datetime) -> Html:
    moment = time.astimezone(timezone.utc)
    return tag("time", f"{moment:%Y-%m-%d %H:%M} UTC", datetime=moment.isoformat(timespec="seconds"))
