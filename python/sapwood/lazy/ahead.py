"""Loops over windows: while the caller uses one, the next is read in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .reader import HeldWindow, LazyReader


def nothing() -> None:
    """To read nothing ahead."""


class Visit(NamedTuple):
    """A window that a loop visits."""

    window: HeldWindow
    positions: Sequence[int]
    """The positions of the entries in the window."""
    read_next: Callable[[], None]
    """To be called once the columns in use are known: reads those of what is visited next."""


def visits_of(
    reader: LazyReader, visits: Iterable[tuple[int, Sequence[int]]], at_last: Callable[[], None]
) -> Iterator[Visit]:
    """The visits to windows, given by index and positions. ``at_last`` reads what follows the last."""
    remaining = iter(visits)
    following = next(remaining, None)
    # Holds the next window, and no other: what the caller has left must not stay in memory.
    ahead: list[HeldWindow] = []
    while following is not None:
        (index, positions), following = following, next(remaining, None)
        window = reader.hold(index)
        ahead.clear()
        after = None if following is None else following[0]

        def read_next(after: int | None = after) -> None:
            if after is None:
                at_last()
            elif not ahead:
                ahead.append(reader.read_ahead(after))

        visit = [Visit(window, positions, read_next)]
        del window
        yield visit.pop()
