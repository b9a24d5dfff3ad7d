"""What a call asks for: which outputs under which names, and which branches must be read for them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import BranchSkippedWarning, KeyInFileError, UnsupportedTypeError, UsageError
from .assemble import readable_leaves
from .expressions import Expression, parse
from .filters import ALL, Filters

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.branches import HasBranches

Output: TypeAlias = "Branch | Expression"


@dataclass(frozen=True)
class Selection:
    """The outputs by name, the cut, and where the names in expressions lead.

    ``names`` maps each name that an expression uses to a branch or, for an alias, to another expression.
    """

    outputs: dict[str, Output]
    cut: Expression | None
    names: dict[str, Output]
    explicit: bool

    @property
    def branches(self) -> list[Branch]:
        """The branches that outputs and expressions refer to, in that order."""
        used = [*self.outputs.values(), *self.names.values()]
        return [target for target in used if not isinstance(target, Expression)]

    @property
    def leaf_branches(self) -> list[Branch]:
        """The branches with data, those inside of groups included: what must be read, each once."""
        leaves = (leaf for branch in self.branches for leaf in readable_leaves(branch))
        return list({leaf.key: leaf for leaf in leaves}.values())


def select(
    source: HasBranches,
    expressions: Any = None,
    cut: str | None = None,
    filters: Filters = ALL,
    aliases: Mapping[str, str] | None = None,
) -> Selection:
    """Finds out what is asked for, without reading any data.

    Raises:
        KeyInFileError: for a name that is neither branch nor alias; it names the nearest.
        UnsupportedTypeError: for a branch that cannot be read and was asked for by name.
    """
    resolver = _Resolver(source, {**source.tree.aliases, **(aliases or {})})
    if expressions is None:
        outputs = _filtered(source, filters)
    else:
        outputs = {text: resolver.output(text) for text in _texts(expressions)}
    parsed_cut = None
    if cut is not None:
        if not isinstance(cut, str):
            raise TypeError(f"a cut is an expression in a string, not {cut!r}")
        target = resolver.output(cut)
        parsed_cut = target if isinstance(target, Expression) else resolver.expression(f"get({cut!r})")
    selection = Selection(outputs, parsed_cut, resolver.names, expressions is not None)
    return selection


def require_readable(branch: Branch) -> Branch:
    """The branch, or an error that names its type if it cannot be read."""
    reason = branch.unsupported
    if reason is None and branch.is_group and not readable_leaves(branch):
        reason = "none of its sub-branches can be read"
    if reason is not None:
        error = UnsupportedTypeError(
            f"branch {branch.path!r} is of type {branch.typename!r}: {reason} "
            f"(in {branch.file.file_path}:{branch.tree.object_path})",
            url=branch.file.file_path,
            branch=branch.path,
        )
        error.typename = branch.typename
        raise error
    return branch


def warn_skipped(branches: Iterable[Branch], why: str) -> None:
    """One warning for all branches that are left out of a result."""
    names = [f"{branch.path!r} ({branch.typename})" for branch in branches]
    if names:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        warnings.warn(
            f"left out, because {why}: {shown}", BranchSkippedWarning, stacklevel=_level_of_caller()
        )


def _level_of_caller() -> int:
    """The level, counted from :func:`warn_skipped`, of the code that called this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sapwood":
        level, frame = level + 1, frame.f_back
    return level - 1


def _texts(expressions: Any) -> list[str]:
    if isinstance(expressions, str):
        return [expressions]
    if isinstance(expressions, Iterable):
        items = list(expressions)
        values = list(expressions.values()) if isinstance(expressions, Mapping) else []
        if all(isinstance(item, str) for item in items) and all(value is None for value in values):
            return items
    raise TypeError(
        f"expressions are None (all branches), a string, or an iterable of strings, not {expressions!r}"
    )


def _filtered(source: HasBranches, filters: Filters) -> dict[str, Output]:
    """All readable branches that the filters let pass, under their own names.

    A group stands for itself only if some of its leaves do not pass the filters; its leaves then come inside
    it. Of branches with the same name, the first has it; the others go by their paths.
    """
    passed = source.values(
        filter_name=filters.name, filter_typename=filters.typename, filter_branch=filters.branch
    )
    indices = {branch.index for branch in passed}
    groups: list[Branch] = []
    inside: set[int] = set()
    for branch in passed:
        leaves = {leaf.index for leaf in readable_leaves(branch)} if branch.is_group else set()
        if leaves and not leaves <= indices and branch.index not in inside:
            groups.append(branch)
            inside |= leaves | {descendant.index for descendant in branch.values()}
    chosen = [
        branch for branch in passed if branch in groups or not (branch.is_group or branch.index in inside)
    ]
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

    def output(self, text: str) -> Output:
        """What a text stands for: a branch, if there is none an alias, if there is none an expression."""
        branch = self.source.get(text)
        if branch is not None:
            return require_readable(branch)
        return self.expression(self.aliases.get(text, text))

    def expression(self, text: str) -> Expression:
        """Parses an expression, and resolves the names in it."""
        expression = parse(text, self._is_name)
        for name in expression.names:
            if name not in self.names:
                self._resolve(name, text)
        return expression

    def _is_name(self, name: str) -> bool:
        return name in self.aliases or self.source.get(name) is not None

    def _resolve(self, name: str, text: str) -> None:
        if name in self._pending:
            chain = " -> ".join([*self._pending, name])
            raise UsageError(f"the alias {name!r} is defined by itself: {chain}")
        branch = self.source.get(name)
        if branch is not None:
            self.names[name] = require_readable(branch)
        elif name in self.aliases:
            self._pending.append(name)
            self.names[name] = self.expression(self.aliases[name])
            self._pending.pop()
        else:
            place = f"{self.source.file.file_path}:{self.source.object_path}"
            near = self.source.tree.fields_near(self.source, name)
            names = [*near, *self.source.names(), *self.aliases]
            error = KeyInFileError.not_found("branch", name, names, place)
            raise error
