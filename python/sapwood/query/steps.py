"""Into which steps an iteration is cut: a number of entries, or as many as fit into some memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import Form, contents
from ..errors import UsageError
from ..errors.core import core_errors
from ..options.memory import memory_size

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.tree import Tree

# A step may be this much shorter than asked for, in order to end where a cluster ends: baskets that belong to
# two steps are decompressed twice.
_SHORTENED_AT_MOST = 0.5


# Of bytes before and after compression.
_USUAL_RATIO = 4.0


def entry_range(num_entries: int, entry_start: int | None, entry_stop: int | None) -> tuple[int, int]:
    """Start and stop as in a Python slice: None for the ends, negative numbers count from the end.

    >>> entry_range(100, None, None), entry_range(100, -10, None), entry_range(100, 90, 1000)
    ((0, 100), (90, 100), (90, 100))
    """
    for name, value in (("entry_start", entry_start), ("entry_stop", entry_stop)):
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise TypeError(f"{name} is None or a whole number, not {value!r}")
    start, stop, _ = slice(entry_start, entry_stop).indices(num_entries)
    return start, max(start, stop)


def entry_steps(
    tree: Tree, branches: Sequence[Branch], start: int, stop: int, step_size: int | str
) -> list[tuple[int, int]]:
    """The entry ranges of the steps from ``start`` to ``stop``.

    A number is taken at its word. A memory size is met by the arrays of one step as closely as the file's own
    bookkeeping allows, and steps end at the ends of clusters if there is one in the second half of the step.
    """
    if isinstance(step_size, bool) or not isinstance(step_size, (int, str, np.integer)):
        raise TypeError(f"step_size is a number of entries or a size such as '100 MB', not {step_size!r}")
    if not isinstance(step_size, str):
        if step_size < 1:
            raise UsageError(f"step_size is at least one entry, not {step_size}")
        edges = [*range(start, stop, int(step_size)), stop]
        return list(pairwise(edges))
    target = memory_size(step_size)
    if target < 1:
        raise UsageError(f"step_size is a positive size, not {step_size!r}")
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
    """About how many entries of the range fit into a memory size; at least one."""
    target = memory_size(size)
    grid = np.asarray([start, stop])
    total = float(_cumulative_bytes(branches, grid)[-1])
    if total <= 0:
        return max(1, stop - start)
    return max(1, round(target * (stop - start) / total))


def boundaries(tree: Tree, branches: Sequence[Branch], start: int, stop: int) -> NDArray[np.int64]:
    """Entries inside a range at which baskets of all the branches begin, or else the tree's clusters."""
    common: set[int] | None = None
    for branch in branches:
        offsets = {first for first in branch.entry_offsets if start < first < stop}
        common = offsets if common is None else common & offsets
        if not common:
            break
    return np.asarray(sorted(common or (first for first in tree.cluster_starts if start < first < stop)), int)


def _at_cluster(clusters: NDArray[np.int64], start: int, end: int) -> int:
    position = int(np.searchsorted(clusters, end, side="right")) - 1
    if position >= 0 and clusters[position] >= start + _SHORTENED_AT_MOST * (end - start):
        return int(clusters[position])
    return end


def _cumulative_bytes(branches: Sequence[Branch], grid: NDArray[Any]) -> NDArray[np.float64]:
    """Estimated bytes of the arrays of some branches between the first entry of the grid and each."""
    total = np.zeros(len(grid))
    # Several members of a branch are parts of the same bytes.
    for branch in {branch.index: branch for branch in branches}.values():
        edges = np.asarray(branch.entry_offsets, dtype=float)
        if len(edges) < 2 or edges[-1] <= edges[0]:
            continue
        stored = np.asarray([size for size, _ in branch.basket_sizes], dtype=float)
        weight = branch.uncompressed_bytes / stored.sum() if stored.sum() > 0 else 0.0
        # Of a dataset, nobody counted it.
        weight = weight or _USUAL_RATIO
        growth, per_entry = _growth(branch.form, branch.typename)
        decoded = stored * weight * growth + np.diff(edges) * per_entry
        before = np.concatenate([[0.0], np.cumsum(decoded)])
        total += np.interp(grid, edges, before)
    rising: NDArray[np.float64] = total - total[0]
    return rising


def _growth(form: Form | None, typename: str) -> tuple[float, float]:
    """By how much values grow from file (uncompressed) to memory, and the bytes that each entry adds."""
    if form is None:
        return 0.0, 0.0
    growth = 1.0
    if "Double32_t" in typename or "Float16_t" in typename:
        # A Double32_t has 3 to 4 bytes on file, a Float16_t 2 to 3.
        growth = 2.5
    offsets = 0.0
    if form[0] in ("list", "string"):
        # Offsets of 64 bits in memory; on file it is a table of 32 bits, which is counted already.
        offsets = 4.0
        if form[0] == "list" and _has_offsets(form[1]):
            # Inner lists have lengths of 1 to 4 bytes on file, offsets of 8 in memory.
            growth *= 2.0
    return growth, offsets


def _has_offsets(form: Form) -> bool:
    return form[0] in ("list", "string") or any(_has_offsets(content) for content in contents(form))
