"""Starts reads in two stages: first the columns of the cut, then the other columns of the passing entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays.column import empty_column
from ..errors import SapwoodError
from ..errors.core import core_errors
from .assemble import readable_leaves
from .compute import Result
from .query import Query
from .select import branches_among

if TYPE_CHECKING:
    from ..model.branch import Branch

THRESHOLDS: dict[str, int] = {}
"""Arguments of ``CutRead`` that decide when a second stage is worthwhile; tests set them."""


def start_read(
    query: Query,
    ranges: Sequence[tuple[int, int]],
    chosen: NDArray[np.int64] | None,
    threads: int | None,
    deadline: float | None,
) -> _core.CutRead:
    """Starts to read ranges of entries, or chosen entries of the only range.

    The requests are the leaves of the query, in order.
    """
    leaves, tree = query.leaves, query.source.tree
    ends = (min(start for start, _ in ranges), max(stop for _, stop in ranges)) if ranges else (0, 0)
    in_stages = ends[0] < ends[1] and drops_entries(query)
    excluded: list[tuple[int, int]] = []
    if in_stages:
        from .excluding import excluded_ranges

        excluded = excluded_ranges(query, *ends, deadline)
    trees = {id(one): one for one in (tree, *(leaf.tree for leaf in leaves))}
    tree_index = {key: index for index, key in enumerate(trees)}
    leaf_index = {leaf.key: index for index, leaf in enumerate(leaves)}
    outputs = branches_among(query.selection.outputs.values()) if in_stages else []
    with core_errors():
        return _core.CutRead(
            [one.core for one in trees.values()],
            [(tree_index[id(leaf.tree)], leaf.request) for leaf in leaves],
            # Expressions are computed from all entries, because they may index by position.
            [leaf_index[leaf.key] for leaf in _operand_leaves(query)],
            [[leaf_index[leaf.key] for leaf in readable_leaves(branch)] for branch in outputs],
            ranges,
            chosen=None if chosen is None else chosen.astype(np.uint64),
            excluded=excluded,
            threads=threads,
            deadline=deadline,
            **THRESHOLDS,
        )


def drops_entries(query: Query) -> bool:
    """Whether the cut drops whole entries, not items of lists; decided by applying it to empty columns."""
    if query.selection.cut is None:
        return False
    leaves = _operand_leaves(query)
    if all(leaf.form is not None and leaf.form[0] == "primitive" for leaf in leaves):
        return True
    no_entries = {leaf.key: empty_column(leaf.form or ("empty",)) for leaf in leaves}
    try:
        return Result(query, no_entries, range(0)).mask is not None
    except (SapwoodError, ValueError):
        return False


def _operand_leaves(query: Query) -> list[Branch]:
    return [leaf for branch in query.selection.operands for leaf in readable_leaves(branch)]
