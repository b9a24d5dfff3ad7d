"""`sapwood catalog`: lists datasets, their content, and their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..display.units import counted, human_bytes
from ._options import Json, Log, StoreAccess
from ._output import Column, numbers, print_json, print_line, print_table
from ._run import FAILED, command, listening, wait_for_interrupt

if TYPE_CHECKING:
    from datetime import datetime

    from ..catalog import Catalog, Dataset, Match, Product, Related, Version
    from ..catalog._records import Record

CatalogUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        help="Path of an SQLite file, or postgresql://HOST/DATABASE. "
        "[default: SAPWOOD_CATALOG, or else ~/.local/share/sapwood/catalog.sqlite]",
    ),
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Name or location of a dataset.")]

app = typer.Typer(
    help="Keep a catalogue of datasets, their content and lineage.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Listing:
    """Which catalogue is opened, and whether the result is printed as JSON."""

    catalog: CatalogUrl = None
    as_json: Json = False

    def open(self) -> Catalog:
        """The catalogue."""
        from ..catalog import Catalog

        return Catalog(self.catalog)


@dataclass(frozen=True)
class Inspection(StoreAccess, Listing):
    """How datasets are opened to record them."""


@app.command()
@command
def add(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Datasets, by URL or directory.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The name; by default the last part of the location."),
    ] = None,
    log: Log = None,
    *,
    inspection: Inspection,
) -> None:
    """Add datasets, or more locations of datasets in the catalogue."""
    if name is not None and len(urls) > 1:
        raise typer.BadParameter("only one dataset can have this name", param_hint="--name")
    with inspection.open() as opened:
        added = [opened.add(url, name=name, log=log, **inspection.open_options) for url in urls]
    if inspection.as_json:
        print_json({"datasets": _dicts(added)})
    else:
        _print_datasets(added)


@app.command()
@command
def refresh(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Names or locations; by default all.")
    ] = None,
    *,
    inspection: Inspection,
) -> None:
    """Inspect datasets again, and record new versions. Fails (1) if a dataset is unreachable."""
    with inspection.open() as opened:
        found = opened.refresh(*(names or ()), **inspection.open_options)
    if inspection.as_json:
        print_json({"datasets": _dicts(found)})
    else:
        rows = [
            [one.name, _version(one.before), _version(one.version), str(one.error or "")] for one in found
        ]
        print_table([Column("dataset"), *numbers("before", "now"), Column("error", last=1)], rows)
    if any(one.error is not None for one in found):
        raise typer.Exit(FAILED)


@app.command()
@command
def ls(*, listing: Listing) -> None:
    """List all datasets."""
    _list(listing)


@app.command()
@command
def search(
    name: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="Part of the name or location, or a glob with * and ?."),
    ] = None,
    product: Annotated[
        str | None,
        typer.Option(
            "--product", "-p", metavar="GLOB", help="Only datasets whose newest version has this product."
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(metavar="VERSION", help="Only products written by this version or a later one."),
    ] = None,
    *,
    listing: Listing,
) -> None:
    """Find datasets by name, location and product.

    \b
    sapwood catalog search ttbar
    sapwood catalog search --product Jet --at-least 3
    """
    _list(listing, name, product, at_least)


@app.command()
@command
def show(
    name: Name,
    version: Annotated[
        int | None,
        typer.Option(metavar="N", help="The version of the products; by default the newest."),
    ] = None,
    *,
    listing: Listing,
) -> None:
    """Show a dataset: its locations, products and versions."""
    with listing.open() as opened:
        dataset = opened[name]
        products = opened.products(name, version=version)
        versions = opened.versions(name)
    if listing.as_json:
        parts = {"products": _dicts(products), "versions": _dicts(versions)}
        print_json({**dataset.to_dict(), **parts})
        return
    entries = counted(dataset.entries, "entry", "entries")
    print_line(f"{dataset.name}: {dataset.tree}, {entries}, version {dataset.version}")
    for location in dataset.locations:
        print_line(f"  {location}")
    print_line()
    _print_products(products)
    print_line()
    _print_versions(versions)


@app.command()
@command
def lineage(name: Name, *, listing: Listing) -> None:
    """Show the ancestors and the descendants of a dataset."""
    with listing.open() as opened:
        dataset = opened[name]
        above, below = opened.ancestors(name), opened.descendants(name)
    if listing.as_json:
        parts = {"ancestors": _dicts(above), "descendants": _dicts(below)}
        print_json({"name": dataset.name, **parts})
        return
    _print_related(f"ancestor of {dataset.name}", "input of", above)
    print_line()
    _print_related(f"descendant of {dataset.name}", "made from", below)


@app.command()
@command
def forget(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names, or locations by URL.")],
    catalog: CatalogUrl = None,
) -> None:
    """Remove datasets, or single locations by URL, from the catalogue. The datasets themselves remain."""
    with Listing(catalog).open() as opened:
        for name in names:
            opened.forget(name)


@app.command()
@command
def serve(
    web: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The address of the page; by default local only.")
    ] = "127.0.0.1:8332",
    catalog: CatalogUrl = None,
) -> None:
    """Serve a read-only page to browse the catalogue, until Ctrl-C.

    There is no password: listen beyond this machine only if everyone may see the data.
    """
    from ..catalog.web import CatalogPage
    from ..monitoring._udp import host_and_port

    with Listing(catalog).open() as opened:
        with listening(web, "--web"):
            page = CatalogPage(*host_and_port(web, 8332), opened)
        try:
            print_line(f"page: {page.url}", flush=True)
            wait_for_interrupt()
        finally:
            page.close()


def _list(
    listing: Listing, name: str | None = None, product: str | None = None, at_least: int | None = None
) -> None:
    with listing.open() as opened:
        found = opened.datasets(name, product=product, at_least=at_least)
        by_product = product is not None or at_least is not None
        matches = opened.having(product or "*", at_least=at_least) if by_product else []
    names = {one.name for one in found}
    matches = [one for one in matches if one.dataset in names]
    if listing.as_json:
        products = {"products": _dicts(matches)} if by_product else {}
        print_json({"datasets": _dicts(found), **products})
    elif by_product:
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
    titles = [Column("dataset"), *numbers("version", "products", "entries", "size")]
    print_table([*titles, Column("changed"), Column("location", last=1)], rows)


def _print_products(products: Sequence[Product]) -> None:
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
    print_table([Column("product"), *numbers("since", "branches", "entries", "size", "objects")], rows)


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
    titles = [*numbers("version"), Column("time"), Column("operation"), *numbers("entries")]
    print_table([*titles, Column("who"), Column("tags", last=1)], rows)


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
    titles = [Column("dataset"), Column("product"), *numbers("since", "entries", "size")]
    print_table([*titles, Column("location", last=1)], rows)


def _print_related(title: str, of: str, related: Sequence[Related]) -> None:
    if not related:
        print_line(f"{title}: none known")
        return
    rows = [
        [
            f"{one.dataset or one.url}{f'@{one.version}' if one.version else ''}",
            f"{one.of}{f'@{one.of_version}' if one.of_version else ''}",
            str(one.steps),
        ]
        for one in related
    ]
    print_table([Column(title, last=1), Column(of), Column("steps", right=True)], rows)


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
