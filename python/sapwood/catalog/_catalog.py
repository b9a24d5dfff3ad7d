"""The catalogue: adding, refreshing, finding and forgetting datasets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, select

from .. import _core
from ..display.printable import shows_printable
from ..errors import ConflictError, KeyInFileError, SapwoodError
from ..errors.closing import ClosingContext
from ..history import schema as _schema
from ..history.database import Database, default_url
from ..history.database_log import DatabaseLog
from ..history.logs import Log, log_of
from ..options.paths import is_url
from ..options.reading import open_options
from . import _changes, _queries, _source
from ._records import Dataset, Match, Product, RefreshResult, Related, Version


class Catalog(ClosingContext):
    """A database of datasets: their locations, versions, products, sizes and lineage.

    The catalogue contains a copy of each dataset's own metadata, as of its last refresh, and no secrets.
    Everything in it can be read again from the datasets, and forgetting a dataset does not change it.

    >>> with sapwood.catalog.Catalog("catalog.sqlite") as catalog:          # doctest: +SKIP
    ...     catalog.add("s3://bucket/ttbar", name="ttbar")
    ...     catalog.datasets(product="Muon")

    Args:
        url: the path of an SQLite file, which is created if needed, or ``postgresql://HOST/DATABASE``.
            Default: the environment variable ``SAPWOOD_CATALOG``, else
            ``~/.local/share/sapwood/catalog.sqlite``.

    Raises:
        UnsupportedTypeError: a newer sapwood made the catalogue.
        NetworkError, PermissionError, CorruptFileError, ServerError: the database failed.
        DeadlineError: another writer blocked the database for more than 30 s.

    All methods can raise these errors.
    """

    def __init__(self, url: str | os.PathLike[str] | None = None) -> None:
        self._by = default_url() if url is None else os.fspath(url)
        self._database = Database(self._by)

    @property
    def url(self) -> str:
        """The path or URL of the catalogue, without user, password and options."""
        return self._database.shown

    def close(self) -> None:
        """Closes the connections to the database."""
        self._database.close()

    @shows_printable
    def __repr__(self) -> str:
        return f"<Catalog {self.url}>"

    def add(self, url: str | os.PathLike[str], *, name: str | None = None, **options: Any) -> Dataset:
        """Adds a dataset, or another location of a dataset that is in the catalogue.

        Args:
            url: path or URL of the dataset. A URL must not contain secrets, because the catalogue stores it.
            name: the name in the catalogue. Default: the last part of the path or URL.
            options: options of :func:`sapwood.open`, such as ``deadline``. The catalogue remembers a ``log``
                in a database, but not the user and password for it.

        Returns:
            The dataset as it is now in the catalogue.

        Raises:
            ConflictError: the catalogue has another dataset with this name or location, or knows this dataset
                with a different history.
            FileNotFoundError: there is no dataset at this URL.
            UsageError: the URL contains secrets.
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
                raise ConflictError(
                    f"the catalogue has another dataset at {place}: to replace it, forget it first", url=place
                )
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

    def refresh(self, *names: str, **options: Any) -> list[RefreshResult]:
        """Reads new versions of datasets into the catalogue.

        If a dataset cannot be read, its result contains the error, and the others are still refreshed.

        Args:
            names: names or locations of datasets. Default: all.
            options: options of :func:`sapwood.open`, such as ``deadline``.

        Returns:
            One result per dataset.
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
        """Lists datasets, sorted by name.

        Args:
            name: only datasets whose name or location contains this text. With the wildcards ``*`` and ``?``,
                the whole name or location must match. Case is ignored.
            product: only datasets whose newest version has a product with this name; wildcards are allowed.
            at_least: only datasets with such a product that was written by this version or a later one.
            limit: most results. Default: all.
            offset: number of results to skip.
        """
        return self._page(name, product, at_least, limit, offset)[0]

    def count(
        self, name: str | None = None, *, product: str | None = None, at_least: int | None = None
    ) -> int:
        """Counts the datasets that :meth:`datasets` lists without a limit."""
        return self._page(name, product, at_least, 0, 0)[1]

    def having(self, product: str, *, at_least: int | None = None) -> list[Match]:
        """Finds the datasets whose newest version has a product.

        Args:
            product: the name of the product; the wildcards ``*`` and ``?`` are allowed.
            at_least: only products that were written by this version of the dataset or a later one.
        """
        with self._database.reading() as connection:
            return _queries.having(connection, product, at_least)

    def __getitem__(self, name: str) -> Dataset:
        """The dataset with this name or location."""
        with self._database.reading() as connection:
            return _queries.dataset(connection, self._find(connection, name))

    def place(self, name: str) -> tuple[str, dict[str, Any]]:
        """The first location of a dataset, and the options to open it: ``log`` if its log is in a database.

        To open a dataset of your default catalogue, use ``sapwood.open("catalog:ttbar")`` or
        ``sapwood.open("catalog:ttbar@v12")``.

        Raises:
            KeyInFileError: the catalogue has no such dataset; the message suggests similar names.
        """
        place = self[name].locations[0]
        return place, self._with_log(place, {})

    def versions(self, name: str) -> list[Version]:
        """Lists the versions of a dataset, newest first."""
        with self._database.reading() as connection:
            return _queries.versions(connection, self._find(connection, name))

    def products(self, name: str, *, version: int | None = None, history: bool = False) -> list[Product]:
        """Lists the products of a dataset, sorted by name.

        Sizes are those of the last version in which the catalogue counted them.

        Args:
            name: name or location of the dataset.
            version: the version. Default: the newest.
            history: True to list the products of all versions.

        Raises:
            KeyInFileError: the catalogue has no such dataset, or the dataset has no such version.
        """
        with self._database.reading() as connection:
            number = self._find(connection, name)
            if version is not None:
                self._check_version(connection, number, name, version)
            return _queries.products(connection, number, version, history)

    def ancestors(self, name: str) -> list[Related]:
        """Lists the files and datasets from which a dataset was made, directly or not, nearest first."""
        with self._database.reading() as connection:
            return _queries.ancestors(connection, self._find(connection, name))

    def descendants(self, name: str) -> list[Related]:
        """Lists the datasets that were made from a dataset, directly or not, nearest first."""
        with self._database.reading() as connection:
            return _queries.descendants(connection, self._find(connection, name))

    def forget(self, name: str) -> None:
        """Removes a dataset from the catalogue, without changing the dataset.

        Args:
            name: the name of the dataset. If it is one of several locations of a dataset, only that location
                is removed.
        """
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
        """Adds the log of the dataset to options without one, if the log is in a database."""
        table = _schema.locations
        with self._database.reading() as connection:
            found = select(table.c.log_url, table.c.log_name).where(table.c.url == place)
            row = connection.execute(found).first()
        if row is None or row.log_url is None or options.get("log") is not None:
            return dict(options)
        # Only for its own database does the catalogue know the credentials.
        url = self._by if row.log_url == self.url else row.log_url
        return {**options, "log": DatabaseLog(url, row.log_name)}

    def _page(
        self, name: str | None, product: str | None, at_least: int | None, limit: int | None, offset: int
    ) -> tuple[list[Dataset], int]:
        with self._database.reading() as connection:
            return _queries.datasets(connection, name, product, at_least, limit, offset)

    def _known(self, identity: str) -> tuple[int, str] | None:
        """The newest version of a dataset in the catalogue and its snapshot, or None."""
        table = _schema.datasets
        with self._database.reading() as connection:
            row = connection.execute(
                select(table.c.tip, table.c.snapshot).where(table.c.identity == identity)
            ).first()
        return None if row is None else (row.tip, row.snapshot)

    def _refresh(self, number: int, known: Dataset, options: dict[str, Any]) -> RefreshResult:
        error: Exception | None = None
        for place in known.locations:
            try:
                asked = self._with_log(place, options)
                newest = _source.newest(place, asked)
                if newest["dataset"] != known.identity:
                    raise ConflictError(f"{place} is now another dataset than {known.name}", url=place)
                history = _source.read(place, newest, self._known(known.identity), asked)
                with self._database.writing() as connection:
                    _changes.record(connection, number, history)
                return RefreshResult(known.name, known.version, int(history.newest["version"]))
            except (SapwoodError, OSError) as failure:
                error = error or failure
        return RefreshResult(known.name, known.version, known.version, error)

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
                f"the catalogue has another dataset named {name!r}", hint="choose another name"
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
    """The location that a name may stand for; None for a URL with secrets, which no catalogue contains."""
    if is_url(name) and _core.redact(name) != name:
        return None
    return _source.normal(name)
