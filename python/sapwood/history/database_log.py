"""Logs of datasets that are kept in a database instead of the object store."""

from __future__ import annotations

import os

try:
    from sqlalchemy import insert, select
except ImportError:
    raise ImportError("a catalogue requires SQLAlchemy: pip install 'sapwood[catalog]'") from None

from .. import _core
from ..errors import ConflictError, UsageError
from ..errors.closing import ClosingContext
from ..options.paths import is_url
from . import schema as _schema
from .database import Database, default_url, now_ms


class DatabaseLog(ClosingContext):
    """The log of one dataset in a database: numbered entries that are created once and never changed.

    A database transaction decides which writer creates the next entry; a log in an object store needs
    conditional writes for that. The data of the dataset stays in the object store.

    Args:
        url: the database, as for :class:`sapwood.catalog.Catalog`. None: the default catalogue.
        dataset: the identity of the dataset.
    """

    def __init__(self, url: str | os.PathLike[str] | None, dataset: str) -> None:
        by = default_url() if url is None else os.fspath(url)
        self._by = by if is_url(by) else os.path.abspath(os.path.expanduser(by))
        self._database = Database(self._by)
        self.dataset = dataset

    @property
    def url(self) -> str:
        """The path or URL of the database, without user, password and options."""
        return self._database.shown

    @property
    def has_secrets(self) -> bool:
        """Whether the URL of the database contains a user, password or options, which are never pickled."""
        return is_url(self._by) and _core.redact(self._by) != self._by

    def __reduce__(self) -> tuple[type[DatabaseLog], tuple[str, str]]:
        if self.has_secrets:
            raise UsageError(
                f"the log in {self.url} cannot be pickled: its URL contains a user, password or options, "
                "which are never pickled. Set them in the environment instead"
            )
        return DatabaseLog, (self._by, self.dataset)

    def newest(self) -> tuple[int, bytes] | None:
        """Number and content of the last entry, or None for an empty log."""
        table = _schema.commits
        last = select(table.c.number, table.c.entry).where(table.c.dataset == self.dataset)
        with self._database.reading() as connection:
            row = connection.execute(last.order_by(table.c.number.desc()).limit(1)).first()
        return None if row is None else (row.number, bytes(row.entry))

    def read(self, number: int) -> bytes | None:
        """The content of an entry, or None if it does not exist."""
        table = _schema.commits
        where = (table.c.dataset == self.dataset, table.c.number == number)
        with self._database.reading() as connection:
            entry = connection.scalar(select(table.c.entry).where(*where))
        return None if entry is None else bytes(entry)

    def create(self, number: int, entry: bytes) -> bool:
        """Creates an entry, unless one with this number exists.

        Returns:
            Whether the entry was created.

        Raises:
            NetworkError, DeadlineError, ServerError: it is unknown whether the entry was created; use
                :meth:`read` to find out.
        """
        row = {"dataset": self.dataset, "number": number, "entry": entry, "time_ms": now_ms()}
        try:
            with self._database.writing(alone=False) as connection:
                connection.execute(insert(_schema.commits).values(row))
        except ConflictError:
            return False
        return True

    def close(self) -> None:
        """Closes the connections to the database."""
        self._database.close()
