"""Reading in two stages: what a cut needs, then what else the entries that pass it need.

Baskets of the second stage that hold no such entry are neither fetched nor decompressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import Form, contents, empty_column
from ..errors import SapwoodError
from .assemble import readable_leaves
from .compute import Result
from .entries import Entries
from .expressions import Expression
from .query import Query
from .steps import boundaries

if TYPE_CHECKING:
    from ..model.branch import Branch

# Bytes in the file that a second stage may save at most, below which it is not worth a round trip.
_TOO_LITTLE = 1 << 20
# If more of the entries pass, and some in every cluster, reading all and masking is faster than picking out.
_MANY = 0.05


@dataclass(frozen=True)
class Stages:
    """The branches that are read of all entries, and those that are read of passing entries only."""

    first: list[Branch]
    second: list[Branch]
    boundaries: NDArray[np.int64]
    """Entries at which baskets of the second stage begin."""


def stages(query: Query, start: int, stop: int, share: float = 1.0) -> Stages | None:
    """How the entries from ``start`` to ``stop`` are read in two stages, or None if that is of no use.

    ``share`` is the part of them that is read at all.
    """
    selection = query.selection
    if selection.cut is None or start >= stop:
        return None
    # Expressions are computed of all entries: they may refer to several at once.
    first = {leaf.key: leaf for branch in _branches(selection.names) for leaf in readable_leaves(branch)}
    later = []
    for branch in _branches(selection.outputs):
        leaves = readable_leaves(branch)
        if all(can_wait(leaf, stop) for leaf in leaves):
            later.append(leaves)
        else:
            first.update((leaf.key, leaf) for leaf in leaves)
    second = {
        leaf.key: leaf for leaves in later if any(leaf.key not in first for leaf in leaves) for leaf in leaves
    }
    # Fewer bytes than a full link carries in a round trip take no longer to come than that.
    least = max(_TOO_LITTLE, query.source.tree.core.bytes_in_flight)
    if share * _stored_bytes(list(second.values()), start, stop) < least or not cuts_entries(query):
        return None
    # What was asked for and is not in the second stage is in the first.
    rest = [leaf for leaf in query.leaves if leaf.key not in second or leaf.key in first]
    waiting = [*second.values()]
    return Stages(rest, waiting, boundaries(query.source.tree, waiting, start, stop))


def worth_skipping(mask: NDArray[np.bool_], entries: Entries, boundaries: NDArray[np.int64]) -> bool:
    """Whether to read the passing entries only, now that it is known which pass."""
    if entries.chosen is not None or mask.mean() < _MANY:
        return True
    inside = boundaries[(boundaries > entries.start) & (boundaries < entries.stop)] - entries.start
    return not bool(np.logical_or.reduceat(mask, np.concatenate([[0], inside])).all())


def _branches(targets: dict[str, Branch | Expression]) -> list[Branch]:
    return [target for target in targets.values() if not isinstance(target, Expression)]


def can_wait(leaf: Branch, stop: int) -> bool:
    """Whether some entries of a column look as they do among all the others."""
    return leaf.num_entries >= stop and not (leaf.form is None or _depends_on_data(leaf.form))


def _depends_on_data(form: Form) -> bool:
    """Whether only the data say what a form is: which classes objects are of."""
    return form[0] == "empty" or any(map(_depends_on_data, contents(form)))


def _stored_bytes(leaves: Sequence[Branch], start: int, stop: int) -> float:
    shares = ((stop - start) / max(leaf.num_entries, 1) for leaf in leaves)
    return sum(_bytes_of(leaf) * share for leaf, share in zip(leaves, shares, strict=True))


def _bytes_of(leaf: Branch) -> int:
    # A dataset would look for the baskets of all other branches, too.
    if leaf.tree.file.dataset_tree is None:
        return leaf.compressed_bytes
    return sum(size for size, _ in leaf.basket_sizes)


def cuts_entries(query: Query) -> bool:
    """Whether the cut leaves out whole entries, and not items of lists; found out by cutting nothing."""
    leaves = [leaf for branch in _branches(query.selection.names) for leaf in readable_leaves(branch)]
    if all(leaf.form is not None and leaf.form[0] == "primitive" for leaf in leaves):
        return True
    nothing = {leaf.key: empty_column(leaf.form or ("empty",)) for leaf in leaves}
    try:
        return Result(query, nothing, range(0)).mask is not None
    except (SapwoodError, ValueError):
        return False
