"""Draws histograms as SVG documents: an outline for one axis, a map of colors for two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .svg import px, round_ticks, small_text, svg_document

WIDTH, HEIGHT = 640.0, 420.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 72.0, 60.0, 24.0, 56.0
_STYLE = ".bars{fill:#9ec5e8;stroke:#1f5f99;stroke-width:1.2}"
_DARK = (8, 48, 107)
"""The color of the fullest bin; an empty one is white."""


def histogram_picture(title: str, label: str, values: Sequence[float], edges: Sequence[float]) -> str:
    """A histogram with one axis as an SVG document."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    high = high + 0.05 * (high - low) if high > low else low + 1.0
    across, up = _Scale(edges[0], edges[-1], _plot_width()), _Scale(low, high, _plot_height())

    def y(value: float) -> float:
        return _plot_height() - up(value if math.isfinite(value) else 0.0)

    steps = "".join(
        f"V{px(y(value))}H{px(across(end))}" for value, end in zip(values, edges[1:], strict=True)
    )
    outline = f"M0 {px(y(0.0))}{steps}V{px(y(0.0))}Z"
    body = [*_axes(across, up, label), f'<path class="bars" d="{outline}"/>', "</g>"]
    return svg_document(title, WIDTH, HEIGHT, _STYLE, body)


def map_picture(
    title: str,
    labels: tuple[str, str],
    values: Sequence[Sequence[float]],
    xedges: Sequence[float],
    yedges: Sequence[float],
) -> str:
    """A histogram with two axes as an SVG document; ``values[x][y]`` are the bins."""
    finite = [value for line in values for value in line if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    across, up = _Scale(xedges[0], xedges[-1], _plot_width()), _Scale(yedges[0], yedges[-1], _plot_height())
    cells = []
    for i, line in enumerate(values):
        left, right = across(xedges[i]), across(xedges[i + 1])
        for j, value in enumerate(line):
            if high > low and math.isfinite(value) and value > low:
                top, bottom = _plot_height() - up(yedges[j + 1]), _plot_height() - up(yedges[j])
                size = f'width="{px(right - left)}" height="{px(bottom - top)}"'
                paint = _colour((value - low) / (high - low))
                cells.append(f'<rect x="{px(left)}" y="{px(top)}" {size} fill="{paint}"/>')
    note = small_text(_plot_width(), -10, f"white: {low:,.5g}, darkest: {high:,.5g}", "end")
    body = [*_axes(across, up, labels[0], labels[1]), *cells, note, "</g>"]
    return svg_document(title, WIDTH, HEIGHT, "", body)


class _Scale:
    """Maps numbers to pixels."""

    def __init__(self, first: float, last: float, length: float) -> None:
        self.first, self.last, self.length = first, last, length

    def __call__(self, value: float) -> float:
        return (value - self.first) / (self.last - self.first) * self.length

    def ticks(self, count: int) -> Iterator[float]:
        """Round numbers between both ends."""
        step = list(round_ticks(self.last - self.first, count))[1]
        start = math.ceil(self.first / step - 1e-9)
        for i in range(start, math.floor(self.last / step + 1e-9) + 1):
            yield i * step


def _axes(across: _Scale, up: _Scale, label: str, side: str = "") -> Iterator[str]:
    """The group of the plot, which the caller closes, with its grid and its axes."""
    width, height = _plot_width(), _plot_height()
    yield f'<g transform="translate({px(_LEFT)} {px(_TOP)})">'
    for tick in up.ticks(6):
        y = height - up(tick)
        yield f'<path class="grid" d="M0 {px(y)}H{px(width)}"/>'
        yield small_text(-8, y + 4, f"{tick:,.5g}", "end")
    for tick in across.ticks(8):
        yield f'<path class="axis" d="M{px(across(tick))} {px(height)}v5"/>'
        yield small_text(across(tick), height + 19, f"{tick:,.6g}", "middle")
    yield f'<path class="axis" d="M0 0V{px(height)}H{px(width)}"/>'
    yield small_text(width, height + 40, label, "end")
    if side:
        yield small_text(0, -10, side, "start")


def _colour(share: float) -> str:
    return "#" + "".join(f"{round(255 + (dark - 255) * math.sqrt(share)):02x}" for dark in _DARK)


def _plot_width() -> float:
    return WIDTH - _LEFT - _RIGHT


def _plot_height() -> float:
    return HEIGHT - _TOP - _BOTTOM
