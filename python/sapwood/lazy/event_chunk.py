"""Chunks of events: entries that were fetched together, with a whole array for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from ..display.units import counted
from .fields import HasFields
from .items import array_of
from .reader import HeldWindow, LazyReader


class EventChunk(HasFields):
    """Some entries of a tree. Its fields are attributes (``chunk.Muon_pt``) and items (``chunk["Muon_pt"]``).

    A field whose items are numbers, or arrays of one shape, is a read-only NumPy array; any other is an
    Awkward Array. Each is read when you first touch it. ``len(chunk)`` is the number of entries.
    """

    __slots__ = ("_arrays", "_positions", "_window")

    def __init__(self, window: HeldWindow, positions: Sequence[int]) -> None:
        self._window = window
        self._positions = positions
        self._arrays: dict[str, Any] = {}

    @property
    def entries(self) -> range | NDArray[np.int64]:
        """The numbers of the entries in the tree. A branch of this name is only an item."""
        start = self._window.start
        if isinstance(self._positions, range):
            return range(start + self._positions.start, start + self._positions.stop)
        return np.asarray(self._positions, dtype=np.int64) + start

    @property
    def _reader(self) -> LazyReader:
        return self._window.reader

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, name: str) -> Any:
        found = self._arrays.get(name)
        if found is None:
            column = self._window.column(name)
            positions = self._positions
            is_short = column.length < self._window.stop - self._window.start
            if is_short and max(positions, default=0) >= column.length:
                raise IndexError(f"{name!r} has too few entries: it has fewer than its tree")
            chosen = slice(positions.start, positions.stop) if isinstance(positions, range) else positions
            array = array_of(column)
            # To slice an Awkward Array takes as long as to make it, even if nothing is left out.
            is_whole = positions == range(column.length)
            found = self._arrays[name] = array if is_whole else array[chosen]
        return found

    @shows_printable
    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'entry', 'entries')}, {counted(len(self.fields), 'field')}"
        return f"<EventChunk of {self._reader.tree.name!r}: {sizes}>"
