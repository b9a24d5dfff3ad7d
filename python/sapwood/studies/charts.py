"""Charts as SVG for a page: axes, points with spread, curves, stacked bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..display.markup import escape

WIDTH, HEIGHT = 620.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 84.0, 18.0, 16.0, 46.0
COLOURS = ("#1f7a5c", "#d9822b", "#3567a8", "#a23b72", "#7d828b", "#8a6d1d", "#5b4bb0")
DARK_COLOURS = ("#46b58c", "#eda45a", "#6fa3e6", "#d975ad", "#a3a9b3", "#cdb04f", "#9d8df0")


class Mark(NamedTuple):
    """A point of a chart: its position, its spread, and its texts."""

    x: float
    y: float
    least: float
    most: float
    title: str
    label: str = ""
    is_hollow: bool = False


class Label(NamedTuple):
    """The text of a mark; a mark of a curve has lines to its left and right."""

    x: float
    y: float
    text: str
    is_of_curve: bool


@dataclass(frozen=True)
class Series:
    """Marks of one color, connected by a line if they are a curve."""

    name: str
    marks: Sequence[Mark]
    is_curve: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its title, and the format and positions of its ticks."""

    title: str
    text: Callable[[float], str] = lambda value: f"{value:,g}"
    is_log: bool = False
    from_zero: bool = False
    at: Sequence[float] = ()
    """Positions of ticks, instead of round values."""

    def scale(self, values: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
        """A function that maps values to positions between two ends."""
        low, high = self.span(values)
        first, last = self._at(low), self._at(high)
        return lambda value: begin + (self._at(value) - first) / (last - first) * (end - begin)

    def span(self, values: Sequence[float]) -> tuple[float, float]:
        """The least and the greatest value of the axis."""
        low, high = min(values), max(values)
        if self.is_log:
            margin = max((high / low) ** 0.06, 1.08)
            return low / margin, high * margin
        margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
        return (0.0, 1.06 * high or 1.0) if self.from_zero else (low - margin, high + margin)

    def ticks(self, values: Sequence[float]) -> list[float]:
        """Round values within the span."""
        low, high = self.span(values)
        if self.at:
            return sorted({value for value in self.at if low <= value <= high})
        found = _powers(low, high) if self.is_log else _steps(low, high)
        return [value for value in found if low <= value <= high]

    def _at(self, value: float) -> float:
        return math.log10(value) if self.is_log else value


def chart(x: Axis, y: Axis, series: Sequence[Series], front: Sequence[Mark] = ()) -> str:
    """Marks and curves, in front of a line through ``front``. Empty if there is nothing to draw."""
    marks = [mark for one in series for mark in one.marks]
    if not marks:
        return ""
    xs = [mark.x for mark in marks]
    ys = [value for mark in marks for value in (mark.least, mark.most)]
    across = x.scale(xs, LEFT, WIDTH - RIGHT)
    up = y.scale(ys, HEIGHT - BOTTOM, TOP)
    named = [(_colour(i), one) for i, one in enumerate(series) if one.marks]
    legend = [(colour, one.name) for colour, one in named if one.name]
    parts = [
        *_axes(
            x, y, [(across(v), x.text(v)) for v in x.ticks(xs)], [(up(v), y.text(v)) for v in y.ticks(ys)]
        ),
        _line([(across(mark.x), up(mark.y)) for mark in front], "front") if front else "",
    ]
    for colour, one in named:
        parts.append(f'<g class="{colour}">')
        if one.is_curve:
            parts.append(_line([(across(mark.x), up(mark.y)) for mark in one.marks], "curve"))
        parts += [
            _mark(mark, across(mark.x), up(mark.y), up(mark.least), up(mark.most)) for mark in one.marks
        ]
        parts.append("</g>")
    labelled = [(mark, one.is_curve) for one in series for mark in one.marks]
    parts += _labels([Label(across(mark.x), up(mark.y), mark.label, curve) for mark, curve in labelled])
    return _document(parts, HEIGHT, legend)


def bars(
    names: Sequence[str], shares: Sequence[tuple[str, Sequence[float]]], text: Callable[[float], str]
) -> str:
    """A horizontal stacked bar for each row; ``names`` are those of the parts."""
    if not shares:
        return ""
    left, step = 12.0, 46.0
    most = max(sum(values) for _, values in shares) or 1.0
    scale = (WIDTH - left - 90) / most
    parts = []
    for row, (label, values) in enumerate(shares):
        y = TOP + step * row
        parts.append(f'<text x="{n(left)}" y="{n(y + 10)}">{escape(label)}</text>')
        y += 16
        x = left
        for i, (name, value) in enumerate(zip(names, values, strict=True)):
            width = max(value, 0.0) * scale
            tip = f"<title>{escape(f'{name}: {text(value)}')}</title>"
            place = f'x="{n(x)}" y="{n(y)}" width="{n(width)}" height="20"'
            parts.append(f'<rect class="{_colour(i)}" {place}>{tip}</rect>')
            x += width
        parts.append(f'<text x="{n(x + 6)}" y="{n(y + 14)}">{escape(text(sum(values)))}</text>')
    legend = [(_colour(i), name) for i, name in enumerate(names)]
    return _document(parts, TOP + step * len(shares), legend)


def _colour(number: int) -> str:
    """The CSS class of a series, which gives it its color."""
    return f"c{number % len(COLOURS)}"


def _colours(colours: Sequence[str]) -> str:
    return "".join(f"svg .c{i}{{fill:{one};stroke:{one}}}" for i, one in enumerate(colours))


STYLE = (
    "svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#333;stroke:none}"
    "svg .tick{fill:#666;font-size:11px}svg .grid{stroke:#e4e7ea;fill:none}svg .axis{stroke:#777;fill:none}"
    + _colours(COLOURS)
    + "svg rect{stroke:none!important}svg .curve{fill:none;stroke-width:1.6}"
    "svg .spread{stroke-width:1.2;opacity:.55}svg .hollow{fill:#fff;stroke-width:2.4}"
    "svg .front{fill:none;stroke:#b9c2cc;stroke-width:6;stroke-linejoin:round;opacity:.6}"
)
"""The style of charts on a light page."""
DARK_STYLE = (
    "svg text{fill:#d5d9de}svg .tick{fill:#9aa1a9}svg .grid{stroke:#2d3238}svg .axis{stroke:#858c94}"
    + _colours(DARK_COLOURS)
    + "svg .hollow{fill:#16191d}svg .front{stroke:#4a525b}"
)
"""The differences on a dark page."""


def _document(parts: Iterable[str], height: float, legend: Sequence[tuple[str, str]]) -> str:
    rows = list(_legend_rows(legend))
    total = height + 20.0 * len(rows)
    drawn = []
    for i, row in enumerate(rows):
        y = height + 20.0 * i + 6
        for x, colour, name in row:
            drawn.append(f'<rect class="{colour}" x="{n(x)}" y="{n(y)}" width="12" height="10"/>')
            drawn.append(f'<text x="{n(x + 17)}" y="{n(y + 9)}">{escape(name)}</text>')
    size = f'width="{n(WIDTH)}" height="{n(total)}" viewBox="0 0 {n(WIDTH)} {n(total)}"'
    body = "\n".join(part for part in [*parts, *drawn] if part)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{body}\n</svg>'


def standalone(svg: str, title: str) -> str:
    """A chart as a separate document."""
    head, body = svg.split(">", 1)
    dark = f"@media (prefers-color-scheme: dark){{{DARK_STYLE}svg .page{{fill:#16191d}}}}"
    style = f"<style>{STYLE}svg .page{{fill:#fff}}{dark}</style>"
    inside = f'<title>{escape(title)}</title>{style}<rect class="page" width="100%" height="100%"/>'
    return f"{head}>{inside}{body}\n"


def _legend_rows(legend: Sequence[tuple[str, str]]) -> Iterator[list[tuple[float, str, str]]]:
    """The entries of a legend with their positions, row by row."""
    row: list[tuple[float, str, str]] = []
    x = LEFT
    for colour, name in legend:
        width = 34 + 6.6 * len(name)
        if row and x + width > WIDTH:
            yield row
            row, x = [], LEFT
        row.append((x, colour, name))
        x += width
    if row:
        yield row


def _axes(
    x: Axis, y: Axis, xticks: Sequence[tuple[float, str]], yticks: Sequence[tuple[float, str]]
) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    grid = "".join(f"M{n(LEFT)} {n(at)}H{n(right)}" for at, _ in yticks)
    grid += "".join(f"M{n(at)} {n(TOP)}V{n(bottom)}" for at, _ in xticks)
    yield f'<path class="grid" d="{grid}"/>'
    yield f'<path class="axis" d="M{n(LEFT)} {n(TOP)}V{n(bottom)}H{n(right)}"/>'
    for at, text in xticks:
        place = f'x="{n(at)}" y="{n(bottom + 16)}" text-anchor="middle"'
        yield f'<text class="tick" {place}>{escape(text)}</text>'
    for at, text in yticks:
        yield f'<text class="tick" x="{n(LEFT - 7)}" y="{n(at + 4)}" text-anchor="end">{escape(text)}</text>'
    middle = (LEFT + right) / 2
    yield f'<text x="{n(middle)}" y="{n(bottom + 36)}" text-anchor="middle">{escape(x.title)}</text>'
    turned = f'transform="translate(14 {n((TOP + bottom) / 2)}) rotate(-90)"'
    yield f'<text {turned} text-anchor="middle">{escape(y.title)}</text>'


def _mark(mark: Mark, x: float, y: float, low: float, high: float) -> str:
    spread = f'<path class="spread" d="M{n(x)} {n(low)}V{n(high)}"/>' if abs(low - high) > 1 else ""
    hollow = ' class="hollow"' if mark.is_hollow else ""
    radius = 5.5 if mark.is_hollow else 4
    tip = f"<title>{escape(mark.title)}</title>"
    return f'{spread}<circle{hollow} cx="{n(x)}" cy="{n(y)}" r="{radius}">{tip}</circle>'


def _labels(labels: Sequence[Label]) -> Iterator[str]:
    """Texts beside their marks; for curves, above or below. A text without room is omitted."""
    taken = [(one.x - 4, one.y - 4, one.x + 4, one.y + 4) for one in labels]
    for x, y, text, is_of_curve in sorted(labels):
        width = 6.8 * len(text)
        # A label at the end of a curve is moved inside the chart.
        middle = min(max(x - width / 2, LEFT + 2), WIDTH - 5 - width)
        places = [(middle, y - 18), (middle, y + 8)]
        if not is_of_curve:
            places = [(x + 7, y - 5), (x - 7 - width, y - 5), *places]
        for left, top in places if text else ():
            box = (left, top, left + width, top + 10)
            is_inside = left > LEFT and box[2] < WIDTH - 4 and top > 0 and box[3] < HEIGHT - BOTTOM
            if is_inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield f'<text class="tick" x="{n(left)}" y="{n(top + 9)}">{escape(text)}</text>'
                break


def _overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two boxes (left, top, right, bottom) overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _line(points: Sequence[tuple[float, float]], kind: str) -> str:
    path = "L".join(f"{n(x)} {n(y)}" for x, y in points)
    return f'<path class="{kind}" d="M{path}"/>' if len(points) > 1 else ""


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten; for few decades, also 2 and 5 times these."""
    factors = (1, 2, 5) if high / low < 300 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [factor * 10.0**power for power in powers for factor in factors]


def _steps(low: float, high: float) -> list[float]:
    power = 10 ** math.floor(math.log10((high - low) / 5))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 6 >= high - low)
    first = math.ceil(low / step)
    return [step * i for i in range(first, math.floor(high / step) + 1)]


def n(value: float) -> str:
    """A number in its shortest form, rounded to a tenth of a pixel."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
