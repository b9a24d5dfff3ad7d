"""Formats sizes, times and counts with their units."""

from __future__ import annotations


def human_bytes(count: float) -> str:
    """A size in bytes, in powers of 1000 and with three digits.

    >>> human_bytes(0), human_bytes(999), human_bytes(12345), human_bytes(6.6e6), human_bytes(123.4e6)
    ('0 B', '999 B', '12.3 kB', '6.60 MB', '123 MB')
    """
    value, units = float(count), ("B", "kB", "MB", "GB", "TB", "PB")
    unit = 0
    while value >= 999.5 and unit < len(units) - 1:
        value /= 1000
        unit += 1
    if unit == 0:
        return f"{value:.0f} B"
    return f"{value:.{max(0, 2 - (value >= 9.995) - (value >= 99.95))}f} {units[unit]}"


def human_compression(compressed: float, uncompressed: float) -> str:
    """Both sizes, and their ratio.

    >>> human_compression(132e6, 312e6)
    '132 MB compressed, 312 MB uncompressed (2.36×)'
    """
    sizes = f"{human_bytes(compressed)} compressed, {human_bytes(uncompressed)} uncompressed"
    return f"{sizes} ({uncompressed / compressed:.2f}×)" if compressed else sizes


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count and its noun; the plural is the noun with an "s" unless you give it.

    >>> counted(1, "cluster"), counted(1200, "cluster"), counted(0, "branch", "branches")
    ('1 cluster', '1,200 clusters', '0 branches')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def human_seconds(seconds: float) -> str:
    """A time in seconds, with the unit that fits.

    >>> human_seconds(0), human_seconds(0.00002), human_seconds(0.0254), human_seconds(3.2)
    ('0 s', '20 µs', '25.4 ms', '3.2 s')
    """
    if not seconds:
        return "0 s"
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
