"""Events for Python loops: a column is read for many events at once when you touch it."""

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
from ..arrays.numpy import column_to_numpy, read_only
from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError, KeyInFileError
from .reader import HeldWindow, LazyReader
from .view import LazyView

Getter = Callable[[int], Any]


class Event:
    """One entry of a tree. Its fields are attributes (``event.Muon_pt``) and items (``event["Muon_pt"]``).

    Numbers are NumPy scalars, lists of numbers are read-only NumPy views, and text is ``str``. Any other
    value is an Awkward Array or record. You can keep an event: the data of its window, the entries that were
    fetched together, then stay in memory.

    Attributes:
        entry: the number of the entry in the tree. A branch called ``entry`` or ``fields`` is only an item.
    """

    __slots__ = ("_position", "_values")

    def __init__(self, values: _WindowValues, position: int) -> None:
        self._values = values
        self._position = position

    @property
    def entry(self) -> int:
        """The number of the entry in the tree."""
        return self._values.window.start + self._position

    @property
    def fields(self) -> list[str]:
        """The names of all fields."""
        return list(self._values.window.reader.fields)

    def __getitem__(self, name: str) -> Any:
        return self._values[name](self._position)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name](self._position)
        except KeyInFileError as error:
            raise AttributeError(str(error), name=name, obj=self) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values.window.reader

    def __dir__(self) -> list[str]:
        names = [name for name in self.fields if name.isidentifier() and not keyword.iskeyword(name)]
        return [*super().__dir__(), *names]

    def _ipython_key_completions_(self) -> list[str]:
        return self.fields

    @shows_printable
    def __repr__(self) -> str:
        reader = self._values.window.reader
        return f"<Event {self.entry} of {reader.tree.name!r}: {counted(len(reader.fields), 'field')}>"


class Events(LazyView, Sequence[Event]):
    """A sequence of entries of a tree as events; made by :meth:`sapwood.Tree.events`.

    ``events[5]`` is an :class:`Event`. ``events[10:20]``, ``events[[5, 17]]`` and a boolean mask give
    selected events in that order. You can loop over events repeatedly, and from several threads at once. If
    there is a profile, it is saved whenever a loop ends.
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
        """The ranges of entries (start, stop) that are fetched together: one or more clusters each."""
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
            values = self._values(self._reader.window_of(entry))
            return Event(values, entry - values.window.start)
        positions = np.asarray(where)
        if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iub"):
            raise ArgumentTypeError(
                f"the index of events must be a number, a slice, a list of numbers or a mask, not {where!r}"
            )
        if positions.dtype.kind != "b":
            positions = positions.astype(np.int64)
        return Events(self._reader, np.asarray(self._entries, dtype=np.int64)[positions])

    def __iter__(self) -> Iterator[Event]:
        shares, visits = self._visits()
        with self._reader.visiting(shares):
            for index, positions in visits:
                values = self._values(index)
                for position in positions:
                    yield Event(values, position)
                del values

    @shows_printable
    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'event')}, {counted(len(self._reader.fields), 'field')}"
        return f"<Events of {self.tree.name!r}: {sizes}>"

    def _values(self, index: int) -> _WindowValues:
        return _WindowValues(self._reader.hold(index))

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


class _WindowValues(dict[str, Getter]):
    """For each field, a function from a position in a window to its value; created on first use."""

    __slots__ = ("window",)

    def __init__(self, window: HeldWindow) -> None:
        self.window = window

    def __missing__(self, name: str) -> Getter:
        column = self.window.column(name)
        getter = _getter(column)
        if column.length < self.window.stop - self.window.start:
            getter = _short(getter, name, column.length, self.window)
        self[name] = getter
        return getter


def _getter(column: Column) -> Getter:
    """A function from a position to the item of a column. Items are read-only and not copied."""
    kind = column.form[0]
    if is_flat(column.form):
        getter: Getter = read_only(column_to_numpy(column)).__getitem__
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
    content = read_only(column_to_numpy(BuiltColumn(column.form[1], int(offsets[-1]), buffers)))
    # Items of a memoryview are Python integers, which slice faster than NumPy's.
    edges: Sequence[int] = memoryview(offsets)  # type: ignore[arg-type]
    return lambda position: content[edges[position] : edges[position + 1]]


def _texts(column: Column) -> Getter:
    edges: Any
    text: Any
    edges, text = (memoryview(buffer) for buffer in column.buffers)  # type: ignore[arg-type]
    return lambda position: str(text[edges[position] : edges[position + 1]], "utf-8", "surrogateescape")


def _short(getter: Getter, name: str, length: int, window: HeldWindow) -> Getter:
    def get(position: int) -> Any:
        if position >= length:
            entry = window.start + position
            raise IndexError(f"{name!r} has no entry {entry}: it has fewer entries than its tree")
        return getter(position)

    return get
