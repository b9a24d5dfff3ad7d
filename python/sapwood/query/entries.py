"""Which entries a call reads, and of which trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.tree import Tree


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


def by_tree(leaves: Sequence[Branch]) -> list[tuple[Tree, list[Branch]]]:
    """The leaves of each tree: friends are trees of their own."""
    trees: dict[int, tuple[Tree, list[Branch]]] = {}
    for leaf in leaves:
        trees.setdefault(id(leaf.tree), (leaf.tree, []))[1].append(leaf)
    return list(trees.values())


def inside(tree: Tree, start: int, stop: int) -> tuple[int, int]:
    """Entries of the main tree that a friend, which may be shorter, has too."""
    return min(start, tree.num_entries), min(stop, tree.num_entries)
