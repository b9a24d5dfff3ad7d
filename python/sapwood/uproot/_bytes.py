"""A source of uproot whose bytes come from an open file of sapwood."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, closing
from queue import Queue
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, finalize

import uproot
from uproot.source.chunk import Chunk, Source, SourcePerformanceCounters
from uproot.source.fsspec import FSSpecSource
from uproot.source.futures import TrivialFuture

from ..display.printable import shows_printable
from ..errors import SapwoodError
from ..model.file import File
from ..opening.pool import POOL
from ..opening.raw import RawFile
from ..options.reading import OpenOptions, open_options
from ._log import left

_URL = re.compile(r"(https?|root|roots|s3)://")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?//|.*::")
# Public shares of ownCloud and Nextcloud, which uproot downloads because they answer range requests wrongly.
_DOWNLOADED = re.compile(r"https?://.+/remote\.php/dav/public-files/")


_COUNTED: WeakSet[File] = WeakSet()
"""Open files whose counters somebody has begun to look at."""
_NOTHING = {"requests": 0, "fetched_bytes": 0}


_KEPT: WeakKeyDictionary[File, dict[tuple[int, int], bytes]] = WeakKeyDictionary()
"""The first ranges of open files that uproot asked for: headers, directories and keys."""
_MOST_KEPT = 1_000_000


class SapwoodSource(Source):  # type: ignore[misc]
    """The bytes of a file, over the connection that its trees are read with.

    Where sapwood cannot open the file, the constructor returns uproot's own source, which opens it or raises.

    Attributes:
        opened: the file of sapwood.
    """

    def __new__(cls, file_path: str, **options: Any) -> Any:
        lease = ExitStack()
        opened = open_file(file_path, options, lease)
        if opened is None:
            return FSSpecSource(file_path, **options)
        self = super().__new__(cls)
        self.opened = opened
        self._close = finalize(self, lease.close)
        return self

    def __init__(self, file_path: str, **options: Any) -> None:
        super().__init__()
        self._file_path, self._options = file_path, options
        self._raw = RawFile.of(self.opened)
        self._num_bytes = self._raw.size
        # Whoever opened the file has counted what was requested before.
        self._before = self._raw.counters() if self.opened in _COUNTED else _NOTHING
        _COUNTED.add(self.opened)

    def __reduce__(self) -> tuple[Any, ...]:
        # Refuses if the URL or the options are secret.
        self.opened.__reduce__()
        return _reopened, (self._file_path, self._options)

    @shows_printable
    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.opened.file_path[-10:]!r} at 0x{id(self):012x}>"

    def chunk(self, start: int, stop: int) -> Chunk:
        """The bytes of a range."""
        return self._chunks([(start, stop)])[0]

    def chunks(self, ranges: list[tuple[int, int]], notifications: Queue[Chunk]) -> list[Chunk]:
        """The bytes of ranges, fetched together."""
        chunks = self._chunks(ranges)
        for chunk in chunks:
            notifications.put(chunk)
        return chunks

    def _chunks(self, ranges: list[tuple[int, int]]) -> list[Chunk]:
        if self.closed:
            raise OSError(f"file {self.opened.file_path!r} is closed")
        self._num_requested_chunks += len(ranges)
        wanted = [(int(start), int(stop)) for start, stop in ranges]
        found = self._kept_or_read(wanted)
        return [Chunk(self, start, stop, TrivialFuture(found[start, stop])) for start, stop in wanted]

    def _kept_or_read(self, wanted: list[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """The bytes of ranges; whoever opens the file after others reads its keys from memory."""
        kept = _KEPT.setdefault(self.opened, {})
        missing = [one for one in wanted if one not in kept]
        try:
            new = dict(zip(missing, self._raw.read(missing), strict=True)) if missing else {}
        except SapwoodError:
            POOL.forget(self.opened)
            raise
        found = {one: new[one] if one in new else kept[one] for one in wanted}
        if sum(map(len, kept.values())) + sum(map(len, new.values())) <= _MOST_KEPT:
            kept.update(new)
        return found

    @property
    def num_requests(self) -> int:
        """Requests sent to the server or the disk so far, for trees, too."""
        return self._raw.counters()["requests"] - self._before["requests"]

    @property
    def num_requested_bytes(self) -> int:
        """Bytes requested so far, for trees, too."""
        return self._raw.counters()["fetched_bytes"] - self._before["fetched_bytes"]

    @property
    def performance_counters(self) -> SourcePerformanceCounters:
        """Bytes and requests, for trees, too, and the chunks that uproot itself asked for."""
        return SourcePerformanceCounters(
            self.num_requested_bytes, self.num_requests, self._num_requested_chunks
        )

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return not self._close.alive or self.opened.closed

    def __enter__(self) -> SapwoodSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _reopened(file_path: str, options: dict[str, Any]) -> Source:
    return SapwoodSource(file_path, **options)


def open_file(file_path: str, options: dict[str, Any], lease: ExitStack) -> File | None:
    """The file at a path or URL, opened by sapwood until the lease ends; None if that is left to uproot.

    A file on a server stays open for a while after that, for its next reader.
    """
    try:
        if _SCHEME.match(file_path) and (not _URL.match(file_path) or _DOWNLOADED.match(file_path)):
            raise NotImplementedError("sapwood has no such protocol")
        chosen = _translated(file_path, options)
        if _URL.match(file_path):
            file: File = lease.enter_context(POOL.borrow(file_path, chosen))
        else:
            file = lease.enter_context(closing(File(file_path, chosen)))
        if file.dataset_tree is None:
            return file
        raise NotImplementedError("it is a dataset")
    except (SapwoodError, OSError, TypeError, ValueError, NotImplementedError) as error:
        lease.close()
        left("the whole", file_path, error)
        return None


def _translated(file_path: str, options: dict[str, Any]) -> OpenOptions:
    """The options of sapwood for those of ``uproot.open``; a TypeError if it knows no equivalent."""
    given = {name: value for name, value in options.items() if name not in uproot.open.defaults}
    if given and not _URL.match(file_path):
        raise TypeError(f"there are options for a local file: {', '.join(given)}")
    # It limits one request, as in uproot: sapwood's deadline is for a whole call.
    timeout = given.pop("timeout", None)
    return open_options(None, None, {**given, "read_timeout": timeout})


_BESIDE: WeakKeyDictionary[Any, File] = WeakKeyDictionary()
"""Files of sapwood beside those of uproot that were opened with another source."""


def own_file(file: Any) -> File:
    """The file of sapwood for an open file of uproot.

    Raises:
        NotImplementedError: reading it is left to uproot.
    """
    if isinstance(file.source, SapwoodSource):
        own: File = file.source.opened
        return own
    if file.closed or not isinstance(file.file_path, str) or not os.path.isfile(file.file_path):
        raise NotImplementedError(f"the file has a {type(file.source).__name__}")
    if file not in _BESIDE:
        lease = ExitStack()
        opened = open_file(file.file_path, {}, lease)
        if opened is None:
            raise NotImplementedError("sapwood cannot open the file")
        _BESIDE[file] = opened
        finalize(file, lease.close)
    return _BESIDE[file]
