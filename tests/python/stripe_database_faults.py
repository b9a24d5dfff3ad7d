"""Databases that fail: calls of the driver raise an error, before or after they took effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sapwood.catalog import DatabaseLog

CALLS = ("do_execute", "do_execute_no_params", "do_commit")
"""What a dialect of SQLAlchemy asks of the driver."""


@dataclass
class Faults:
    """What was asked of a driver (first words of statements, and ``COMMIT``), and which of it fails."""

    calls: list[str] = field(default_factory=list)
    at: int | None = None
    after: bool = False
    ever: bool = False

    def faulty(self, work: Callable[..., Any], kind: type[Exception]) -> Callable[..., Any]:
        """A call of the driver that may fail."""

        def call(*arguments: Any, **options: Any) -> Any:
            number = len(self.calls)
            self.calls.append(arguments[1].split()[0] if len(arguments) > 1 else "COMMIT")
            if self.at is None or number < self.at or (number > self.at and not self.ever):
                return work(*arguments, **options)
            if number == self.at and self.after:
                work(*arguments, **options)
            raise kind("the connection was lost")

        return call


def faulty_log(url: str, name: str, faults: Faults) -> DatabaseLog:
    """The log of a dataset in a database that fails."""
    log = DatabaseLog(url, name)
    # Where the first questions of SQLAlchemy fail, it leaves connections open.
    log.newest()
    dialect = log._database._engine.dialect
    for call in CALLS:
        setattr(dialect, call, faults.faulty(getattr(dialect, call), dialect.dbapi.OperationalError))
    return log
