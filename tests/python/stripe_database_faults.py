"""Databases that fail: calls of the driver raise an error, before or after they took effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sapwood.catalog import DatabaseLog

CALLS = ("do_execute", "do_execute_no_params", "do_commit")
"""What a dialect of SQLAlchemy asks of the driver."""


class FaultyDatabase:
    """The log of a dataset in a database of which some calls fail.

    Attributes:
        log: the log.
        calls: what the driver was asked for: first words of statements, and ``COMMIT``.
    """

    def __init__(self, url: str, name: str) -> None:
        self.log = DatabaseLog(url, name)
        self.calls: list[str] = []
        self._fault: tuple[int, bool, bool] | None = None
        dialect = self.log._database._engine.dialect
        for call in CALLS:
            setattr(dialect, call, self._faulty(getattr(dialect, call), dialect.dbapi.OperationalError))

    def __repr__(self) -> str:
        return f"a fault of the database: {self._fault}"

    def fail(self, call: int, *, after: bool, ever: bool) -> None:
        """Makes a call fail, ``after`` it took effect or before; ``ever``, all later ones do, too."""
        self._fault = call, after, ever

    def _faulty(self, work: Callable[..., Any], kind: type[Exception]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            number = len(self.calls)
            self.calls.append(arguments[1].split()[0] if len(arguments) > 1 else "COMMIT")
            at, after, ever = self._fault or (-1, False, False)
            if self._fault is None or number < at or (number > at and not ever):
                return work(*arguments, **options)
            if number == at and after:
                work(*arguments, **options)
            raise kind("the connection was lost")

        return call
