"""Reads many files as one: iterate, concatenate, num_entries."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from threading import Thread
from typing import Any

from ..arrays.libraries import library_named
from ..errors import KeyInFileError, UsageError
from ..model.branch import Branch
from ..model.branches import BranchFilter, HasBranches
from ..model.file import File
from ..model.tree import Tree
from ..options.paths import FileSpec, several_files
from ..options.reading import OpenOptions, open_options
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.reading import Steps
from ..query.steps import entry_range, entry_steps
from .only_tree import only_tree
from .single import open_with_file

# Opening waits for the network, not the CPU, so the next files open while one is read. Opening takes about
# five round trips and reading a little one more: with seven files ahead, one is ready every round trip.
_AHEAD = 7


def iterate(
    files: Any,
    expressions: Any = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: BranchFilter | None = None,
    aliases: Mapping[str, str] | None = None,
    step_size: int | str = "100 MB",
    library: str = "ak",
    how: Any = None,
    ak_add_doc: bool | Mapping[str, str] = False,
    report: bool = False,
    allow_missing: bool = False,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Any,
) -> Iterator[Any]:
    """Reads many files in steps. While you work on one step, the next step is read and the next files open.

    >>> for events in sapwood.iterate("nano/*.root:Events", ["Muon_pt"], "nMuon > 1"):      # doctest: +SKIP
    ...     histogram.fill(ak.flatten(events.Muon_pt))

    Args:
        files: a path or URL with a tree, ``"dir/*.root:Events"`` (local globs are sorted); a dict
            ``{path: tree}`` or ``{path: {"object_path": tree, "steps": [[0, 100], …]}}``; a file object; an
            open tree; or a list of these. If you name no tree, the file must contain exactly one.
        allow_missing: True to skip files that lack the tree or a requested branch.
        deadline: seconds that opening a file, or reading a step, may take.
        threads, options: as in :func:`sapwood.open`. ``replicas`` of several files must be prefixes, rules,
            a function, or a document that lists the files by name.

    The other arguments are those of :meth:`sapwood.Tree.iterate`.

    Yields:
        Arrays as :meth:`sapwood.Tree.arrays` returns them, for one step of one file. With ``report=True``,
        pairs of arrays and a :class:`sapwood.Report`.
    """
    settings = open_options(deadline, threads, options)
    specs = _specs(files, settings)
    chosen = library_named(library)
    filters = Filters(filter_name, filter_typename, filter_branch)

    def begin(spec: FileSpec, source: HasBranches) -> Steps:
        query = Query.of(source, expressions, cut, filters, aliases, chosen, how, ak_add_doc)
        ranges = [
            step
            for start, stop in spec.ranges(source.tree.num_entries)
            for step in entry_steps(source.tree, query.leaves, start, stop, step_size)
        ]
        return Steps(query, ranges)

    def steps() -> Iterator[Any]:
        offset = 0
        for file in opened_files(specs, settings, allow_missing, begin):
            with _skipping(allow_missing):
                yield from file.steps().results(report, offset)
            offset += file.source.tree.num_entries

    return steps()


def concatenate(
    files: Any,
    expressions: Any = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: BranchFilter | None = None,
    aliases: Mapping[str, str] | None = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    library: str = "ak",
    how: Any = None,
    ak_add_doc: bool | Mapping[str, str] = False,
    cost: bool = False,
    allow_missing: bool = False,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Any,
) -> Any:
    """Reads many files as if they were one.

    >>> sapwood.concatenate("nano/*.root:Events", ["Muon_pt", "MET_pt"])      # doctest: +SKIP

    Args:
        files, allow_missing, deadline, threads, options: as in :func:`iterate`.
        entry_start, entry_stop: the range of entries, numbered across all files.
        cost: True to return a pair of arrays and a :class:`sapwood.ReadReport`, the cost of reading.

    The other arguments are those of :meth:`sapwood.Tree.arrays`.

    Raises:
        UsageError: no file has the requested tree and branches.
    """
    settings = open_options(deadline, threads, options)
    specs = _specs(files, settings)
    chosen = library_named(library)
    filters = Filters(filter_name, filter_typename, filter_branch)
    start, stop = _global_range(specs, settings, allow_missing, entry_start, entry_stop)
    everything = (start, stop) == (0, sys.maxsize)
    parts: list[Any] = []
    read: list[File] = []
    offset = 0

    def begin(spec: FileSpec, source: HasBranches) -> Steps:
        query = Query.of(source, expressions, cut, filters, aliases, chosen, how, ak_add_doc)
        ranges = spec.ranges(source.tree.num_entries)
        if not everything:
            ranges = [_clip(first, last, start - offset, stop - offset) for first, last in ranges]
        ranges = [(first, last) for first, last in ranges if first < last] or ranges[:1]
        return Steps(query, ranges)

    # With numbers across all files, the range in a file is known only when all earlier files are open.
    for file in opened_files(specs, settings, allow_missing, begin if everything else None):
        read.append(file.source.file)
        with _skipping(allow_missing):
            file.begin(begin)
            steps = file.steps()
            # If the result is empty, an empty part gives its type.
            if not parts or any(first < last for first, last in steps.ranges):
                parts.extend(steps.results(index_offset=offset))
        offset += file.source.tree.num_entries
        if offset >= stop and parts:
            break
    if not parts:
        raise UsageError("nothing to concatenate: no file has the requested tree and branches")
    result = chosen.concatenate(parts)
    return (result, sum(file.report() for file in read)) if cost else result


def num_entries(
    files: Any, *, deadline: float | None = None, **options: Any
) -> Iterator[tuple[str, str, int]]:
    """Iterates over (file path, object path, number of entries) of each tree.

    Args:
        files: as in :func:`iterate`.
        deadline: seconds that opening a file may take.
        options: as in :func:`sapwood.open`.
    """
    settings = open_options(deadline, None, options)
    for file in opened_files(_specs(files, settings), settings, False):
        source = file.source
        yield source.file.file_path, source.object_path, source.tree.num_entries


def _specs(files: Any, options: OpenOptions) -> list[FileSpec]:
    """The files to read, checked against the replicas."""
    specs = several_files(files, options.deadline, options.for_core())
    if len(specs) > 1 and options.replicas is not None and options.replicas.names_one_file:
        raise UsageError(
            f"these replicas are of one file, but you read {len(specs)} files: give prefixes that end in a "
            "slash, rules {beginning: prefixes}, a function, or a document"
        )
    return specs


def _global_range(
    specs: list[FileSpec],
    options: OpenOptions,
    allow_missing: bool,
    entry_start: int | None,
    entry_stop: int | None,
) -> tuple[int, int]:
    """The range of entries across all files, which are opened first only to resolve negative numbers."""
    entries = sys.maxsize
    # Checks the types.
    entry_range(entries, entry_start, entry_stop)
    if (entry_start or 0) < 0 or (entry_stop or 0) < 0:
        entries = sum(file.source.tree.num_entries for file in opened_files(specs, options, allow_missing))
    return entry_range(entries, entry_start, entry_stop)


def _clip(first: int, last: int, start: int, stop: int) -> tuple[int, int]:
    here = max(first, min(last, start))
    return here, max(here, min(last, stop))


@contextmanager
def _skipping(allow_missing: bool) -> Iterator[None]:
    """Skips a file that lacks the requested tree or branch, if that is allowed."""
    try:
        yield
    except KeyInFileError:
        if not allow_missing:
            raise


_Begin = Callable[[FileSpec, HasBranches], Steps]


class _File:
    """One of many files, which opens and starts reading ahead of its turn.

    Errors are raised when its turn comes.
    """

    def __init__(self, spec: FileSpec, options: OpenOptions) -> None:
        self._spec = spec
        self._opening = _opening(spec, options)
        self._begun: Future[Steps] | None = None

    @property
    def source(self) -> HasBranches:
        """The tree. Waits until it is open."""
        return self._opening.result()

    def steps(self) -> Steps:
        """The steps that were started."""
        assert self._begun is not None
        return self._begun.result()

    def begin(self, begin: _Begin) -> None:
        """Starts reading if the file is open and reading has not started."""
        if self._begun is None and self._opening.done() and self._opening.exception() is None:
            self._begun = Future()
            try:
                self._begun.set_result(begin(self._spec, self.source))
            except Exception as error:
                self._begun.set_exception(error)

    def close(self) -> None:
        """Closes the file, now or once it is open, unless the caller opened it."""
        self._begun = None
        if not isinstance(self._spec.file, HasBranches):
            self._opening.add_done_callback(_close_result)


def opened_files(
    specs: Iterable[FileSpec],
    options: OpenOptions,
    allow_missing: bool,
    begin: _Begin | None = None,
    ahead: int = _AHEAD,
) -> Generator[_File, None, None]:
    """Iterates over files in order, while the next ones open and start reading; closes those it opened."""
    files: deque[_File] = deque()
    remaining = iter(specs)
    try:
        while True:
            files.extend(_File(spec, options) for spec in islice(remaining, ahead + 1 - len(files)))
            if not files:
                return
            with _skipping(allow_missing):
                _ = files[0].source
                # In this thread, not those that open files: it may call the caller's filters, and warn.
                if begin is not None:
                    for file in files:
                        file.begin(begin)
                yield files[0]
            files.popleft().close()
    finally:
        for file in files:
            file.close()


def _opening(spec: FileSpec, options: OpenOptions) -> Future[HasBranches]:
    """Opens a file in a daemon thread, so that it cannot keep the program from exiting."""
    future: Future[HasBranches] = Future()

    def work() -> None:
        try:
            opened = open_tree(spec, options)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(opened)

    if isinstance(spec.file, HasBranches):
        future.set_result(spec.file)
    else:
        Thread(target=work, name="sapwood-open", daemon=True).start()
    return future


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
