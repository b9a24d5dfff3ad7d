"""Options of lazy download and caches: ``lazy_download=``, ``cache=`` and those that belong to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from .. import _core
from ..errors import ArgumentTypeError, UsageError
from .memory import memory_size

NAMES: Final = ("lazy_download", "scratch_size", "cache", "cache_form", "cache_size", "cache_max_age")
"""The names of these options."""

CACHE_VARIABLE: Final = "SAPWOOD_CACHE"
"""Environment variable with the directory of the cache, for files opened without ``cache=``."""

SIZE_VARIABLE: Final = "SAPWOOD_CACHE_SIZE"
"""Environment variable with the size of the cache, for files opened without ``cache_size=``."""

FORM_VARIABLE: Final = "SAPWOOD_CACHE_FORM"
"""Environment variable with the form of the cache, for files opened without ``cache_form=``."""

_FORMS: Final = ("blocks", "columns")


@dataclass(frozen=True)
class BlockOptions:
    """How to read files in blocks. The core has the defaults of options that are None.

    Attributes:
        block_size: bytes of a block.
        scratch_size: most bytes of the temporary file of each open file.
        cache: directory in which blocks are kept after the file is closed.
        cache_size: most bytes in it.
        cache_max_age: seconds for which a version that was seen counts as the current one.
    """

    block_size: int | None = None
    scratch_size: int | None = None
    cache: str | None = None
    cache_size: int | None = None
    cache_max_age: float | None = None

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Two fields had other names in older pickles.
        renamed = {"block": "block_size", "scratch": "scratch_size"}
        self.__dict__.update({renamed.get(name, name): value for name, value in state.items()})

    @property
    def is_explicit(self) -> bool:
        """Whether options asked for them, not only the environment."""
        return self.block_size is not None or self.cache is None or self.cache != cache_directory()

    def for_core(self) -> _core.BlockOptions:
        """These options, as the core takes them."""
        return _core.BlockOptions(
            block_size=self.block_size,
            scratch_size=self.scratch_size,
            cache=self.cache,
            cache_size=self.cache_size,
            cache_max_age=self.cache_max_age,
        )


Blocks = BlockOptions
"""The former name, which older pickles have."""


@dataclass(frozen=True)
class ColumnCache:
    """Where decoded columns are kept. The core has the default of a size that is None.

    Attributes:
        directory: the directory of the cache.
        size: most bytes in it.
    """

    directory: str
    size: int | None = None

    @property
    def is_explicit(self) -> bool:
        """Whether options asked for it, not only the environment."""
        return self.directory != cache_directory()

    def for_core(self) -> tuple[str, int | None]:
        """These options, as the core takes them."""
        return self.directory, self.size


def column_cache(options: Mapping[str, Any]) -> ColumnCache | None:
    """Checks the options with these names. None if decoded columns are not kept."""
    directory = cache_directory(options.get("cache"))
    if _cache_form(options) != "columns" or directory is None:
        return None
    if options.get("cache_max_age") is not None:
        raise UsageError("'cache_max_age' applies only to a cache of blocks: see 'cache_form'")
    return ColumnCache(directory, _cache_size(options))


def block_options(options: Mapping[str, Any]) -> BlockOptions | None:
    """Checks the options with these names. None if files are not read in blocks."""
    lazy_download = options.get("lazy_download")
    cache = options.get("cache") if _cache_form(options) == "blocks" else False
    if lazy_download is False:
        if cache is not None and cache is not False:
            raise UsageError("a cache keeps blocks: lazy_download=False and cache= contradict each other")
        return None
    directory = cache_directory(cache)
    if lazy_download is None and directory is None:
        return None
    block_size = None if lazy_download is True else lazy_download
    return BlockOptions(
        block_size=_size("lazy_download", block_size, _core.smallest_block),
        scratch_size=_size("scratch_size", options.get("scratch_size"), 0),
        cache=directory,
        cache_size=_cache_size(options),
        cache_max_age=_seconds(options.get("cache_max_age")),
    )


def _cache_form(options: Mapping[str, Any]) -> str:
    form = options.get("cache_form")
    name = repr("cache_form") if form is not None else FORM_VARIABLE
    if form is None:
        form = os.environ.get(FORM_VARIABLE) or "blocks"
    if not isinstance(form, str) or form not in _FORMS:
        raise UsageError(f"{name} must be 'blocks' or 'columns', not {form!r}")
    return form


def _cache_size(options: Mapping[str, Any]) -> int | None:
    size = options.get("cache_size")
    if size is None:
        size = os.environ.get(SIZE_VARIABLE) or None
    return _size("cache_size", size, 0)


def cache_directory(cache: Any = None) -> str | None:
    """The directory that an option names, or else the environment. None if there is no cache."""
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
        raise ArgumentTypeError(f"'cache' must be the path of a directory, not {cache!r}")
    return os.path.abspath(os.path.expanduser(os.fspath(cache)))


def _size(name: str, size: Any, minimum: int) -> int | None:
    if size is None:
        return None
    if isinstance(size, str) and size.strip().isdigit():
        size = int(size)
    found = memory_size(size)
    if found < minimum:
        raise UsageError(f"{name!r} must be at least {minimum} bytes, not {found}")
    return found


def _seconds(age: Any) -> float | None:
    if age is None:
        return None
    if isinstance(age, timedelta):
        age = age.total_seconds()
    if isinstance(age, bool) or not isinstance(age, (int, float)):
        raise ArgumentTypeError(f"'cache_max_age' must be a number of seconds or a timedelta, not {age!r}")
    if not age >= 0:
        raise UsageError(f"'cache_max_age' must be a number of seconds, at least 0, not {age!r}")
    return float(age)
