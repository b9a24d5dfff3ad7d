"""Questions to the tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, or_, select
from sqlalchemy.sql.elements import KeyedColumnElement

from ..history import schema as _schema
from ._records import Dataset, Input, Match, Product, Related, Version

_ESCAPE = "\\"
_PORTION = 1000


def like(column: KeyedColumnElement[str], pattern: str, *, within: bool) -> ColumnElement[bool]:
    """Whether a name is like a pattern with ``*`` and ``?``; one without may stand ``within`` the name."""
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
    """Datasets by name, some of them, and how many there are in all."""
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
    return _told(connection, connection.execute(some).mappings().all()), total


def dataset(connection: Connection, number: int) -> Dataset:
    """One dataset."""
    table = _schema.datasets
    return _told(connection, connection.execute(select(table).where(table.c.id == number)).mappings().all())[
        0
    ]


def having(connection: Connection, product: str | None, at_least: int | None) -> list[Match]:
    """Products of the newest versions of datasets."""
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
    """Products of a dataset: those of the newest version, of another one, or all there ever were."""
    table = _schema.products
    conditions = [table.c.dataset == number]
    if version is not None:
        conditions += [table.c.since <= version, or_(table.c.until.is_(None), table.c.until > version)]
    elif not history:
        conditions.append(table.c.until.is_(None))
    found = select(table).where(*conditions).order_by(table.c.name, table.c.since)
    return [_product(row) for row in connection.execute(found).mappings()]


def versions(connection: Connection, number: int) -> list[Version]:
    """Versions of a dataset, the newest first."""
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
    """What a dataset was made of, and that of, the nearest first."""
    found: list[Related] = []
    seen, level, steps = {number}, {number}, 0
    while level:
        steps += 1
        rows = _inputs(connection, _schema.inputs.c.dataset.in_(sorted(level)))
        level = set()
        for row in rows:
            of = (row["dataset_name"], f"v{row['version']}")
            found.append(Related(steps, row["url"], row["source_name"], row["of_version"], *of))
            if row["source"] is not None and row["source"] not in seen:
                level.add(row["source"])
        seen |= level
    return list(dict.fromkeys(found))


def descendants(connection: Connection, number: int) -> list[Related]:
    """What was made of a dataset, and of that, the nearest first."""
    found: list[Related] = []
    seen, level, steps = {number}, {number}, 0
    first = _first_urls(connection)
    while level:
        steps += 1
        rows = _inputs(connection, _schema.locations.c.dataset.in_(sorted(level)))
        level = set()
        for row in rows:
            of = (row["source_name"], row["of_version"])
            made = (first.get(row["dataset"], ""), row["dataset_name"], f"v{row['version']}")
            found.append(Related(steps, *made, *of))
            if row["dataset"] not in seen:
                level.add(row["dataset"])
        seen |= level
    return list(dict.fromkeys(found))


def _inputs(connection: Connection, condition: ColumnElement[bool]) -> Sequence[RowMapping]:
    """Inputs of datasets, with the datasets that they are, if the catalogue has these."""
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


def _told(connection: Connection, rows: Sequence[RowMapping]) -> list[Dataset]:
    # In portions: databases limit how many numbers a question may name.
    portions = (rows[start : start + _PORTION] for start in range(0, len(rows), _PORTION))
    return [one for portion in portions for one in _told_some(connection, portion)]


def _told_some(connection: Connection, rows: Sequence[RowMapping]) -> list[Dataset]:
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
