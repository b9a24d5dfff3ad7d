"""The bytes of files of any format, with sapwood's transport: replicas, blocks on the local disk, retries."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .. import _core
from ..errors import UsageError
from ..errors.closing import ClosingContext
from ..errors.core import core_errors
from ..model.file import File
from ..options.paths import check_exists, is_url
from ..options.reading import OpenOptions
from .pool import Pool


class RawFile(ClosingContext):
    """An open file of any format. Several threads may use it at the same time."""

    def __init__(self, location: str, options: OpenOptions) -> None:
        replicas = options.replicas_of(location)
        if not is_url(location):
            location = os.path.expanduser(location)
            if not replicas:
                check_exists(location)
            if os.path.isdir(location):
                raise IsADirectoryError(f"{location!r} is a directory")
        self._options = options
        self._closed = False
        with core_errors():
            given = options.for_core(replicas)
            self._core = _core.RawFile.open(location, deadline=options.deadline, options=given)

    @classmethod
    def of(cls, file: File) -> RawFile:
        """The bytes of an open ROOT file, over its connection. They end with the file."""
        self = cls.__new__(cls)
        self._options, self._closed, self._core = file.options, False, file.raw()
        return self

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._core.size

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._closed

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of ranges (first byte, end), fetched together; the parts beyond the file are empty.

        Raises:
            UsageError: a position is negative.
        """
        size, wanted = self.size, []
        for start, stop in ranges:
            if start < 0 or stop < 0:
                raise UsageError(f"positions in a file must not be negative, but are {start} and {stop}")
            first = min(start, size)
            wanted.append((first, max(0, min(stop, size) - first)))
        with core_errors():
            return self._core.read(wanted, deadline=self._options.deadline)

    def counters(self) -> dict[str, int]:
        """What reading has cost so far, by the names of ``_core.File.counters``."""
        return self._core.counters()

    def close(self) -> None:
        """Closes the file."""
        self._closed = True
        self._core.close()


class RawPool(Pool[RawFile]):
    """A pool of files of any format."""

    def open(self, location: str, options: OpenOptions) -> RawFile:
        """Opens a file."""
        return RawFile(location, options)


RAW_POOL = RawPool()
"""The pool of this process."""
