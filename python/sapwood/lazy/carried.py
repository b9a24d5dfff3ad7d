"""What a loop over many files carries from file to file: the columns in use, by tree and schema."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..arrays.column import Column, Form
from ..display.units import counted
from ..query.filters import Filters
from ..query.select import require_readable
from .chunks import whole_loader
from .profile import Profile
from .reader import Caching, LazyOptions, LazyReader, open_reader

if TYPE_CHECKING:
    from ..model.branch import Branch
    from ..model.branches import HasBranches
    from ..model.tree import Tree

_SHOWN = 5


@dataclass
class _Schema:
    """The schema of some trees: their first, without its file, and how many there are."""

    types: Mapping[str, str]
    place: str
    files: int = 0


class CarriedUse:
    """Opens readers of one tree after another, each with what those before it have learned.

    Without a profile, it is kept in memory.
    """

    def __init__(self, kind: str, options: LazyOptions, filters: Filters) -> None:
        self._kind = kind
        self.profile = options.profile or Profile()
        self._options = replace(options, profile=self.profile)
        self._filters = filters
        self._schemas: dict[tuple[str, str], _Schema] = {}
        self.differences: list[str] = []

    @property
    def schemas(self) -> dict[tuple[str, str], int]:
        """The number of trees by name and schema."""
        return {key: schema.files for key, schema in self._schemas.items()}

    def note(self, tree: Tree) -> None:
        """Counts a tree, and notes how its schema differs from that of the first."""
        key = (tree.name, tree.schema)
        if key not in self._schemas:
            schema = _Schema({branch.path: branch.typename for branch in tree.core.branches}, tree.location)
            first = next(iter(self._schemas.values()), None)
            if first is not None:
                self.differences.append(f"{schema.place}: {_difference(first.types, schema.types)}")
            self._schemas[key] = schema
        self._schemas[key].files += 1

    def knows(self, tree: Tree) -> bool:
        """Whether trees of this name and schema were read before."""
        return bool(self.profile.shares(tree.name, tree.schema))

    def reader(self, source: HasBranches, start: int, stop: int) -> LazyReader:
        """A reader of some entries. If columns in use are known, it is prepared only for these."""
        if source.tree is source and self.knows(source.tree):
            return NarrowReader(source.tree, self._kind, start, stop, self._options, self._filters)
        return open_reader(source, self._kind, start, stop, self._options, self._filters)


class NarrowReader(LazyReader):
    """A reader of the columns that earlier files used.

    To prepare for all columns of a wide tree takes longer than to read a few. Any other column is found when
    it is touched, and is then among those of the next file.
    """

    def __init__(
        self, tree: Tree, kind: str, start: int, stop: int, options: LazyOptions, filters: Filters
    ) -> None:
        assert options.profile is not None
        self._open: Callable[[int, int, LazyOptions], LazyReader] = lambda first, last, others: open_reader(
            tree, kind, first, last, others, filters
        )
        self._others: dict[int, LazyReader] = {}
        self._late: dict[int, LazyReader] = {}
        self._catching_up = threading.Lock()
        self._options, self._filters, self._kind = options, filters, kind
        fields = {name: require_readable(tree[name]) for name in options.declared}
        shared = _branches(tree, options.profile.shares(tree.name, tree.schema), filters)
        super().__init__(tree, kind, shared | fields, start, stop, options)

    @cached_property
    def _whole(self) -> LazyReader:
        """A reader of all columns, of which none is in use."""
        return self._other(self.start, self.stop)

    @property
    def fields(self) -> Mapping[str, Branch]:
        """The branches that it offers, by name."""
        return self._whole.fields

    def column(self, name: str, window: int) -> Column:
        """The column of a field in a window."""
        if self._found(name) is not None:
            return super().column(name, window)
        begin = time.perf_counter()
        other = self.catch_up(window)
        if other is None or name not in other:
            other = self._others.get(window)
        if other is None:
            # Only one: windows are left in order.
            self._others = {window: (other := self._other(*self.windows[window]))}
        column = whole_loader(other)(name)
        self.waited += time.perf_counter() - begin
        return column

    def form(self, name: str) -> Form:
        """The form of a field's columns."""
        return super().form(name) if self._found(name) is not None else self._whole.form(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._whole

    def catch_up(self, window: int) -> LazyReader | None:
        """Reads together what has come into use since this reader was made, far ahead of its turn.

        Otherwise, each of these columns would be waited for. Returns their reader, if there are any.
        """
        assert self._options.profile is not None
        with self._catching_up:
            found = self._late.get(window)
            if found is None and self._learns and self.tree.core.is_distant:
                shares = self._options.profile.shares(self.tree.name, self.tree.schema)
                late = [
                    path for path, share in shares.items() if 2 * share >= 1 and self._found(path) is None
                ]
                fields = _branches(self.tree, late, self._filters)
                if fields:
                    found = LazyReader(self.tree, self._kind, fields, *self.windows[window], self._exactly)
                    # Only one: windows are left in order.
                    self._late = {window: found}
                    for index in range(len(found.windows)):
                        found.touch(fields, index)
            return found

    @property
    def _exactly(self) -> LazyOptions:
        """To read exactly what is touched."""
        return replace(self._options, declared=(), seeded=False, caching=Caching(False, False, False))

    def _other(self, start: int, stop: int) -> LazyReader:
        return self._open(start, stop, self._exactly)


def _branches(tree: Tree, paths: Iterable[str], filters: Filters) -> dict[str, Branch]:
    """Those of these branches that exist and pass the filters."""
    return dict(filters.passing((branch for branch in map(tree.get, paths) if branch is not None), 0))


def _difference(first: Mapping[str, str], other: Mapping[str, str]) -> str:
    """How the branches of a tree differ from those of the first one."""
    retyped = [name for name in first if name in other and other[name] != first[name]]
    changes = {
        "lacks": [repr(name) for name in first if name not in other],
        "also has": [repr(name) for name in other if name not in first],
        "has": [f"{name!r} as {other[name]}, not {first[name]}" for name in retyped],
    }
    texts = [f"{verb} {_some(names)}" for verb, names in changes.items() if names]
    return "; ".join(texts) or "has the same branches in a tree of another name"


def _some(names: list[str]) -> str:
    more = f" and {counted(len(names) - _SHOWN, 'other')}" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
