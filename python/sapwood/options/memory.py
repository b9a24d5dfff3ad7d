"""Sizes with units: "100 MB", "1.5 GiB"."""

from __future__ import annotations

import re
from decimal import Decimal

from ..errors import ArgumentTypeError, UsageError

_SIZE = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([kmgtpezy]?)(i?)b\s*", re.IGNORECASE)
_PREFIXES = "kmgtpezy"
_LARGEST = 2**63 - 1
_TOO_LARGE = "a size must be less than 8 EiB"


def memory_size(size: int | str) -> int:
    """Bytes of a size: a whole number, or a string with a unit (B, kB … YB of 1000, kiB … YiB of 1024).

    >>> memory_size("100 MB"), memory_size("1.5kiB"), memory_size(42)
    (100000000, 1536, 42)

    Raises:
        ArgumentTypeError: if it is neither a whole number nor a string.
        UsageError: if the string is not a size, or the size is 8 EiB or more.
    """
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise ArgumentTypeError(
            f"a size must be a number of bytes or a string such as '100 MB', not {size!r}"
        )
    if isinstance(size, int):
        return _limited(size)
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UsageError(f"{size!r} is not a size: write a number and a unit, such as '100 MB' or '512 kiB'")
    number, prefix, binary = match.groups()
    base = 1024 if binary else 1000
    power = _PREFIXES.index(prefix.lower()) + 1 if prefix else 0
    try:
        return _limited(Decimal(number) * base**power)
    except ArithmeticError:
        raise UsageError(_TOO_LARGE) from None


def _limited(size: int | Decimal) -> int:
    if not -_LARGEST <= size <= _LARGEST:
        raise UsageError(_TOO_LARGE)
    return int(size)
