"""What ``lazy_download=`` and ``cache=`` say: reading files in large blocks that are kept on the disk."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from ..errors import UsageError
from .memory import memory_size

NAMES: Final = ("lazy_download", "scratch_size", "cache", "cache_size", "cache_max_age")
"""The options of this kind."""

CACHE_VARIABLE: Final = "SAPWOOD_CACHE"
"""Names the directory of the cache, where no option does."""

SIZE_VARIABLE: Final = "SAPWOOD_CACHE_SIZE"
"""Says how large the cache may be, where no option does."""

_LEAST_BLOCK: Final = 4096


@dataclass(frozen=True)
class Blocks:
    """How files are read in blocks. What is None is left to the core.

    Attributes:
        block: bytes of a block.
        scratch: most bytes of the temporary file of each open file.
        cache: directory where blocks are kept longer than the file is open.
        cache_size: most bytes in it.
        cache_max_age: seconds for which a version that was seen is taken for the current one.
    """

    block: int | None = None
    scratch: int | None = None
    cache: str | None = None
    cache_size: int | None = None
    cache_max_age: float | None = None

    @property
    def asked(self) -> bool:
        """Whether they were asked for by the options, not by the environment alone."""
        return self.block is not None or self.cache is None or self.cache != cache_directory()

    def for_core(self) -> dict[str, Any]:
        """The options that the core is handed."""
        return {"blocks": {name: value for name, value in vars(self).items() if value is not None}}


def block_options(options: Mapping[str, Any]) -> Blocks | None:
    """Checks the options with these names. None if files are not to be read in blocks."""
    lazy = options.get("lazy_download")
    cache = options.get("cache")
    if lazy is False:
        if cache is not None and cache is not False:
            raise UsageError("a cache keeps blocks: lazy_download=False and cache= contradict each other")
        return None
    directory = cache_directory(cache)
    if lazy is None and directory is None:
        return None
    size = options.get("cache_size")
    if size is None:
        size = os.environ.get(SIZE_VARIABLE) or None
    return Blocks(
        block=None if lazy is None or lazy is True else _size("lazy_download", lazy, _LEAST_BLOCK),
        scratch=_size("scratch_size", options.get("scratch_size"), 0),
        cache=directory,
        cache_size=_size("cache_size", size, 0),
        cache_max_age=_seconds(options.get("cache_max_age")),
    )


def cache_directory(cache: Any = None) -> str | None:
    """The directory that an option names, or else the environment. None if there is to be no cache."""
    if cache is False:
        return None
    if cache is None or cache is True:
        named = os.environ.get(CACHE_VARIABLE) or None
        if cache is True and named is None:
            raise UsageError(f"cache=True takes the directory from {CACHE_VARIABLE}, which is not set")
        cache = named
    if cache is None:
        return None
    if not isinstance(cache, (str, os.PathLike)):
        raise TypeError(f"'cache' is the path of a directory, not {cache!r}")
    return os.path.abspath(os.path.expanduser(os.fspath(cache)))


def _size(name: str, size: Any, least: int) -> int | None:
    if size is None:
        return None
    if isinstance(size, str) and size.strip().isdigit():
        size = int(size)
    found = memory_size(size)
    if found < least:
        raise UsageError(f"{name!r} is at least {least} bytes, not {found}")
    return found


def _seconds(age: Any) -> float | None:
    if age is None:
        return None
    if isinstance(age, timedelta):
        age = age.total_seconds()
    if isinstance(age, bool) or not isinstance(age, (int, float)):
        raise TypeError(f"'cache_max_age' is a number of seconds or a timedelta, not {age!r}")
    if not age >= 0:
        raise UsageError(f"'cache_max_age' is a number of seconds, at least 0, not {age!r}")
    # Infinity: for ever.
    return min(float(age), 1e15) if math.isinf(age) else float(age)
