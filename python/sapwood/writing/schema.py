"""Plans the branches of a tree: their names, counters, and how each stores its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import BuiltColumn, Form, counter_names, empty_column, type_string
from ..display.units import counted
from ..errors import KeyInFileError, UnsupportedTypeError, UsageError
from .columns import Offsets, Path, as_vector, column_of, fit, is_block, is_plain, leaves, storable
from .records import block_storage, split_parts, vector_item
from .types import ColumnType

FieldName = Callable[[str, str], str]
CounterName = Callable[[str], str]


_SIZE = re.compile(r"\[\w*\]")


def join_names(outer: str, inner: str) -> str:
    """The default name of the branch for the member ``y`` of the column ``x``: ``x_y``."""
    return f"{outer}_{inner}" if outer else inner


@dataclass(frozen=True)
class BranchPlan:
    """A branch of a tree to be written.

    Attributes:
        name: the name.
        storage: how the core stores it; see ``_core.Writer.tree``.
        form: the form of its entries.
        column: the column that provides its values; None for a counter, which is computed, and for a branch
            that only groups the branches below it.
        path: the members that lead from the column to the values.
        counts: for a computed counter, the first branch that it counts.
    """

    name: str
    storage: tuple[Any, ...]
    form: Form
    column: str | None
    path: Path = ()
    counts: str | None = None


class Schema:
    """The branches of a tree, and the conversion of columns to their buffers."""

    def __init__(
        self,
        columns: Mapping[str, ColumnType],
        field_name: FieldName = join_names,
        counter_name: CounterName | None = None,
        split: Collection[str] = (),
    ) -> None:
        self.columns = dict(columns)
        self._split = frozenset(split)
        self._field_name = field_name
        self._counter_name = counter_name
        self.branches: list[BranchPlan] = []
        self._indices: dict[str, int] = {}
        self._paths: dict[str, list[Path]] = {}
        self._given_counters = set(self._counters_among_columns())
        for name, kind in self.columns.items():
            if name not in self._indices:
                self._plan(name, kind)

    @classmethod
    def of_branches(cls, stored: Sequence[tuple[str, tuple[Any, ...]]]) -> Schema:
        """The schema of an existing tree: one column for each branch that is not a counter."""
        schema = cls({})
        counts: dict[int, str] = {}
        for name, storage in stored:
            if storage[0] == "counted":
                counts.setdefault(storage[3], name)
        for index, (name, storage) in enumerate(stored):
            form = _form(storage)
            if index in counts:
                schema._add(BranchPlan(name, storage, form, None, counts=counts[index]))
            else:
                schema.columns[name] = ColumnType(form, stored=_stored(storage))
                schema._add(BranchPlan(name, storage, form, name))
        return schema

    def buffers(self, data: Mapping[str, Any]) -> tuple[int, list[list[NDArray[Any]]]]:
        """Converts columns to the number of entries and the buffers of each branch, as bytes.

        Raises:
            UsageError: columns are missing, differ in length, or have another type.
            KeyInFileError: there are undeclared columns.
            UnsupportedTypeError: values are missing.
        """
        self._check_names(data)
        length, first = 0, None
        parts: dict[str, dict[Path, BuiltColumn]] = {}
        shared: Offsets = {}
        for name in self.columns:
            column = column_of(name, data[name], shared)
            if first is not None and column.length != length:
                entries = counted(column.length, "entry", "entries")
                raise UsageError(f"{name!r} has {entries}, but {first!r} has {length:,}", branch=name)
            length, first = column.length, first or name
            parts[name] = self._parts(name, column)
        found: dict[str, list[NDArray[Any]]] = {}
        for branch in self.branches:
            if branch.column is not None:
                part = parts[branch.column][branch.path]
                found[branch.name] = fit(branch.name, part, branch.form)
        for branch in self.branches:
            if branch.counts is not None:
                counts = np.diff(found[branch.counts][0])
                found[branch.name] = [counts.astype(np.int32)]
            elif branch.column is None:
                found[branch.name] = []
        return length, [[buffer.view(np.uint8) for buffer in found[branch.name]] for branch in self.branches]

    def _check_names(self, data: Mapping[str, Any]) -> None:
        for name in self.columns:
            if name not in data:
                raise UsageError(f"the column {name!r} is missing", branch=name)
        # A computed counter may be given, too: data that was read from such a file contains it.
        counters = {branch.name for branch in self.branches if branch.counts is not None}
        for name in data:
            if name not in self.columns and name not in counters:
                raise KeyInFileError.not_found("column", name, self.columns, "the tree")

    def _parts(self, name: str, column: BuiltColumn) -> dict[Path, BuiltColumn]:
        if is_plain(column.form) and self._paths[name] == [()]:
            return {(): column}
        parts = leaves(column)
        found = {path: _path_in_data(path, parts) for path in self._paths[name]}
        if None in found.values() or set(parts) != set(found.values()):
            raise UsageError(
                f"{name!r}: the data is {type_string(column.form)}, "
                f"but the tree stores {type_string(self.columns[name].form)}",
                branch=name,
            )
        return {path: parts[given] for path, given in found.items() if given is not None}

    def _counters_among_columns(self) -> Iterator[str]:
        for column, kind in self.columns.items():
            if column in self._split or kind.form[0] == "primitive":
                continue
            for path, part in leaves(empty_column(kind.form)).items():
                form = storable(column, part.form)
                if form[0] == "list" and is_block(form[1]) and kind.stored != "vector":
                    name = self._counter_of(self._group(column, path, kind))
                    if self._can_count(name):
                        yield name

    def _plan(self, column: str, kind: ColumnType) -> None:
        self._checked(column)
        if _has_empty_record(kind.form):
            raise UnsupportedTypeError(
                f"{column!r}: no branch can store {type_string(kind.form)}, because a record has no members",
                branch=column,
                hint="an RNTuple can store it",
            )
        if column in self._given_counters:
            form: Form = ("primitive", "uint32" if kind.form[1] == "uint32" else "int32")
            self._add(BranchPlan(column, _storage(form, None), form, column))
            return
        if column in self._split:
            self._plan_split(column, kind.form)
            return
        for path, part in leaves(empty_column(kind.form)).items():
            name = self._checked(self._branch_name(column, path))
            form = storable(name, part.form)
            if form[0] != "list":
                self._add(BranchPlan(name, _storage(form, kind.stored), form, column, path))
            elif kind.stored == "vector" or not is_block(form[1]):
                form = as_vector(form)
                self._add(BranchPlan(name, ("vector", vector_item(form[1])), form, column, path))
            else:
                counter = self._counter(self._group(column, path, kind), name)
                storage = ("counted", *block_storage(form[1]), counter)
                self._add(BranchPlan(name, storage, form, column, path))

    def _checked(self, name: str) -> str:
        """The name of a branch. Readers take a number or a name in brackets for the size of an array."""
        if _SIZE.search(name):
            raise UsageError(
                f"the branch {name!r} would be read as an array, because of its brackets",
                branch=name,
                hint="rename it; an RNTuple takes such names",
            )
        return name

    def _plan_split(self, column: str, form: Form) -> None:
        # Names of columns that were read from the branch of a single object end in a dot.
        parts = split_parts(column.rstrip("."), form, len(self.branches))
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            source = column if part.holds == "values" else None
            # The offsets of the first member give the number of objects.
            counts = following.name if part.holds == "counts" and following is not None else None
            self._add(BranchPlan(part.name, part.storage, part.form, source, part.path, counts))

    def _group(self, column: str, path: Path, kind: ColumnType) -> str:
        """The name of the lists around a member, which all members of a list of records share."""
        return self._branch_name(column, path[: _depth(kind.form, path)])

    def _branch_name(self, column: str, path: Path) -> str:
        name = column
        for field in path:
            name = self._field_name(name, field)
        return name

    def _counter(self, group: str, counted: str) -> int:
        """The index of the branch that counts the items of a group of branches."""
        name = self._checked(self._counter_of(group))
        if name not in self._indices:
            if name in self._given_counters:
                self._plan(name, self.columns[name])
            else:
                form = ("primitive", "int32")
                self._add(BranchPlan(name, _storage(form, None), form, None, counts=counted))
        return self._indices[name]

    def _counter_of(self, group: str) -> str:
        if self._counter_name is not None:
            return self._counter_name(group)
        return next(filter(self._can_count, counter_names(group)), f"n{group}")

    def _can_count(self, name: str) -> bool:
        kind = self.columns.get(name)
        return kind is not None and kind.form[0] == "primitive" and np.dtype(kind.form[1]).kind in "iu"

    def _add(self, branch: BranchPlan) -> None:
        self._indices.setdefault(branch.name, len(self.branches))
        if branch.column is not None:
            self._paths.setdefault(branch.column, []).append(branch.path)
        self.branches.append(branch)


def columns_of(data: Mapping[str, Any]) -> dict[str, ColumnType]:
    """The types of the columns of a table."""
    return {name: ColumnType(column_of(name, array).form) for name, array in data.items()}


def _depth(form: Form, path: Path) -> int:
    """The number of records around the first list on a path."""
    for depth, name in enumerate(path):
        if form[0] == "record":
            form = dict(form[1])[name]
        elif form[0] == "tuple":
            form = form[1][int(name)]
        else:
            return depth
    return len(path)


def _has_empty_record(form: Form) -> bool:
    """Whether there is a record without members, of which a tree would store nothing."""
    if form[0] == "record":
        return not form[1] or any(_has_empty_record(field) for _, field in form[1])
    if form[0] in ("tuple", "union"):
        return not form[1] or any(map(_has_empty_record, form[1]))
    return form[0] in ("list", "fixed", "option") and _has_empty_record(form[-1])


def _path_in_data(path: Path, parts: Mapping[Path, BuiltColumn]) -> Path | None:
    """The path to the values of a member in the data, which is shorter if all lists on the way are empty."""
    if path in parts:
        return path
    above = (path[:depth] for depth in range(len(path)))
    return next((part for part in above if part in parts and _is_unknown(parts[part].form)), None)


def _is_unknown(form: Form) -> bool:
    while form[0] in ("list", "option"):
        form = form[1]
    return bool(form[0] == "empty")


def _storage(form: Form, stored: str | None) -> tuple[Any, ...]:
    if form[0] == "string":
        return ("text",) if stored == "text" else ("string",)
    return ("numbers", *block_storage(form))


def _form(storage: tuple[Any, ...]) -> Form:
    """The form of a branch with this storage: the inverse of :func:`_storage`."""
    kind = storage[0]
    if kind in ("text", "string"):
        return ("string",)
    if kind == "vector":
        return ("list", _form_of_item(storage[1]))
    form: Form = ("primitive", storage[1])
    for length in reversed(storage[2]):
        form = ("fixed", length, form)
    return ("list", form) if kind == "counted" else form


def _form_of_item(item: Any) -> Form:
    return ("primitive", item) if isinstance(item, str) else _form(item)


def _stored(storage: tuple[Any, ...]) -> str | None:
    return storage[0] if storage[0] in ("text", "vector") else None
