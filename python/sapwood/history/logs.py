"""Finds the log of a dataset in a database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, Union

from .. import _core
from ..errors import ArgumentTypeError, FileNotFoundError, UsageError
from ..errors.core import core_errors
from ..options.reading import OpenOptions

if TYPE_CHECKING:
    from .database_log import DatabaseLog

Log: TypeAlias = Union["DatabaseLog", str, "os.PathLike[str]", None]
"""A log, the path or URL of the database that contains it, or None for a log in the dataset's store."""


def log_of(log: Log, place: str, options: OpenOptions, *, tree: str | None = None) -> DatabaseLog | None:
    """The log of a dataset in a database, or None if the log is in the dataset's store.

    Args:
        log: a log, or the path or URL of a database, in which the log is found by the dataset's identity.
        place: path or URL of the dataset, without a version.
        options: how to reach the store.
        tree: the path of the tree, if the dataset is to be created; this gives it an identity.

    Raises:
        FileNotFoundError: there is no dataset at this place.
    """
    if not isinstance(log, (str, os.PathLike)):
        if log is None or hasattr(log, "create"):
            return log
        raise ArgumentTypeError(f"'log' must be a log, or the path or URL of its database, not {log!r}")
    if "\0" in os.fspath(log):
        raise UsageError(f"'log' must be the path or URL of a database, not {log!r}")
    # Imported here because only logs in databases need SQLAlchemy.
    from .database_log import DatabaseLog

    with core_errors():
        store = _core.Stripes(place, options.deadline, options.for_core())
        identity = store.identity(tree)
    if identity is None:
        raise FileNotFoundError(f"there is no dataset at {store.url}", url=store.url)
    return DatabaseLog(log, identity)


def without_version(path: str) -> str:
    """Removes the version from the path or URL of a dataset, if there is one.

    >>> without_version("s3://bucket/ttbar@v12"), without_version("/data@home/ttbar")
    ('s3://bucket/ttbar', '/data@home/ttbar')
    """
    folder, slash, name = path.rpartition("/")
    place, at, _ = name.rpartition("@")
    return folder + slash + (place if at else name)
