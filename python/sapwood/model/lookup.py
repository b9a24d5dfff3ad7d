"""Finding the branches of a tree by position, path and name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ..query.assemble import member_of
from .branch import Branch

if TYPE_CHECKING:
    from .. import _core
    from .branches import HasBranches
    from .tree import Tree

_FEW = 32
"""Once more branches than these were looked up, all are listed."""


class BranchLookup:
    """The branches of a tree, made when they are asked for."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        # By index.
        self._made: dict[int, Branch] = {}

    @cached_property
    def branches(self) -> list[Branch]:
        """The branches at any depth, by their :attr:`Branch.index`."""
        return [self._made_of(core) for core in self._cores]

    def children_of(self, source: HasBranches) -> list[Branch]:
        """The branches directly under the tree or under one of its branches."""
        if isinstance(source, Branch):
            if source.member:
                return []
            return [self.branches[index] for index in self._cores[source.index].children]
        return [
            branch for branch, core in zip(self.branches, self._cores, strict=True) if core.parent is None
        ]

    def find(self, source: HasBranches, name: str) -> Branch | None:
        """The branch under ``source`` that a name or a path stands for, or None.

        The name is tried, in this order, as:

        1. a path from ``source`` down;
        2. the name of a branch at any depth; the topmost wins, then the first;
        3. such a name followed by a path below that branch;
        4. a path with dots instead of slashes;
        5. the name of a branch, a dot, and a member of its objects; the longest branch name wins. A branch
           name may itself end in a dot;
        6. for a tree, the name of a friend, a dot, and a column of the friend.
        """
        return (
            self._find_branch(source, name)
            or self._find_member(source, name)
            or (self._find_in_friend(name) if source is self._tree else None)
        )

    def _find_in_friend(self, name: str) -> Branch | None:
        for alias, friend in self._tree.friends.items():
            if name.startswith((f"{alias}.", f"{alias}/")):
                found = friend.tree.get(name[len(alias) + 1 :])
                if found is not None:
                    return found
        return None

    def fields_near(self, source: HasBranches, name: str) -> list[str]:
        """Candidates for a misspelled member: of the source, and of the branches that the name begins with.

        The member may follow an underscore, as in NanoAOD, if it exists.
        """
        found = list(source.fields) if isinstance(source, Branch) else []
        found += [
            f"{head}.{field}" for head, branch, _ in self._heads(source, name) for field in branch.fields
        ]
        parts = name.split("_")
        for number in range(1, len(parts)):
            dotted = f"{'_'.join(parts[:number])}.{'_'.join(parts[number:])}"
            found += [dotted] if self._find_member(source, dotted) is not None else []
        if source is self._tree:
            # Arrays of arrays with a counter are only in the collections of an RNTuple made from a tree.
            hidden = (branch for branch in self._tree.branches if branch.name.startswith("_collection"))
            found += [f"{branch.path}.{name}" for branch in hidden if name in branch.fields]
        return found

    def _find_member(self, source: HasBranches, name: str) -> Branch | None:
        if isinstance(source, Branch) and not source.is_group:
            return source.member_at(name)
        members = (member_of(branch, path) for _, branch, path in self._heads(source, name))
        found = next((member for member in members if member is not None), None)
        return member_of(source, name) if found is None and isinstance(source, Branch) else found

    def _heads(self, source: HasBranches, name: str) -> Iterator[tuple[str, Branch, str]]:
        """Splits a name at each dot where the part before it is the name of a branch, longest first.

        Yields:
            The part before the dot, the branch, and the part after the dot.
        """
        end = name.rfind(".")
        while end > 0:
            head, rest = name[:end], name[end + 1 :]
            branch = self._find_branch(source, head) or self._find_branch(source, head + ".")
            if rest and branch is not None:
                yield head, branch, rest
            end = name.rfind(".", 0, end)

    def _find_branch(self, source: HasBranches, name: str) -> Branch | None:
        prefix = source.path + "/" if isinstance(source, Branch) else ""
        path = name.strip("/")
        found = self._at_path(prefix + path)
        if found is None and not name.startswith("/"):
            found = self._by_name(prefix, path)
            if found is None and "/" in path:
                head, tail = path.split("/", 1)
                first = self._by_name(prefix, head)
                found = None if first is None else self._find_branch(first, "/" + tail)
            if found is None:
                found = self._by_dots.get((prefix + path).replace("/", "."))
        return found

    def _at_path(self, path: str) -> Branch | None:
        """The branch at a path from the top. To look up a few takes less time than to list all."""
        if len(self._made) > _FEW or "_by_path" in self.__dict__:
            return self._by_path.get(path)
        try:
            core = self._tree.core.branch_at_path(path)
        except UnicodeEncodeError:  # half of a pair of surrogates: no name has one
            return None
        return None if core is None else self._made_of(core)

    def _made_of(self, core: _core.Branch) -> Branch:
        return self._made.setdefault(core.index, Branch(self._tree, core))

    @cached_property
    def _cores(self) -> list[_core.Branch]:
        return list(self._tree.core.branches)

    @cached_property
    def _by_path(self) -> dict[str, Branch]:
        return {core.path: branch for core, branch in zip(self._cores, self.branches, strict=True)}

    @cached_property
    def _by_dots(self) -> dict[str, Branch]:
        return {path.replace("/", "."): branch for path, branch in reversed(self._by_path.items())}

    @cached_property
    def _named(self) -> dict[str, list[Branch]]:
        named: dict[str, list[Branch]] = defaultdict(list)
        for branch in self.branches:
            named[branch.name].append(branch)
        return dict(named)

    def _by_name(self, prefix: str, name: str) -> Branch | None:
        inside = [branch for branch in self._named.get(name, []) if branch.path.startswith(prefix)]
        return min(inside, key=lambda branch: branch.path.count("/"), default=None)
