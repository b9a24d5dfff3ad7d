"""Translates a filter of Arrow into a cut that every entry it accepts passes; the filter is applied later.

Arrow gives no access to the parts of an expression, only its text. The text has no types, and prints names
as they are. So the cut is never stricter than the filter: bounds are widened by what a literal may have lost,
and anything that could be read in two ways is left to the engine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = frozenset(
    {"and", "or", "not", "true", "false", "null", "invert", "in", "is", "if", "else", "lambda", "nan", "inf"}
)
_TOKEN = re.compile(
    r"\s*(?:(?P<is_in>is_in\((?P<of>\w+), \{value_set=\w+:\[(?P<values>[\s\d.,eE+\-truefals]*)\], "
    r"null_matching_behavior=\w+\}\))"
    r"|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
    r'|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<null>null\[\w+\])"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>==|!=|<=|>=|<|>|[(),]))",
    re.ASCII,
)
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_MOST_VALUES = 64
# Integers from here on may have been rounded, or are compared by Arrow after rounding, as 32-bit floats.
_EXACT = 2**24

_ANY = None
"""The cut of a condition about which nothing is known."""
_NEVER = "(1 == 0)"


def implied_cut(filter: Any, types: Mapping[str, Any]) -> str | None:
    """A cut that is true wherever a filter is; None if there is none.

    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> types = {"run": np.dtype("u4"), "met": np.dtype("f4"), "ok": np.dtype("?")}
    >>> implied_cut((pc.field("run") > 5) & (pc.field("name") == "a") & pc.field("ok"), types)
    '((run > 5) & (ok != 0))'

    Args:
        filter: a ``pyarrow.compute.Expression``.
        types: the columns by name, with the NumPy types of those that hold one number or boolean per entry,
            and None for the others.
    """
    text = str(filter)
    if any(name in text for name in types if not _NAME.fullmatch(name) or name in _RESERVED):
        # Such a name could be read as a part of the expression.
        return None
    try:
        parser = _Parser(text, types)
        cut = parser.condition()
        parser.expect_end()
    except (_NotUnderstood, RecursionError):
        return None
    return cut


def names_in(expression: Any, columns: list[str]) -> list[str]:
    """The columns that an expression may use; all of them if it refers to columns by their positions."""
    text = str(expression)
    if "FieldPath" in text or "FieldRef.Field" in text:
        return columns
    return [name for name in columns if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


class _NotUnderstood(Exception):
    """A part of an expression has another syntax."""


class _Parser:
    """Reads the text of an expression once, from left to right."""

    def __init__(self, text: str, types: Mapping[str, Any]) -> None:
        self._types = types
        self._tokens: list[re.Match[str]] = []
        position = 0
        while position < len(text.rstrip()):
            token = _TOKEN.match(text, position)
            if token is None:
                raise _NotUnderstood
            self._tokens.append(token)
            position = token.end()
        self._at = 0

    def condition(self) -> str | None:
        """The cut implied by the condition that begins here."""
        token = self._next()
        if token["is_in"]:
            return self._one_of(token["of"], token["values"])
        if token["null"]:
            return _NEVER
        if token["name"] is not None:
            name = token["name"]
            if self._peek() == "(":
                return self._called(name)
            return f"({name} != 0)" if self._type(name) == np.bool_ else _ANY
        if token["sign"] != "(":
            raise _NotUnderstood
        return self._in_parentheses()

    def expect_end(self) -> None:
        """Checks that nothing follows."""
        if self._at != len(self._tokens):
            raise _NotUnderstood

    def _in_parentheses(self) -> str | None:
        """``(a and b)``, ``(a or b)``, or a comparison."""
        start = self._at
        first = self._next()
        operator = self._peek()
        if operator in _FLIPPED:
            self._next()
            second = self._next()
            self._expect(")")
            return self._comparison(first, operator, second)
        self._at = start
        left = self._operand()
        operator = self._next().group().strip()
        if operator in _FLIPPED:
            # Of something computed.
            self._operand()
            self._expect(")")
            return _ANY
        right = self.condition()
        self._expect(")")
        return _joined(left, operator, right)

    def _operand(self) -> str | None:
        """A condition, or a literal, about which nothing is known."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is not None and (token["number"] or token["text"]):
            self._next()
            return _ANY
        return self.condition()

    def _called(self, function: str) -> str | None:
        """A function; its arguments are conditions or anything else."""
        self._expect("(")
        arguments = []
        while self._peek() != ")":
            arguments.append(self._operand())
            if self._peek() == ",":
                self._next()
        self._expect(")")
        if function == "if_else" and len(arguments) == 3:
            return _joined(arguments[1], "or", arguments[2])
        if function == "invert" and (negated := re.fullmatch(r"\((\w+) != 0\)", arguments[0] or "")):
            return f"({negated[1]} == 0)"
        return _ANY

    def _comparison(self, left: re.Match[str], operator: str, right: re.Match[str]) -> str | None:
        if left["name"] is None:
            left, operator, right = right, _FLIPPED[operator], left
        name, text = left["name"], right.group().strip()
        if name is None:
            raise _NotUnderstood
        dtype = self._type(name)
        if dtype is None:
            return _ANY
        if dtype == np.bool_:
            if text in ("true", "false") and operator in ("==", "!="):
                return f"({name} {'!=' if (text == 'true') == (operator == '==') else '=='} 0)"
            return _ANY
        return _compared(name, operator, text, dtype) if right["number"] else _ANY

    def _one_of(self, name: str, values: str) -> str | None:
        dtype, items = self._type(name), [item.strip() for item in values.split(",") if item.strip()]
        if dtype is None or dtype == np.bool_ or len(items) > _MOST_VALUES:
            return _ANY
        cut: str | None = _NEVER
        for item in items:
            if not re.fullmatch(r"-?[\d.]+(?:[eE][+-]?\d+)?", item):
                return _ANY
            cut = _joined(cut, "or", _compared(name, "==", item, dtype))
        return cut

    def _type(self, name: str) -> Any:
        if name not in self._types:
            raise _NotUnderstood
        return self._types[name]

    def _peek(self) -> str:
        return self._tokens[self._at].group().strip() if self._at < len(self._tokens) else ""

    def _next(self) -> re.Match[str]:
        if self._at >= len(self._tokens):
            raise _NotUnderstood
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        if self._next().group().strip() != sign:
            raise _NotUnderstood


def _joined(left: str | None, operator: str, right: str | None) -> str | None:
    if operator in ("and", "and_kleene"):
        if left is None or right is None:
            return right if left is None else left
        return f"({left} & {right})"
    if operator in ("or", "or_kleene"):
        if left is None or right is None:
            return _ANY
        if _NEVER in (left, right):
            return right if left == _NEVER else left
        return f"({left} | {right})"
    raise _NotUnderstood


def _compared(name: str, operator: str, text: str, dtype: np.dtype[Any]) -> str | None:
    """A comparison with a number, widened by what the text, or a conversion in Arrow, may have lost."""
    bounds = _bounds(text, dtype)
    if bounds is None:
        return _ANY
    low, high, is_exact = bounds
    if is_exact:
        return f"({name} {operator} {low})" if operator != "!=" or dtype.kind in "iu" else _ANY
    if operator in (">", ">="):
        return f"({name} >= {low})"
    if operator in ("<", "<="):
        return f"({name} <= {high})"
    if operator == "==":
        return f"(({name} >= {low}) & ({name} <= {high}))"
    return _ANY


def _bounds(text: str, dtype: np.dtype[Any]) -> tuple[str, str, bool] | None:
    """Values of a column's type on either side of a literal, and whether both are the literal itself."""
    value = float(text)
    if math.isinf(value):
        return None
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            low, high = (float(np.nextafter(np.float32(value), np.float32(end))) for end in (-np.inf, np.inf))
        return None if math.isinf(low) or math.isinf(high) else (repr(low), repr(high), False)
    if dtype.kind not in "iu":
        return None
    first = last = int(text) if re.fullmatch(r"-?\d+", text) else math.floor(value)
    if first != value or abs(value) >= _EXACT or "." in text or "e" in text.lower():
        lost = abs(first) // (_EXACT // 4) + 1
        first, last = first - lost, last + lost
    limits = np.iinfo(dtype)
    if first < limits.min or last > limits.max:
        return None
    return str(first), str(last), first == last
