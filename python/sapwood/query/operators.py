"""What the operators of expressions compute, with integers of any size."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def _power(base: Any, exponent: Any) -> Any:
    """A power. Integer constants that do not fit into 64 bits become floats: 9**9**9**9 would never end."""
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent < 0 or base.bit_length() * exponent <= 64:
            return base**exponent
        return float(base) ** exponent
    return base**exponent


def _shift_left(value: Any, bits: Any) -> Any:
    if isinstance(value, int) and isinstance(bits, int) and value.bit_length() + bits > 64:
        raise OverflowError(f"{value} << {bits} does not fit in 64 bits")
    return value << bits


COMBINATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: _shift_left,
    ast.RShift: operator.rshift,
}
"""The operators of arithmetic and of bits that expressions may have."""

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
"""The comparisons that expressions may have."""


def beside(value: Any, other: Any) -> Any:
    """A number for a computation with another value: arrays do not take Python's integers beyond int64."""
    if type(value) is not int or isinstance(other, (int, float)) or -(2**63) <= value < 2**63:
        return value
    if not 0 <= value < 2**64:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return np.uint64(value)


def combined(op: ast.operator, left: Any, right: Any) -> Any:
    """The result of an operator of arithmetic or of bits."""
    return COMBINATIONS[type(op)](beside(left, right), beside(right, left))


def compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    """Compares values; an integer that the type of the others cannot hold is above or below all of them."""
    compare = COMPARISONS[type(op)]
    try:
        return compare(beside(left, right), beside(right, left))
    except OverflowError:
        beyond = [math.copysign(math.inf, one) if type(one) is int else one for one in (left, right)]
        return compare(*beyond)
