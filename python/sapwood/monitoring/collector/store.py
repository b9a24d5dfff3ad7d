"""Stores packets in an SQLite database of limited age and size, and sums them up."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import astuple, fields
from typing import Any

from ...errors import UsageError
from ...options.outputs import DATABASE, check_name
from .packets import Packet

_COLUMNS = [one.name for one in fields(Packet)]
_TYPES = {"int": "INTEGER", "float": "REAL", "bool": "INTEGER", "str": "TEXT"}
_SCHEMA = ", ".join(f"{one.name} {_TYPES[str(one.type)]} NOT NULL" for one in fields(Packet))
_SUMS = (
    "count(*) AS packets, sum(nbytes) AS nbytes, sum(reads) AS reads, sum(seconds) AS seconds, "
    "sum(errors) AS errors, sum(fallback) AS fallback"
)
PRUNE_AFTER = 10_000
"""Number of added packets after which old packets are deleted."""


class Store:
    """The packets of the last ``days``, at most ``rows`` of them. Use one object per thread.

    Raises:
        UsageError: the file is another database, or has the suffix of another format.
    """

    def __init__(self, path: str | os.PathLike[str], *, days: float = 7.0, rows: int = 1_000_000) -> None:
        self._days, self._rows = days, rows
        self._added = 0
        self._database = sqlite3.connect(check_name(path, DATABASE), timeout=10)
        self._database.row_factory = sqlite3.Row
        self._refuse_others(os.fspath(path))
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        with self._database as database:
            columns = f"id INTEGER PRIMARY KEY, received REAL NOT NULL, {_SCHEMA}"
            database.execute(f"CREATE TABLE IF NOT EXISTS packets ({columns})")
            database.execute("CREATE INDEX IF NOT EXISTS by_time ON packets (received)")

    def _refuse_others(self, path: str) -> None:
        """Raises a UsageError for a database that was not made by ``sapwood monitor``."""
        try:
            tables = [row[0] for row in self._database.execute("SELECT name FROM sqlite_master")]
        except sqlite3.DatabaseError as error:
            tables = [str(error)]
        if tables and "packets" not in tables:
            self._database.close()
            raise UsageError(f"{path} is not a database of 'sapwood monitor': choose another file", url=path)

    def add(self, packets: Iterable[tuple[float, Packet]]) -> None:
        """Stores packets, each with the Unix time at which it arrived."""
        rows = [(received, *astuple(packet)) for received, packet in packets]
        names = ", ".join(["received", *_COLUMNS])
        marks = ", ".join("?" * (1 + len(_COLUMNS)))
        with self._database as database:
            database.executemany(f"INSERT INTO packets ({names}) VALUES ({marks})", rows)
        self._added += len(rows)
        if self._added >= min(PRUNE_AFTER, self._rows):
            self.prune()

    def prune(self) -> None:
        """Deletes packets that exceed the limits on age and number."""
        self._added = 0
        with self._database as database:
            database.execute("DELETE FROM packets WHERE received < ?", (time.time() - self._days * 86400,))
            newest = "SELECT coalesce(max(id), 0) FROM packets"
            database.execute(f"DELETE FROM packets WHERE id <= ({newest}) - ?", (self._rows,))

    def summary(self, seconds: float, *, bins: int = 60, most: int = 50) -> dict[str, Any]:
        """Sums over a period up to now.

        Args:
            seconds: length of the period.
            bins: number of time bins.
            most: most rows of each table.

        Returns:
            A dict with the sums in total, over time (bytes per second in ``rates``), by site and by server,
            and the latest packets.
        """
        end = time.time()
        start, width = end - seconds, seconds / bins
        by_time = self._rows_of(
            "SELECT CAST((received - :start) / :width AS INTEGER) AS bin, sum(nbytes) AS nbytes, "
            "sum(errors) AS errors FROM packets WHERE received >= :start GROUP BY bin",
            start=start,
            width=width,
        )
        rates, errors = [0.0] * bins, [0] * bins
        for row in by_time:
            index = min(row["bin"], bins - 1)
            rates[index] += row["nbytes"] / width
            errors[index] += row["errors"]
        return {
            "now": end,
            "seconds": seconds,
            "total": self._rows_of(
                f"SELECT {_SUMS}, count(DISTINCT file) AS files FROM packets WHERE received >= :start",
                start=start,
            )[0],
            "rates": rates,
            "errors": errors,
            "sites": self._groups("site", start, "nbytes DESC", most),
            "servers": self._groups("server", start, "nbytes DESC", most),
            "slowest": self._groups(
                "server", start, "nbytes / seconds", most, "HAVING seconds > 0 AND reads > 0"
            ),
            "latest": self._rows_of(
                "SELECT received, site, server, client, file, nbytes, seconds, errors FROM packets "
                "WHERE received >= :start ORDER BY id DESC LIMIT :most",
                start=start,
                most=most,
            ),
        }

    def _groups(self, by: str, start: float, order: str, most: int, having: str = "") -> list[dict[str, Any]]:
        return self._rows_of(
            f"SELECT {by} AS name, {_SUMS} FROM packets WHERE received >= :start "
            f"GROUP BY {by} {having} ORDER BY {order} LIMIT :most",
            start=start,
            most=most,
        )

    def _rows_of(self, query: str, **values: Any) -> list[dict[str, Any]]:
        rows = map(dict, self._database.execute(query, values))
        # Sums over no rows are null.
        return [{name: 0 if value is None else value for name, value in row.items()} for row in rows]

    def __len__(self) -> int:
        count: int = self._database.execute("SELECT count(*) FROM packets").fetchone()[0]
        return count

    def close(self) -> None:
        """Closes the database."""
        self._database.close()
