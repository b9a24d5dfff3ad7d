"""Luminosity masks: selecting entries by the luminosity blocks of a certification file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...display.printable import shows_printable
from ...display.units import counted
from ...errors import SapwoodError, SapwoodWarning, UsageError
from .events import Events
from .members import member, read_together
from .metadata import owned_file
from .processes import metadata_branch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...model.file import File

RANGE_TYPE = np.dtype([("run", "u4"), ("luminosityBlock", "u4"), ("start", "i8"), ("stop", "i8")])
"""The dtype of :func:`lumi_ranges`: entries from ``start`` to ``stop`` (exclusive)."""


class LumiIndexWarning(SapwoodWarning):
    """The file's index of luminosity blocks is unusable; the numbers of all events were read instead."""


class LumiMask:
    """A set of good luminosity blocks: ``{run: [[first, last], …]}``, both ends inclusive.

    Args:
        source: such a dict (runs may be text), or the path of a JSON file with such a dict.

    Raises:
        UsageError: the source has another structure.

    >>> mask = LumiMask({"1": [[1, 10], [20, 20]]})
    >>> mask.contains([1, 1, 1, 2], [10, 11, 20, 1]).tolist()
    [True, False, True, False]
    """

    def __init__(self, source: str | os.PathLike[str] | Mapping[Any, Iterable[Any]]) -> None:
        try:
            ranges = (
                source if isinstance(source, Mapping) else json.loads(Path(source).expanduser().read_text())
            )
            self._ranges = {int(run): _edges(blocks) for run, blocks in ranges.items()}
        except (AttributeError, TypeError, ValueError):
            raise UsageError(
                "a luminosity mask must be {run: [[first, last], …]}, or a JSON file with that"
            ) from None

    def contains(self, run: Any, luminosity_block: Any) -> NDArray[Any]:
        """Whether each luminosity block is good.

        Args:
            run: run numbers, as an array or a number.
            luminosity_block: numbers of luminosity blocks, which are broadcast against ``run``.

        Returns:
            A NumPy array of bool of the common shape.
        """
        runs, blocks = np.broadcast_arrays(np.asarray(run), np.asarray(luminosity_block))
        good = np.zeros(runs.shape, dtype=bool)
        for number in np.unique(runs):
            edges = self._ranges.get(int(number))
            if edges is not None:
                here = runs == number
                # A block is inside a range if the number of edges at or before it is odd.
                good[here] = np.searchsorted(edges, blocks[here].astype(np.int64), side="right") % 2 == 1
        return good

    def entry_ranges(self, source: Any) -> list[tuple[int, int]]:
        """The ranges of entries of the Events tree that are in good luminosity blocks.

        Use a range as ``entry_start`` and ``entry_stop``, or the list as the ``steps`` of a file in
        :func:`sapwood.iterate`. Only the file's index is read. If it is missing or unusable, the numbers of
        all events are read, after a :class:`LumiIndexWarning`.

        Args:
            source: a path or URL, a :class:`sapwood.File`, or :class:`Events`.

        Returns:
            Pairs (start, stop) in ascending order; stop is exclusive.
        """
        blocks = lumi_ranges(source)
        good = np.sort(blocks[self.contains(blocks["run"], blocks["luminosityBlock"])], order="start")
        merged: list[tuple[int, int]] = []
        for start, stop in zip(good["start"].tolist(), good["stop"].tolist(), strict=True):
            if merged and merged[-1][1] == start:
                start = merged.pop()[0]
            merged.append((start, stop))
        return merged

    @shows_printable
    def __repr__(self) -> str:
        blocks = sum(int((edges[1::2] - edges[::2]).sum()) for edges in self._ranges.values())
        return f"<LumiMask: {counted(blocks, 'luminosity block')} in {counted(len(self._ranges), 'run')}>"


def lumi_ranges(source: Any) -> NDArray[Any]:
    """The entries of the Events tree that belong to each luminosity block.

    They are read from the file's ``IndexIntoFile``. If that is missing or does not cover all entries, they
    are read from the ``EventAuxiliary`` of every event, after a :class:`LumiIndexWarning`.

    Args:
        source: a path or URL, a :class:`sapwood.File`, or :class:`Events`.

    Returns:
        A structured NumPy array of :data:`RANGE_TYPE`. A block whose events are not contiguous has several
        ranges.
    """
    with owned_file(source) as file:
        events = source if isinstance(source, Events) else Events(file.tree_at("Events"))
        try:
            ranges = _index(file)
            reason = None if ranges is None else _flaw(ranges, events.num_entries)
        except SapwoodError as error:
            ranges, reason = None, f"cannot be read: {error}"
        if ranges is not None and reason is None:
            return ranges
        warnings.warn(
            f"the index of luminosity blocks in {file.file_path} {reason or 'is missing'}; "
            "reading run and luminosity block of every event instead",
            LumiIndexWarning,
            stacklevel=2,
        )
        return _from_ids(events.ids())


def _index(file: File) -> NDArray[Any] | None:
    index = metadata_branch(file, "IndexIntoFile")
    if index is None:
        return None
    names = ("run_", "lumi_", "beginEvents_", "endEvents_")
    found = [member(index, f"runOrLumiEntries_.{name}") for name in names]
    branches = [branch for branch in found if branch is not None]
    if len(branches) != len(names):
        return None
    run, block, start, stop = (np.asarray(array[0]) for array in read_together(branches, 0, 1, library="np"))
    # Runs have luminosity block 0, and blocks without events start at -1 (IndexIntoFile::RunOrLumiEntry).
    keep = (block != 0) & (start >= 0) & (stop > start)
    out = np.zeros(int(keep.sum()), dtype=RANGE_TYPE)
    for name, values in zip(RANGE_TYPE.names or (), (run, block, start, stop), strict=True):
        out[name] = values[keep]
    return out


def _flaw(ranges: NDArray[Any], num_entries: int) -> str | None:
    """The reason why ranges do not cover all entries exactly once, or None if they do."""
    ordered = np.sort(ranges, order="start")
    edges_meet = np.array_equal(np.append(ordered["start"], num_entries), np.insert(ordered["stop"], 0, 0))
    return None if edges_meet else f"does not cover the {counted(num_entries, 'entry', 'entries')}"


def _from_ids(ids: NDArray[Any]) -> NDArray[Any]:
    changes = (np.diff(ids["run"]) != 0) | (np.diff(ids["luminosityBlock"]) != 0)
    starts = np.flatnonzero(np.insert(changes, 0, True)) if len(ids) else np.zeros(0, dtype=np.int64)
    out = np.zeros(len(starts), dtype=RANGE_TYPE)
    out["run"], out["luminosityBlock"] = ids["run"][starts], ids["luminosityBlock"][starts]
    out["start"], out["stop"] = starts, np.append(starts[1:], len(ids))
    return out


def _edges(ranges: Iterable[Any]) -> NDArray[Any]:
    """The starts and (exclusive) ends of ranges, alternating; adjacent ranges are merged."""
    pairs = sorted((int(first), int(last) + 1) for first, last in ranges)
    edges: list[int] = []
    for first, after in pairs:
        if after <= first:
            raise ValueError("a range ends before it starts")
        if edges and first <= edges[-1]:
            edges[-1] = max(edges[-1], after)
        else:
            edges += [first, after]
    return np.asarray(edges, dtype=np.int64)
