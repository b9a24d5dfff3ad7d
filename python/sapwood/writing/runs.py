"""Selects the entries of CMS's run and luminosity block trees that belong to selected events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError
from ..integrations.edm.members import member, read_together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..model.branch import Branch
    from ..model.file import File
    from ..model.tree import Tree

TREES = {"Runs": ("RunAuxiliary", 1), "LuminosityBlocks": ("LuminosityBlockAuxiliary", 2)}
"""For each tree: the branch with its numbers in EDM files, and how many numbers identify an entry."""

MEMBERS = (("id_.run_", "run_"), ("id_.luminosityBlock_", "luminosityBlock_", "lumi_"))
"""The members with the run and the luminosity block, in all versions of the class."""

COLUMNS = ("run", "luminosityBlock")
"""The branches with the same numbers in NanoAOD."""


def followed_entries(
    file: File, events: Tree, path: str, ranges: list[tuple[int, int]]
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Selects the entries of runs and luminosity blocks that belong to a selection of events.

    Args:
        file: the file.
        events: the tree of events.
        path: its path; the other trees are in the same directory.
        ranges: the selected entries of ``events``.

    Returns:
        The path and the selected ranges of entries of each tree of runs or luminosity blocks.

    Raises:
        UsageError: there is no such tree, or it lacks the numbers.
    """
    folder = path.rpartition("/")[0]
    known = file.classnames(recursive=True, cycle=False)
    beside = {f"{folder}/{name}".strip("/"): about for name, about in TREES.items()}
    found = {place: about for place, about in beside.items() if place in known}
    if not found:
        raise UsageError(
            f"there are no trees {' or '.join(map(repr, TREES))} beside {path!r}", hint="omit 'follow'"
        )
    numbers = _numbers(events, "EventAuxiliary", 2)
    chosen = np.concatenate([np.empty(0, np.int64), *(np.arange(start, stop) for start, stop in ranges)])
    wanted = np.unique(numbers[chosen], axis=0)
    followed = []
    for place, (auxiliary, count) in found.items():
        own = _numbers(file.tree_at(place), auxiliary, count)
        few = {tuple(row) for row in wanted[:, :count].tolist()}
        passing = [entry for entry, row in enumerate(own.tolist()) if tuple(row) in few]
        followed.append((place, runs_of(np.asarray(passing, np.int64))))
    return followed


def runs_of(entries: NDArray[Any]) -> list[tuple[int, int]]:
    """Converts ascending entry numbers to ranges (start, stop)."""
    breaks = np.flatnonzero(np.diff(entries) != 1) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(entries, breaks) if len(run)]


def _numbers(tree: Tree, auxiliary: str, count: int) -> NDArray[Any]:
    """Run numbers, and for ``count`` 2 luminosity blocks, as int64 of shape (entries, count)."""
    holder = tree.get(auxiliary)
    if holder is None:
        columns = [tree.get(name) for name in COLUMNS[:count]]
    else:
        columns = [_first(holder, names) for names in MEMBERS[:count]]
    branches = [column for column in columns if column is not None]
    if len(branches) < count:
        raise UsageError(
            f"{tree.location} has no branches with run and luminosity block numbers", hint="omit 'follow'"
        )
    read = read_together(branches, None, None, library="np")
    numbers = np.stack([np.asarray(column, np.int64) for column in read], axis=1)
    beside = member(holder, "luminosityBlock_") if holder is not None and count == 2 else None
    if beside is not None and not numbers[:, 1].all():
        # EventID has a luminosity block since CMSSW 3_8. If it is missing or 0, it is stored beside EventID.
        other = np.asarray(read_together([beside], None, None, library="np")[0], np.int64)
        numbers[:, 1] = np.where(numbers[:, 1] == 0, other, numbers[:, 1])
    return numbers


def _first(branch: Branch, names: tuple[str, ...]) -> Branch | None:
    return next((found for name in names if (found := member(branch, name)) is not None), None)
