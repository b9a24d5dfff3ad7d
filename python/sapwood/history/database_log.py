"""Logs of datasets in a database instead of the bucket: the same operations."""

from __future__ import annotations

import os

try:
    from sqlalchemy import insert, select
except ImportError:
    raise ImportError("a catalogue needs SQLAlchemy: pip install 'sapwood[catalog]'") from None

from .. import _core
from ..errors import ConflictError, UsageError
from ..errors.closing import Closing
from ..options.paths import is_url
from . import schema as _schema
from .database import Database, default_url, now_ms


class DatabaseLog(Closing):
    """The log of one dataset: numbered entries that are made once and never changed.

    A database decides in one transaction whose entry has a number, where an object store has to be asked by
    conditional writes. The data stay in the bucket.

    Args:
        url: the database, as of :class:`Catalog`.
        dataset: identity of the dataset.
    """

    def __init__(self, url: str | os.PathLike[str] | None, dataset: str) -> None:
        by = default_url() if url is None else os.fspath(url)
        self._by = by if is_url(by) else os.path.abspath(os.path.expanduser(by))
        self._database = Database(self._by)
        self.dataset = dataset

    @property
    def url(self) -> str:
        """Where the database is, without user, password and options."""
        return self._database.shown

    @property
    def has_secrets(self) -> bool:
        """Whether the URL of the database holds a password or options: such a log is never pickled."""
        return is_url(self._by) and _core.redact(self._by) != self._by

    def __reduce__(self) -> tuple[type[DatabaseLog], tuple[str, str]]:
        if self.has_secrets:
            raise UsageError(
                f"the log in {self.url} was opened by a URL with a user, password or options; "
                "these are never pickled: give them by the environment"
            )
        return DatabaseLog, (self._by, self.dataset)

    def newest(self) -> tuple[int, bytes] | None:
        """Number and content of the last entry, or None if there is none."""
        table = _schema.commits
        last = select(table.c.number, table.c.entry).where(table.c.dataset == self.dataset)
        with self._database.reading() as connection:
            row = connection.execute(last.order_by(table.c.number.desc()).limit(1)).first()
        return None if row is None else (row.number, bytes(row.entry))

    def read(self, number: int) -> bytes | None:
        """An entry, or None if there is none of this number."""
        table = _schema.commits
        where = (table.c.dataset == self.dataset, table.c.number == number)
        with self._database.reading() as connection:
            entry = connection.scalar(select(table.c.entry).where(*where))
        return None if entry is None else bytes(entry)

    def create(self, number: int, entry: bytes) -> bool:
        """Makes an entry; False if there is one of this number, which stays as it is.

        Raises:
            NetworkError, DeadlineError, ServerError: the entry may have been made: read it to know.
        """
        row = {"dataset": self.dataset, "number": number, "entry": entry, "time_ms": now_ms()}
        try:
            with self._database.writing(alone=False) as connection:
                connection.execute(insert(_schema.commits).values(row))
        except ConflictError:
            return False
        return True

    def close(self) -> None:
        """Ends the connections to the database."""
        self._database.close()
