"""Reading what a call wishes, at once or step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._border import core_errors
from ._column import Column
from ._compute import compute
from ._steps import entry_range, entry_steps
from ._wish import Wish
from .report import Report

if TYPE_CHECKING:
    from .branch import Branch
    from .tree import Tree


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
    columns: dict[Any, Column] = {}
    for one, leaves in _by_tree(wish.leaves):
        first, last = _inside(one, start, stop)
        with core_errors():
            read = one.core.read(
                [leaf.request for leaf in leaves],
                first,
                last,
                threads=options.threads_or(threads),
                deadline=options.deadline_or(deadline),
            )
        columns.update(zip((leaf.key for leaf in leaves), read, strict=True))
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
    parts = _by_tree(wish.leaves)
    with core_errors():
        scans = [
            one.core.scan(
                [leaf.request for leaf in leaves],
                [_inside(one, start, stop) for start, stop in steps],
                threads=threads,
                deadline=deadline,
            )
            for one, leaves in parts
        ]
    for start, stop in steps:
        columns: dict[Any, Column] = {}
        for scan, (_, leaves) in zip(scans, parts, strict=True):
            with core_errors():
                columns.update(zip((leaf.key for leaf in leaves), next(scan), strict=True))
        result = compute(wish, columns, start, stop, index_offset)
        # Nothing here may keep the arrays of this step alive while the next is waited for.
        del columns
        if report:
            result = (result, Report(tree, start, stop, index_offset))
        holder = [result]
        del result
        yield holder.pop()


def read_and_drop(
    tree: Tree, leaves: Sequence[Branch], entry_start: int | None, entry_stop: int | None
) -> None:
    """Reads branches and keeps nothing of them: for what it costs."""
    options = tree.file.options
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    steps = entry_steps(tree, leaves, start, stop, "100 MB")
    for one, some in _by_tree(leaves):
        ranges = [_inside(one, first, last) for first, last in steps]
        requests = [leaf.request for leaf in some]
        with core_errors():
            scan = one.core.scan(
                requests, ranges, threads=options.threads_or(None), deadline=options.deadline_or(None)
            )
            for _ in scan:
                pass


def _by_tree(leaves: Sequence[Branch]) -> list[tuple[Tree, list[Branch]]]:
    """The leaves of each tree: friends are trees of their own."""
    trees: dict[int, tuple[Tree, list[Branch]]] = {}
    for leaf in leaves:
        trees.setdefault(id(leaf.tree), (leaf.tree, []))[1].append(leaf)
    return list(trees.values())


def _inside(tree: Tree, start: int, stop: int) -> tuple[int, int]:
    """Entries of the main tree that a friend, which may be shorter, has too."""
    return min(start, tree.num_entries), min(stop, tree.num_entries)
