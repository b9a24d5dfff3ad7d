"""Queries of the catalogue's tables."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, or_, select
from sqlalchemy.sql.elements import KeyedColumnElement

from ..history import schema as _schema
from ._records import Dataset, Input, Match, Product, Related, Version

_ESCAPE = "\\"
_PORTION = 1000


def like(column: KeyedColumnElement[str], pattern: str, *, within: bool) -> ColumnElement[bool]:
    """Matches a pattern with ``*`` and ``?``, or a text without these; ``within``, as part of the name."""
    escaped = "".join(_ESCAPE + letter if letter in "%_\\" else letter for letter in pattern)
    wild = escaped.replace("*", "%").replace("?", "_")
    return column.ilike(f"%{wild}%" if within and wild == escaped else wild, escape=_ESCAPE)


def datasets(
    connection: Connection,
    name: str | None,
    product: str | None,
    at_least: int | None,
    limit: int | None,
    offset: int,
) -> tuple[list[Dataset], int]:
    """A page of the datasets that match, sorted by name, and the number of all that match."""
    table = _schema.datasets
    conditions: list[ColumnElement[bool]] = []
    if name:
        url = select(_schema.locations.c.dataset).where(like(_schema.locations.c.url, name, within=True))
        conditions.append(or_(like(table.c.name, name, within=True), table.c.id.in_(url)))
    if product is not None or at_least is not None:
        conditions.append(table.c.id.in_(select(_schema.products.c.dataset).where(*_now(product, at_least))))
    total = connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0
    by_name = select(table).where(*conditions).order_by(func.lower(table.c.name), table.c.name)
    some = by_name.limit(limit).offset(offset)
    return _datasets(connection, connection.execute(some).mappings().all()), total


def dataset(connection: Connection, number: int) -> Dataset:
    """One dataset."""
    table = _schema.datasets
    found = connection.execute(select(table).where(table.c.id == number))
    return _datasets(connection, found.mappings().all())[0]


def having(connection: Connection, product: str | None, at_least: int | None) -> list[Match]:
    """Products of the newest versions of all datasets."""
    products, locations, named = _schema.products, _schema.locations, _schema.datasets
    found = connection.execute(
        select(products, named.c.name.label("dataset_name"), locations.c.url)
        .join(named, named.c.id == products.c.dataset)
        .join(locations, locations.c.dataset == products.c.dataset)
        .where(locations.c.place == _first_place(locations.c.dataset), *_now(product, at_least))
        .order_by(named.c.name, products.c.name)
    ).mappings()
    return [Match(row["dataset_name"], row["url"], _product(row)) for row in found]


def products(connection: Connection, number: int, version: int | None, history: bool) -> list[Product]:
    """Products of a dataset: of the newest version, of another one, or of all versions."""
    table = _schema.products
    conditions = [table.c.dataset == number]
    if version is not None:
        conditions += [table.c.since <= version, or_(table.c.until.is_(None), table.c.until > version)]
    elif not history:
        conditions.append(table.c.until.is_(None))
    found = select(table).where(*conditions).order_by(table.c.name, table.c.since)
    return [_product(row) for row in connection.execute(found).mappings()]


def versions(connection: Connection, number: int) -> list[Version]:
    """Versions of a dataset, newest first."""
    inputs = defaultdict(list)
    for row in _inputs(connection, _schema.inputs.c.dataset == number):
        inputs[row["version"]].append(Input(row["url"], row["of_version"], row["source_name"]))
    tags = defaultdict(list)
    for name, version in _tags(connection, [number])[number].items():
        tags[version].append(name)
    table = _schema.versions
    there = select(_schema.datasets.c.oldest).where(_schema.datasets.c.id == number)
    oldest = connection.scalar(there) or 1
    found = select(table).where(table.c.dataset == number).order_by(table.c.version.desc())
    return [
        Version(
            version=row["version"],
            parent=row["parent"],
            operation=row["operation"],
            what=row["what"],
            time=_time(row["time_ms"]),
            who=row["who"],
            tool=row["tool"],
            job=row["job"],
            entries=row["entries"],
            inputs=tuple(inputs[row["version"]]),
            parameters=json.loads(row["parameters"]),
            tags=tuple(tags[row["version"]]),
            expired=row["version"] < oldest and not tags[row["version"]],
        )
        for row in connection.execute(found).mappings()
    ]


def ancestors(connection: Connection, number: int) -> list[Related]:
    """The direct and indirect inputs of a dataset, nearest first."""

    def related(steps: int, row: RowMapping) -> Related:
        of = (row["dataset_name"], f"v{row['version']}")
        return Related(steps, row["url"], row["source_name"], row["of_version"], *of)

    return _walk(connection, number, _schema.inputs.c.dataset, "source", related)


def descendants(connection: Connection, number: int) -> list[Related]:
    """The datasets made from a dataset, directly or indirectly, nearest first."""
    first = _first_urls(connection)

    def related(steps: int, row: RowMapping) -> Related:
        derived = (first.get(row["dataset"], ""), row["dataset_name"], f"v{row['version']}")
        return Related(steps, *derived, row["source_name"], row["of_version"])

    return _walk(connection, number, _schema.locations.c.dataset, "dataset", related)


def _walk(
    connection: Connection,
    number: int,
    column: ColumnElement[int],
    following: str,
    related: Callable[[int, RowMapping], Related],
) -> list[Related]:
    """Follows inputs breadth first: of the datasets in ``column``, on to those in the field ``following``."""
    found: list[Related] = []
    seen = level = {number}
    for steps in itertools.count(1):
        rows = _inputs(connection, column.in_(sorted(level)))
        found += [related(steps, row) for row in rows]
        level = {row[following] for row in rows if row[following] is not None} - seen
        if not level:
            break
        seen = seen | level
    return list(dict.fromkeys(found))


def _inputs(connection: Connection, condition: ColumnElement[bool]) -> Sequence[RowMapping]:
    """Inputs of datasets, joined with the input datasets that are in the catalogue."""
    inputs, locations = _schema.inputs, _schema.locations
    named, source = _schema.datasets, _schema.datasets.alias("source")
    found = (
        select(
            inputs,
            named.c.name.label("dataset_name"),
            source.c.id.label("source"),
            source.c.name.label("source_name"),
        )
        .join(named, named.c.id == inputs.c.dataset)
        .outerjoin(locations, locations.c.url == inputs.c.url)
        .outerjoin(source, source.c.id == locations.c.dataset)
        .where(condition)
        .order_by(named.c.name, inputs.c.version.desc(), inputs.c.place)
    )
    return connection.execute(found).mappings().all()


def _now(product: str | None, at_least: int | None) -> list[ColumnElement[bool]]:
    table = _schema.products
    conditions: list[ColumnElement[bool]] = [table.c.until.is_(None)]
    if product is not None:
        conditions.append(like(table.c.name, product, within=False))
    if at_least is not None:
        conditions.append(table.c.version >= at_least)
    return conditions


def _first_place(dataset: ColumnElement[int]) -> Any:
    table = _schema.locations.alias()
    return select(func.min(table.c.place)).where(table.c.dataset == dataset).scalar_subquery()


def _first_urls(connection: Connection) -> dict[int, str]:
    table = _schema.locations
    rows = connection.execute(select(table.c.dataset, table.c.url).order_by(table.c.place.desc()))
    return {row.dataset: row.url for row in rows}


def _tags(connection: Connection, numbers: Iterable[int]) -> dict[int, dict[str, int]]:
    table, tags = _schema.tags, defaultdict[int, dict[str, int]](dict)
    found = select(table).where(table.c.dataset.in_(list(numbers))).order_by(table.c.name)
    for row in connection.execute(found).mappings():
        tags[row["dataset"]][row["name"]] = row["version"]
    return tags


def _datasets(connection: Connection, rows: Sequence[RowMapping]) -> list[Dataset]:
    # In portions, because databases limit the number of parameters of a query.
    portions = (rows[start : start + _PORTION] for start in range(0, len(rows), _PORTION))
    return [one for portion in portions for one in _some_datasets(connection, portion)]


def _some_datasets(connection: Connection, rows: Sequence[RowMapping]) -> list[Dataset]:
    numbers = [row["id"] for row in rows]
    places, tags = _schema.locations, _tags(connection, numbers)
    urls = defaultdict(list)
    where = select(places).where(places.c.dataset.in_(numbers)).order_by(places.c.place)
    for row in connection.execute(where).mappings():
        urls[row["dataset"]].append(row["url"])
    held = _schema.products
    counted = (
        select(held.c.dataset, func.count())
        .where(held.c.dataset.in_(numbers), held.c.until.is_(None))
        .group_by(held.c.dataset)
    )
    counts = {row[0]: row[1] for row in connection.execute(counted)}
    return [
        Dataset(
            name=row["name"],
            identity=row["identity"],
            tree=row["tree"],
            version=row["tip"],
            entries=row["entries"],
            products=counts.get(row["id"], 0),
            nbytes=row["bytes"],
            objects=row["objects"],
            locations=tuple(urls[row["id"]]),
            tags=tags[row["id"]],
            changed=_time(row["changed_ms"]),
            refreshed=_time(row["refreshed_ms"]),
        )
        for row in rows
    ]


def _product(row: RowMapping) -> Product:
    names = ("name", "version", "since", "until", "branches", "entries", "bytes", "objects")
    return Product(*(row[name] for name in names))


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
