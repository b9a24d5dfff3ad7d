"""`sapwood catalog`: which datasets there are, what is in them, and what was made of what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..display.units import human_bytes
from ._options import Deadline, Json, Log
from ._output import Column, print_json, print_line, print_table
from ._run import FAILED, command

if TYPE_CHECKING:
    from datetime import datetime

    from ..catalog import Dataset, Match, Related, Version
    from ..catalog import Product as CataloguedProduct
    from ..catalog._records import Record

Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        help="Path of an SQLite file, or postgresql://HOST/DATABASE. "
        "[default: that of SAPWOOD_CATALOG, else a file of this user]",
    ),
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Name or place of a dataset.")]
Product: TypeAlias = Annotated[
    str | None,
    typer.Option("--product", "-p", metavar="GLOB", help="Only those that have such a product now."),
]
AtLeast: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="VERSION", help="… that this version of the dataset wrote, or a later one."),
]

app = typer.Typer(
    help="Keep a catalogue of datasets: where they are, what is in them, and what was made of what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@command
def add(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Datasets, by URL or directory.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to call it; else the last part of its place."),
    ] = None,
    log: Log = None,
    catalog: Where = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Add datasets, or further places of datasets that are in the catalogue."""
    from ..catalog import Catalog

    if name is not None and len(urls) > 1:
        raise typer.BadParameter("a name is for one dataset", param_hint="--name")
    with Catalog(catalog) as opened:
        added = [opened.add(url, name=name, log=log, **_options(deadline)) for url in urls]
    if as_json:
        print_json({"datasets": _dicts(added)})
    else:
        _print_datasets(added)


@app.command()
@command
def refresh(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names or places; by default all.")
    ] = None,
    catalog: Where = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Look at datasets again, and record new versions. Fails (1) if one could not be looked at."""
    from ..catalog import Catalog

    with Catalog(catalog) as opened:
        found = opened.refresh(*(names or ()), **_options(deadline))
    if as_json:
        print_json({"datasets": _dicts(found)})
    else:
        rows = [
            [one.name, _version(one.before), _version(one.version), str(one.error or "")] for one in found
        ]
        titles = [Column("dataset"), Column("was", right=True), Column("is", right=True)]
        print_table([*titles, Column("error", breaks=True)], rows)
    if any(one.error is not None for one in found):
        raise typer.Exit(FAILED)


@app.command()
@command
def ls(catalog: Where = None, as_json: Json = False) -> None:
    """List all datasets."""
    _list(catalog, None, None, None, as_json)


@app.command()
@command
def search(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="Part of the name or place; with * and ?, the whole of it."),
    ] = None,
    product: Product = None,
    at_least: AtLeast = None,
    catalog: Where = None,
    as_json: Json = False,
) -> None:
    """Find datasets by name, place and product.

    \b
    sapwood catalog search ttbar
    sapwood catalog search --product Jet --at-least 3
    """
    _list(catalog, name, product, at_least, as_json)


@app.command()
@command
def show(
    name: Name,
    version: Annotated[
        int | None, typer.Option(metavar="N", help="Products of this version, not of the newest.")
    ] = None,
    catalog: Where = None,
    as_json: Json = False,
) -> None:
    """Show a dataset: its places, products, and versions."""
    from ..catalog import Catalog

    with Catalog(catalog) as opened:
        dataset = opened[name]
        products = opened.products(name, version=version)
        versions = opened.versions(name)
    if as_json:
        told = {"products": _dicts(products), "versions": _dicts(versions)}
        print_json({**dataset.to_dict(), **told})
        return
    print_line(f"{dataset.name}: {dataset.tree}, {dataset.entries:,} entries, version {dataset.version}")
    for place in dataset.locations:
        print_line(f"  {place}")
    print_line()
    _print_products(products)
    print_line()
    _print_versions(versions)


@app.command()
@command
def lineage(name: Name, catalog: Where = None, as_json: Json = False) -> None:
    """Show what a dataset was made of, and what was made of it."""
    from ..catalog import Catalog

    with Catalog(catalog) as opened:
        dataset = opened[name]
        above, below = opened.ancestors(name), opened.descendants(name)
    if as_json:
        told = {"ancestors": _dicts(above), "descendants": _dicts(below)}
        print_json({"name": dataset.name, **told})
        return
    _print_related(f"{dataset.name} was made of", "for", above)
    print_line()
    _print_related(f"made of {dataset.name}", "from", below)


@app.command()
@command
def forget(names: Annotated[list[str], typer.Argument(metavar="NAME...")], catalog: Where = None) -> None:
    """Take datasets, or by their URLs further places, out of the catalogue. The datasets stay as they are."""
    from ..catalog import Catalog

    with Catalog(catalog) as opened:
        for name in names:
            opened.forget(name)


@app.command()
@command
def serve(
    web: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the page is; only for this machine by default.")
    ] = "127.0.0.1:8332",
    catalog: Where = None,
) -> None:
    """Serve a page to browse the catalogue, until Ctrl-C. It only reads.

    Nobody is asked for a password: let others than this machine in only where all may see it.
    """
    import time

    from ..catalog import Catalog
    from ..catalog.web import CatalogPage
    from ..monitoring._udp import host_and_port

    with Catalog(catalog) as opened:
        page = CatalogPage(*host_and_port(web, 8332), opened)
        try:
            print_line(f"page: {page.url}", flush=True)
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            print_line("stopped")
        finally:
            page.close()


def _list(
    catalog: str | None, name: str | None, product: str | None, at_least: int | None, as_json: bool
) -> None:
    from ..catalog import Catalog

    with Catalog(catalog) as opened:
        found = opened.datasets(name, product=product, at_least=at_least)
        asked = product is not None or at_least is not None
        matches = opened.having(product or "*", at_least=at_least) if asked else []
    names = {one.name for one in found}
    matches = [one for one in matches if one.dataset in names]
    if as_json:
        told = {"products": _dicts(matches)} if asked else {}
        print_json({"datasets": _dicts(found), **told})
    elif asked:
        _print_matches(matches)
    else:
        _print_datasets(found)


def _print_datasets(datasets: Sequence[Dataset]) -> None:
    rows = [
        [
            one.name,
            _version(one.version),
            _count(one.products),
            _count(one.entries),
            _size(one.nbytes),
            _time(one.changed),
            one.locations[0] if one.locations else "",
        ]
        for one in datasets
    ]
    numbers = [Column(title, right=True) for title in ("version", "products", "entries", "size")]
    print_table([Column("dataset"), *numbers, Column("changed"), Column("place", breaks=True)], rows)


def _print_products(products: Sequence[CataloguedProduct]) -> None:
    rows = [
        [
            one.name,
            _version(one.version),
            _count(one.branches),
            _count(one.entries),
            _size(one.nbytes),
            _count(one.objects),
        ]
        for one in products
    ]
    numbers = [Column(title, right=True) for title in ("by", "branches", "entries", "size", "objects")]
    print_table([Column("product"), *numbers], rows)


def _print_versions(versions: Sequence[Version]) -> None:
    rows = [
        [
            _version(one.version),
            _time(one.time),
            one.operation,
            "expired" if one.expired else _count(one.entries),
            one.who or "",
            ", ".join(one.tags),
        ]
        for one in versions
    ]
    titles = [Column("version", right=True), Column("when"), Column("what"), Column("entries", right=True)]
    print_table([*titles, Column("who"), Column("tags", breaks=True)], rows)


def _print_matches(matches: Sequence[Match]) -> None:
    rows = [
        [
            one.dataset,
            one.product.name,
            _version(one.product.version),
            _count(one.product.entries),
            _size(one.product.nbytes),
            one.url,
        ]
        for one in matches
    ]
    numbers = [Column(title, right=True) for title in ("by", "entries", "size")]
    print_table([Column("dataset"), Column("product"), *numbers, Column("place", breaks=True)], rows)


def _print_related(title: str, of: str, related: Sequence[Related]) -> None:
    if not related:
        print_line(f"{title}: nothing that is known")
        return
    rows = [
        [
            f"{one.dataset or one.url}{f'@{one.version}' if one.version else ''}",
            f"{one.of}{f'@{one.of_version}' if one.of_version else ''}",
            str(one.steps),
        ]
        for one in related
    ]
    print_table([Column(title, breaks=True), Column(of), Column("steps", right=True)], rows)


def _options(deadline: float | None) -> dict[str, float]:
    return {} if deadline is None else {"deadline": deadline}


def _dicts(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [one.to_dict() for one in records]


def _size(nbytes: int | None) -> str:
    return "-" if nbytes is None else human_bytes(nbytes)


def _version(version: int | None) -> str:
    return "-" if version is None else f"v{version}"


def _count(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _time(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M")
