"""The cache of blocks, for ``cache=`` of :func:`sapwood.open`: what is in it, is it sound, emptying it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from .. import _core
from ..errors import UsageError
from ..errors.core import core_errors
from .blocks import CACHE_VARIABLE, cache_directory

__all__ = ["CachedFile", "Verified", "clear", "contents", "verify"]


@dataclass(frozen=True)
class CachedFile:
    """What a cache has of one file.

    Attributes:
        url: its URL, without secrets; empty if the record of it was lost.
        size: bytes of the file, when it was opened last.
        blocks: blocks that are kept, of all its versions.
        nbytes: bytes on the disk, of all its versions.
        used: when any of it was used last.
    """

    url: str
    size: int
    blocks: int
    nbytes: int
    used: datetime | None


@dataclass(frozen=True)
class Verified:
    """What verifying a cache has shown.

    Attributes:
        sound: number of sound blocks.
        nbytes: their bytes.
        damaged: files that were not sound; they are removed.
    """

    sound: int
    nbytes: int
    damaged: tuple[Path, ...]


def contents(directory: str | os.PathLike[str] | None = None) -> list[CachedFile]:
    """What is in a cache, the file used last first.

    Args:
        directory: the cache; by default, that of the environment variable ``SAPWOOD_CACHE``.
    """
    with core_errors():
        found = _core.cache_contents(_existing(directory))
    return [
        CachedFile(
            url, size, blocks, nbytes, None if used is None else datetime.fromtimestamp(used, timezone.utc)
        )
        for url, size, blocks, nbytes, used in found
    ]


def verify(directory: str | os.PathLike[str] | None = None) -> Verified:
    """Reads all blocks of a cache, and removes those that are damaged: they will be fetched again.

    Args:
        directory: the cache; by default, that of the environment variable ``SAPWOOD_CACHE``.
    """
    with core_errors():
        sound, nbytes, damaged = _core.cache_verify(_existing(directory))
    return Verified(sound, nbytes, tuple(Path(path) for path in damaged))


def clear(directory: str | os.PathLike[str] | None = None, *, url: str | None = None) -> int:
    """Empties a cache. Files that are open read on.

    Args:
        directory: the cache; by default, that of the environment variable ``SAPWOOD_CACHE``.
        url: remove what is kept of this file only.

    Returns:
        The bytes that this freed.
    """
    with core_errors():
        return _core.cache_clear(_existing(directory), url)


def _existing(directory: str | os.PathLike[str] | None) -> str:
    path = cache_directory(directory)
    if path is None:
        raise UsageError(f"which cache? Name its directory, or set {CACHE_VARIABLE}")
    if not os.path.isdir(path):
        raise FileNotFoundError(f"there is no cache in {path}")
    return path
