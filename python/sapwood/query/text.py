"""The text of an expression: its translation to Python, and errors that quote it and name a column."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right

from ..errors import ExpressionError

_TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|&&|\|\||!=|!|\b(?:Sum|Min|Max|Length|Any|All)\$|\s+|.", re.DOTALL)
_LONGEST_QUOTE = 120


class Text:
    """An expression as the caller wrote it; ``title`` says what it is, such as "the cut".

    Attributes:
        python: the same with Python's operators instead of ROOT's, in one line.
        negations: the UTF-8 offsets in ``python`` of each "~" that replaces a "!".
    """

    def __init__(self, text: str, title: str = "the expression") -> None:
        self.text = text
        self.title = title
        self.negations: set[int] = set()
        pieces: list[str] = []
        # The UTF-8 offset of each piece in Python's text, and its position in the original.
        self._offsets: list[int] = []
        self._positions: list[int] = []
        position, offset = len(text) - len(text.lstrip()), 0
        for token in _TOKENS.findall(text.strip()):
            piece = _PYTHON.get(token, " " if token.isspace() else token)
            if token == "!":
                self.negations.add(offset)
            elif token.endswith("$") and len(token) > 1:
                piece = token[:-1] + "_dollar"
            self._offsets.append(offset)
            self._positions.append(position)
            pieces.append(piece)
            position += len(token)
            offset += len(piece.encode("utf-8", "surrogatepass"))
        self.python = "".join(pieces)

    def position_of(self, node: ast.AST) -> int | None:
        """Where a node of the parsed Python text begins in the original text, counted from 0."""
        offset = getattr(node, "col_offset", None)
        if offset is None or not self._offsets or getattr(node, "lineno", 1) != 1:
            return None
        return self._positions[bisect_right(self._offsets, offset) - 1]

    def position_at(self, index: int) -> int | None:
        """The position in the original text of a character of Python's text."""
        offset = len(self.python[:index].encode("utf-8", "surrogatepass"))
        return self._positions[bisect_right(self._offsets, offset) - 1] if self._offsets else None

    def part(self, node: ast.AST) -> str:
        """The part of the original text that a node stands for."""
        end = getattr(node, "end_col_offset", None)
        start = self.position_of(node)
        if start is None or end is None:
            return self.text
        index = bisect_right(self._offsets, end - 1)
        stop = self._positions[index] if index < len(self._positions) else len(self.text.rstrip())
        return self.text[start:stop]

    def has_parentheses(self, node: ast.expr) -> bool:
        """Whether a node of the parsed Python text stands in parentheses of its own."""
        encoded = self.python.encode("utf-8", "surrogatepass")
        before, after = encoded[: node.col_offset], encoded[node.end_col_offset :]
        return before.rstrip().endswith(b"(") and after.lstrip().startswith(b")")

    def error(self, problem: str, position: int | None = None, hint: str = "") -> ExpressionError:
        """The error that the text has a problem, at a position counted from 0."""
        column = None if position is None else position + 1
        place = "" if column is None else f" (column {column})"
        rest = f"; {hint}" if hint else ""
        message = f"{self.quoted(position or 0)} {problem}{place}{rest}"
        return ExpressionError(message, expression=self.text, column=column)

    def error_at(self, node: ast.AST, problem: str, hint: str = "") -> ExpressionError:
        """The error that there is a problem at a node."""
        return self.error(problem, self.position_of(node), hint)

    def quoted(self, position: int) -> str:
        """The title and the text in quotes; of a long text, the part around a position."""
        if len(self.text) <= _LONGEST_QUOTE:
            return f"{self.title} {self.text!r}"
        start = max(0, min(position - _LONGEST_QUOTE // 2, len(self.text) - _LONGEST_QUOTE))
        stop = start + _LONGEST_QUOTE
        before, after = "…" if start else "", "…" if stop < len(self.text) else ""
        return f"{self.title} {before + self.text[start:stop] + after!r}"


_PYTHON = {"&&": " and ", "||": " or ", "!": "~"}
