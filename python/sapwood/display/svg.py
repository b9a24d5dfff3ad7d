"""Helpers that all SVG drawings share: number formatting and axis ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator


def px(value: float) -> str:
    """A number rounded to a hundredth of a pixel, in its shortest form."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def round_ticks(end: float) -> Iterator[float]:
    """Round numbers from 0 to ``end``, about ten at most."""
    if end <= 0:
        yield 0.0
        return
    power = 10.0 ** math.floor(math.log10(end / 10))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 10 >= end * 0.999)
    for i in range(math.floor(end / step * (1 + 1e-9)) + 1):
        yield i * step
