"""Logs of datasets that are in a database: one that is given, or the one that has the name of the dataset."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, Union

from .. import _core
from ..errors import FileNotFoundError
from ..errors.core import core_errors
from ..options.reading import OpenOptions

if TYPE_CHECKING:
    from .database_log import DatabaseLog

Log: TypeAlias = Union["DatabaseLog", str, "os.PathLike[str]", None]
"""A log, or the URL of the database that has it."""


def log_of(log: Log, place: str, options: OpenOptions, *, tree: str | None = None) -> DatabaseLog | None:
    """The log of the dataset at a place; None if it is in its store.

    Args:
        log: as users say it. In the database of a URL, the log is found by the identity of the dataset.
        place: where the dataset is, without a version.
        options: for the store.
        tree: that of a dataset which is to be created: it gets its identity now.
    """
    if log is None or not isinstance(log, (str, os.PathLike)):
        return log
    # SQLAlchemy is needed by logs in databases only.
    from .database_log import DatabaseLog

    with core_errors():
        store = _core.Stripes(place, options.deadline, options.for_core())
        identity = store.identity(tree)
    if identity is None:
        raise FileNotFoundError(f"there is no dataset at {store.url}", url=store.url)
    return DatabaseLog(log, identity)


def without_version(path: str) -> str:
    """The place of a dataset of which a version may be named.

    >>> without_version("s3://bucket/ttbar@v12"), without_version("/data@home/ttbar")
    ('s3://bucket/ttbar', '/data@home/ttbar')
    """
    folder, slash, name = path.rpartition("/")
    place, at, _ = name.rpartition("@")
    return folder + slash + (place if at else name)
