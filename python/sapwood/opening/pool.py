"""A table of open files: tasks that read the same file one after another open it once per process."""

from __future__ import annotations

import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from threading import Lock, Timer
from typing import Any, Generic, Protocol, TypeVar

from ..errors import ArgumentTypeError, UsageError
from ..model.file import File
from ..options.paths import FileSpec, is_url
from ..options.reading import OpenOptions
from .single import open_with_file


class Closable(Protocol):
    """What a pool can keep open."""

    @property
    def closed(self) -> bool:
        """Whether it is closed."""

    def close(self) -> None:
        """Closes it."""


T = TypeVar("T", bound=Closable)


class Pool(ABC, Generic[T]):
    """Open files by location and options, shared by all threads of a process.

    A file stays open for ``idle`` seconds after its last use. A file that failed, was closed, or (on a local
    disk) was replaced is opened again. A forked child starts with an empty pool.

    Args:
        limit: most open files. If more are in use at once, the surplus is closed as soon as it is not.
        idle: seconds that an unused file stays open.

    Attributes:
        opened: number of files that this process opened so far.
    """

    def __init__(self, limit: int = 32, idle: float = 60.0) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise ArgumentTypeError(f"'limit' must be a whole number, not {limit!r}")
        if limit < 0 or not idle >= 0:
            raise UsageError(f"'limit' and 'idle' must not be negative, but are {limit} and {idle}")
        self._limit, self._idle = limit, idle
        self._reset()
        _POOLS.add(self)

    @abstractmethod
    def open(self, location: str, options: OpenOptions) -> T:
        """Opens a file that the pool does not have."""

    @contextmanager
    def borrow(self, location: str, options: OpenOptions) -> Iterator[T]:
        """A ``with`` block in which a file is open. Do not close the file.

        Raises:
            SapwoodError: the file cannot be opened. Every thread that waits for it gets this error, and the
                next call tries again.
        """
        if not is_url(location) and options.replicas is None:
            # With replicas, it may be a logical name.
            location = os.path.abspath(os.path.expanduser(location))
        key = (location, _version(location), _key(options))
        entry, is_mine = self._entry(key)
        failed = True
        try:
            if is_mine:
                self._fill(entry, location, options)
            yield entry.file.result()
            failed = False
        finally:
            self._release(key, entry, failed)

    def forget(self, file: T) -> None:
        """Drops a file whose reading failed, so that its next reader opens it again."""
        with self._lock:
            for key, entry in list(self._entries.items()):
                if entry.holds(file):
                    del self._entries[key]

    def close(self) -> None:
        """Closes the unused files now, and those in use as soon as they are not."""
        with self._lock:
            unused = [entry for entry in self._entries.values() if not entry.users]
            self._entries.clear()
        _close(unused)

    def __len__(self) -> int:
        """The number of open files."""
        return len(self._entries)

    def _reset(self) -> None:
        self._lock = Lock()
        self._entries: dict[Hashable, _Entry[T]] = {}  # the one that was used last is at the end
        self._timer: Timer | None = None
        self.opened = 0

    def _fill(self, entry: _Entry[T], location: str, options: OpenOptions) -> None:
        try:
            entry.file.set_result(self.open(location, options))
        except BaseException as error:
            entry.file.set_exception(error)

    def _entry(self, key: Hashable) -> tuple[_Entry[T], bool]:
        """The entry of a file, now in use, and whether the caller has to open the file."""
        with self._lock:
            entry = self._entries.pop(key, None)
            is_new = entry is None or entry.is_closed
            if entry is None or is_new:
                entry = _Entry[T]()
                self.opened += 1
            self._entries[key] = entry
            entry.users += 1
        return entry, is_new

    def _release(self, key: Hashable, entry: _Entry[T], failed: bool) -> None:
        with self._lock:
            entry.users -= 1
            entry.used = time.monotonic()
            if failed and self._entries.get(key) is entry:
                del self._entries[key]
            is_kept = self._entries.get(key) is entry
            unused = [] if is_kept or entry.users else [entry]
            unused += self._take_surplus()
            self._set_timer()
        _close(unused)

    def _take_surplus(self) -> list[_Entry[T]]:
        """Removes unused entries that are too many or too old."""
        oldest = time.monotonic() - self._idle
        taken = []
        for key, entry in list(self._entries.items()):
            if not entry.users and (len(self._entries) > self._limit or entry.used <= oldest):
                taken.append(self._entries.pop(key))
        return taken

    def _set_timer(self) -> None:
        waiting = [entry.used for entry in self._entries.values() if not entry.users]
        if waiting and self._timer is None:
            self._timer = Timer(max(0.01, min(waiting) + self._idle - time.monotonic()), self._close_old)
            self._timer.daemon = True
            self._timer.start()

    def _close_old(self) -> None:
        with self._lock:
            self._timer = None
            unused = self._take_surplus()
            self._set_timer()
        _close(unused)


@dataclass
class _Entry(Generic[T]):
    """An open file, or one that a thread is opening."""

    file: Future[T] = field(default_factory=Future)
    users: int = 0
    used: float = 0.0

    def holds(self, file: object) -> bool:
        """Whether this is the file."""
        return self.file.done() and self.file.exception() is None and self.file.result() is file

    @property
    def is_closed(self) -> bool:
        """Whether the file failed to open, or was closed."""
        return self.file.done() and (self.file.exception() is not None or self.file.result().closed)


_POOLS: weakref.WeakSet[Pool[Any]] = weakref.WeakSet()


class FilePool(Pool[File]):
    """A pool of ROOT files and datasets.

    >>> pool = FilePool()
    >>> with pool.borrow("events.root", OpenOptions()) as file:          # doctest: +SKIP
    ...     file["Events"].arrays(["met"])
    """

    def open(self, location: str, options: OpenOptions) -> File:
        """Opens a file; that of a dataset may name a version."""
        return open_with_file(FileSpec(location), options)[0]


POOL = FilePool()
"""The pool of this process."""


def _start_again() -> None:
    """Empties the pools of a forked child: the connections belong to its parent."""
    for pool in list(_POOLS):
        _LEFT.extend(pool._entries.values())
        pool._reset()


_LEFT: list[_Entry[Any]] = []
"""Files of the parent process, which the child must neither use nor close."""

os.register_at_fork(after_in_child=_start_again)


def _close(entries: Sequence[_Entry[Any]]) -> None:
    for entry in entries:
        if entry.file.done() and entry.file.exception() is None:
            entry.file.result().close()


def _version(location: str) -> Hashable:
    """What changes when a local file is replaced; None for URLs, whose versions the core checks."""
    try:
        found = None if is_url(location) else os.stat(location)
    except OSError:
        return None
    return found and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _key(value: Any) -> Hashable:
    """A value that is equal for equal options, and can be the key of a dict."""
    if isinstance(value, OpenOptions):
        return tuple(_key(getattr(value, one.name)) for one in fields(value))
    if isinstance(value, Mapping):
        return frozenset((name, _key(one)) for name, one in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, value))
    return value if isinstance(value, Hashable) else id(value)
