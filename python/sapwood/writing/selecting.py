"""Chooses the branches that a new file gets, by names and patterns to keep and to drop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .. import _core
from ..errors import UsageError
from ..model.directory import RNTUPLE_CLASSES
from ..model.tree import Tree
from ..query.filters import Filter, matches, patterns_of, text_filter


def branches_of(tree: Tree, keep: Filter, drop: Filter) -> list[str] | None:
    """Paths of the branches to copy, or None for all."""
    if keep is None and drop is None:
        return None
    require_matches(tree, keep, drop)
    keeps, drops = text_filter(keep), text_filter(drop)
    collections = _collections(tree)
    paths = []
    for branch in tree.core.branches:
        names = set(_names(branch.path))
        hidden = collections[branch.path].hidden if branch.path in collections else set()
        kept = keeps is None or any(map(keeps, names | hidden))
        dropped = drops is not None and (any(map(drops, names)) or (hidden and all(map(drops, hidden))))
        if kept and not dropped:
            paths.append(branch.path)
    if tree.classname in RNTUPLE_CLASSES:
        paths = _fields_of(tree, paths, drops, collections)
    elif drops is not None:
        # A branch that loses a sub-branch must not be selected as a whole, only its remaining sub-branches.
        lost = {branch.path for branch in tree.core.branches} - set(paths)
        paths = [path for path in paths if not any(other.startswith(f"{path}/") for other in lost)]
    if not paths:
        raise UsageError(
            f"'keep' and 'drop' leave no branch of {tree.location}", hint="'sapwood show' lists the names"
        )
    return paths


@dataclass(frozen=True)
class _Collection:
    """A collection of records in an RNTuple with a projection of its lengths, as ROOT's importer makes it.

    Attributes:
        shown: the names of members that are also fields, as projections.
        hidden: the names of the other members.
    """

    shown: set[str]
    hidden: set[str]


def _collections(tree: Tree) -> dict[str, _Collection]:
    """The collections of ROOT's importer in an RNTuple, by name."""
    if tree.classname not in RNTUPLE_CLASSES:
        return {}
    counted: dict[int, list[_core.Branch]] = {}
    for branch in tree.core.branches:
        if branch.count_branch is not None:
            counted.setdefault(branch.count_branch, []).append(branch)
    found = {}
    for branches in counted.values():
        names = {branch.name for branch in branches}
        for branch in branches:
            form = branch.form if branch.name.startswith("_collection") else None
            if form is not None and form[0] == "list" and form[1][0] == "record":
                members = {name for name, _ in form[1][1]}
                found[branch.path] = _Collection(members & names, members - names)
    return found


def _fields_of(
    tree: Tree,
    chosen: Sequence[str],
    drops: Callable[[str], bool] | None,
    collections: Mapping[str, _Collection],
) -> list[str]:
    """The fields to copy if some are chosen: with the lengths of lists, and with collections that are whole.

    Projections without their collection get values of their own.
    """
    branches = tree.core.branches
    fields = set(chosen)

    def is_dropped(name: str) -> bool:
        return drops is not None and drops(name)

    counters = {branch.count_branch for branch in branches if branch.path in fields}
    fields |= {branch.path for branch in branches if branch.index in counters and not is_dropped(branch.path)}
    for path, collection in collections.items():
        if collection.hidden or not collection.shown:
            continue
        if collection.shown <= fields and not is_dropped(path):
            fields.add(path)
        elif any(map(is_dropped, collection.shown)):
            fields.discard(path)
    return [branch.path for branch in branches if branch.path in fields]


def require_matches(tree: Tree, keep: Filter, drop: Filter) -> None:
    """Refuses names and patterns that match no branch; functions are not tried.

    Raises:
        UsageError: the error names the pattern; for a part of a branch, also the branch.
    """
    for option, pattern in unmatched(tree, keep, drop):
        whole = _branch_around(tree, pattern)
        if whole is not None:
            hint = f"{option} {whole!r}"
            done = "kept" if option == "keep" else "dropped"
            message = f"only whole branches are {done}, and {pattern!r} is a part of {whole!r}; {hint}"
        else:
            hint = "'sapwood show' lists the names"
            message = f"{option!r} names no branch of {tree.location}: none matches {pattern!r}; {hint}"
        raise UsageError(message, hint=hint)


def unmatched(tree: Tree, keep: Filter, drop: Filter) -> list[tuple[str, str]]:
    """The patterns that match no branch, each after ``"keep"`` or ``"drop"``."""
    given = [(option, text) for option, one in (("keep", keep), ("drop", drop)) for text in patterns_of(one)]
    if not given:
        return []
    names = {name for branch in tree.core.branches for name in _names(branch.path)}
    hidden = {name for collection in _collections(tree).values() for name in collection.hidden}
    known = {"keep": names | hidden, "drop": names}
    return [(option, text) for option, text in given if not matches(text, known[option])]


def _branch_around(tree: Tree, name: str) -> str | None:
    """The path of the branch that holds a member or sub-field, such as ``Muon`` for ``Muon.pt``."""
    around = [branch.path for branch in tree.core.branches if name.startswith(f"{branch.path}.")]
    return max(around, key=len) if around and tree.get(name) is not None else None


def _names(path: str) -> Iterator[str]:
    """Iterates over what a pattern is tried on: the path and the name of a branch and of its parents."""
    parts = path.split("/")
    for length in range(1, len(parts) + 1):
        yield "/".join(parts[:length])
        yield parts[length - 1]
