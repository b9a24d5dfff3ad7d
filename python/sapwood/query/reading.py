"""Reads the results of a query, all at once or step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays.libraries import library_named
from ..errors.core import core_errors
from .assemble import Columns
from .batch import Report
from .compute import Result
from .entries import by_tree, chosen_entries, clipped
from .query import Query
from .select import select
from .stages import start_read
from .steps import entry_range, entry_steps

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.tree import Tree


def read_arrays(
    query: Query,
    entry_start: int | None,
    entry_stop: int | None,
    *,
    entries: Any = None,
    threads: int | None = None,
    deadline: float | None = None,
    index_offset: int = 0,
) -> Any:
    """The result for a range of entries, or for the chosen ``entries`` of the range."""
    start, stop = entry_range(query.source.tree.num_entries, entry_start, entry_stop)
    chosen = None if entries is None else chosen_entries(entries, start, stop)
    steps = Steps(query, [(start, stop)], threads, deadline, chosen)
    return next(steps.results(index_offset=index_offset))


def read_steps(
    query: Query,
    steps: Sequence[tuple[int, int]],
    *,
    report: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    index_offset: int = 0,
) -> Iterator[Any]:
    """Yields the results for ranges of entries, in order; the next range is read while you use the last."""
    return Steps(query, steps, threads, deadline).results(report, index_offset)


def passing_entries(
    tree: Tree, cut: str, start: int, stop: int, step_size: str = "32 MB"
) -> NDArray[np.int64]:
    """The numbers of the entries of a range that pass a cut.

    Raises:
        ExpressionError: the cut is malformed, or does not give one number or boolean per entry.
    """
    query = Query(tree, select(tree, [], cut), library_named("np"))
    steps = _CutSteps(query, entry_steps(tree, query.leaves, start, stop, step_size))
    return np.concatenate([np.empty(0, np.int64), *steps.results()])


class Steps:
    """Reads ranges of entries. The first read begins at once.

    If there is only one range, ``chosen`` can select some of its entries.
    """

    def __init__(
        self,
        query: Query,
        ranges: Sequence[tuple[int, int]],
        threads: int | None = None,
        deadline: float | None = None,
        chosen: NDArray[np.int64] | None = None,
    ) -> None:
        file = query.source.file
        file.require_open()
        threads, deadline = file.options.threads_or(threads), file.options.deadline_or(deadline)
        self._query = query
        self.ranges = ranges
        self._read = start_read(query, ranges, chosen, threads, deadline)
        keys = [leaf.key for leaf in query.leaves]
        self._first = [keys[index] for index in self._read.first]
        self._second = [keys[index] for index in self._read.second]

    def results(self, report: bool = False, index_offset: int = 0) -> Iterator[Any]:
        """Yields the results once, in order; the next range is read while you use the last."""
        begun: deque[_Step] = deque()
        while (stage := self._next()) is not None:
            if isinstance(stage, _core.FirstStage):
                begun.append(self._begin(stage, index_offset))
                is_complete = not self._second
            else:
                begun[0].add(dict(zip(self._second, stage.columns, strict=True)), stage.passing)
                is_complete = True
            # No variable here may keep the arrays of a step alive while it waits for the next step.
            del stage
            if is_complete:
                yield self._finished(begun, report, index_offset).pop()

    def _next(self) -> _core.FirstStage | _core.SecondStage | None:
        with core_errors():
            return self._read.next()

    def _begin(self, stage: _core.FirstStage, index_offset: int) -> _Step:
        """Takes the first stage of a step, and passes the entries that pass the cut to the core."""
        start, stop = stage.entry_start, stage.entry_stop
        index: range | NDArray[np.int64] = range(start + index_offset, stop + index_offset)
        if stage.chosen is not None:
            index = stage.chosen.astype(np.int64) + index_offset
        result = Result(self._query, dict(zip(self._first, stage.columns, strict=True)), index)
        if self._second:
            mask = result.mask
            with core_errors():
                self._read.cut(None if mask is None else np.ascontiguousarray(mask))
        return _Step(start, stop, result)

    def _finished(self, begun: deque[_Step], report: bool, index_offset: int) -> list[Any]:
        """The result of the first step, in a list from which the caller can pop the only reference to it."""
        step = begun.popleft()
        result, tree = step.result.get(step.passing), self._query.source.tree
        return [(result, Report(tree, step.start, step.stop, index_offset)) if report else result]


class _CutSteps(Steps):
    """Yields only the numbers of the entries that pass the cut."""

    def _finished(self, begun: deque[_Step], report: bool, index_offset: int) -> list[Any]:
        result, cut = begun.popleft().result, self._query.selection.cut
        if result.mask is None and cut is not None:
            hint = "reduce lists, for example with Any$(…)"
            raise cut.source.error("must give one number or boolean per entry", hint=hint)
        return [np.asarray(result.index, dtype=np.int64)[result.mask]]


@dataclass
class _Step:
    """A step whose first stage has been read."""

    start: int
    stop: int
    result: Result
    passing: Columns | None = None
    """Columns with only the entries that pass the cut."""

    def add(self, columns: Columns, passing: bool) -> None:
        """Takes the columns of the second stage."""
        if passing:
            self.passing = columns
        else:
            self.result.add(columns)


def read_and_drop(
    tree: Tree,
    leaves: Sequence[Branch],
    entry_start: int | None,
    entry_stop: int | None,
    step_size: int | str = "100 MB",
) -> None:
    """Reads branches step by step and discards the arrays, in order to measure the cost."""
    options = tree.file.options
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    steps = entry_steps(tree, leaves, start, stop, step_size)
    for owner, own_leaves in by_tree(leaves):
        ranges = [clipped(owner, first, last) for first, last in steps]
        requests = [leaf.request for leaf in own_leaves]
        with core_errors():
            scan = owner.core.scan(
                requests, ranges, threads=options.threads_or(None), deadline=options.deadline_or(None)
            )
            for _ in scan:
                pass


def read_chosen_and_drop(
    tree: Tree, leaves: Sequence[Branch], chosen: NDArray[np.int64], entry_start: int, entry_stop: int
) -> None:
    """Reads chosen entries of a range and discards the arrays."""
    options = tree.file.options
    for owner, own_leaves in by_tree(leaves):
        with core_errors():
            pending = owner.core.start_entries(
                [leaf.request for leaf in own_leaves],
                chosen.astype(np.uint64),
                clipped(owner, entry_start, entry_stop),
                threads=options.threads,
            )
            pending.finish()
