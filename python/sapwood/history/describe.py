"""What datasets say of themselves: what a version holds, and their log."""

from __future__ import annotations

import json
import os
from typing import Any

from .. import _core
from ..errors.core import core_errors
from ..options.paths import is_url
from ..options.reading import open_options
from .logs import Log, log_of


def describe(
    url: str | os.PathLike[str],
    *,
    version: int | str | None = None,
    sizes: bool = True,
    log: Log = None,
    deadline: float | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What a version of a dataset holds, as JSON has it: its products, segments, tags, and how it came to be.

    Args:
        url: where the dataset is.
        version: a number, or a tag; by default the newest.
        sizes: tell the bytes and objects of each product, too, which takes a request for each object that has
            lists of stripes; and the identity of the dataset, and all its tags.
        log: its log, if that is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the database's URL.
        deadline: seconds that it may take; by default an hour.
        options: for object stores, as of :func:`sapwood.open`.

    Raises:
        FileNotFoundError: there is no dataset.
        KeyInFileError: it has no such version, or has it no more.
    """
    named = f"v{version}" if isinstance(version, int) else version
    asked, place = open_options(deadline, None, options), place_of(url)
    database = log_of(log, place, asked)
    with core_errors():
        told = _core.describe_dataset(place, named, sizes, asked.deadline, asked.for_core(), database)
    described: dict[str, Any] = json.loads(told)
    return described


def log(
    url: str | os.PathLike[str],
    *,
    after: int = 0,
    log: Log = None,
    deadline: float | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """The log of a dataset, as JSON has it: an entry for each version, the oldest first.

    Args:
        url: where the dataset is.
        after: only versions after this one.
        log: the log, if that is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the database's URL.
        deadline: seconds that it may take; by default an hour.
        options: for object stores, as of :func:`sapwood.open`.

    Raises:
        FileNotFoundError: there is no dataset.
    """
    asked, place = open_options(deadline, None, options), place_of(url)
    database = log_of(log, place, asked)
    with core_errors():
        told = _core.dataset_log(place, after, asked.deadline, asked.for_core(), database)
    entries: list[dict[str, Any]] = json.loads(told)
    return entries


def place_of(url: str | os.PathLike[str]) -> str:
    """The one form of the place of a dataset: a URL, or an absolute path."""
    place = os.fspath(url)
    return place if is_url(place) else os.path.abspath(os.path.expanduser(place))
