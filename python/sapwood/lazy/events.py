"""Events for Python loops: a column is read for many events at once when you touch it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError
from .ahead import Visit, nothing, visits_of
from .event import Event as Event
from .event import WindowValues
from .event_chunk import EventChunk
from .reader import LazyReader
from .view import LazyView


class Events(LazyView, Sequence[Event]):
    """A sequence of entries of a tree as events; made by :meth:`sapwood.Tree.events`.

    ``events[5]`` is an :class:`Event`. ``events[10:20]``, ``events[[5, 17]]`` and a boolean mask give
    selected events in that order. You can loop over events repeatedly, and from several threads at once. If
    there is a profile, it is saved whenever a loop ends.
    """

    _ADVICE: ClassVar[str] = (
        "can be a field of each event: touch it in a loop over the events, or read it as an array with"
        " tree.arrays"
    )

    def __init__(self, reader: LazyReader, entries: range | NDArray[np.int64]) -> None:
        super().__init__(reader)
        self._entries = entries

    @property
    def entries(self) -> range | NDArray[np.int64]:
        """The numbers of the entries in the tree."""
        return self._entries

    @property
    def windows(self) -> list[tuple[int, int]]:
        """The ranges of entries (start, stop) that are fetched together: one or more clusters each."""
        return list(self._reader.windows)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, where: int) -> Event: ...

    @overload
    def __getitem__(self, where: slice | Sequence[int] | NDArray[Any]) -> Events: ...

    def __getitem__(self, where: int | slice | str | Sequence[int] | NDArray[Any]) -> Event | Events:
        if isinstance(where, str):
            raise ArgumentTypeError(f"{where!r} {self._ADVICE}")
        if isinstance(where, slice):
            return Events(self._reader, self._entries[where])
        if isinstance(where, (int, np.integer)):
            entry = int(self._entries[where])
            window = self._reader.hold(self._reader.window_of(entry))
            return Event(WindowValues(window), entry - window.start)
        positions = np.asarray(where)
        if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iub"):
            raise ArgumentTypeError(
                f"the index of events must be a number, a slice, a list of numbers or a mask, not {where!r}"
            )
        if positions.dtype.kind != "b":
            positions = positions.astype(np.int64)
        return Events(self._reader, np.asarray(self._entries, dtype=np.int64)[positions])

    def __iter__(self) -> Iterator[Event]:
        for window, positions, read_next in self.visits(nothing):
            values = WindowValues(window)
            del window
            yield from values.events(positions, read_next)
            del values

    def chunks(self) -> Iterator[EventChunk]:
        """The same entries in chunks, whose fields are whole arrays, for loops without one over events.

        >>> for chunk in tree.events().chunks():          # doctest: +SKIP
        ...     histogram.fill(chunk.MET_pt[chunk.nMuon > 1])

        A chunk holds the entries of one window: one or more whole clusters.
        """
        for window, positions, read_next in self.visits(nothing):
            read_next()
            chunk = [EventChunk(window, positions)]
            del window
            yield chunk.pop()

    @shows_printable
    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'event')}, {counted(len(self._reader.fields), 'field')}"
        return f"<Events of {self.tree.name!r}: {sizes}>"

    def visits(self, at_last: Callable[[], None]) -> Iterator[Visit]:
        """The windows and the positions in them, in order; ``at_last`` reads what follows the last."""
        shares, visits = self._visits()
        with self._reader.visiting(shares):
            yield from visits_of(self._reader, visits, at_last)

    def _visits(self) -> tuple[dict[int, float], Iterable[tuple[int, Sequence[int]]]]:
        """The share of entries used in each window, in order of first visits; and all visits.

        A visit is the index of a window and positions in it. For consecutive entries, every share is 1, even
        if they end inside a window.
        """
        entries = self._entries
        if isinstance(entries, range) and entries.step == 1:
            inside = [(max(start, entries.start), min(stop, entries.stop)) for start, stop in self.windows]
            visits = {
                index: range(first - start, last - start)
                for index, ((first, last), (start, _)) in enumerate(zip(inside, self.windows, strict=True))
                if first < last
            }
            return dict.fromkeys(visits, 1.0), visits.items()
        numbers = np.asarray(entries, dtype=np.int64)
        starts, stops = np.array(self.windows, dtype=np.int64).reshape(-1, 2).T
        windows = np.searchsorted(starts, numbers, side="right") - 1
        found, first_visits, counts = np.unique(windows, return_index=True, return_counts=True)
        used = np.minimum(1.0, counts / (stops[found] - starts[found]))
        order = np.argsort(first_visits)
        shares = dict(zip(found[order].tolist(), used[order].tolist(), strict=True))
        return shares, _groups(windows, numbers - starts[windows])


def _groups(windows: NDArray[Any], positions: NDArray[Any]) -> Iterator[tuple[int, Sequence[int]]]:
    """Each run of positions in the same window, preceded by the index of the window."""
    ends = [*(np.flatnonzero(np.diff(windows)) + 1).tolist(), len(windows)]
    for start, end in pairwise([0, *ends] if len(windows) else []):
        yield int(windows[start]), positions[start:end].tolist()
