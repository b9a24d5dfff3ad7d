"""Expressions over branches, such as "sqrt(px**2 + py**2)" or "(pt > 20) & (abs(eta) < 2.4)".

The syntax is Python's, and all operations work element by element. An expression is parsed to a syntax tree.
Only arithmetic, comparisons, logic, indexing and the functions of :mod:`.functions` are accepted. The tree is
evaluated node by node, and never passed to Python's ``eval``.

ROOT's syntax is accepted, too: ``&&``, ``||``, ``!``, ``Sum$(x)``, ``Length$(x)``, and names with dots. If a
name is not a Python identifier, write ``get("the name")``.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display.units import counted
from ..errors import ExpressionError, SapwoodError, did_you_mean, nearest
from .functions import FUNCTIONS, arguments_of
from .mistakes import explain
from .operators import COMBINATIONS, COMPARISONS, beside, combined, compared
from .reasons import ONLY_COMPARED, is_text, reason_and_hint
from .text import Text

_OPERATORS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
)
_REFUSED_OPERATORS = {ast.MatMult: "@", ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
_COMMON_FUNCTIONS = (
    "abs",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "atan2",
    "min",
    "max",
    "where",
    "Sum$",
    "Any$",
)
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_MAX_BITS = 64
_GETTER = "get"
_MAX_CHARACTERS = 10_000  # Python's parser is recursive.
_TOO_DEEP = "is nested too deeply"
# Awkward Array asserts what it expects of the types of operands.
_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Expression:
    """A parsed expression. ``names`` are the branches and aliases that it uses, each once, in order."""

    source: Text
    names: tuple[str, ...]
    body: ast.expr
    _is_name: Callable[[str], bool]

    @property
    def text(self) -> str:
        """The expression as the caller wrote it."""
        return self.source.text

    def evaluate(self, get: Callable[[str], Any]) -> Any:
        """The value; ``get`` returns the array of a name.

        Raises:
            ExpressionError: if it cannot be computed, for example because of the types of its branches.
        """
        try:
            return _Evaluation(self.source, get, self._is_name).of(self.body)
        except RecursionError:
            raise self.source.error(_TOO_DEEP) from None

    def position_of(self, name: str) -> int | None:
        """Where a name stands in the text, counted from 0."""
        nodes = (node for node in ast.walk(self.body) if self.name_of(node) == name)
        return next(map(self.source.position_of, nodes), None)

    @property
    def has_subscripts(self) -> bool:
        """Whether it selects by masks or numbers: its value may then have fewer entries."""
        return any(isinstance(node, ast.Subscript) for node in ast.walk(self.body))

    def name_of(self, node: ast.AST) -> str | None:
        """The branch or alias that a node names, or None."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return None if _is_field(node, self._is_name) else _dotted_name(node)
        return _get_argument(node) if isinstance(node, ast.Call) else None

    def constant(self, node: ast.AST) -> Any:
        """The value of a node that consists only of constants.

        Raises:
            TypeError: if it contains anything else.
        """
        allowed = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
        if not all(isinstance(part, allowed) for part in ast.walk(node)):
            raise TypeError("not a constant")
        return _Evaluation(self.source, lambda name: name, self._is_name).of(node)


_COLONS = re.compile(r"(?<![\w.\"'])[^\W\d][\w.]*(?::[^\W\d][\w.]*)+(?![\w\"'])")
"""A name with colons, outside of quotes."""


def parse(text: str, is_name: Callable[[str], bool], title: str = "the expression") -> Expression:
    """Parses an expression; ``is_name`` returns whether a name is a branch or an alias.

    Unknown names are kept in :attr:`Expression.names`, so that the caller can report them. Errors call the
    expression by its ``title``.

    >>> parse("sqrt(px**2 + py**2) > jet.pt && !veto", {"px", "py", "jet.pt", "veto"}.__contains__).names
    ('px', 'py', 'jet.pt', 'veto')

    Raises:
        ExpressionError: if the text is not an expression, or uses an unknown function, or syntax that is not
            allowed.
    """
    source = Text(text, title)
    if len(text) > _MAX_CHARACTERS:
        problem = f"has {len(text):,} characters, but the maximum is {_MAX_CHARACTERS:,}"
        raise source.error(problem, hint="define parts of it as aliases")
    # Python would take the rest of the text for a comment.
    if "#" in text and (mistake := explain(source)) is not None:
        raise mistake
    try:
        body = ast.parse(source.python, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _colon_in_name(source, is_name) or explain(source) or _unexplained(source, error) from None
    for node in ast.walk(body):
        match node:
            # C's "!" binds as tightly as "~", Python's "not" does not.
            case ast.UnaryOp(op=ast.Invert()) if node.col_offset in source.negations:
                node.op = ast.Not()
    try:
        names = tuple(dict.fromkeys(_Names(source, is_name).of(body)))
    except RecursionError:
        raise source.error(_TOO_DEEP) from None
    return Expression(source, names, body, is_name)


def _colon_in_name(source: Text, is_name: Callable[[str], bool]) -> ExpressionError | None:
    """The error for the name of a branch with a colon, as ATLAS has them, which ends a name in Python."""
    for match in _COLONS.finditer(source.text):
        before = source.text[: match.start()]
        # A colon in brackets is usually that of a slice.
        if is_name(match[0]) or not any(character in before for character in "[{\"'"):
            name = f'get("{match[0]}")'
            return source.error(f"contains a ':': write {name} for a branch of that name", match.start())
    return None


def _unexplained(source: Text, error: Exception) -> ExpressionError:
    """The error for a text that Python cannot parse, with Python's own reason."""
    if not isinstance(error, SyntaxError) or "nested" in error.msg:
        return source.error(_TOO_DEEP)
    position = source.position_at((error.offset or 1) - 1) if error.lineno == 1 else None
    return source.error(f"cannot be parsed: {error.msg}", position)


def _dotted_name(node: ast.expr) -> str | None:
    """The name of a node such as "a.b.c", or None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted_name(node.value)
        return None if head is None else f"{head}.{node.attr}"
    return None


def _get_argument(node: ast.AST) -> str | None:
    """The name in a node such as get("name"), or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _GETTER:
        match node.args:
            case [ast.Constant(value=str(name))] if not node.keywords:
                return name
    return None


_POSITIONS = "selects entries by their position"


def _numbers_entries(index: Any) -> bool:
    """Whether an index has one whole number per entry; lists of numbers select among an entry's items."""
    flat = getattr(index, "layout", index)
    dtype = getattr(flat, "dtype", None)
    return getattr(flat, "ndim", 1) == 1 and dtype is not None and dtype.kind in "iu"


def _position_hint(source: Text, node: ast.Subscript) -> str:
    value, index = source.part(node.value), source.part(node.slice)
    return f"to select among the items of each entry, write '{value}[:, {index}]'"


def _no_text(function: str, arguments: list[Any]) -> list[Any]:
    """The arguments of a function, none of which is text; ``where`` may choose between texts."""
    checked = arguments[:1] if function == "where" else arguments
    if any(isinstance(argument, str) for argument in checked):
        raise TypeError(ONLY_COMPARED)
    return [beside(argument, None) for argument in arguments]


def _is_field(node: ast.Attribute, is_name: Callable[[str], bool]) -> bool:
    """Whether an attribute is a field of the value before the dot, and not the name of a branch with dots."""
    name = _dotted_name(node)
    if name is None:
        return True
    if is_name(name):
        return False
    head: ast.expr = node.value
    while True:
        text = _dotted_name(head)
        if text is not None and is_name(text):
            return True
        if not isinstance(head, ast.Attribute):
            return False
        head = head.value


@dataclass(frozen=True)
class _Names:
    """Finds the names in a syntax tree; raises an ExpressionError for anything that is not allowed."""

    source: Text
    is_name: Callable[[str], bool]

    def of(self, node: ast.AST) -> Iterator[str]:
        """The names in a node, in order."""
        if isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("_"):
                raise self.source.error_at(node, f"uses the attribute {node.attr!r}, which is not allowed")
            name = None if _is_field(node, self.is_name) else _dotted_name(node)
            if name is not None:
                yield name
            else:
                yield from self.of(node.value)
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, (bool, int, float, str)):
                raise self._not_allowed(node)
            if isinstance(node.value, int) and node.value.bit_length() > _MAX_BITS:
                raise self.source.error_at(node, "holds a whole number that does not fit in 64 bits")
        elif isinstance(node, ast.Subscript):
            yield from self.of(node.value)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            self._check_position(node, parts[0])
            for part in parts:
                yield from self._of_children(part) if isinstance(part, ast.Slice) else self.of(part)
        elif isinstance(node, _OPERATORS):
            self._check_operators(node)
            yield from self._of_children(node)
        elif isinstance(node, ast.Tuple) and node.elts:
            raise self.source.error_at(node, "holds several expressions", "give each one separately")
        else:
            raise self._not_allowed(node)

    def _of_children(self, node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self.of(child)

    def _of_call(self, node: ast.Call) -> Iterator[str]:
        name = _get_argument(node)
        if name is not None:
            yield name
            return
        called = _dotted_name(node.func) or self.source.part(node.func)
        if called == _GETTER:
            hint = 'get() takes one name in quotes, such as get("branch.name")'
            raise self.source.error_at(node, "calls get() with something else than a name", hint)
        if called not in FUNCTIONS or not isinstance(node.func, ast.Name):
            raise self._unknown_function(node, called)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.source.error_at(node, f"calls {called}() with named arguments or '*'")
        least, most = arguments_of(called)
        if not least <= len(node.args) <= most:
            takes = counted(least, "argument") if least == most else f"{least} or {most} arguments"
            shown = called.replace("_dollar", "$")
            raise self.source.error_at(node, f"calls {shown}(), which takes {takes}, with {len(node.args)}")
        yield from self._of_children(ast.Tuple(node.args))

    def _check_position(self, node: ast.Subscript, first: ast.expr) -> None:
        """Refuses a position among entries: the value would depend on which entries are read together."""
        if isinstance(first, ast.Slice):
            chosen = [first.lower, first.upper, first.step]
        else:
            number = first.operand if isinstance(first, ast.UnaryOp) else first
            chosen = [
                number if isinstance(number, ast.Constant) and not isinstance(number.value, str) else None
            ]
        if any(part is not None for part in chosen):
            raise self.source.error_at(node, _POSITIONS, _position_hint(self.source, node))

    def _check_precedence(self, node: ast.Compare) -> None:
        """Refuses '&', '|' and '^' beside a comparison: they bind more tightly in Python than in C++."""
        sides = [node.left, *node.comparators]
        for number, side in enumerate(sides):
            if not isinstance(side, ast.BinOp) or not isinstance(side.op, _BITWISE):
                continue
            is_mask = len(sides) == 2 and number == 0 and isinstance(side.right, ast.Constant)
            if not is_mask and not self.source.has_parentheses(side):
                shown = self.source.part(side)
                hint = f"write 'and' or 'or' between comparisons, or '({shown})' if that is meant"
                raise self.source.error_at(side, f"compares {shown!r}, which has no parentheses", hint)

    def _check_operators(self, node: ast.AST) -> None:
        wrong: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            self._check_precedence(node)
        if isinstance(node, ast.BinOp) and type(node.op) not in COMBINATIONS:
            wrong = [node.op]
        elif isinstance(node, ast.Compare):
            wrong = [operator for operator in node.ops if type(operator) not in COMPARISONS]
        if wrong:
            shown = _REFUSED_OPERATORS.get(type(wrong[0]), type(wrong[0]).__name__)
            raise self.source.error_at(node, f"uses the operator {shown!r}, which is not allowed")

    def _not_allowed(self, node: ast.AST) -> ExpressionError:
        return self.source.error_at(node, f"contains {self.source.part(node)[:60]!r}, which is not allowed")

    def _unknown_function(self, node: ast.AST, called: str) -> ExpressionError:
        names = [function.replace("_dollar", "$") for function in FUNCTIONS]
        near = nearest(called, names, cutoff=0.75)
        hint = did_you_mean(near) if near else f"available: {', '.join(_COMMON_FUNCTIONS)}, …"
        return self.source.error_at(node, f"calls the unknown function {called[:60]!r}", hint)


class _Evaluation:
    """A walk over a syntax tree that :func:`_names` has accepted."""

    def __init__(self, source: Text, get: Callable[[str], Any], is_name: Callable[[str], bool]) -> None:
        self.source = source
        self.get = get
        self.is_name = is_name

    def of(self, node: ast.AST) -> Any:
        """The value of a node; a failure names the innermost node that cannot be computed."""
        try:
            return self._of(node)
        except (SapwoodError, RecursionError):
            raise
        except _FAILURES as error:
            reason, hint = reason_and_hint(error)
            raise self.source.error_at(node, f"cannot be computed: {reason}", hint) from error

    def _of(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.get(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            name = _get_argument(node)
            if name is not None:
                return self.get(name)
            assert isinstance(node.func, ast.Name)
            return FUNCTIONS[node.func.id](*_no_text(node.func.id, list(map(self.of, node.args))))
        if isinstance(node, ast.BinOp):
            left, right = self.of(node.left), self.of(node.right)
            if is_text(left) or is_text(right):
                raise TypeError(ONLY_COMPARED)
            return combined(node.op, left, right)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            chosen = list(map(self.of, (node.test, node.body, node.orelse)))
            return FUNCTIONS["where"](*_no_text("where", chosen))
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self.of(part) for part in parts))
        if isinstance(node, ast.Tuple):
            return tuple(map(self.of, node.elts))
        raise TypeError(f"{type(node).__name__} is not allowed")

    def _subscript(self, node: ast.Subscript) -> Any:
        index = self.of(node.slice)
        if _numbers_entries(index[0] if isinstance(index, tuple) and index else index):
            raise self.source.error_at(node, _POSITIONS, _position_hint(self.source, node))
        return self._field(node.value, index) if isinstance(index, str) else self.of(node.value)[index]

    def _field(self, node: ast.expr, name: str) -> Any:
        value = self.of(node)
        try:
            return value[name]
        except (LookupError, TypeError, ValueError) as error:
            fields = getattr(value, "fields", ())
            known = f"; its fields are {', '.join(map(repr, fields))}" if fields else ""
            raise LookupError(f"{self.source.part(node)[:60]!r} has no field {name!r}{known}") from error

    def _attribute(self, node: ast.Attribute) -> Any:
        if _is_field(node, self.is_name):
            return self._field(node.value, node.attr)
        name = _dotted_name(node)
        assert name is not None
        return self.get(name)

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.of(node.operand)
        if is_text(value):
            raise TypeError(ONLY_COMPARED)
        if isinstance(node.op, ast.Not):
            return np.logical_not(value)
        if isinstance(node.op, ast.Invert):
            return ~value
        return -value if isinstance(node.op, ast.USub) else +value

    def _boolean(self, node: ast.BoolOp) -> Any:
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        values = list(map(self.of, node.values))
        if any(map(is_text, values)):
            raise TypeError(ONLY_COMPARED)
        return functools.reduce(combine, values)

    def _compare(self, node: ast.Compare) -> Any:
        left = self.of(node.left)
        result: Any = None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.of(comparator)
            if is_text(left) != is_text(right):
                raise TypeError("text can only be compared with text")
            one = compared(op, left, right)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result
