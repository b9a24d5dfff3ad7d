"""The statistics of a dataset's values, and the entries that a cut can skip by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays.libraries import library_named
from ..errors import KeyInFileError
from ..errors.core import core_errors
from ..query.excluding import excluded_ranges
from ..query.query import Query
from ..query.select import select
from ..query.stages import drops_entries

if TYPE_CHECKING:
    from ..model.tree import Tree

_UNKNOWN = 2**64 - 1


@dataclass(frozen=True)
class Statistics:
    """The statistics of a branch in a version.

    Attributes:
        branch: path of the branch.
        stripes: number of stripes that contain the branch.
        known: number of stripes that have statistics; 0 for objects and text.
        values: number of values in those stripes, including all items of lists.
        nans: number of values that are NaN.
        least, greatest: the range of all other values; None if there are none.
    """

    branch: str
    stripes: int
    known: int
    values: int
    nans: int
    least: int | float | None
    greatest: int | float | None


def statistics(tree: Tree, product: str) -> list[Statistics]:
    """The statistics of each branch of a product."""
    paths = [branch.path for branch in tree.core.branches]
    products = [tree.core.product(index) or "" for index in range(len(paths))]
    own = [index for index, name in enumerate(products) if name == product]
    if not own:
        raise KeyInFileError.not_found("product", product, products, tree.file.file_path)
    deadline = tree.file.options.deadline
    with core_errors():
        tree.core.find_baskets(own, deadline=deadline)
        return [_of(tree, index, paths[index], deadline) for index in own]


def _of(tree: Tree, index: int, path: str, deadline: float | None) -> Statistics:
    kind, (starts, _, counts, nans, low, high) = tree.core.known_values(index, deadline=deadline)
    known = counts != np.uint64(_UNKNOWN)
    numbers = known & (counts > nans)
    ends: tuple[int | float | None, int | float | None] = (None, None)
    if kind is not None and numbers.any():
        ends = (low.view(kind)[numbers].min().item(), high.view(kind)[numbers].max().item())
    values, not_numbers = int(counts[known].sum()), int(nans[known].sum())
    return Statistics(path, len(starts), int(known.sum()), values, not_numbers, *ends)


def excluded(tree: Tree, cut: str) -> tuple[int, int]:
    """The numbers of entries and of whole batches that a cut skips without reading them."""
    query = Query(tree, select(tree, [], cut), library_named("np"))
    # A cut on the items of lists skips no entry.
    entries = tree.num_entries if drops_entries(query) else 0
    ranges = excluded_ranges(query, 0, entries, tree.file.options.deadline)
    return tree.core.count_excluded(ranges)
