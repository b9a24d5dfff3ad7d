"""Which columns were touched in which windows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class Touches(Generic[C]):
    """The windows in which each column was touched. Thread-safe.

    It takes a byte per column and window. A set of pairs takes some 200, and so tens of megabytes in a loop
    over all columns of a wide tree.

    >>> touches = Touches(4)
    >>> touches.add("Muon_pt", 0), touches.add("Muon_pt", 3), touches.add("nMuon", 3)
    (None, None, None)
    >>> touches.counts(), touches.windows
    ({'Muon_pt': 2, 'nMuon': 1}, 2)
    >>> list(touches)
    [('Muon_pt', 0), ('Muon_pt', 3), ('nMuon', 3)]
    """

    def __init__(self, windows: int) -> None:
        self._number = windows
        self._columns: dict[C, bytearray] = {}
        self._any = bytearray(windows)

    def add(self, column: C, window: int) -> None:
        """Takes note of a touch."""
        touched = self._columns.get(column)
        if touched is None:
            touched = self._columns.setdefault(column, bytearray(self._number))
        touched[window] = self._any[window] = 1

    @property
    def windows(self) -> int:
        """The number of windows in which any column was touched."""
        return self._any.count(1)

    def counts(self) -> dict[C, int]:
        """The number of windows in which each column was touched."""
        return {column: windows.count(1) for column, windows in list(self._columns.items())}

    def __iter__(self) -> Iterator[tuple[C, int]]:
        """The columns and windows of the touches."""
        for column, windows in list(self._columns.items()):
            yield from ((column, window) for window, touched in enumerate(windows) if touched)
