"""Connects to SQLite and PostgreSQL: locations, transactions, and errors as sapwood's exceptions."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url, text

from ..errors import (
    ConflictError,
    CorruptFileError,
    DeadlineError,
    NetworkError,
    PermissionError,
    ReadError,
    SapwoodError,
    ServerError,
    UsageError,
)
from ..errors.core import invalid_text
from ..options.outputs import DATABASE, check_name
from ..options.paths import is_url
from . import schema as _schema

VARIABLE = "SAPWOOD_CATALOG"
WAIT_SECONDS = 30
"""Seconds to wait for other writers, and for a statement on a server."""
CONNECT_SECONDS = 10
_WRITER_LOCK = 0x736170776F6F64
"""The advisory lock of PostgreSQL that every change of a catalogue holds; such transactions are short."""


def default_url() -> str:
    """The catalogue named by the environment variable ``SAPWOOD_CATALOG``, else a file of this user."""
    if given := os.environ.get(VARIABLE):
        return given
    base = os.environ.get("XDG_DATA_HOME", "")
    folder = Path(base) if os.path.isabs(base) else Path.home() / ".local/share"
    return str(folder / "sapwood/catalog.sqlite")


def now_ms() -> int:
    """The current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Database:
    """An SQLite file or a PostgreSQL database, to which it connects on demand.

    Attributes:
        shown: the path or URL without user, password and options.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        parsed = _parse(os.fspath(url))
        self.shown = _shown(parsed)
        self._secret = parsed.password
        self._path = Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None
        if self._path:
            check_name(self._path, DATABASE)
        self._engine = _sqlite(parsed) if self._path else _postgresql(parsed)
        self._ready = False
        self._process = os.getpid()
        # Close connections when this object is garbage collected without being closed.
        weakref.finalize(self, self._engine.dispose)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction."""
        self._prepare()
        with self._failures(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self, *, alone: bool = True) -> Iterator[Connection]:
        """A read-write transaction; with ``alone``, other such transactions wait until it ends."""
        self._prepare()
        with self._begin(alone) as connection:
            yield connection

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _begin(self, alone: bool) -> Iterator[Connection]:
        writer = self._engine.execution_options(writes=True)
        with self._failures(), writer.begin() as connection:
            if alone and self._path is None:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})"))
            yield connection

    def _prepare(self) -> None:
        """Creates or upgrades the tables, once. Read-only users need up-to-date tables."""
        if self._process != os.getpid():
            # After a fork, the connections belong to the parent, which still uses them.
            self._engine.dispose(close=False)
            self._process = os.getpid()
        if self._ready:
            return
        if self._path:
            with self._failures():
                self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._failures(), self._engine.connect() as connection, connection.begin():
            version = _schema.version_of(connection)
        if version is not None:
            _schema.check_version(version, self.shown)
        if version != _schema.VERSION:
            with self._begin(alone=True) as connection:
                # Another process may have upgraded the tables in the meantime.
                if _schema.version_of(connection) != _schema.VERSION:
                    _schema.upgrade(connection)
        self._ready = True

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            raise self._failure(error) from None
        except UnicodeEncodeError as error:
            raise invalid_text(error.object) from None
        except exc.TimeoutError:
            raise DeadlineError(
                f"catalogue {self.shown}: too many threads use it at the same time", url=self.shown
            ) from None
        except OSError as error:
            if isinstance(error, SapwoodError):
                raise
            raise ReadError(f"catalogue {self.shown}: {error.strerror or error}", url=self.shown) from None

    def _failure(self, error: exc.DBAPIError) -> SapwoodError:
        lines = str(error.orig).strip().splitlines()
        reason = lines[0] if lines else type(error.orig).__name__
        if self._secret:
            reason = reason.replace(self._secret, "…")
        kind = _kind_of(error)
        return kind(f"catalogue {self.shown}: {reason}", url=self.shown)


def _kind_of(error: exc.DBAPIError) -> type[SapwoodError]:
    origin = error.orig
    if isinstance(error, exc.IntegrityError):
        return ConflictError
    if isinstance(origin, sqlite3.Error):
        code = getattr(origin, "sqlite_errorname", "") or str(origin)
        if "BUSY" in code or "LOCKED" in code or "locked" in code:
            return DeadlineError
        if "READONLY" in code or "readonly" in code:
            return PermissionError
        damaged = any(word in code for word in ("NOTADB", "CORRUPT", "not a database", "malformed"))
        return CorruptFileError if damaged else ReadError
    state = getattr(origin, "sqlstate", None)
    if state is None or state.startswith("08"):
        return NetworkError
    if state in ("57014", "55P03"):
        return DeadlineError
    return PermissionError if state in ("42501", "28000", "28P01") else ServerError


def _parse(url: str) -> URL:
    if not is_url(url):
        return URL.create("sqlite", database=os.path.abspath(os.path.expanduser(url)))
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (exc.ArgumentError, exc.NoSuchModuleError, ValueError):
        backend = ""
    if backend == "postgres":
        parsed, backend = parsed.set(drivername="postgresql"), "postgresql"
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and parsed.database and parsed.database != ":memory:":
        return URL.create("sqlite", database=os.path.abspath(parsed.database))
    scheme = re.split("[:/]", url, maxsplit=1)[0]
    raise UsageError(
        f"a catalogue must be the path of an SQLite file or postgresql://HOST/DATABASE, not {scheme}://…"
    )


def _shown(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    place = f"{url.host or url.query.get('host', '')}{f':{url.port}' if url.port else ''}"
    return f"postgresql://{place}/{url.database or ''}"


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS})

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _: object) -> None:
        # Let transactions begin explicitly (see below), not implicitly at the first change.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Writers lock at once: two transactions that read before they write would block each other.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    limits = f"-c lock_timeout={WAIT_SECONDS}s -c statement_timeout={WAIT_SECONDS}s"
    given = url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} {limits}".strip()
    arguments = {"connect_timeout": CONNECT_SECONDS, "options": options}
    try:
        return create_engine(url, connect_args=arguments, pool_pre_ping=True)
    except ImportError:
        raise ImportError(
            "a catalogue in PostgreSQL requires psycopg: pip install 'sapwood[postgresql]'"
        ) from None
