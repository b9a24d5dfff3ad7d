"""Entry lists, and the entries and leaves of each tree of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..display.units import counted
from ..errors import ArgumentTypeError, UsageError

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.tree import Tree


def chosen_entries(entries: Any, start: int, stop: int) -> NDArray[np.int64]:
    """The entry numbers of an entry list, which holds entry numbers, or booleans as a mask over the range.

    >>> chosen_entries([7, 5, 7], 0, 10).tolist(), chosen_entries([True, False, True], 4, 7).tolist()
    ([7, 5, 7], [4, 6])

    Raises:
        TypeError: for anything else than a one-dimensional array of integers or booleans.
        UsageError: for an entry outside the range, or a mask of another length.
    """
    try:
        array = np.asarray(entries)
    except ValueError:
        # NumPy refuses lists of different lengths.
        array = np.empty((0, 0))
    if array.ndim != 1 or not (array.dtype.kind in "biu" or array.size == 0):
        raise ArgumentTypeError("'entries' must be a sequence of entry numbers or of booleans")
    if array.dtype.kind == "b":
        if len(array) != stop - start:
            values, expected = counted(len(array), "value"), counted(stop - start, "entry", "entries")
            raise UsageError(f"the mask has {values}, but the range has {expected}")
        return np.flatnonzero(array) + start
    outside = array[(array < start) | (array >= stop)]
    if len(outside):
        raise UsageError(f"entry {outside[0]} is outside the range of entries to read, {start} to {stop}")
    return array.astype(np.int64)


def by_tree(leaves: Sequence[Branch]) -> list[tuple[Tree, list[Branch]]]:
    """The leaves of each tree; leaves of a friend belong to the friend's tree."""
    trees: dict[int, tuple[Tree, list[Branch]]] = {}
    for leaf in leaves:
        trees.setdefault(id(leaf.tree), (leaf.tree, []))[1].append(leaf)
    return list(trees.values())


def clipped(tree: Tree, start: int, stop: int) -> tuple[int, int]:
    """The part of an entry range that a tree has: a friend may be shorter than the main tree."""
    return min(start, tree.num_entries), min(stop, tree.num_entries)
