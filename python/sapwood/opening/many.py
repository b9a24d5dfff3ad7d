"""Reads many files as one: iterate, concatenate, num_entries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..arrays.libraries import library_named
from ..errors import UsageError
from ..model.branch import Branch
from ..model.branches import BranchFilter, HasBranches
from ..model.directory import split_cycle
from ..model.file import File
from ..options.paths import FileSpec, several_files
from ..options.reading import OpenOptions, open_options
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.reading import Steps
from ..query.select import requested_texts
from ..query.steps import entry_range, entry_steps
from .ahead import OpeningFile, opened_files, skipping
from .loop import FileLoop, LoopOptions, LoopRun, left, popped

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import OpenKeywords


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
    on_error: str = "raise",
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Unpack[OpenKeywords],
) -> Iteration:
    """Reads many files in steps. While you work on one step, the next step is read and the next files open.

    >>> for events in sapwood.iterate("nano/*.root:Events", ["Muon_pt"], "nMuon > 1"):      # doctest: +SKIP
    ...     histogram.fill(ak.flatten(events.Muon_pt))

    Args:
        files: a path or URL with a tree, ``"dir/*.root:Events"`` (local globs are sorted); a dict
            ``{path: tree}`` or ``{path: {"object_path": tree, "steps": [[0, 100], …]}}``; a file object; an
            open tree; or a list of these. If you name no tree, the file must contain exactly one. The path
            may continue to a branch, ``"file.root:Events/branch"``: it, or its sub-branches, are the columns.
        allow_missing: True to skip files that lack the tree or a requested branch.
        on_error: ``"skip"`` to skip a file, or the rest of it, that cannot be read, after all replicas
            and retries: a :class:`sapwood.errors.FileSkippedWarning` says so, and the :meth:`report` counts
            the entries that were lost. Default: ``"raise"``.
        resume: the path of a checkpoint, a small JSON file that holds the position and the ``state``. If it
            exists, the loop resumes there; it must be over the same files. It is saved each
            time the loop asks for the next step.
        progress: True to show files, entries, speed and waiting, in a notebook or on standard error.
        deadline: seconds that opening a file, or reading a step, may take.
        threads, options: as in :func:`sapwood.open`. ``replicas`` of several files must be prefixes, rules,
            a function, or a document that lists the files by name.

    The other arguments are those of :meth:`sapwood.Tree.iterate`.

    Returns:
        An iterator over arrays as :meth:`sapwood.Tree.arrays` returns them, for one step of one file. With
        ``report=True``, pairs of arrays and a :class:`sapwood.Report`. Its ``report()`` is a
        :class:`sapwood.LoopReport`, and ``state`` is a dict that a checkpoint keeps.
    """
    settings = open_options(deadline, threads, options, iterate)
    texts = requested_texts(expressions)
    loop = LoopOptions(allow_missing, on_error, resume, progress)
    chosen = library_named(library)
    filters = Filters(filter_name, filter_typename, filter_branch)

    run = LoopRun(specs_of(files, settings), settings, loop)

    def begin(spec: FileSpec, source: HasBranches, done: int = 0) -> Steps:
        query = Query.of(source, texts, cut, filters, aliases, chosen, how, ak_add_doc)
        ranges = [
            step
            for start, stop in left(spec.ranges(source.tree.num_entries), done)
            for step in entry_steps(source.tree, query.leaves, start, stop, step_size)
        ]
        return Steps(query, ranges)

    def read(file: OpeningFile) -> Iterator[Any]:
        done = run.position.done
        file.begin(lambda spec, source: begin(spec, source, done))
        run.ahead.begin(begin)
        steps = file.steps()
        results = steps.results(report, run.position.offset)
        for start, stop in steps.ranges:
            with run.waiting():
                result = [next(results)]
            entries = stop - start
            yield from run.give(popped(result), partial(int, entries))

    return Iteration(run, run.files(read))


class Iteration(FileLoop[Any], Iterator[Any]):
    """An iterator over the steps of :func:`iterate`."""

    def __next__(self) -> Any:
        return next(self._items)


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
    **options: Unpack[OpenKeywords],
) -> Any:
    """Reads many files as if they were one.

    >>> sapwood.concatenate("nano/*.root:Events", ["Muon_pt", "MET_pt"])      # doctest: +SKIP

    Args:
        files, allow_missing, deadline, threads, options: as in :func:`iterate`.
        entry_start, entry_stop: the range of entries, numbered across all files.
        cost: True to return a pair of arrays and a :class:`sapwood.ReadReport`, the cost of reading.

    The other arguments are those of :meth:`sapwood.Tree.arrays`. If files differ in their columns, tables
    show what is missing: ``"pd"`` and ``"arrow"`` as missing values, ``"ak"`` as records of several types.

    Raises:
        UsageError: no file has the requested tree and branches.
        KeyInFileError: a file lacks a requested column; or, with ``how=dict``, ``tuple`` or ``list``, or with
            ``library="np"``, one that another file has.
    """
    settings = open_options(deadline, threads, options, concatenate)
    texts = requested_texts(expressions)
    specs = specs_of(files, settings)
    chosen = library_named(library)
    filters = Filters(filter_name, filter_typename, filter_branch)
    start, stop = _global_range(specs, settings, allow_missing, entry_start, entry_stop)
    everything = (start, stop) == (0, sys.maxsize)
    # Files may have the same columns in another order, so those of tuples, too, are found by their names.
    named = dict if how is tuple or how is list else how
    parts: list[Any] = []
    places: list[str] = []
    read: list[File] = []
    offset = 0

    def begin(spec: FileSpec, source: HasBranches) -> Steps:
        query = Query.of(source, texts, cut, filters, aliases, chosen, named, ak_add_doc)
        ranges = spec.ranges(source.tree.num_entries)
        if not everything:
            ranges = [_clip(first, last, start - offset, stop - offset) for first, last in ranges]
        ranges = [(first, last) for first, last in ranges if first < last] or ranges[:1]
        return Steps(query, ranges)

    # With numbers across all files, the range in a file is known only when all earlier files are open.
    for file in opened_files(specs, settings, allow_missing, begin if everything else None):
        read.append(file.source.file)
        with skipping(allow_missing):
            file.begin(begin)
            steps = file.steps()
            # If the result is empty, an empty part gives its type.
            if not parts or any(first < last for first, last in steps.ranges):
                parts.extend(steps.results(index_offset=offset))
                place = f"{file.source.file.file_path}:{file.source.object_path}"
                places += [place] * (len(parts) - len(places))
        offset += file.source.tree.num_entries
        if offset >= stop and parts:
            break
    if not parts:
        raise UsageError("nothing to concatenate: no file has the requested tree and branches")
    result = chosen.concatenate(parts, places)
    if named is not how:
        result = how(result[name] for name in texts or result)
    return (result, sum(file.report() for file in read)) if cost else result


def num_entries(
    files: Any, *, deadline: float | None = None, **options: Unpack[OpenKeywords]
) -> Iterator[tuple[str, str, int]]:
    """Iterates over (file path, object path, number of entries) of each tree.

    The object path is the one that you gave; otherwise that of the tree, without the cycle.

    Args:
        files: as in :func:`iterate`.
        deadline: seconds that opening a file may take.
        options: as in :func:`sapwood.open`.
    """
    settings = open_options(deadline, None, options, num_entries)
    for file in opened_files(specs_of(files, settings), settings, False):
        source = file.source
        found = split_cycle(source.tree.object_path)[0]
        below = f"/{source.path}" if isinstance(source, Branch) else ""
        yield source.file.file_path, file.spec.object_path or found + below, source.tree.num_entries


def specs_of(files: Any, options: OpenOptions) -> list[FileSpec]:
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
