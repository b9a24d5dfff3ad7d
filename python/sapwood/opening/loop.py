"""Loops over files: which come next, what is lost to errors, where a later process can go on, progress."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..display.printable import shows_printable
from ..display.progress import ProgressLine
from ..display.units import counted
from ..errors import (
    ArgumentTypeError,
    CorruptFileError,
    DeadlineError,
    FileChangedError,
    FileNotFoundError,
    FileSkippedWarning,
    KeyInFileError,
    MemoryLimitError,
    NetworkError,
    PermissionError,
    ReadError,
    SapwoodError,
    ServerError,
    UsageError,
)
from ..errors.closing import ClosingContext
from ..model.tree import Tree
from ..options.checks import check_switch
from ..options.paths import FileSpec
from ..options.reading import OpenOptions
from ..report.loop import LoopReport, LostFile
from .ahead import FilesAhead, OpeningFile
from .checkpoint import Checkpoint, Position, identity, shown

T = TypeVar("T")

# Failures of a file or of the way to it. Others, such as a misspelled name, would be the same in every file.
_FAILURES = (
    *(CorruptFileError, DeadlineError, FileChangedError, FileNotFoundError, MemoryLimitError),
    *(NetworkError, PermissionError, ReadError, ServerError),
)
_ON_ERROR = ("raise", "skip")


@dataclass(frozen=True)
class LoopOptions:
    """The options of a loop over files: see :func:`sapwood.iterate`."""

    allow_missing: bool = False
    on_error: str = "raise"
    resume: str | os.PathLike[str] | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        if self.on_error not in _ON_ERROR:
            raise UsageError(f"'on_error' must be {' or '.join(map(repr, _ON_ERROR))}, not {self.on_error!r}")
        if not (self.resume is None or isinstance(self.resume, (str, os.PathLike))):
            raise ArgumentTypeError(f"'resume' must be the path of a checkpoint, not {self.resume!r}")
        check_switch("progress", self.progress)


class LoopRun:
    """The one run of a loop over files. It does not know what is read of them."""

    def __init__(self, specs: list[FileSpec], options: OpenOptions, loop: LoopOptions) -> None:
        self._specs = specs
        self._loop = loop
        self._checkpoint = None if loop.resume is None else Checkpoint(loop.resume, specs)
        self.position = self._checkpoint.position if self._checkpoint else Position()
        self.ahead = FilesAhead(specs[self.position.file :], options)
        self.tree: Tree | None = None
        self._progress = ProgressLine(len(specs)) if loop.progress else None
        self._begin: float | None = None
        self.waited = 0.0
        self._fetched_bytes = 0
        self._delivered: Callable[[], int] = _nothing
        self._counted = 0

    @property
    def skips(self) -> bool:
        """Whether files that fail are skipped."""
        return self._loop.on_error == "skip"

    def require_unused(self) -> None:
        """Raises a UsageError if the loop was begun before."""
        if self._begin is not None:
            raise UsageError("a loop over files can be used once: make another one")

    def report(self) -> LoopReport:
        """What was done so far."""
        at = self.position
        return LoopReport(
            files=len(self._specs),
            done_files=at.file,
            missing_files=at.missing,
            entries=at.entries,
            lost=tuple(at.lost),
            fetched_bytes=self._fetched_bytes + self._fetched_now(),
            seconds=0.0 if self._begin is None else time.perf_counter() - self._begin,
            wait_seconds=self.waited,
        )

    def save(self) -> None:
        """Saves the position, if there is a checkpoint."""
        self._count()
        if self._checkpoint is not None:
            self._checkpoint.save()

    def files(self, read: Callable[[OpeningFile], Iterator[T]]) -> Generator[T, None, None]:
        """What ``read`` yields for each open file, in order; files that fail are skipped if allowed."""
        self._begin = time.perf_counter()
        try:
            for file in self.ahead:
                try:
                    self._enter(file)
                    yield from read(file)
                except KeyInFileError:
                    if not self._loop.allow_missing:
                        raise
                    self.position.missing += 1
                except _FAILURES as error:
                    if not self.skips:
                        raise
                    self._lose(file, error)
                self._leave(file)
        finally:
            self.tree = None
            self._show(at_end=True)

    def give(self, items: Iterator[T], delivered: Callable[[], int]) -> Iterator[T]:
        """Yields some items; what was given is done when the body of the loop asks for more.

        ``delivered`` says how many entries it was given so far.
        """
        self._delivered = delivered
        try:
            yield from items
            self.save()
        finally:
            self._delivered, self._counted = _nothing, 0
        self._show()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A context whose time counts as waiting."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.waited += time.perf_counter() - begin

    def _enter(self, file: OpeningFile) -> None:
        with self.waiting():
            source = file.source
        self.tree = source.tree
        at = self.position
        seen = identity(source)
        if self._checkpoint is not None and at.done and at.seen != seen:
            raise FileChangedError(
                f"{source.file.file_path} is {seen}, but was {at.seen} when the loop was saved in "
                f"{str(self._checkpoint.path)!r}: delete that file to start again",
                url=source.file.file_path,
            )
        at.seen = seen
        self._show()

    def _count(self) -> None:
        """Counts as done what the body of the loop was given."""
        more = self._delivered() - self._counted
        self._counted += more
        self.position.done += more
        self.position.entries += more

    def _lose(self, file: OpeningFile, error: SapwoodError) -> None:
        path, entries = shown(file.spec), None
        if file.is_open:
            path, wanted = file.source.file.file_path, file.spec.ranges(file.source.tree.num_entries)
            entries = sum(stop - start for start, stop in wanted) - self.position.done
        lost = LostFile(path, entries, error.code, str(error))
        self.position.lost.append(lost)
        warnings.warn(f"skipped {lost}", FileSkippedWarning, stacklevel=3)

    def _leave(self, file: OpeningFile) -> None:
        at = self.position
        if file.is_open:
            at.offset += file.source.tree.num_entries
            self._fetched_bytes += self._fetched_now()
        self.tree = None
        at.file, at.done, at.seen = at.file + 1, 0, ""
        self.save()
        self._show()

    def _fetched_now(self) -> int:
        return 0 if self.tree is None else self.tree.file.fetched_bytes

    def _show(self, at_end: bool = False) -> None:
        if self._progress is not None:
            report = self.report()
            self._progress.update(
                report.done_files, report.entries, report.fetched_bytes, report.wait_seconds, at_end=at_end
            )


class FileLoop(ClosingContext, Generic[T]):
    """A loop over the entries of many files, which can be used once. It works as a context manager."""

    def __init__(self, run: LoopRun, items: Generator[Any, None, None]) -> None:
        # The generator must not refer to this object: it ends, and closes the files, with the last reference.
        self._run = run
        self._items = items

    @property
    def state(self) -> dict[str, Any]:
        """A dict in which the body of the loop can keep its results, as values that JSON has.

        With ``resume``, it is saved together with the position.
        """
        return self._run.position.state

    @property
    def tree(self) -> Tree | None:
        """The tree that is being read; None before the first file and after the last."""
        return self._run.tree

    def report(self) -> LoopReport:
        """What the loop has done so far, and the entries that it lost."""
        return self._run.report()

    def save(self) -> None:
        """Saves the position and the state now, if there is a checkpoint. All that was delivered is done.

        This also happens as the loop goes on, so you need it only before you leave the loop.
        """
        self._run.save()

    @shows_printable
    def __repr__(self) -> str:
        report = self.report()
        files = f"{report.done_files:,} of {counted(report.files, 'file')}"
        return f"<{type(self).__name__}: {files}, {counted(report.entries, 'entry', 'entries')} done>"

    def close(self) -> None:
        """Ends the loop, and closes its files, also those of events and chunks that you keep."""
        self._items.close()
        self._run.ahead.close()


def popped(items: list[T]) -> Iterator[T]:
    """The items from the end, without a reference to those that were yielded."""
    while items:
        yield items.pop()


def _nothing() -> int:
    return 0


def left(ranges: list[tuple[int, int]], done: int) -> list[tuple[int, int]]:
    """What is left of ranges of entries once ``done`` entries, in this order, are done.

    >>> left([(0, 10), (20, 30)], 4), left([(0, 10), (20, 30)], 10), left([(0, 10), (20, 30)], 25)
    ([(4, 10), (20, 30)], [(20, 30)], [])
    """
    remaining = []
    for start, stop in ranges:
        skipped = min(done, stop - start)
        done -= skipped
        if not skipped or start + skipped < stop:
            remaining.append((start + skipped, stop))
    return remaining
