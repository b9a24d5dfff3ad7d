"""The cache of blocks and columns (``cache=`` of :func:`sapwood.open`): list, verify and clear it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from .. import _core
from ..errors import FileNotFoundError, UsageError
from ..errors.core import core_errors
from .blocks import CACHE_VARIABLE, cache_directory

__all__ = ["CachedFile", "Verified", "clear", "contents", "verify"]


@dataclass(frozen=True)
class CachedFile:
    """The part of a cache that belongs to one file.

    Attributes:
        url: its URL, without secrets; empty if the record of the URL was lost.
        size: bytes of the file when it was last opened.
        blocks: number of blocks, of all its versions.
        nbytes: bytes on disk, of all its versions.
        used: when any of it was last used.
        columns: number of decoded columns, of all its versions.
    """

    url: str
    size: int
    blocks: int
    nbytes: int
    used: datetime | None
    columns: int = 0


@dataclass(frozen=True)
class Verified:
    """The result of verifying a cache.

    Attributes:
        sound: number of sound files: blocks, and pieces of columns.
        nbytes: their bytes.
        damaged: damaged files, which were removed.
    """

    sound: int
    nbytes: int
    damaged: tuple[Path, ...]


def contents(directory: str | os.PathLike[str] | None = None) -> list[CachedFile]:
    """The files in a cache, the most recently used first.

    Args:
        directory: the cache; by default, that of the environment variable ``SAPWOOD_CACHE``.
    """
    with core_errors():
        found = _core.cache_contents(_existing(directory))
    return [
        CachedFile(url, size, blocks, nbytes, _time(used), columns)
        for url, size, blocks, columns, nbytes, used in found
    ]


def verify(directory: str | os.PathLike[str] | None = None) -> Verified:
    """Reads everything in a cache, and removes what is damaged; it will be fetched or decoded again.

    Args:
        directory: the cache; by default, that of the environment variable ``SAPWOOD_CACHE``.
    """
    with core_errors():
        sound, nbytes, damaged = _core.cache_verify(_existing(directory))
    return Verified(sound, nbytes, tuple(Path(path) for path in damaged))


def clear(directory: str | os.PathLike[str] | None = None, *, url: str | None = None) -> int:
    """Clears a cache. Open files stay readable.

    Args:
        directory: the cache; by default, that of the environment variable ``SAPWOOD_CACHE``.
        url: clear only what is kept of this file.

    Returns:
        The number of freed bytes.
    """
    with core_errors():
        return _core.cache_clear(_existing(directory), url)


def _time(used: float | None) -> datetime | None:
    return None if used is None else datetime.fromtimestamp(used, timezone.utc)


def _existing(directory: str | os.PathLike[str] | None) -> str:
    path = cache_directory(directory)
    if path is None:
        raise UsageError(
            f"no cache is given: name its directory (-d on the command line), or set {CACHE_VARIABLE}"
        )
    if not os.path.isdir(path):
        raise FileNotFoundError(f"there is no cache in {path!r}", url=path)
    return path
