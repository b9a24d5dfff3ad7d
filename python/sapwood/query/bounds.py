"""Decides which spans of entries may pass a cut, given only the minimum and maximum of each column.

NumPy compares the bounds with the columns' own types, exactly as it evaluates the expression. Rounding and
type promotion therefore cannot move a value across a bound.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import SapwoodError
from .expressions import Expression

Mask: TypeAlias = NDArray[np.bool_]
"""One boolean for each span of entries."""


@dataclass(frozen=True)
class Truth:
    """Whether a span may contain a true value, and whether it may contain a false one."""

    true: Mask
    false: Mask

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.true & other.true, self.false | other.false)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.true | other.true, self.false & other.false)

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true)


@dataclass(frozen=True)
class Bounds:
    """The values of each span lie between ``low`` and ``high``: arrays of the column's type, or constants."""

    low: Any
    high: Any
    numbers: Mask
    """Whether a span may contain numbers; otherwise, ``low`` and ``high`` have no meaning."""
    nans: Mask
    """Whether a span may contain NaN."""
    count: NDArray[np.float64] | None = None
    """For columns of lists, the number of values in each span."""


NameBounds: TypeAlias = Bounds | Expression | None
"""The bounds of a column, the expression of an alias, or None if nothing is known about a name."""


def may_pass(cut: Expression, known: Callable[[str], NameBounds], spans: int) -> Mask:
    """For each span, whether the cut may be true for some value."""
    with np.errstate(all="ignore"):
        return _Reasoning(known, spans).truth(cut, cut.body).true


class _Reasoning:
    """A walk over a syntax tree; a node that it does not understand may have any value."""

    def __init__(self, known: Callable[[str], NameBounds], spans: int) -> None:
        self.known = known
        self.all = np.ones(spans, dtype=bool)

    def truth(self, within: Expression, node: ast.AST) -> Truth:
        """Whether a node may be nonzero, and whether it may be zero."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(within, value) for value in node.values]
            return self._joined(parts, isinstance(node.op, ast.And))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            # Bitwise operations on numbers do not follow these rules.
            if self._is_logical(within, node):
                parts = [self.truth(within, node.left), self.truth(within, node.right)]
                return self._joined(parts, isinstance(node.op, ast.BitAnd))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            if isinstance(node.op, ast.Not) or self._is_logical(within, node.operand):
                return ~self.truth(within, node.operand)
        elif isinstance(node, ast.Compare):
            return self._chain(within, node)
        elif isinstance(node, ast.Call) and (found := self._called(within, node)) is not None:
            return found
        elif (name := within.name_of(node)) is not None:
            known = self.known(name)
            if isinstance(known, Expression):
                return self.truth(known, known.body)
        return self._compared(ast.NotEq(), self._bounds(within, node), self._constant(0))

    def _joined(self, parts: list[Truth], every: bool) -> Truth:
        first, *others = parts
        for other in others:
            first = first & other if every else first | other
        return first

    def _chain(self, within: Expression, node: ast.Compare) -> Truth:
        sides = [self._bounds(within, side) for side in (node.left, *node.comparators)]
        pairs = zip(node.ops, sides, sides[1:], strict=False)
        return self._joined([self._compared(op, left, right) for op, left, right in pairs], True)

    def _called(self, within: Expression, node: ast.Call) -> Truth | None:
        match node:
            case ast.Call(func=ast.Name(id="logical_and" | "logical_or" as name), args=[_, _]):
                parts = [self.truth(within, argument) for argument in node.args]
                return self._joined(parts, name == "logical_and")
            case ast.Call(func=ast.Name(id="logical_not"), args=[argument]):
                return ~self.truth(within, argument)
            # For an empty list, "any" is false and "all" is true.
            case ast.Call(func=ast.Name(id="Any_dollar"), args=[argument]):
                return Truth(self.truth(within, argument).true, self.all)
            case ast.Call(func=ast.Name(id="All_dollar"), args=[argument]):
                return Truth(self.all, self.truth(within, argument).false)
        return None

    def _is_logical(self, within: Expression, node: ast.AST) -> bool:
        """Whether the values of a node are booleans."""
        if isinstance(node, ast.BinOp):
            logical = isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
            return logical and self._is_logical(within, node.left) and self._is_logical(within, node.right)
        if isinstance(node, ast.UnaryOp):
            inverted = isinstance(node.op, ast.Invert) and self._is_logical(within, node.operand)
            return isinstance(node.op, ast.Not) or inverted
        if isinstance(node, ast.BoolOp):
            return True
        if isinstance(node, ast.Compare):
            return True
        if (name := within.name_of(node)) is not None:
            known = self.known(name)
            if isinstance(known, Expression):
                return self._is_logical(known, known.body)
            return known is not None and np.asarray(known.low).dtype == bool
        return isinstance(node, ast.Call) and getattr(node.func, "id", "") in _LOGICAL

    def _bounds(self, within: Expression, node: ast.AST) -> Bounds | None:
        """The bounds of a node; None if they are unknown."""
        if (name := within.name_of(node)) is not None:
            known = self.known(name)
            return self._bounds(known, known.body) if isinstance(known, Expression) else known
        match node:
            case ast.Call(func=ast.Name(id="Length_dollar"), args=[argument]):
                inner = self._bounds(within, argument) if within.name_of(argument) is not None else None
                return None if inner is None or inner.count is None else self._up_to(inner.count)
            case ast.Call(func=ast.Name(id="Sum_dollar"), args=[argument]):
                if self._is_logical(within, argument):
                    # The sum counts the true items.
                    return self._up_to(np.where(self.truth(within, argument).true, np.inf, 0.0))
                return None
            case ast.Call(func=ast.Name(id="abs" | "absolute" | "fabs"), args=[argument]):
                return _absolute(self._bounds(within, argument))
        try:
            return self._constant(within.constant(node))
        except (SapwoodError, ArithmeticError, TypeError, ValueError):
            return None

    def _up_to(self, high: NDArray[np.float64]) -> Bounds:
        return Bounds(np.zeros(len(high)), high, self.all, ~self.all)

    def _constant(self, value: Any) -> Bounds | None:
        if not isinstance(value, (bool, int, float)) or np.asarray(value).dtype.kind not in "biuf":
            return None
        is_nan = value != value
        return Bounds(value, value, self.all & (not is_nan), self.all & is_nan)

    def _compared(self, op: ast.cmpop, left: Bounds | None, right: Bounds | None) -> Truth:
        if left is None or right is None:
            return Truth(self.all, self.all)
        # Depending on the library, a constant takes the column's type or promotes it: allow for both.
        try:
            found = [_compare(op, *pair) for pair in ((left, right), (_strong(left), _strong(right)))]
        except (ArithmeticError, TypeError, ValueError):
            return Truth(self.all, self.all)
        true, false = (found[0].true | found[1].true, found[0].false | found[1].false)
        return Truth(np.broadcast_to(true, self.all.shape), np.broadcast_to(false, self.all.shape))


_LOGICAL = {
    "Any_dollar", "All_dollar", "isfinite", "isinf", "isnan", "logical_and", "logical_not", "logical_or",
}  # fmt: skip
"""Functions that return booleans."""


def _strong(bounds: Bounds) -> Bounds:
    """The bounds with constants as NumPy scalars, whose types take part in promotion."""
    if isinstance(bounds.low, np.ndarray):
        return bounds
    value = np.asarray(bounds.low)[()]
    return Bounds(value, value, bounds.numbers, bounds.nans)


def _absolute(bounds: Bounds | None) -> Bounds | None:
    # The absolute value of the smallest integer overflows.
    if bounds is None or np.asarray(bounds.low).dtype.kind != "f":
        return None
    low, high = np.absolute(bounds.low), np.absolute(bounds.high)
    around = (np.asarray(bounds.low) <= 0) & (np.asarray(bounds.high) >= 0)
    least = np.where(around, np.zeros_like(low), np.minimum(low, high))
    return Bounds(least, np.maximum(low, high), bounds.numbers, bounds.nans)


def _compare(op: ast.cmpop, a: Bounds, b: Bounds) -> Truth:
    numbers, nans = a.numbers & b.numbers, a.nans | b.nans
    if isinstance(op, ast.Lt):
        true, false = a.low < b.high, ~_array(a.high < b.low)
    elif isinstance(op, ast.LtE):
        true, false = a.low <= b.high, ~_array(a.high <= b.low)
    elif isinstance(op, ast.Gt):
        true, false = a.high > b.low, ~_array(a.low > b.high)
    elif isinstance(op, ast.GtE):
        true, false = a.high >= b.low, ~_array(a.low >= b.high)
    else:
        meet = _array(a.low <= b.high) & _array(b.low <= a.high)
        same = _array(a.low == b.high) & _array(a.high == b.low)
        equal = Truth(numbers & meet, nans | numbers & ~same)
        return equal if isinstance(op, ast.Eq) else ~equal
    return Truth(numbers & true, nans | numbers & false)


def _array(value: Any) -> Mask:
    return np.asarray(value, dtype=bool)
