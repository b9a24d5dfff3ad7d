"""Expressions over branches, such as "sqrt(px**2 + py**2)" or "(pt > 20) & (abs(eta) < 2.4)".

The syntax is Python's, and all operations work element by element. An expression is parsed to a syntax tree.
Only arithmetic, comparisons, logic, indexing and the functions of :mod:`.functions` are accepted. The tree is
evaluated node by node, and never passed to Python's ``eval``.

ROOT's syntax is accepted, too: ``&&``, ``||``, ``!``, ``Sum$(x)``, ``Length$(x)``, and names with dots. If a
name is not a Python identifier, write ``get("the name")``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import SapwoodError, UsageError, did_you_mean, nearest
from .functions import FUNCTIONS


def _power(base: Any, exponent: Any) -> Any:
    """A power. Integer constants that do not fit into 64 bits become floats: 9**9**9**9 would never end."""
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent < 0 or base.bit_length() * exponent <= 64:
            return base**exponent
        return float(base) ** exponent
    return base**exponent


def _shift_left(value: Any, bits: Any) -> Any:
    if isinstance(value, int) and isinstance(bits, int) and value.bit_length() + bits > 64:
        raise UsageError(f"{value} << {bits} does not fit in 64 bits")
    return value << bits


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
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
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OPERATORS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
)
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
_GETTER = "get"
_TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|&&|\|\||!=|!|\b(?:Sum|Min|Max|Length|Any|All)\$|\s+|.", re.DOTALL)
_MAX_CHARACTERS = 10_000  # Python's parser is recursive.


@dataclass(frozen=True)
class Expression:
    """A parsed expression. ``names`` are the branches and aliases that it uses, each once, in order."""

    text: str
    names: tuple[str, ...]
    body: ast.expr
    _is_name: Callable[[str], bool]

    def evaluate(self, get: Callable[[str], Any]) -> Any:
        """The value; ``get`` returns the array of a name."""
        try:
            return _Evaluation(get, self._is_name).of(self.body)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            if isinstance(error, SapwoodError):
                raise
            raise UsageError(f"cannot compute {self.text!r}: {error}") from error

    @property
    def has_positions(self) -> bool:
        """Whether it indexes by position: its value for one entry may then depend on other entries."""
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
        return _Evaluation(lambda name: name, self._is_name).of(node)


def parse(text: str, is_name: Callable[[str], bool]) -> Expression:
    """Parses an expression; ``is_name`` returns whether a name is a branch or an alias.

    Unknown names are kept in :attr:`Expression.names`, so that the caller can report them.

    >>> parse("sqrt(px**2 + py**2) > jet.pt && !veto", {"px", "py", "jet.pt", "veto"}.__contains__).names
    ('px', 'py', 'jet.pt', 'veto')

    Raises:
        SyntaxError: if the text is not an expression.
        UsageError: if it uses an unknown function, or syntax that is not allowed.
    """
    if len(text) > _MAX_CHARACTERS:
        raise UsageError(
            f"the expression has {len(text):,} characters, but the maximum is {_MAX_CHARACTERS:,}; "
            "define parts of it as aliases"
        )
    python, negations = _to_python(text)
    try:
        body = ast.parse(python, mode="eval").body
    except SyntaxError as error:
        raise SyntaxError(f"{error.msg} in the expression {text!r}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"cannot parse the expression {text!r}: {error}") from None
    for node in ast.walk(body):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) and node.col_offset in negations:
            # C's "!" binds as tightly as "~", Python's "not" does not.
            node.op = ast.Not()
    try:
        names = tuple(dict.fromkeys(_names(body, is_name, text)))
    except RecursionError:
        raise UsageError(f"the expression {text[:50]!r}… is nested too deeply") from None
    return Expression(text, names, body, is_name)


def _to_python(text: str) -> tuple[str, set[int]]:
    """The text with Python's operators for ROOT's, and the UTF-8 offsets of each "~" that replaces a "!"."""
    pieces: list[str] = []
    negations: set[int] = set()
    position = 0
    for token in _TOKENS.findall(text.strip()):
        if token == "&&":
            piece = " and "
        elif token == "||":
            piece = " or "
        elif token == "!":
            piece = "~"
            negations.add(position)
        elif token.endswith("$"):
            piece = token[:-1] + "_dollar"
        else:
            piece = " " if token.isspace() else token
        pieces.append(piece)
        position += len(piece.encode())
    return "".join(pieces), negations


def _dotted_name(node: ast.expr) -> str | None:
    """The name of a node such as "a.b.c", or None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted_name(node.value)
        return None if head is None else f"{head}.{node.attr}"
    return None


def _get_argument(node: ast.expr) -> str | None:
    """The name in a node such as get("name"), or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _GETTER:
        match node.args:
            case [ast.Constant(value=str(name))] if not node.keywords:
                return name
        raise UsageError('get() takes one name in quotes, such as get("branch.name")')
    return None


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


def _names(node: ast.AST, is_name: Callable[[str], bool], text: str) -> Iterator[str]:
    """The names in a syntax tree; raises a UsageError for anything that is not allowed."""
    if isinstance(node, ast.Call):
        name = _get_argument(node)
        if name is not None:
            yield name
            return
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            raise _unknown_function(_dotted_name(node.func) or ast.unparse(node.func), text)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise UsageError(f"functions take only positional arguments, in the expression {text!r}")
        for argument in node.args:
            yield from _names(argument, is_name, text)
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        if node.attr.startswith("_"):
            raise UsageError(f"the attribute {node.attr!r} is not allowed in the expression {text!r}")
        name = None if _is_field(node, is_name) else _dotted_name(node)
        if name is not None:
            yield name
        else:
            yield from _names(node.value, is_name, text)
    elif isinstance(node, ast.Constant):
        if not isinstance(node.value, (bool, int, float, str)):
            raise UsageError(f"{node.value!r} is not allowed in the expression {text!r}")
    elif isinstance(node, _OPERATORS):
        yield from _names_of_operator(node, is_name, text)
    else:
        raise UsageError(f"{type(node).__name__} is not allowed in the expression {text!r}")


def _unknown_function(name: str, text: str) -> UsageError:
    names = [function.replace("_dollar", "$") for function in FUNCTIONS]
    near = nearest(name, names, cutoff=0.75)
    hint = did_you_mean(near) if near else f"available: {', '.join(_COMMON_FUNCTIONS)}, …"
    return UsageError(f"unknown function {name!r} in the expression {text!r}; {hint}")


def _names_of_operator(node: ast.AST, is_name: Callable[[str], bool], text: str) -> Iterator[str]:
    operators: list[ast.AST] = []
    if isinstance(node, ast.BinOp):
        operators = [] if type(node.op) in _BINARY else [node.op]
    elif isinstance(node, ast.Compare):
        operators = [op for op in node.ops if type(op) not in _COMPARE]
    if operators:
        raise UsageError(f"{type(operators[0]).__name__} is not allowed in the expression {text!r}")
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _names(child, is_name, text)


class _Evaluation:
    """A walk over a syntax tree that :func:`_names` has accepted."""

    def __init__(self, get: Callable[[str], Any], is_name: Callable[[str], bool]) -> None:
        self.get = get
        self.is_name = is_name

    def of(self, node: ast.AST) -> Any:
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
            return FUNCTIONS[node.func.id](*map(self.of, node.args))
        if isinstance(node, ast.BinOp):
            left, right = self.of(node.left), self.of(node.right)
            if isinstance(left, str) or isinstance(right, str):
                raise UsageError("text can only be compared")
            return _BINARY[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return FUNCTIONS["where"](self.of(node.test), self.of(node.body), self.of(node.orelse))
        if isinstance(node, ast.Subscript):
            return self.of(node.value)[self.of(node.slice)]
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self.of(part) for part in parts))
        if isinstance(node, ast.Tuple):
            return tuple(map(self.of, node.elts))
        raise UsageError(f"{type(node).__name__} is not allowed in an expression")

    def _attribute(self, node: ast.Attribute) -> Any:
        if _is_field(node, self.is_name):
            return self.of(node.value)[node.attr]
        name = _dotted_name(node)
        assert name is not None
        return self.get(name)

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.of(node.operand)
        if isinstance(node.op, ast.Not):
            return np.logical_not(value)
        if isinstance(node.op, ast.Invert):
            return ~value
        return -value if isinstance(node.op, ast.USub) else +value

    def _boolean(self, node: ast.BoolOp) -> Any:
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        result = self.of(node.values[0])
        for value in node.values[1:]:
            result = combine(result, self.of(value))
        return result

    def _compare(self, node: ast.Compare) -> Any:
        left = self.of(node.left)
        result: Any = None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.of(comparator)
            one = _COMPARE[type(op)](left, right)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result
