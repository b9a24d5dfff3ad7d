"""Which entries a call reads: a range, or some of a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import Column
from ..errors import UsageError
from ..errors.core import core_errors

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.tree import Tree


@dataclass(frozen=True)
class Entries:
    """The entries from ``start`` to ``stop``; if ``chosen`` is not None, those of them only, in its order."""

    start: int
    stop: int
    chosen: NDArray[np.int64] | None = None

    @property
    def numbers(self) -> range | NDArray[np.int64]:
        """The number of each entry."""
        return range(self.start, self.stop) if self.chosen is None else self.chosen

    def where(self, mask: NDArray[np.bool_]) -> Entries:
        """Those for which a mask is true."""
        passing = np.flatnonzero(mask)
        chosen = passing + self.start if self.chosen is None else self.chosen[passing]
        return Entries(self.start, self.stop, chosen)


def chosen_entries(entries: Any, start: int, stop: int) -> NDArray[np.int64]:
    """An entry list: numbers of entries, or a mask over the range.

    >>> chosen_entries([7, 5, 7], 0, 10).tolist(), chosen_entries([True, False, True], 4, 7).tolist()
    ([7, 5, 7], [4, 6])

    Raises:
        UsageError: for entries outside of the range, and a mask of another length.
    """
    array = np.asarray(entries)
    if array.ndim != 1 or not (array.dtype.kind in "biu" or array.size == 0):
        raise TypeError("entries are a sequence of entry numbers or of booleans")
    if array.dtype.kind == "b":
        if len(array) != stop - start:
            raise UsageError(f"the mask has {len(array)} values for the {stop - start} entries of the range")
        return np.flatnonzero(array) + start
    outside = array[(array < start) | (array >= stop)]
    if len(outside):
        raise UsageError(f"entry {outside[0]} is not in the range that is read, {start} to {stop}")
    return array.astype(np.int64)


class PendingColumns:
    """Columns of some entries that are being read: of a distant file, they are on their way."""

    def __init__(
        self, leaves: list[Branch], entries: Entries, threads: int | None, deadline: float | None
    ) -> None:
        self._deadline = deadline
        self._parts = []
        numbers = np.ascontiguousarray(entries.numbers, dtype=np.uint64)
        for tree, some in by_tree(leaves):
            with core_errors():
                started = tree.core.start_entries(
                    [leaf.request for leaf in some],
                    numbers,
                    inside(tree, entries.start, entries.stop),
                    threads=threads,
                    deadline=deadline,
                )
            self._parts.append((some, started))

    def finish(self) -> dict[Any, Column]:
        """The columns by :attr:`Branch.key`."""
        columns: dict[Any, Column] = {}
        for leaves, started in self._parts:
            with core_errors():
                read = started.finish(self._deadline)
            columns.update(zip((leaf.key for leaf in leaves), read, strict=True))
        return columns


def read_columns(
    leaves: list[Branch], entries: Entries, threads: int | None, deadline: float | None
) -> dict[Any, Column]:
    """The columns of some branches, by :attr:`Branch.key`."""
    if entries.chosen is not None:
        return PendingColumns(leaves, entries, threads, deadline).finish()
    columns: dict[Any, Column] = {}
    for tree, some in by_tree(leaves):
        first, last = inside(tree, entries.start, entries.stop)
        requests = [leaf.request for leaf in some]
        with core_errors():
            read = tree.core.read(requests, first, last, threads=threads, deadline=deadline)
        columns.update(zip((leaf.key for leaf in some), read, strict=True))
    return columns


def by_tree(leaves: Sequence[Branch]) -> list[tuple[Tree, list[Branch]]]:
    """The leaves of each tree: friends are trees of their own."""
    trees: dict[int, tuple[Tree, list[Branch]]] = {}
    for leaf in leaves:
        trees.setdefault(id(leaf.tree), (leaf.tree, []))[1].append(leaf)
    return list(trees.values())


def inside(tree: Tree, start: int, stop: int) -> tuple[int, int]:
    """Entries of the main tree that a friend, which may be shorter, has too."""
    return min(start, tree.num_entries), min(stop, tree.num_entries)
