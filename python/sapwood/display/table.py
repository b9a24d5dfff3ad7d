"""Fits tables into the width of a terminal: first text wraps, then columns are dropped. Nothing is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GAP = 2
"""Spaces between columns."""
LEAST_TEXT = 24
"""A column of text is never narrower than this because of wrapping."""


@dataclass(frozen=True)
class Extent:
    """The width of a column: on one line, with its text wrapped, and how long it is kept."""

    full: int
    least: int
    last: int = 0
    """Columns with the least of these are dropped first."""


@dataclass(frozen=True)
class Fit:
    """The widths of the columns that are shown, by index, and the indices of those that are dropped."""

    widths: dict[int, int]
    dropped: list[int]
    full_width: int
    """The width at which all columns fit without wrapping."""


def fit(extents: Sequence[Extent], width: int) -> Fit:
    """Fits columns into a width.

    Columns with the least ``last`` are dropped first, and among these from the right; the first column never.

    >>> columns = [Extent(40, 24), Extent(9, 9), Extent(12, 12)]
    >>> fit(columns, 60).widths, fit(columns, 60).dropped
    ({0: 35, 1: 9, 2: 12}, [])
    >>> fit(columns, 40).widths, fit(columns, 40).dropped
    ({0: 29, 1: 9}, [2])
    """
    shown = list(range(len(extents)))
    order = sorted(shown[1:], key=lambda i: (-extents[i].last, i))
    while order and _total([extents[i].least for i in shown]) > width:
        shown.remove(order.pop())
    widths = {i: extents[i].least for i in shown}
    spare = width - _total(list(widths.values()))
    if spare < 0:  # the first column alone is too wide, and must wrap
        widths[0], spare = width, 0
    narrowest_first = sorted(shown, key=lambda i: extents[i].full - extents[i].least)
    for position, i in enumerate(narrowest_first):
        more = min(extents[i].full - extents[i].least, spare // (len(shown) - position))
        widths[i] += max(more, 0)
        spare -= max(more, 0)
    dropped = [i for i in range(len(extents)) if i not in widths]
    return Fit(widths, dropped, _total([extent.full for extent in extents]))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
