"""Events one by one, in a Python loop: a column is read when it is touched, for many events at once."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..arrays.awkward import column_to_awkward
from ..arrays.column import BuiltColumn, Column, is_flat
from ..arrays.libraries import library_named
from ..arrays.numpy import column_to_numpy
from ..display.printable import shows_printable
from ..errors import KeyInFileError
from .reader import HeldWindow, LazyReader
from .view import LazyView

Getter = Callable[[int], Any]


class Event:
    """One entry of a tree. Its fields are its attributes, and its items: ``event["Muon_pt"]``.

    Numbers are NumPy scalars; lists of numbers are NumPy arrays, views that cannot be written to; text is a
    ``str``; all else is what Awkward Array has for it. An event may be kept: what was read of its window, the
    entries that were fetched together, stays with it.

    Attributes:
        entry: the number of the entry in the tree. A branch called ``entry`` or ``fields`` is an item only.
    """

    __slots__ = ("_position", "_window")

    def __init__(self, window: _Window, position: int) -> None:
        self._window = window
        self._position = position

    @property
    def entry(self) -> int:
        """The number of the entry in the tree."""
        return self._window.held.start + self._position

    @property
    def fields(self) -> list[str]:
        """The names of all fields."""
        return list(self._window.held.reader.fields)

    def __getitem__(self, name: str) -> Any:
        return self._window[name](self._position)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._window[name](self._position)
        except KeyInFileError as error:
            raise AttributeError(str(error), name=name, obj=self) from None

    def __contains__(self, name: object) -> bool:
        return name in self._window.held.reader

    def __dir__(self) -> list[str]:
        names = [name for name in self.fields if name.isidentifier() and not keyword.iskeyword(name)]
        return [*super().__dir__(), *names]

    def _ipython_key_completions_(self) -> list[str]:
        return self.fields

    @shows_printable
    def __repr__(self) -> str:
        reader = self._window.held.reader
        return f"<Event {self.entry} of {reader.tree.name!r}: {len(reader.fields)} fields>"


class Events(LazyView, Sequence[Event]):
    """Entries of a tree as events, in order, as :meth:`sapwood.Tree.events` gives them.

    They can be gone through several times, by several threads at once; ``events[5]`` is one of them, and
    ``events[10:20]`` and ``events[[5, 17]]`` are some, in that order. The profile, if there is one, is saved
    whenever a loop ends.
    """

    def __init__(self, reader: LazyReader, entries: range | NDArray[np.int64]) -> None:
        super().__init__(reader)
        self._entries = entries

    @property
    def entries(self) -> range | NDArray[np.int64]:
        """The numbers of the entries in the tree."""
        return self._entries

    @property
    def windows(self) -> list[tuple[int, int]]:
        """Ranges of entries that are fetched together: one or more whole clusters each."""
        return list(self._reader.windows)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, where: int) -> Event: ...

    @overload
    def __getitem__(self, where: slice | Sequence[int] | NDArray[Any]) -> Events: ...

    def __getitem__(self, where: int | slice | Sequence[int] | NDArray[Any]) -> Event | Events:
        if isinstance(where, slice):
            return Events(self._reader, self._entries[where])
        if isinstance(where, (int, np.integer)):
            entry = int(self._entries[where])
            window = self._window(self._reader.window_of(entry))
            return Event(window, entry - window.held.start)
        positions = np.asarray(where)
        if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iub"):
            raise TypeError(f"events are chosen by a number, a slice, or a list of numbers, not {where!r}")
        if positions.dtype.kind != "b":
            positions = positions.astype(np.int64)
        return Events(self._reader, np.asarray(self._entries, dtype=np.int64)[positions])

    def __iter__(self) -> Iterator[Event]:
        shares, visits = self._path()
        with self._reader.going_over(shares):
            for index, positions in visits:
                window = self._window(index)
                for position in positions:
                    yield Event(window, position)
                del window

    @shows_printable
    def __repr__(self) -> str:
        return f"<Events of {self.tree.name!r}: {len(self)} events, {len(self._reader.fields)} fields>"

    def _window(self, index: int) -> _Window:
        return _Window(self._reader.hold(index))

    def _path(self) -> tuple[dict[int, float], Iterable[tuple[int, Sequence[int]]]]:
        """By window, in order of first visits, what share of its entries are looked at; and all visits.

        A visit is a window, and positions in it.

        Of entries that lie side by side it is said to be all, also where only the first of a window are.
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
        looked_at = np.minimum(1.0, counts / (stops[found] - starts[found]))
        order = np.argsort(first_visits)
        shares = dict(zip(found[order].tolist(), looked_at[order].tolist(), strict=True))
        return shares, _groups(windows, numbers - starts[windows])


def _groups(windows: NDArray[Any], positions: NDArray[Any]) -> Iterator[tuple[int, Sequence[int]]]:
    """Positions that follow each other in the same window, and that window."""
    ends = [*(np.flatnonzero(np.diff(windows)) + 1).tolist(), len(windows)]
    for start, end in pairwise([0, *ends] if len(windows) else []):
        yield int(windows[start]), positions[start:end].tolist()


class _Window(dict[str, Getter]):
    """By field, what gives its value at a position in a window; made when it is first asked for."""

    __slots__ = ("held",)

    def __init__(self, held: HeldWindow) -> None:
        self.held = held

    def __missing__(self, name: str) -> Getter:
        column = self.held.column(name)
        getter = _getter(column)
        if column.length < self.held.stop - self.held.start:
            getter = _short(getter, name, column.length, self.held)
        self[name] = getter
        return getter


def _getter(column: Column) -> Getter:
    """What gives the item at a position of a column. Nothing is copied; it cannot be written to."""
    kind = column.form[0]
    if is_flat(column.form):
        getter: Getter = _frozen(column_to_numpy(column)).__getitem__
        return getter
    if kind == "list" and is_flat(column.form[1]):
        return _lists(column)
    if kind == "string":
        return _texts(column)
    library_named("ak")
    array = column_to_awkward(column)
    return lambda position: array[position]


def _lists(column: Column) -> Getter:
    offsets, *buffers = column.buffers
    content = _frozen(column_to_numpy(BuiltColumn(column.form[1], int(offsets[-1]), buffers)))
    # Its items are Python's numbers, which are faster to slice with than NumPy's.
    edges: Sequence[int] = memoryview(offsets)  # type: ignore[arg-type]
    return lambda position: content[edges[position] : edges[position + 1]]


def _texts(column: Column) -> Getter:
    edges: Any
    text: Any
    edges, text = (memoryview(buffer) for buffer in column.buffers)  # type: ignore[arg-type]
    return lambda position: str(text[edges[position] : edges[position + 1]], "utf-8", "surrogateescape")


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _short(getter: Getter, name: str, length: int, held: HeldWindow) -> Getter:
    def get(position: int) -> Any:
        if position >= length:
            raise IndexError(
                f"{name!r} ends before entry {held.start + position}: it is shorter than its tree"
            )
        return getter(position)

    return get
