"""Divides an iteration into steps: of a number of entries, or of as many as fit in an amount of memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import Form, contents
from ..errors import ArgumentTypeError, UsageError
from ..errors.core import core_errors
from ..options.memory import memory_size

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.tree import Tree

# A step may be shortened to this fraction in order to end where a cluster ends, because baskets that belong
# to two steps are decompressed twice.
_MIN_STEP_FRACTION = 0.5

_TYPICAL_COMPRESSION_RATIO = 4.0


def entry_range(num_entries: int, entry_start: int | None, entry_stop: int | None) -> tuple[int, int]:
    """Start and stop, as in a Python slice: None means the ends, and negative numbers count from the end.

    >>> entry_range(100, None, None), entry_range(100, -10, None), entry_range(100, 90, 1000)
    ((0, 100), (90, 100), (90, 100))
    """
    for name, value in (("entry_start", entry_start), ("entry_stop", entry_stop)):
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise ArgumentTypeError(f"{name!r} must be None or an integer, not {value!r}")
    start, stop, _ = slice(entry_start, entry_stop).indices(num_entries)
    return start, max(start, stop)


def entry_steps(
    tree: Tree, branches: Sequence[Branch], start: int, stop: int, step_size: int | str
) -> list[tuple[int, int]]:
    """The entry ranges of the steps from ``start`` to ``stop``.

    With a number as ``step_size``, each step has this number of entries. With a memory size, the arrays of a
    step have about this size, as estimated from the sizes of baskets. If a cluster ends in the second half of
    such a step, the step ends there.
    """
    if isinstance(step_size, bool) or not isinstance(step_size, (int, str, np.integer)):
        raise ArgumentTypeError(
            f"'step_size' must be a number of entries or a size such as '100 MB', not {step_size!r}"
        )
    if not isinstance(step_size, str):
        if step_size < 1:
            raise UsageError(f"'step_size' must be at least 1 entry, not {step_size}")
        edges = [*range(start, stop, int(step_size)), stop]
        return list(pairwise(edges))
    target = memory_size(step_size)
    if target < 1:
        raise UsageError(f"'step_size' must be a positive size, not {step_size!r}")
    with core_errors():
        tree.core.find_baskets([branch.index for branch in branches], deadline=tree.file.options.deadline)
    clusters = boundaries(tree, branches, start, stop)
    grid = np.asarray([start, *clusters, stop])
    cumulative = _cumulative_bytes(branches, grid)
    steps = []
    while start < stop:
        reached = float(np.interp(start, grid, cumulative)) + target
        end = stop if reached >= cumulative[-1] else int(np.interp(reached, cumulative, grid))
        if start < end < stop:
            end = _at_cluster(clusters, start, end)
        end = max(end, start + 1)
        steps.append((start, end))
        start = end
    return steps


def num_entries_for(branches: Sequence[Branch], start: int, stop: int, size: int | str) -> int:
    """The estimated number of entries of the range that fit in a memory size; at least 1."""
    target = memory_size(size)
    grid = np.asarray([start, stop])
    total = float(_cumulative_bytes(branches, grid)[-1])
    if total <= 0:
        return max(1, stop - start)
    return max(1, round(target * (stop - start) / total))


def boundaries(tree: Tree, branches: Sequence[Branch], start: int, stop: int) -> NDArray[np.int64]:
    """Entries inside a range where baskets of all branches begin; without any, where clusters begin."""
    common: set[int] | None = None
    for branch in branches:
        offsets = {first for first in branch.entry_offsets if start < first < stop}
        common = offsets if common is None else common & offsets
        if not common:
            break
    return np.asarray(sorted(common or (first for first in tree.cluster_starts if start < first < stop)), int)


def _at_cluster(clusters: NDArray[np.int64], start: int, end: int) -> int:
    position = int(np.searchsorted(clusters, end, side="right")) - 1
    if position >= 0 and clusters[position] >= start + _MIN_STEP_FRACTION * (end - start):
        return int(clusters[position])
    return end


def _cumulative_bytes(branches: Sequence[Branch], grid: NDArray[Any]) -> NDArray[np.float64]:
    """Estimated size of the arrays from the first entry of the grid to each of its entries, in bytes."""
    total = np.zeros(len(grid))
    # Several members of one branch share its bytes, so each branch counts once.
    for branch in {branch.index: branch for branch in branches}.values():
        edges = np.asarray(branch.entry_offsets, dtype=float)
        if len(edges) < 2 or edges[-1] <= edges[0]:
            continue
        stored = np.asarray([size for size, _ in branch.basket_sizes], dtype=float)
        weight = branch.uncompressed_bytes / stored.sum() if stored.sum() > 0 else 0.0
        # A dataset does not record uncompressed sizes.
        weight = weight or _TYPICAL_COMPRESSION_RATIO
        growth, per_entry = _growth(branch.form, branch.typename)
        decoded = stored * weight * growth + np.diff(edges) * per_entry
        before = np.concatenate([[0.0], np.cumsum(decoded)])
        total += np.interp(grid, edges, before)
    rising: NDArray[np.float64] = total - total[0]
    return rising


def _growth(form: Form | None, typename: str) -> tuple[float, float]:
    """The factor from uncompressed bytes in the file to bytes in memory, and extra bytes per entry."""
    if form is None:
        return 0.0, 0.0
    growth = 1.0
    if "Double32_t" in typename or "Float16_t" in typename:
        # In the file, a Double32_t has 3 to 4 bytes, and a Float16_t 2 to 3.
        growth = 2.5
    offsets = 0.0
    if form[0] in ("list", "string"):
        # Offsets have 64 bits in memory and 32 bits in the file, which are counted already.
        offsets = 4.0
        if form[0] == "list" and _has_offsets(form[1]):
            # Inner lists have lengths of 1 to 4 bytes in the file, and offsets of 8 bytes in memory.
            growth *= 2.0
    return growth, offsets


def _has_offsets(form: Form) -> bool:
    return form[0] in ("list", "string") or any(_has_offsets(content) for content in contents(form))
