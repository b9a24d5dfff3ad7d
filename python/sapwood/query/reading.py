"""Reading what a call asks for, at once or step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors.core import core_errors
from .assemble import Columns
from .batch import Report
from .compute import Result
from .entries import Entries, PendingColumns, by_tree, chosen_entries, inside, read_columns
from .excluding import remaining
from .query import Query
from .stages import Stages, stages, worth_skipping
from .steps import entry_range, entry_steps

if TYPE_CHECKING:
    from .. import _core
    from ..arrays.column import Column
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
    """The result for a range of entries, or for some of it."""
    tree = query.source.tree
    tree.file.require_open()
    threads, deadline = tree.file.options.threads_or(threads), tree.file.options.deadline_or(deadline)
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    chosen = None if entries is None else chosen_entries(entries, start, stop)
    entries = Entries(start, stop, chosen)
    left = remaining(query, start, stop, deadline)
    share = 1.0
    if left is not None:
        entries, share = left.within(entries), left.share
    step = _Step(query, stages(query, start, stop, share), entries, index_offset)
    step.begin(read_columns(step.first, step.entries, threads, deadline), threads, deadline)
    return step.finish()


def read_steps(
    query: Query,
    steps: Sequence[tuple[int, int]],
    *,
    report: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    index_offset: int = 0,
) -> Iterator[Any]:
    """The results for ranges of entries, in order; while one is worked on, the next is read."""
    return Steps(query, steps, threads, deadline).results(report, index_offset)


class _Step:
    """The reading of some entries, in one stage or in two."""

    def __init__(self, query: Query, stages: Stages | None, entries: Entries, index_offset: int) -> None:
        self.entries = entries
        self.first = query.leaves if stages is None else stages.first
        self._stages = stages
        self._query = query
        self._index_offset = index_offset
        self._result: Result | None = None
        self._started: PendingColumns | None = None

    def begin(self, columns: Columns, threads: int | None, deadline: float | None) -> None:
        """Takes the columns of the first stage, and starts to read the second."""
        numbers = self.entries.numbers
        offset = self._index_offset
        index = (
            range(numbers.start + offset, numbers.stop + offset)
            if isinstance(numbers, range)
            else numbers + offset
        )
        result = Result(self._query, columns, index)
        if self._stages is not None:
            mask, second = result.mask, self._stages.second
            if mask is not None and worth_skipping(mask, self.entries, self._stages.boundaries):
                self._started = PendingColumns(second, self.entries.where(mask), threads, deadline)
            else:
                result.add(read_columns(second, self.entries, threads, deadline))
        self._result = result

    def finish(self) -> Any:
        """The result; once."""
        result, self._result = self._result, None
        assert result is not None
        return result.get(None if self._started is None else self._started.finish())


class Steps:
    """Ranges of entries that are to be read, of which the first is on its way."""

    def __init__(
        self,
        query: Query,
        ranges: Sequence[tuple[int, int]],
        threads: int | None = None,
        deadline: float | None = None,
    ) -> None:
        file = query.source.file
        file.require_open()
        self._query = query
        self.ranges = ranges
        self._threads, self._deadline = file.options.threads_or(threads), file.options.deadline_or(deadline)
        ends = (min(start for start, _ in ranges), max(stop for _, stop in ranges)) if ranges else (0, 0)
        left = remaining(query, *ends, self._deadline)
        self._stages = stages(query, *ends, 1.0 if left is None else left.share)
        self._leaves = query.leaves if self._stages is None else self._stages.first
        self._parts = by_tree(self._leaves)
        entries = [Entries(start, stop) for start, stop in ranges]
        self._entries = entries if left is None else [left.within(one) for one in entries]
        whole = [(one.start, one.stop) for one in self._entries if one.chosen is None]
        with core_errors():
            self._scans = [
                one.core.scan(
                    [leaf.request for leaf in leaves],
                    [inside(one, start, stop) for start, stop in whole],
                    threads=self._threads,
                    deadline=self._deadline,
                )
                for one, leaves in self._parts
            ]

    def results(self, report: bool = False, index_offset: int = 0) -> Iterator[Any]:
        """The results, in order, once; while one is worked on, the next is read."""
        tree = self._query.source.tree
        # Over distance, the second stage of a step is in flight while the first one of the next is worked on.
        ahead = 1 if self._stages is not None and tree.core.is_distant else 0
        begun: deque[_Step] = deque()
        # Those of which a part is read are asked for while the step before is worked on.
        asked: deque[PendingColumns | None] = deque(map(self._started, self._entries[:1]))
        for number, entries in enumerate(self._entries):
            asked.extend(map(self._started, self._entries[number + 1 : number + 2]))
            step = _Step(self._query, self._stages, entries, index_offset)
            started = asked.popleft()
            columns = _next_columns(self._scans, self._parts) if started is None else started.finish()
            step.begin(columns, self._threads, self._deadline)
            del columns
            begun.append(step)
            # Nothing here may keep the arrays of a step alive while the next is waited for.
            del step
            if len(begun) > ahead:
                yield _finished(begun, tree, report, index_offset).pop()
        while begun:
            yield _finished(begun, tree, report, index_offset).pop()

    def _started(self, entries: Entries) -> PendingColumns | None:
        """The reading of some entries of a step; None if they are all of it."""
        if entries.chosen is None:
            return None
        return PendingColumns(self._leaves, entries, self._threads, self._deadline)


def _next_columns(scans: list[_core.Scan], parts: list[tuple[Tree, list[Branch]]]) -> Columns:
    columns: dict[Any, Column] = {}
    for scan, (_, leaves) in zip(scans, parts, strict=True):
        with core_errors():
            columns.update(zip((leaf.key for leaf in leaves), next(scan), strict=True))
    return columns


def _finished(begun: deque[_Step], tree: Tree, report: bool, index_offset: int) -> list[Any]:
    """The result of the first step, in a list: who pops it has it alone."""
    step = begun.popleft()
    start, stop = step.entries.start, step.entries.stop
    result = step.finish()
    return [(result, Report(tree, start, stop, index_offset)) if report else result]


def read_and_drop(
    tree: Tree,
    leaves: Sequence[Branch],
    entry_start: int | None,
    entry_stop: int | None,
    step_size: int | str = "100 MB",
) -> None:
    """Reads branches step by step and keeps nothing of them: for what it costs."""
    options = tree.file.options
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    steps = entry_steps(tree, leaves, start, stop, step_size)
    for one, some in by_tree(leaves):
        ranges = [inside(one, first, last) for first, last in steps]
        requests = [leaf.request for leaf in some]
        with core_errors():
            scan = one.core.scan(
                requests, ranges, threads=options.threads_or(None), deadline=options.deadline_or(None)
            )
            for _ in scan:
                pass
