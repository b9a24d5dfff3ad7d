"""Asking the core for a read in two stages: what a cut needs, then what else the passing entries need."""

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
from .entries import by_tree
from .excluding import excluded_ranges
from .expressions import Expression
from .query import Query

if TYPE_CHECKING:
    from ..model.branch import Branch

COSTS: dict[str, int] = {}
"""What a second stage must be worth, where it is not what the core says: for tests."""


def start_read(
    query: Query,
    ranges: Sequence[tuple[int, int]],
    chosen: NDArray[np.int64] | None,
    threads: int | None,
    deadline: float | None,
) -> _core.CutRead:
    """Starts to read ranges of entries, or chosen entries of the only one.

    The requests are the leaves of the query, in their order.
    """
    leaves, tree = query.leaves, query.source.tree
    ends = (min(start for start, _ in ranges), max(stop for _, stop in ranges)) if ranges else (0, 0)
    in_stages = ends[0] < ends[1] and drops_entries(query)
    excluded = excluded_ranges(query, *ends, deadline) if in_stages else []
    trees = [tree, *(one for one, _ in by_tree(leaves) if one is not tree)]
    number_of = {id(one): number for number, one in enumerate(trees)}
    place_of = {leaf.key: place for place, leaf in enumerate(leaves)}
    # Expressions are computed of all entries: they may refer to several at once.
    needed = [leaf for branch in _branches(query.selection.names) for leaf in readable_leaves(branch)]
    outputs = _branches(query.selection.outputs) if in_stages else []
    with core_errors():
        return _core.CutRead(
            [one.core for one in trees],
            [(number_of[id(leaf.tree)], leaf.request) for leaf in leaves],
            [place_of[leaf.key] for leaf in needed],
            [[place_of[leaf.key] for leaf in readable_leaves(branch)] for branch in outputs],
            ranges,
            chosen=None if chosen is None else chosen.astype(np.uint64),
            excluded=excluded,
            threads=threads,
            deadline=deadline,
            **COSTS,
        )


def _branches(targets: dict[str, Branch | Expression]) -> list[Branch]:
    return [target for target in targets.values() if not isinstance(target, Expression)]


def drops_entries(query: Query) -> bool:
    """Whether a cut leaves out whole entries, and not items of lists; found out by cutting nothing."""
    if query.selection.cut is None:
        return False
    leaves = [leaf for branch in _branches(query.selection.names) for leaf in readable_leaves(branch)]
    if all(leaf.form is not None and leaf.form[0] == "primitive" for leaf in leaves):
        return True
    nothing = {leaf.key: empty_column(leaf.form or ("empty",)) for leaf in leaves}
    try:
        return Result(query, nothing, range(0)).mask is not None
    except (SapwoodError, ValueError):
        return False
