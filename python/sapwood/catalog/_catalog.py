"""The catalogue: what is in it is asked for, added, looked at again, and forgotten."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, select

from .. import _core
from ..display.printable import shows_printable
from ..errors import ConflictError, KeyInFileError, SapwoodError
from ..errors.closing import Closing
from ..history import schema as _schema
from ..history.database import Database, default_url
from ..history.database_log import DatabaseLog
from ..history.logs import Log, log_of
from ..options.paths import is_url
from ..options.reading import open_options
from . import _changes, _queries, _source
from ._records import Dataset, Match, Product, Refreshed, Related, Version


class Catalog(Closing):
    """A database of datasets: their versions, products, sizes, places, and what depends on what.

    It holds what the datasets say of themselves, as it was when it was told to look, and no secrets. Whatever
    is in it can be had again from the datasets; forgetting one does nothing to the dataset.

    Args:
        url: the path of an SQLite file, which is made if it is not there, or ``postgresql://HOST/DATABASE``;
            by default that of ``SAPWOOD_CATALOG``, else ``~/.local/share/sapwood/catalog.sqlite``.

    Raises:
        UnsupportedTypeError: the catalogue was made by a newer sapwood. This and failures of the database, as
            ``NetworkError``, ``PermissionError``, ``DeadlineError`` (others write for more than 30 s),
            ``CorruptFileError`` or ``ServerError``, are raised by all methods.
    """

    def __init__(self, url: str | os.PathLike[str] | None = None) -> None:
        self._by = default_url() if url is None else os.fspath(url)
        self._database = Database(self._by)

    @property
    def url(self) -> str:
        """Where the catalogue is, without user, password and options."""
        return self._database.shown

    def close(self) -> None:
        """Ends the connections to the database."""
        self._database.close()

    @shows_printable
    def __repr__(self) -> str:
        return f"<Catalog {self.url}>"

    def add(self, url: str | os.PathLike[str], *, name: str | None = None, **options: Any) -> Dataset:
        """Adds a dataset, or a further place of one that is in the catalogue.

        Args:
            url: where it is. A URL must hold no secrets, as the catalogue keeps it.
            name: what to call it; by default the last part of its place.
            options: those of opening a dataset, such as ``deadline``. A ``log`` in a database is remembered,
                without the user and password by which it is reached.

        Raises:
            ConflictError: the catalogue has another dataset of this name or at this place, or the one of this
                identity has another history.
        """
        place = _source.normal(os.fspath(url))
        log = _log_at(place, **options)
        options |= {} if log is None else {"log": log}
        newest = _source.newest(place, options)
        identity = str(newest["dataset"])
        history = _source.read(place, newest, self._known(identity), options)
        wanted = name or place.rstrip("/").rpartition("/")[2] or place
        with self._database.writing() as connection:
            taken = _number(connection, _schema.locations.c.dataset, _schema.locations.c.url == place)
            number = _number(connection, _schema.datasets.c.id, _schema.datasets.c.identity == identity)
            if taken is not None and taken != number:
                raise ConflictError(f"the catalogue has another dataset at {place}: forget that first")
            if number is None:
                self._check_name(connection, wanted)
                number = _changes.add_dataset(connection, identity, wanted, (place, log), history)
            else:
                _changes.record(connection, number, history)
                if taken is None:
                    _changes.add_location(connection, number, place, log)
                else:
                    _changes.set_log(connection, place, log)
            return _queries.dataset(connection, number)

    def refresh(self, *names: str, **options: Any) -> list[Refreshed]:
        """Looks at datasets again, by default at all, and records the versions that are new.

        One that cannot be looked at keeps no other from being looked at: what comes back says so.

        Args:
            names: names or places of datasets.
            options: those of opening a dataset, such as ``deadline``.
        """
        with self._database.reading() as connection:
            numbers = [self._find(connection, name) for name in names] or _all(connection)
            known = [_queries.dataset(connection, number) for number in numbers]
        return [self._refresh(number, one, options) for number, one in zip(numbers, known, strict=True)]

    def datasets(
        self,
        name: str | None = None,
        *,
        product: str | None = None,
        at_least: int | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Dataset]:
        """Datasets in the order of their names.

        Args:
            name: only those with this in their name or place; ``*`` and ``?`` stand for letters, and then the
                whole name or place is meant. Capitals do not matter.
            product: only those whose newest version has such a product; ``*`` and ``?`` as above.
            at_least: only those with such a product that was written by this version, or a later one.
            limit: how many at most.
            offset: how many to leave out.
        """
        return self._page(name, product, at_least, limit, offset)[0]

    def count(
        self, name: str | None = None, *, product: str | None = None, at_least: int | None = None
    ) -> int:
        """How many datasets :meth:`datasets` has without a limit."""
        return self._page(name, product, at_least, 0, 0)[1]

    def having(self, product: str, *, at_least: int | None = None) -> list[Match]:
        """Which datasets have a product, and since when as it is now.

        Args:
            product: its name; ``*`` and ``?`` stand for letters.
            at_least: only where it was written by this version of the dataset, or a later one.
        """
        with self._database.reading() as connection:
            return _queries.having(connection, product, at_least)

    def __getitem__(self, name: str) -> Dataset:
        """The dataset of a name, or at a place."""
        with self._database.reading() as connection:
            return _queries.dataset(connection, self._find(connection, name))

    def place(self, name: str) -> tuple[str, dict[str, Any]]:
        """The first place of a dataset, and options to open it with: its ``log``, if that is elsewhere.

        ``sapwood.open("catalog:ttbar")``, or ``"catalog:ttbar@v12"``, opens what the catalogue of this user
        has.

        Raises:
            KeyInFileError: the catalogue has no such dataset.
        """
        place = self[name].locations[0]
        return place, self._with_log(place, {})

    def versions(self, name: str) -> list[Version]:
        """Versions of a dataset, the newest first."""
        with self._database.reading() as connection:
            return _queries.versions(connection, self._find(connection, name))

    def products(self, name: str, *, version: int | None = None, history: bool = False) -> list[Product]:
        """Products of a dataset in the order of their names.

        Sizes are those of the last version in which the catalogue counted them.

        Args:
            name: name or place of the dataset.
            version: of this version, not of the newest.
            history: all that there ever were.

        Raises:
            KeyInFileError: the catalogue has no such dataset, or no such version of it.
        """
        with self._database.reading() as connection:
            number = self._find(connection, name)
            if version is not None:
                self._check_version(connection, number, name, version)
            return _queries.products(connection, number, version, history)

    def ancestors(self, name: str) -> list[Related]:
        """What a dataset was made of, and what that was made of: files and datasets, the nearest first."""
        with self._database.reading() as connection:
            return _queries.ancestors(connection, self._find(connection, name))

    def descendants(self, name: str) -> list[Related]:
        """Which datasets were made of a dataset, and of these, the nearest first."""
        with self._database.reading() as connection:
            return _queries.descendants(connection, self._find(connection, name))

    def forget(self, name: str) -> None:
        """Takes a dataset, or by its URL one of its places, out of the catalogue; the dataset stays."""
        with self._database.writing() as connection:
            number = self._find(connection, name)
            one, place = _queries.dataset(connection, number), _place(name)
            if name != one.name and place in one.locations and len(one.locations) > 1:
                url = _schema.locations.c.url
                connection.execute(delete(_schema.locations).where(url == place))
                return
            for table in _schema.OF_DATASETS:
                connection.execute(delete(table).where(table.c.dataset == number))
            connection.execute(delete(_schema.datasets).where(_schema.datasets.c.id == number))

    def _with_log(self, place: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with the log of the dataset at a place, if it has one elsewhere and none is given."""
        table = _schema.locations
        with self._database.reading() as connection:
            found = select(table.c.log_url, table.c.log_name).where(table.c.url == place)
            row = connection.execute(found).first()
        if row is None or row.log_url is None or options.get("log") is not None:
            return dict(options)
        # Only of its own database the catalogue knows how it is reached.
        url = self._by if row.log_url == self.url else row.log_url
        return {**options, "log": DatabaseLog(url, row.log_name)}

    def _page(
        self, name: str | None, product: str | None, at_least: int | None, limit: int | None, offset: int
    ) -> tuple[list[Dataset], int]:
        with self._database.reading() as connection:
            return _queries.datasets(connection, name, product, at_least, limit, offset)

    def _known(self, identity: str) -> tuple[int, str] | None:
        """The newest version that is known of a dataset, and its snapshot."""
        table = _schema.datasets
        with self._database.reading() as connection:
            row = connection.execute(
                select(table.c.tip, table.c.snapshot).where(table.c.identity == identity)
            ).first()
        return None if row is None else (row.tip, row.snapshot)

    def _refresh(self, number: int, known: Dataset, options: dict[str, Any]) -> Refreshed:
        error: Exception | None = None
        for place in known.locations:
            try:
                asked = self._with_log(place, options)
                newest = _source.newest(place, asked)
                if newest["dataset"] != known.identity:
                    raise ConflictError(f"another dataset than {known.name} is at {place} now", url=place)
                history = _source.read(place, newest, self._known(known.identity), asked)
                with self._database.writing() as connection:
                    _changes.record(connection, number, history)
                return Refreshed(known.name, known.version, int(history.newest["version"]))
            except (SapwoodError, OSError) as failure:
                error = error or failure
        return Refreshed(known.name, known.version, known.version, error)

    def _find(self, connection: Connection, name: str) -> int:
        table, places = _schema.datasets, _schema.locations
        number = _number(connection, table.c.id, table.c.name == name)
        if number is None and (place := _place(name)) is not None:
            number = _number(connection, places.c.dataset, places.c.url == place)
        if number is None:
            names = connection.scalars(select(table.c.name))
            raise KeyInFileError.not_found("dataset", name, names, f"the catalogue {self.url}")
        return number

    def _check_name(self, connection: Connection, name: str) -> None:
        table = _schema.datasets
        if _number(connection, table.c.id, table.c.name == name) is not None:
            raise ConflictError(
                f"the catalogue has another dataset called {name!r}", hint="give this one another name"
            )

    def _check_version(self, connection: Connection, number: int, name: str, version: int) -> None:
        table = _schema.versions
        known = connection.scalars(select(table.c.version).where(table.c.dataset == number)).all()
        if version not in known:
            names = [f"v{one}" for one in sorted(known, reverse=True)]
            raise KeyInFileError.not_found("version", f"v{version}", names, f"the dataset {name}")


def _log_at(place: str, log: Log = None, deadline: float | None = None, **options: Any) -> DatabaseLog | None:
    return log_of(log, place, open_options(deadline, None, options))


def _all(connection: Connection) -> list[int]:
    table = _schema.datasets
    return list(connection.scalars(select(table.c.id).order_by(table.c.name)))


def _number(connection: Connection, column: Any, condition: Any) -> int | None:
    number: int | None = connection.scalar(select(column).where(condition))
    return number


def _place(name: str) -> str | None:
    """The place that a name may be; None of a URL with secrets, which no catalogue has."""
    if is_url(name) and _core.redact(name) != name:
        return None
    return _source.normal(name)
