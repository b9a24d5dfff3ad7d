"""Describes datasets: the content of a version, and the log of versions."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors.core import core_errors
from ..options.paths import is_url
from ..options.reading import open_options
from .logs import Log, log_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import DatasetKeywords


def describe(
    url: str | os.PathLike[str],
    *,
    version: int | str | None = None,
    sizes: bool = True,
    log: Log = None,
    deadline: float | None = None,
    **options: Unpack[DatasetKeywords],
) -> dict[str, Any]:
    """Describes a version of a dataset: its products, segments and tags, and how it was made.

    Args:
        url: path or URL of the dataset.
        version: a version number or a tag. Default: the newest.
        sizes: True to include bytes and objects of each product, the identity of the dataset, and all its
            tags. This takes one request for each object that lists stripes.
        log: the log, if it is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the URL of the
            database.
        deadline: seconds that the call may take. Default: one hour.
        options: for object stores, as in :func:`sapwood.open`.

    Returns:
        A dict of values that JSON can represent.

    Raises:
        FileNotFoundError: there is no dataset at this URL.
        KeyInFileError: the version does not exist, or has expired.
    """
    named = f"v{version}" if isinstance(version, int) else version
    settings, place = open_options(deadline, None, options, describe), place_of(url)
    database = log_of(log, place, settings)
    with core_errors():
        text = _core.describe_dataset(place, named, sizes, settings.deadline, settings.for_core(), database)
    description: dict[str, Any] = json.loads(text)
    return description


def log(
    url: str | os.PathLike[str],
    *,
    after: int = 0,
    log: Log = None,
    deadline: float | None = None,
    **options: Unpack[DatasetKeywords],
) -> list[dict[str, Any]]:
    """Reads the log of a dataset: one dict for each version, oldest first.

    Args:
        url: path or URL of the dataset.
        after: return only versions after this one.
        log: the log, if it is in a database: a :class:`sapwood.catalog.DatabaseLog`, or the URL of the
            database.
        deadline: seconds that the call may take. Default: one hour.
        options: for object stores, as in :func:`sapwood.open`.

    Raises:
        FileNotFoundError: there is no dataset at this URL.
    """
    settings, place = open_options(deadline, None, options), place_of(url)
    database = log_of(log, place, settings)
    with core_errors():
        text = _core.dataset_log(place, after, settings.deadline, settings.for_core(), database)
    entries: list[dict[str, Any]] = json.loads(text)
    return entries


def place_of(url: str | os.PathLike[str]) -> str:
    """The location of a dataset in a canonical form: a URL or an absolute path."""
    place = os.fspath(url)
    return place if is_url(place) else os.path.abspath(os.path.expanduser(place))
