"""Which columns were touched in which windows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Set
from typing import TypeVar

C = TypeVar("C", bound=Hashable)
D = TypeVar("D", bound=Hashable)


class Touches(Set[tuple[C, int]]):
    """The set of (column, window) in which a column was touched. Thread-safe.

    It takes a byte per column and window. A ``set`` takes some 200, and so tens of megabytes in a loop over
    all columns of a wide tree.

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

    def renamed(self, name: Callable[[C], D]) -> Touches[D]:
        """A copy with the name of each column in its place."""
        copy: Touches[D] = Touches(self._number)
        copy._any = bytearray(self._any)
        copy._columns = {name(column): bytearray(windows) for column, windows in list(self._columns.items())}
        return copy

    def __contains__(self, touch: object) -> bool:
        if not isinstance(touch, tuple) or len(touch) != 2:
            return False
        column, window = touch
        windows = self._columns.get(column)
        return windows is not None and window in range(self._number) and bool(windows[window])

    def __len__(self) -> int:
        return sum(self.counts().values())

    def __iter__(self) -> Iterator[tuple[C, int]]:
        """The columns and windows of the touches."""
        for column, windows in list(self._columns.items()):
            yield from ((column, window) for window, touched in enumerate(windows) if touched)
