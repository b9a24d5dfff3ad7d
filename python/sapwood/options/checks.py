"""Checks the types of options that many functions have: numbers, text, lists of text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any

from ..errors import ArgumentTypeError, UsageError


def check_whole_number(name: str, value: Any, least: int = 0) -> int:
    """A whole number, at least ``least``.

    >>> check_whole_number("events", 3)
    3
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = index(value)
    except TypeError:
        raise ArgumentTypeError(f"{name!r} must be a whole number, not {value!r}") from None
    if number < least:
        raise UsageError(f"{name!r} must be at least {least}, not {number}")
    return number


def check_number(name: str, value: Any) -> float:
    """A finite number.

    >>> check_number("days", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{name!r} must be a number, not {value!r}")
    if not math.isfinite(value):
        raise UsageError(f"{name!r} must be finite, not {value!r}")
    return float(value)


def check_text(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name!r} must be a string, not {value!r}")
    return value


def check_switch(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name!r} must be True or False, not {value!r}")
    return value


def check_texts(name: str, value: Any) -> list[str]:
    """A string, or an iterable of strings, as a list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
        raise ArgumentTypeError(f"{name!r} must be a string or a list of strings, not {value!r}")
    return [check_text(name, one) for one in value]
