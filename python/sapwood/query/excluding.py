"""Finds entries that cannot pass a cut, from a dataset's statistics of its stripes: they are not fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors.core import core_errors
from .bounds import Bounds, NameBounds, may_pass
from .expressions import Expression
from .query import Query

if TYPE_CHECKING:
    from ..model.branch import Branch

_UNKNOWN = np.uint64(2**64 - 1)


def excluded_ranges(query: Query, start: int, stop: int, deadline: float | None) -> list[tuple[int, int]]:
    """Ranges between ``start`` and ``stop``, in order, in which no entry can pass the query's cut."""
    selection, tree = query.selection, query.source.tree
    if selection.cut is None or tree.file.dataset_tree is None or start >= stop:
        return []
    # One round trip looks up the baskets of all branches.
    own = [leaf for leaf in query.leaves if leaf.tree is tree]
    with core_errors():
        tree.core.find_baskets([leaf.index for leaf in own], deadline=deadline)
    targets = [selection.cut, *selection.outputs.values(), *selection.names.values()]
    expressions = [target for target in targets if isinstance(target, Expression)]
    # An expression that selects may have fewer values than there are entries.
    if len(own) < len(query.leaves) or any(expression.has_subscripts for expression in expressions):
        return []
    return _excluded(selection.cut, selection.names, start, stop, deadline)


def _excluded(
    cut: Expression,
    names: dict[str, Branch | Expression],
    start: int,
    stop: int,
    deadline: float | None,
) -> list[tuple[int, int]]:
    columns = {
        name: _Column.of(target, deadline)
        for name, target in names.items()
        if not isinstance(target, Expression)
    }
    inside = [edge for column in columns.values() if column is not None for edge in column.edges]
    if not inside:
        return []
    edges = np.unique(np.clip(np.concatenate([[start, stop], *inside]), start, stop)).astype(np.int64)
    bounds = {name: None if column is None else column.at(edges[:-1]) for name, column in columns.items()}

    def known(name: str) -> NameBounds:
        target = names[name]
        return target if isinstance(target, Expression) else bounds[name]

    passes = may_pass(cut, known, len(edges) - 1)
    changes = np.flatnonzero(np.diff(np.concatenate([[True], passes, [True]])))
    return [(first, end) for first, end in edges[changes].reshape(-1, 2).tolist()]


@dataclass(frozen=True)
class _Column:
    """The statistics of a branch, stripe by stripe."""

    edges: list[NDArray[np.int64]]
    starts: NDArray[np.int64]
    bounds: Bounds

    @classmethod
    def of(cls, branch: Branch, deadline: float | None) -> _Column | None:
        """The statistics of a branch of numbers or of lists of numbers; None for other branches."""
        form = branch.form
        is_list = form is not None and form[0] == "list"
        number = form[1] if form is not None and is_list else form
        if branch.member or branch.is_group or number is None or number[0] != "primitive":
            return None
        with core_errors():
            kind, columns = branch.tree.core.known_values(branch.index, deadline=deadline)
        starts, ends, counts, nans, low, high = columns
        known = counts != _UNKNOWN
        covered = np.array_equal(np.append(starts, branch.tree.num_entries), np.append(np.uint64(0), ends))
        if not known.any() or not covered:
            return None
        least, greatest = _all_values(np.dtype(number[1]))
        own = [bits.view(kind or "f8").astype(number[1]) for bits in (low, high)]
        bounds = Bounds(
            np.where(known, own[0], least),
            np.where(known, own[1], greatest),
            ~known | (counts > nans),
            ~known | (nans > 0),
            np.where(known, counts.astype(float), np.inf) if is_list else None,
        )
        return cls([starts.astype(np.int64), ends.astype(np.int64)], starts.astype(np.int64), bounds)

    def at(self, entries: NDArray[np.int64]) -> Bounds:
        """The bounds of the stripes that hold some entries."""
        stripes = np.searchsorted(self.starts, entries, side="right") - 1
        bounds = self.bounds
        count = None if bounds.count is None else bounds.count[stripes]
        return Bounds(
            bounds.low[stripes], bounds.high[stripes], bounds.numbers[stripes], bounds.nans[stripes], count
        )


def _all_values(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and the largest value of a type."""
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    if dtype.kind == "b":
        return np.False_, np.True_
    return dtype.type(np.iinfo(dtype).min), dtype.type(np.iinfo(dtype).max)
