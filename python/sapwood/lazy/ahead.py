"""Loops over windows: while the caller uses one, the next ones are read in the background."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
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
    following = deque(islice(remaining, 1))
    # Holds the first of these windows, and no others: what the caller has left must not stay in memory.
    ahead: deque[HeldWindow] = deque()

    def read_next() -> None:
        depth = reader.depth
        following.extend(islice(remaining, max(0, depth - len(following))))
        for index, _ in islice(following, len(ahead), depth):
            ahead.append(reader.read_ahead(index))
        if len(following) < max(1, depth):
            at_last()

    while following:
        index, positions = following.popleft()
        following.extend(islice(remaining, 1))
        window = reader.hold(index)
        if ahead:
            ahead.popleft()
        else:
            # The columns in use, if any are known, are read together as well.
            reader.read_ahead(index)
        visit = [Visit(window, positions, read_next)]
        del window
        begin, waited = time.perf_counter(), reader.waited
        yield visit.pop()
        reader.note_use(index, time.perf_counter() - begin - (reader.waited - waited))
