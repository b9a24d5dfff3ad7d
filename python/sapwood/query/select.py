"""Selections: the outputs of a query by name, and the branches that they need."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..arrays.column import Form, has_values
from ..display.units import counted
from ..errors import ArgumentTypeError, BranchSkippedWarning, KeyInFileError, UnsupportedTypeError, UsageError
from .assemble import readable_leaves
from .expressions import Expression, parse
from .filters import ALL, Filters

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.branches import HasBranches

_MAX_DEPTH = 100
"""The most aliases that refer to each other in a chain."""

Output: TypeAlias = "Branch | Expression"


@dataclass(frozen=True)
class Selection:
    """The outputs by name, the cut, and the names in expressions.

    ``names`` maps each name in an expression to a branch or, for an alias, to another expression.
    ``explicit`` is whether the caller named the outputs, and ``requested`` are these names, perhaps repeated.
    """

    outputs: dict[str, Output]
    cut: Expression | None
    names: dict[str, Output]
    explicit: bool
    requested: Sequence[str] = ()

    @property
    def branches(self) -> list[Branch]:
        """The branches of the outputs, then those of the expressions."""
        return [*branches_among(self.outputs.values()), *self.operands]

    @property
    def operands(self) -> list[Branch]:
        """The branches that expressions use."""
        return branches_among(self.names.values())

    @property
    def leaf_branches(self) -> list[Branch]:
        """The branches with data to read, each once, including those inside groups."""
        leaves = (leaf for branch in self.branches for leaf in readable_leaves(branch))
        return list({leaf.key: leaf for leaf in leaves}.values())


def branches_among(targets: Iterable[Output]) -> list[Branch]:
    """The branches among branches and expressions."""
    return [target for target in targets if not isinstance(target, Expression)]


def select(
    source: HasBranches,
    expressions: Any = None,
    cut: str | None = None,
    filters: Filters = ALL,
    aliases: Mapping[str, str] | None = None,
) -> Selection:
    """Resolves the names of branches, aliases and expressions, without reading data.

    Raises:
        KeyInFileError: for a name that is neither a branch nor an alias; the message suggests similar names.
        UnsupportedTypeError: for a branch that is requested by name and cannot be read.
        ExpressionError: for an expression, a cut or an alias that is malformed.
        ArgumentTypeError: for one that is not a string.
    """
    if cut is not None and not isinstance(cut, str):
        raise ArgumentTypeError(f"'cut' must be an expression in a string, not {cut!r}")
    resolver = _Resolver(source, {**source.tree.aliases, **_checked(aliases)})
    texts = requested_texts(expressions)
    outputs = _filtered(source, filters) if texts is None else {text: resolver.output(text) for text in texts}
    parsed_cut = None
    if cut is not None:
        target = resolver.output(cut, "the cut")
        parsed_cut = target if isinstance(target, Expression) else resolver.whole(cut)
    return Selection(outputs, parsed_cut, resolver.names, texts is not None, texts or ())


def require_readable(branch: Branch) -> Branch:
    """The branch, or an error that names its type if it cannot be read."""
    reason = branch.unsupported
    if reason is None and branch.is_group and not readable_leaves(branch):
        reason = "none of its sub-branches can be read"
    if reason is not None:
        raise _unreadable(branch, reason)
    return branch


def require_whole(branch: Branch) -> Form:
    """The form of a branch; an error if it, or a sub-branch of a group, is unreadable or has no values."""
    require_readable(branch)
    if branch.is_group:
        for child in branch.branches:
            require_whole(child)
    form = branch.interpretation.form
    if form is None or not has_values(form):
        raise _unreadable(branch, "its objects have no members")
    return form


def _unreadable(branch: Branch, reason: str) -> UnsupportedTypeError:
    error = UnsupportedTypeError(
        f"cannot read branch {branch.path!r} of type {branch.typename!r}: {reason} "
        f"(in {branch.file.file_path}:{branch.tree.object_path})",
        url=branch.file.file_path,
        branch=branch.path,
    )
    error.typename = branch.typename
    return error


def warn_skipped(branches: Iterable[Branch], why: str) -> None:
    """Warns once about all branches that a result lacks."""
    names = [f"{branch.path!r} ({branch.typename})" for branch in branches]
    if names:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        message = f"skipped {counted(len(names), 'branch', 'branches')} because {why}: {shown}"
        warnings.warn(message, BranchSkippedWarning, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The stack level of the code that called this package, counted from :func:`warn_skipped`."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sapwood":
        level, frame = level + 1, frame.f_back
    return level - 1


def _checked(aliases: Any) -> Mapping[str, str]:
    if aliases is None:
        return {}
    if isinstance(aliases, Mapping) and all(
        isinstance(text, str) for pair in aliases.items() for text in pair
    ):
        return aliases
    raise ArgumentTypeError(f"'aliases' must be a dict of names and expressions, not {aliases!r}")


def requested_texts(expressions: Any) -> list[str] | None:
    """The expressions of a call in a list, which can be read again for the next file; None for all branches.

    Raises:
        ArgumentTypeError: they are not strings.
    """
    if expressions is None:
        return None
    if isinstance(expressions, str):
        return [expressions]
    if isinstance(expressions, Iterable):
        items = list(expressions)
        values = list(expressions.values()) if isinstance(expressions, Mapping) else []
        if all(isinstance(item, str) for item in items) and all(value is None for value in values):
            return items
    raise ArgumentTypeError(
        f"'expressions' must be None (all branches), a string, or an iterable of strings, not {expressions!r}"
    )


def _only_column(source: HasBranches) -> Branch | None:
    """A branch without sub-branches, which is read as the only column of a table; else None."""
    return None if source is source.tree or source.branches else cast("Branch", source)


def _filtered(source: HasBranches, filters: Filters) -> dict[str, Output]:
    """All readable branches that pass the filters, by name; a branch without sub-branches has itself.

    A group becomes one output only if some of its leaves do not pass the filters; otherwise, its leaves
    become outputs, so without filters no group is looked at. If branches share a name, only the first keeps
    it, and the others go by their paths.
    """
    if (column := _only_column(source)) is not None:
        return {branch.name: require_readable(branch) for _, branch in filters.passing([column], 0)}
    found = source.values(
        filter_name=filters.name, filter_typename=filters.typename, filter_branch=filters.branch
    )
    passed = [branch for branch in found if not branch.member]
    indices = {branch.index for branch in passed}
    narrowed = filters != ALL
    groups: list[Branch] = []
    inside: set[int] = set()
    for branch in passed:
        leaves = {leaf.index for leaf in readable_leaves(branch)} if narrowed and branch.is_group else set()
        if leaves and not leaves <= indices and branch.index not in inside:
            groups.append(branch)
            inside |= leaves | {descendant.index for descendant in branch.values()}
    chosen = [
        branch for branch in passed if branch in groups or not (branch.is_group or branch.index in inside)
    ]
    chosen += [branch for branch in found if branch.member]
    skipped = [branch for branch in chosen if branch.unsupported is not None]
    warn_skipped(skipped, "sapwood cannot read their types")
    outputs: dict[str, Output] = {}
    for branch in chosen:
        if branch.unsupported is None:
            outputs[branch.name if branch.name not in outputs else branch.path] = branch
    return outputs


class _Resolver:
    """Resolves names of branches and aliases for one call."""

    def __init__(self, source: HasBranches, aliases: Mapping[str, str]) -> None:
        self.source = source
        self.aliases = aliases
        self.names: dict[str, Output] = {}
        self._pending: list[str] = []

    def _found(self, name: str) -> Branch | None:
        """The branch with this name; the source itself if it is a branch without sub-branches."""
        found = self.source.get(name)
        if found is None and (column := _only_column(self.source)) is not None:
            return column if name in (column.name, column.path) else None
        return found

    def output(self, text: str, title: str = "the expression") -> Output:
        """The branch with this name; otherwise the alias; otherwise the text as an expression."""
        branch = self._found(text)
        if branch is not None:
            return require_readable(branch)
        return self._alias(text) if text in self.aliases else self._expression(text, title)

    def whole(self, name: str) -> Expression:
        """The expression that is only the name of a branch."""
        return self._expression(f"get({name!r})", "the cut")

    def _alias(self, name: str) -> Expression:
        return self._expression(self.aliases[name], f"the alias {name!r} =")

    def _expression(self, text: str, title: str) -> Expression:
        """Parses an expression, and resolves the names in it."""
        expression = parse(text, self._is_name, title)
        for name in expression.names:
            if name not in self.names:
                self._resolve(name, expression)
        return expression

    def _is_name(self, name: str) -> bool:
        return name in self.aliases or self._found(name) is not None

    def _resolve(self, name: str, expression: Expression) -> None:
        if len(self._pending) > _MAX_DEPTH:
            raise UsageError(f"the alias {self._pending[0]!r} needs more than {_MAX_DEPTH} other aliases")
        if name in self._pending:
            chain = " -> ".join([*self._pending, name])
            raise UsageError(f"the alias {name!r} refers to itself: {chain}")
        branch = self._found(name)
        if branch is not None:
            self.names[name] = require_readable(branch)
        elif name in self.aliases:
            self._pending.append(name)
            self.names[name] = self._alias(name)
            self._pending.pop()
        else:
            place = f"{self.source.file.file_path}:{self.source.object_path}"
            near = self.source.tree.lookup.fields_near(self.source, name)
            names = [*near, *self.source.names(), *self.aliases]
            error = KeyInFileError.not_found("branch", name, names, place)
            position = expression.position_of(name)
            if name != expression.text and position is not None:
                error.message += f" (in {expression.source.quoted(position)}, column {position + 1})"
            raise error
