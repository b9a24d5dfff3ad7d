"""Writes new versions of datasets to the catalogue's tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, and_, insert, select, update

from ..errors import ConflictError
from ..history import schema as _schema
from ..history.database import now_ms
from ._source import History, split_version, without_secrets

if TYPE_CHECKING:
    from ..history.database_log import DatabaseLog


def add_dataset(
    connection: Connection, identity: str, name: str, place: tuple[str, DatabaseLog | None], history: History
) -> int:
    """Adds a dataset that is not in the catalogue yet; returns its number there."""
    # Placeholders, until its history is recorded below.
    unknown = dict.fromkeys(("tip", "oldest", "entries", "changed_ms", "refreshed_ms"), 0)
    named = {"identity": identity, "name": name, "tree": "", "snapshot": "", "added_ms": now_ms()}
    row = {**named, **unknown}
    inserted = connection.execute(insert(_schema.datasets).values(row)).inserted_primary_key
    dataset = int(inserted[0]) if inserted else 0
    add_location(connection, dataset, *place)
    record(connection, dataset, history)
    return dataset


def add_location(connection: Connection, dataset: int, url: str, log: DatabaseLog | None) -> None:
    """Adds a location of a dataset, with its log if that is in a database."""
    table = _schema.locations
    taken = connection.scalars(select(table.c.place).where(table.c.dataset == dataset))
    place = max(taken, default=-1) + 1
    connection.execute(insert(table).values(dataset=dataset, place=place, url=url))
    set_log(connection, url, log)


def set_log(connection: Connection, url: str, log: DatabaseLog | None) -> None:
    """Records the log of the dataset at a location; None if the log is in the dataset's store."""
    table = _schema.locations
    row = {"log_url": log and log.url, "log_name": log and log.dataset}
    connection.execute(update(table).where(table.c.url == url).values(row))


def record(connection: Connection, dataset: int, history: History) -> None:
    """Adds new versions. Another process may have added some or all of them since they were read."""
    table = _schema.datasets
    tip = connection.scalar(select(table.c.tip).where(table.c.id == dataset))
    newest = history.newest
    if tip is None or newest["version"] < tip:
        return
    new = [entry for entry in history.entries if entry["n"] > tip]
    if tip and new and new[0]["n"] != tip + 1:
        raise ConflictError(
            f"versions are missing between {tip} and {new[0]['n']}: refresh the dataset again"
        )
    _add_versions(connection, dataset, new, history.contents)
    products = _Spans(connection, _schema.products, "name", dataset)
    segments = _Spans(connection, _schema.segments, "number", dataset)
    for entry in new:
        if content := history.contents.get(entry["n"]):
            version = int(entry["n"])
            products.set(version, {one["name"]: _product(one) for one in content["products"]}, "version")
            segments.set(version, {one["id"]: _segment(one) for one in content["segments"]}, "entries")
    products.save()
    segments.save()
    _count(connection, dataset, newest)
    _set_tags(connection, dataset, newest.get("tags") or {})
    values = {"tree": newest["tree"], "tip": newest["version"], "snapshot": newest["snapshot"]}
    changed = {"changed_ms": _time_ms(newest, new[-1]), "oldest": new[-1].get("oldest") or 1} if new else {}
    values |= {"entries": newest["entries"], "refreshed_ms": now_ms(), **changed}
    # Small products share objects, so the number of objects is not the sum over products.
    values |= {"bytes": _sum(newest["products"], "bytes"), "objects": newest["objects"]}
    connection.execute(update(table).where(table.c.id == dataset).values(values))


def _add_versions(
    connection: Connection,
    dataset: int,
    entries: Iterable[Mapping[str, Any]],
    contents: Mapping[int, Mapping[str, Any]],
) -> None:
    versions, inputs = [], []
    for entry in entries:
        version, content = int(entry["n"]), contents.get(entry["n"], {})
        made = content.get("made") or {}
        job = made.get("job") or entry.get("job")
        parameters = made.get("parameters") or {}
        versions.append(
            {
                "dataset": dataset,
                "version": version,
                "snapshot": entry.get("snapshot"),
                "parent": entry.get("parent") or None,
                "operation": entry.get("operation") or made.get("operation") or "?",
                "what": entry.get("what"),
                "time_ms": _time_ms(content, entry),
                "who": made.get("who"),
                "tool": made.get("tool"),
                "job": None if job is None else str(job[0] if isinstance(job, (list, tuple)) else job),
                "entries": content.get("entries"),
                "parameters": without_secrets(json.dumps(parameters, sort_keys=True)),
            }
        )
        # Computed columns are written via a temporary file: their input is the version that was read.
        sources = [parameters["from"]] if "from" in parameters else made.get("inputs") or ()
        for place, text in enumerate(sources):
            url, of_version = split_version(str(text))
            named = {"dataset": dataset, "version": version, "place": place}
            inputs.append({**named, "url": url, "of_version": of_version})
    for table, rows in ((_schema.versions, versions), (_schema.inputs, inputs)):
        if rows:
            connection.execute(insert(table), rows)


class _Spans:
    """Rows that apply to a range of versions; for each key, the last range may be open."""

    def __init__(self, connection: Connection, table: Table, key: str, dataset: int) -> None:
        self._connection, self._table, self._key, self._dataset = connection, table, key, dataset
        still = select(table).where(table.c.dataset == dataset, table.c.until.is_(None))
        self._open: dict[Any, dict[str, Any]] = {
            row[key]: {**row, "saved": True} for row in connection.execute(still).mappings()
        }
        self._closed: list[dict[str, Any]] = []

    def set(self, version: int, wanted: Mapping[Any, Mapping[str, Any]], changes_with: str) -> None:
        """Sets the rows of a version; a range ends if its key is gone or its ``changes_with`` differs."""
        for key, row in list(self._open.items()):
            if key not in wanted or wanted[key][changes_with] != row[changes_with]:
                self._closed.append({**self._open.pop(key), "until": version})
        for key, values in wanted.items():
            if key not in self._open:
                named = {"dataset": self._dataset, self._key: key, "since": version, "until": None}
                self._open[key] = {**named, **values, "saved": False}

    def save(self) -> None:
        """Writes the changes to the table."""
        table = self._table
        for row in self._closed:
            if row["saved"]:
                where = and_(
                    table.c.dataset == self._dataset,
                    table.c[self._key] == row[self._key],
                    table.c.since == row["since"],
                )
                self._connection.execute(update(table).where(where).values(until=row["until"]))
        new = [row for row in (*self._closed, *self._open.values()) if not row["saved"]]
        if new:
            names = [column.name for column in table.columns]
            self._connection.execute(insert(table), [{name: row.get(name) for name in names} for row in new])


def _product(described: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: described.get(name) for name in ("branches", "entries", "bytes", "objects")}
    return {"version": described["version"], **values}


def _segment(described: Mapping[str, Any]) -> dict[str, Any]:
    return {"entries": described["entries"], "batch": described["batch"]}


def _count(connection: Connection, dataset: int, newest: Mapping[str, Any]) -> None:
    """Updates the sizes of current products, which grow with each segment."""
    table = _schema.products
    here = and_(table.c.dataset == dataset, table.c.until.is_(None))
    for one in newest["products"]:
        values = _product(one)
        connection.execute(update(table).where(here, table.c.name == one["name"]).values(values))


def _set_tags(connection: Connection, dataset: int, tags: Mapping[str, int]) -> None:
    table = _schema.tags
    connection.execute(table.delete().where(table.c.dataset == dataset))
    rows = [{"dataset": dataset, "name": name, "version": version} for name, version in tags.items()]
    if rows:
        connection.execute(insert(table), rows)


def _sum(products: Iterable[Mapping[str, Any]], what: str) -> int | None:
    counts = [one.get(what) for one in products]
    return None if None in counts else sum(int(count) for count in counts if count is not None)


def _time_ms(content: Mapping[str, Any], entry: Mapping[str, Any]) -> int:
    return int(entry.get("time_ms") or (content.get("made") or {}).get("time_ms") or 0)
