"""Helpers that all SVG drawings share: documents, legends, number formatting and axis ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from .markup import escape

STYLE = """
text{font-family:system-ui,sans-serif;font-size:12px;fill:#333}
.title{font-size:17px;font-weight:600}.small{font-size:11px;fill:#666}
.axis{stroke:#555;stroke-width:1;fill:none}.grid{stroke:#dfe4ea;stroke-width:1;fill:none}
"""
"""The style rules of all documents."""


def svg_document(
    title: str, width: float, height: float, style: str, body: Iterable[str], title_x: float = 24.0
) -> str:
    """A complete SVG document on white, with its title at the top and ``style`` added to :data:`STYLE`."""
    size = f'width="{px(width)}" height="{px(height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {px(width)} {px(height)}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style>",
        f'<rect {size} fill="#fff"/>',
        f'<text class="title" x="{px(title_x)}" y="32">{escape(title)}</text>',
        *body,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def legend_entry(paint: str, x: float, y: float, text: str) -> str:
    """A legend's swatch, painted by an attribute such as ``fill="red"``, and its text."""
    swatch = f'<rect {paint} x="{px(x)}" y="{px(y)}" width="14" height="12"/>'
    return f'{swatch}\n<text x="{px(x + 20)}" y="{px(y + 10)}">{escape(text)}</text>'


def small_text(x: float, y: float, text: str, anchor: str) -> str:
    """A label in small type; ``anchor`` is "start", "middle" or "end"."""
    return f'<text class="small" x="{px(x)}" y="{px(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def time_axis(label: str, span: float, width: float, height: float) -> Iterator[str]:
    """A grid for ``span`` seconds over an area of ``width`` x ``height`` pixels, and the axis below it."""
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if span >= s), (1e-6, "µs"))
    positions = [(tick, width * tick * scale / span) for tick in round_ticks(span / scale)]
    yield '<path class="grid" d="' + "".join(f"M{px(x)} 0V{px(height)}" for _, x in positions) + '"/>'
    marks = "".join(f"M{px(x)} {px(height)}v5" for _, x in positions)
    yield f'<path class="axis" d="M0 {px(height)}H{px(width)}{marks}"/>'
    yield from (small_text(x, height + 19, f"{tick:,.6g}", "middle") for tick, x in positions)
    yield f'<text x="{px(width / 2)}" y="{px(height + 38)}" text-anchor="middle">{label} ({unit})</text>'


def px(value: float) -> str:
    """A number rounded to a hundredth of a pixel, in its shortest form."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def round_ticks(end: float, count: int = 10, least_step: float = 0.0) -> Iterator[float]:
    """Round numbers from 0 to ``end``, in at most about ``count`` steps.

    >>> list(round_ticks(25)), list(round_ticks(3, least_step=1))
    ([0.0, 5.0, 10.0, 15.0, 20.0, 25.0], [0.0, 1.0, 2.0, 3.0])
    """
    if end <= 0:
        yield 0.0
        return
    power = 10.0 ** math.floor(math.log10(max(end / count, least_step)))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * count >= end * 0.999)
    for i in range(math.floor(end / step * (1 + 1e-9)) + 1):
        yield i * step
