"""Events: entries whose fields are attributes; those that a loop often uses are filled in ahead."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import length_hint
from typing import Any

from ..display.printable import shows_printable
from ..display.units import counted
from .fields import HasFields
from .items import Getter, Items, items_of
from .reader import HeldWindow, LazyReader

SAMPLE = 32
"""So many events of a window show which fields the others will use."""


class Event(HasFields):
    """One entry of a tree. Its fields are attributes (``event.Muon_pt``) and items (``event["Muon_pt"]``).

    Numbers are NumPy scalars, lists of numbers are read-only NumPy views, and text is ``str``. Any other
    value is an Awkward Array or record. You can keep an event: the data of its window, the entries that were
    fetched together, then stay in memory.

    Attributes:
        entry: the number of the entry in the tree. A branch called ``entry`` or ``fields`` is only an item.
    """

    __slots__ = ("_position", "_values")

    def __init__(self, values: WindowValues, position: int) -> None:
        self._values = values
        self._position = position

    @property
    def entry(self) -> int:
        """The number of the entry in the tree."""
        return self._values.window.start + self._position

    @property
    def _reader(self) -> LazyReader:
        return self._values.window.reader

    def __getitem__(self, name: str) -> Any:
        return self._values[name](self._position)

    @shows_printable
    def __repr__(self) -> str:
        fields = counted(len(self._reader.fields), "field")
        return f"<Event {self.entry} of {self._reader.tree.name!r}: {fields}>"


class WindowValues(dict[str, Getter]):
    """For each field, a function from a position in a window to its value; created on first use.

    While a loop takes its first events of the window, no function is kept here, so that their uses are
    counted.
    """

    __slots__ = ("_items", "_left", "_rest", "_short", "_uses", "window")

    def __init__(self, window: HeldWindow) -> None:
        self.window = window
        self._items: dict[str, Items] = {}
        self._short: set[str] = set()
        self._uses: dict[str, int] | None = None
        self._left: Iterator[int] = iter(())
        self._rest = 0

    def __missing__(self, name: str) -> Getter:
        items = self._items.get(name)
        if items is None:
            column = self.window.column(name)
            items = items_of(column)
            if column.length < self.window.stop - self.window.start:
                items = Items(_short(items.at, name, column.length, self.window))
                self._short.add(name)
            self._items[name] = items
        if self._uses is None:
            self[name] = items.at
        else:
            self._uses[name] = self._uses.get(name, 0) + 1
        return items.at

    def events(self, positions: Sequence[int], sampled: Callable[[], None]) -> Iterator[Event]:
        """The events at some positions in the window. Calls ``sampled`` after the first ones."""
        sample, rest = positions[:SAMPLE], positions[SAMPLE:]
        self._uses = {}
        self._left, after = iter(sample), iter(rest)
        self._rest = len(rest)
        for position in self._left:
            yield Event(self, position)
        uses, self._uses = self._uses, None
        sampled()
        if rest:
            often = tuple(
                name
                for name, count in uses.items()
                if 2 * count >= SAMPLE and _can_fill(name) and name not in self._short
            )
            self._left, self._rest = after, 0
            yield from _filling(often)(self, after, *(self._items[name].over(rest) for name in often))

    @property
    def left(self) -> int:
        """The number of :meth:`events` that were not taken yet."""
        return self._rest + length_hint(self._left)


def _short(getter: Getter, name: str, length: int, window: HeldWindow) -> Getter:
    def get(position: int) -> Any:
        if position >= length:
            entry = window.start + position
            raise IndexError(f"{name!r} has no entry {entry}: it has fewer entries than its tree")
        return getter(position)

    return get


def _can_fill(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not hasattr(Event, name)


@lru_cache
def _filling(names: tuple[str, ...]) -> Callable[..., Iterator[Event]]:
    """A generator of events whose fields ``names`` are filled in from iterators.

    An access to a field then takes as long as one to any attribute, not a call of a function in Python. As
    for named tuples, the code is made for the names; they are identifiers.
    """

    def refuse(self: Event, name: str, value: Any) -> None:
        raise AttributeError(f"events are read-only: cannot set {name!r}", name=name, obj=self)

    writable: Any = type("Event", (Event,), {"__slots__": names, "__doc__": Event.__doc__})
    filled: Any = type("Event", (writable,), {"__slots__": (), "__setattr__": refuse})
    for made in (writable, filled):
        made.__module__ = Event.__module__
    number = range(len(names))
    lines = [
        "def events(values, positions, *columns):",
        f"    for {', '.join(['position', *(f'value_{i}' for i in number)])}, in zip(positions, *columns):",
        "        event = new(writable)",
        "        event._values = values",
        "        event._position = position",
        *(f"        event.{name} = value_{i}" for i, name in enumerate(names)),
        "        event.__class__ = filled",
        "        yield event",
    ]
    scope: dict[str, Any] = {"new": object.__new__, "writable": writable, "filled": filled}
    exec("\n".join(lines), scope)
    made_function: Callable[..., Iterator[Event]] = scope["events"]
    return made_function
