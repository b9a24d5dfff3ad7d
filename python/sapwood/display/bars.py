"""Draws histograms as text: bars for one axis, shades for two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEAST_WIDTH, MOST_WIDTH = 40, 200


@dataclass(frozen=True)
class Characters:
    """The characters of a drawing, from empty to full."""

    bars: str
    shades: str
    side: str
    corner: str
    line: str


BLOCKS = Characters(" ▁▂▃▄▅▆▇█", " ░▒▓█", "│", "└", "─")
ASCII = Characters(" .:#", " .:-=+*#%@", "|", "+", "-")


def characters_for(encoding: str | None) -> Characters:
    """Blocks if the encoding has them, and ASCII otherwise."""
    try:
        "".join((BLOCKS.bars, BLOCKS.shades, BLOCKS.side)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def bars(
    values: Sequence[float],
    edges: Sequence[float],
    *,
    width: int = 80,
    height: int = 16,
    characters: Characters = BLOCKS,
    averaged: bool = False,
) -> Iterator[str]:
    """The lines of a histogram with vertical bars. Where there are more bins than room, bins are added up.

    With ``averaged``, the mean of these bins is drawn.

    >>> for line in bars([1, 4, 2], [0, 1, 2, 3], width=40, height=2, characters=ASCII):
    ...     print(line)
    4 |            ############
      |::::::::::::########################
    0 +------------------------------------
       0                                  3
    """
    width = min(max(width, LEAST_WIDTH), MOST_WIDTH)
    # The labels of the axis need room; how much depends on the values after bins were added up.
    factor = max(1, math.ceil(len(values) / (width - 14)))
    summed = [_joined(values[i : i + factor], averaged) for i in range(0, len(values), factor)]
    finite = [value for value in summed if math.isfinite(value)]
    low, high = min(0.0, *finite, 0.0), max(0.0, *finite, 0.0)
    high = high if high > low else low + 1.0
    labels = short_number(high), short_number(low)
    margin = max(map(len, labels))
    each = max(1, (width - margin - 2) // len(summed))
    levels = len(characters.bars) - 1
    filled = [
        round((value - low) / (high - low) * height * levels) if math.isfinite(value) else 0
        for value in summed
    ]
    # A bin that is not empty is seen.
    filled = [max(count, 1) if value > low else count for count, value in zip(filled, summed, strict=True)]
    for row in range(height - 1, -1, -1):
        cells = (characters.bars[min(max(count - row * levels, 0), levels)] * each for count in filled)
        label = labels[0] if row == height - 1 else ""
        yield f"{label:>{margin}} {characters.side}{''.join(cells).rstrip()}".rstrip()
    length = each * len(summed)
    yield f"{labels[1]:>{margin}} {characters.corner}{characters.line * length}"
    yield " " * (margin + 2) + between_ends(edges[0], edges[-1], length)
    if factor > 1:
        yield f"{'':>{margin}}  ({factor} bins per column)"


def shades(
    values: Sequence[Sequence[float]],
    xedges: Sequence[float],
    yedges: Sequence[float],
    *,
    width: int = 80,
    height: int = 24,
    characters: Characters = BLOCKS,
    averaged: bool = False,
) -> Iterator[str]:
    """The lines of a map: ``values[x][y]`` as shades, with y upwards. Bins are joined as in :func:`bars`."""
    width = min(max(width, LEAST_WIDTH), MOST_WIDTH)
    labels = short_number(yedges[-1]), short_number(yedges[0])
    margin = max(map(len, labels))
    columns = max(1, math.ceil(len(values) / (width - margin - 2)))
    rows = max(1, math.ceil(len(values[0]) / height))
    cells = [
        [
            _joined([value for line in values[x : x + columns] for value in line[y : y + rows]], averaged)
            for y in range(0, len(values[0]), rows)
        ]
        for x in range(0, len(values), columns)
    ]
    finite = [value for line in cells for value in line if math.isfinite(value)]
    low, high = min(0.0, *finite, 0.0), max(0.0, *finite, 0.0)
    each = max(1, min((width - margin - 2) // len(cells), 4))
    count = len(cells[0])
    for y in range(count - 1, -1, -1):
        line = "".join(_shade(column[y], low, high, characters.shades) * each for column in cells)
        label = labels[0] if y == count - 1 else ""
        yield f"{label:>{margin}} {characters.side}{line}".rstrip()
    length = each * len(cells)
    yield f"{labels[1]:>{margin}} {characters.corner}{characters.line * length}"
    yield " " * (margin + 2) + between_ends(xedges[0], xedges[-1], length)
    legend = (
        f"{characters.shades[0]!r} is {short_number(low)}, {characters.shades[-1]!r} is {short_number(high)}"
    )
    summed = f"; each cell is {columns} x {rows} bins" if columns * rows > 1 else ""
    yield " " * (margin + 2) + legend + summed


def _joined(values: Sequence[float], averaged: bool) -> float:
    return math.fsum(values) / (len(values) if averaged else 1)


def _shade(value: float, low: float, high: float, shades: str) -> str:
    if not math.isfinite(value) or high <= low:
        return shades[0]
    place = math.ceil((value - low) / (high - low) * (len(shades) - 1))
    return shades[min(max(place, 0), len(shades) - 1)]


def between_ends(first: float, last: float, length: int) -> str:
    """Two numbers at the ends of a line, with enough digits to differ."""
    left, right = short_number(first), short_number(last)
    for digits in range(6, 18):
        if left == right:
            left, right = f"{first:.{digits}g}", f"{last:.{digits}g}"
    return left + " " * max(1, length - len(left) - len(right)) + right


def short_number(value: float) -> str:
    """A number with at most four digits after the leading one.

    >>> short_number(1234567.0), short_number(0.1 + 0.2), short_number(12000)
    ('1.2346e+06', '0.3', '12000')
    """
    return f"{value:.5g}"
