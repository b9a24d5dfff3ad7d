"""Reading what a call wishes, at once or step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ._border import core_errors
from ._compute import compute
from ._steps import entry_range
from ._wish import Wish
from .report import Report


def read_arrays(
    wish: Wish,
    entry_start: int | None,
    entry_stop: int | None,
    *,
    threads: int | None = None,
    deadline: float | None = None,
    index_offset: int = 0,
) -> Any:
    """The result for a range of entries."""
    tree = wish.source.tree
    tree.file.require_open()
    options = tree.file.options
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    with core_errors():
        columns = tree.core.read(
            [leaf.request for leaf in wish.leaves],
            start,
            stop,
            threads=options.threads_or(threads),
            deadline=options.deadline_or(deadline),
        )
    return compute(wish, columns, start, stop, index_offset)


def read_steps(
    wish: Wish,
    steps: Sequence[tuple[int, int]],
    *,
    report: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
    index_offset: int = 0,
) -> Iterator[Any]:
    """The results for ranges of entries, in order; while one is handed out, the next is fetched."""
    file = wish.source.file
    file.require_open()
    threads, deadline = file.options.threads_or(threads), file.options.deadline_or(deadline)
    return _scan(wish, steps, report, threads, deadline, index_offset)


def _scan(
    wish: Wish,
    steps: Sequence[tuple[int, int]],
    report: bool,
    threads: int | None,
    deadline: float | None,
    index_offset: int,
) -> Iterator[Any]:
    tree = wish.source.tree
    with core_errors():
        scan = tree.core.scan(
            [leaf.request for leaf in wish.leaves], steps, threads=threads, deadline=deadline
        )
    for start, stop in steps:
        with core_errors():
            columns = next(scan)
        result = compute(wish, columns, start, stop, index_offset)
        # Nothing here may keep the arrays of this step alive while the next is waited for.
        del columns
        if report:
            result = (result, Report(tree, start, stop, index_offset))
        holder = [result]
        del result
        yield holder.pop()
