"""Explains why a text is not an expression; the messages of Python's parser vary between versions."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import ExpressionError
from .text import Text

_TOKENS = re.compile(
    r"""(?P<space>\s+)
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<number>0[xXoObB]\w*|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[\w.]*)
    | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*\$?)
    | (?P<operator>\*\*|//|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^~!=()\[\],:.@])
    | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = frozenset({"and", "or", "if", "else", "in", "is"})
_CONSTANTS = frozenset({"True", "False", "None"})
_PREFIXES = frozenset({"+", "-", "~", "!", "not"})
_BRACKETS = {")": "(", "]": "["}
_PATTERN = re.compile(r"[\w.]*\*[\w.*]*")
"""A pattern of names, where it is not an expression."""


class _Token(NamedTuple):
    kind: str
    text: str
    position: int

    @property
    def is_operand(self) -> bool:
        """Whether it is a value."""
        return self.kind in ("text", "number", "name")


def explain(text: Text) -> ExpressionError | None:
    """The first mistake in a text that Python cannot parse; None if only Python knows."""
    if _PATTERN.fullmatch(text.text):
        return text.error(f"looks like a pattern: select branches with filter_name={text.text!r}")
    last: _Token | None = None
    opened: list[_Token] = []
    for token in _tokens(text.text):
        mistake = _mistake_in(token) or _mistake_after(last, token, opened)
        if mistake:
            return text.error(mistake, token.position)
        if token.text in ("(", "["):
            opened.append(token)
        elif token.text in _BRACKETS:
            opened.pop()
        last = token
    if last is None:
        return text.error("is empty")
    if _wants_operand(last) and last is not (opened[-1] if opened else None):
        return text.error(f"ends too early: an operand is missing after {last.text!r}", last.position)
    if opened:
        return text.error(f"has a {opened[-1].text!r} that is not closed", opened[-1].position)
    return None


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKENS.finditer(text):
        kind, token = str(match.lastgroup), match[0]
        if kind == "name" and (token in _WORDS or token == "not"):
            kind = "operator"
        if kind != "space":
            yield _Token(kind, token, match.start())


def _mistake_in(token: _Token) -> str | None:
    """What is wrong with a token wherever it stands."""
    if token.text in ("'", '"'):
        return "has a quote that is not closed"
    if token.kind == "other":
        return f"contains {token.text!r}, which is not an operator"
    if token.kind == "number":
        try:
            ast.literal_eval(token.text)
        except (ValueError, SyntaxError):
            return f"contains {token.text[:20]!r}, which is not a number"
    if keyword.iskeyword(token.text) and token.kind == "name" and token.text not in _CONSTANTS:
        return f"contains {token.text!r}, which is not allowed"
    return None


def _mistake_after(last: _Token | None, token: _Token, opened: list[_Token]) -> str | None:
    """What is wrong with a token after the last one, inside the opened brackets."""
    if token.text in _BRACKETS:
        if not opened:
            return f"has a {token.text!r} without a {_BRACKETS[token.text]!r} before it"
        if opened[-1].text != _BRACKETS[token.text]:
            return f"closes a {opened[-1].text!r} with a {token.text!r}"
        if last is not None and _wants_operand(last) and last.text not in "([,:":
            return f"lacks an operand between {last.text!r} and {token.text!r}"
        return None
    if last is None or _wants_operand(last):
        if token.is_operand or token.text in _PREFIXES or token.text in "([:":
            return None
        return f"lacks an operand before {token.text!r}"
    if token.is_operand or token.text in ("!", "~"):
        return f"lacks an operator before {token.text[:20]!r}"
    if token.text == "=":
        return "contains a single '='; a comparison is written '=='"
    return None


def _wants_operand(token: _Token) -> bool:
    """Whether a value must follow a token."""
    return token.kind == "operator" and token.text not in _BRACKETS
