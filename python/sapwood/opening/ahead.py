"""Opens the files of a list in order, while the next ones open and start reading."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from weakref import finalize, ref

from ..errors import KeyInFileError, UsageError
from ..lazy.background import in_background
from ..model.branch import Branch
from ..model.branches import HasBranches
from ..model.tree import Tree
from ..options.paths import CATALOGUED, FileSpec, is_url
from ..options.reading import OpenOptions
from ..query.reading import Steps
from .only_tree import only_tree
from .single import open_with_file

# Until the first file is done. Opening takes about five round trips and reading a little one more: with seven
# files ahead, one is ready every round trip. A local file opens in the time in which one is read.
_FAR, _NEAR = 7, 2
# Most files open ahead, and most that stay open because something of them is used: each may hold a
# connection and a few windows.
_MOST = 15

Begin = Callable[[FileSpec, HasBranches], Steps]


class OpeningFile:
    """One of many files, which opens and starts reading ahead of its turn.

    Errors are raised when its turn comes.
    """

    def __init__(self, spec: FileSpec, options: OpenOptions) -> None:
        self.spec = spec
        self.seconds = 0.0
        """The time that opening took, once it is open."""
        self.waited = 0.0
        """The part of it that the caller waited."""
        self._opening = self._open(options)
        self._begun: Future[Steps] | None = None
        self._users: list[ref[object]] = []

    @property
    def source(self) -> HasBranches:
        """The tree. Waits until it is open."""
        if self._opening.done():
            return self._opening.result()
        begin = time.perf_counter()
        try:
            return self._opening.result()
        finally:
            self.waited += time.perf_counter() - begin

    @property
    def is_open(self) -> bool:
        """Whether the file is open by now."""
        return self._opening.done() and self._opening.exception() is None

    def steps(self) -> Steps:
        """The steps that were started."""
        assert self._begun is not None
        return self._begun.result()

    def begin(self, begin: Begin) -> None:
        """Starts reading if the file is open and reading has not started."""
        if self._begun is None and self.is_open:
            self._begun = Future()
            try:
                self._begun.set_result(begin(self.spec, self.source))
            except Exception as error:
                self._begun.set_exception(error)

    def add_user(self, user: object) -> None:
        """Lets an object read from the file after its turn, as long as the object lives."""
        self._users.append(ref(user))

    def leave(self) -> None:
        """Closes the file as soon as it has no users."""
        users = [user for user in (each() for each in self._users) if user is not None]
        for user in users:
            finalize(user, self._close_unused).atexit = False
        if not users:
            self.close()

    def _close_unused(self) -> None:
        if all(user() is None for user in self._users):
            self.close()

    def close(self) -> None:
        """Closes the file, now or once it is open, unless the caller opened it."""
        self._begun = None
        if not isinstance(self.spec.file, HasBranches):
            self._opening.add_done_callback(_close_result)

    def _open(self, options: OpenOptions) -> Future[HasBranches]:
        if isinstance(self.spec.file, HasBranches):
            future: Future[HasBranches] = Future()
            future.set_result(self.spec.file)
            return future

        def work() -> HasBranches:
            begin = time.perf_counter()
            opened = open_tree(self.spec, options)
            self.seconds = time.perf_counter() - begin
            return opened

        return in_background(work)


class FilesAhead:
    """Iterates over files in order, none of which is waited for, and leaves each after its turn.

    So many are open ahead that none would have to be waited for, by the measured times of opening a file and
    of using one; at most ``most``.
    """

    def __init__(self, specs: Iterable[FileSpec], options: OpenOptions, most: int = _MOST) -> None:
        self._remaining = iter(specs)
        self._options, self._most = options, most
        self._files: deque[OpeningFile] = deque()
        self._left: deque[ref[OpeningFile]] = deque()
        self._opening_seconds = self._using_seconds = 0.0
        self._used = 0

    @property
    def following(self) -> list[OpeningFile]:
        """The files that are open ahead, or opening, in order."""
        return list(self._files)[1:]

    def begin(self, begin: Begin) -> None:
        """Starts reading those that are open.

        This happens in the caller's thread, not those that open files: it may call filters, and warn.
        """
        for file in self._files:
            file.begin(begin)

    def __iter__(self) -> Generator[OpeningFile, None, None]:
        files = self._files
        try:
            files.extend(OpeningFile(spec, self._options) for spec in islice(self._remaining, 1))
            while files:
                wanted = self._ahead(files[0].spec) + 1 - len(files)
                files.extend(
                    OpeningFile(spec, self._options) for spec in islice(self._remaining, max(0, wanted))
                )
                begin = time.perf_counter()
                yield files[0]
                self._count(files[0], time.perf_counter() - begin)
                self._leave(files.popleft())
                if not files:
                    files.extend(OpeningFile(spec, self._options) for spec in islice(self._remaining, 1))
        finally:
            while files:
                self._leave(files.popleft())

    def close(self) -> None:
        """Closes the files, even if something of them is still used."""
        for file in (*self._files, *(each() for each in self._left)):
            if file is not None:
                file.close()

    def _leave(self, file: OpeningFile) -> None:
        file.leave()
        self._left.append(ref(file))
        del file
        while len(self._left) > _MOST:
            oldest = self._left.popleft()()
            if oldest is not None:
                oldest.close()

    def _count(self, file: OpeningFile, seconds: float) -> None:
        """Takes note of the times of a file. Old ones lose weight, as files and servers change."""
        self._opening_seconds = 0.75 * self._opening_seconds + file.seconds
        self._using_seconds = 0.75 * self._using_seconds + seconds - file.waited
        self._used += 1

    def _ahead(self, spec: FileSpec) -> int:
        if not self._used:
            is_far = isinstance(spec.file, str) and _is_far(spec.file)
            return min(self._most, _FAR if is_far else _NEAR)
        # Half as long again, for the first window.
        ratio = 1.5 * self._opening_seconds / max(self._using_seconds, 1e-9)
        return min(self._most, 1 + math.ceil(ratio))


def opened_files(
    specs: Iterable[FileSpec],
    options: OpenOptions,
    allow_missing: bool,
    begin: Begin | None = None,
    most: int = _MOST,
) -> Generator[OpeningFile, None, None]:
    """Iterates over open files in order, while ``most`` of the next ones open and read; closes its own."""
    ahead = FilesAhead(specs, options, most)
    for file in ahead:
        with skipping(allow_missing):
            _ = file.source
            if begin is not None:
                ahead.begin(begin)
            yield file


@contextmanager
def skipping(allow_missing: bool) -> Iterator[None]:
    """Skips a file that lacks the requested tree or branch, if that is allowed."""
    try:
        yield
    except KeyInFileError:
        if not allow_missing:
            raise


def _is_far(path: str) -> bool:
    return is_url(path) or path.startswith(CATALOGUED)


def _close_result(future: Future[HasBranches]) -> None:
    if future.exception() is None:
        future.result().file.close()


def open_tree(spec: FileSpec, options: OpenOptions) -> HasBranches:
    """Opens the tree or branch that a :class:`FileSpec` describes; without a name, the only tree."""
    file, opened = open_with_file(spec, options)
    if isinstance(opened, (Tree, Branch)):
        return opened
    try:
        if opened is file:
            return only_tree(file)
        raise UsageError(f"{file.file_path}:{spec.object_path} is not a tree", url=file.file_path)
    except BaseException:
        file.close()
        raise
