"""Columns to branches: names, counters, and how each branch stores what it holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import BuiltColumn, Form, empty_column, type_string
from ..errors import KeyInFileError, UsageError
from .columns import Offsets, Path, as_vector, column_of, fit, is_block, is_plain, leaves, storable
from .records import split_parts
from .types import ColumnType

FieldName = Callable[[str, str], str]
CounterName = Callable[[str], str]


def join_names(outer: str, inner: str) -> str:
    """``x_y``: the branch of the member ``y`` of the column ``x``."""
    return f"{outer}_{inner}" if outer else inner


@dataclass(frozen=True)
class Planned:
    """A branch of a tree that is written.

    Attributes:
        name: its name.
        storage: what the core is told, see ``_core.Writer.tree``.
        form: shape and type of its entries.
        column: the column that it takes; None for one that counts items of others and is made from these, and
            for one that has no values because all are in the branches below it.
        path: the members that lead to it within that column.
        counts: of a branch that is made, the first one that it counts.
    """

    name: str
    storage: tuple[Any, ...]
    form: Form
    column: str | None
    path: Path = ()
    counts: str | None = None


class Schema:
    """The branches of a tree, and the way from columns to them."""

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
        self.branches: list[Planned] = []
        self._places: dict[str, int] = {}
        self._paths: dict[str, list[Path]] = {}
        self._given_counters = set(self._counters_among_columns())
        for name, kind in self.columns.items():
            if name not in self._places:
                self._plan(name, kind)

    @classmethod
    def of_branches(cls, stored: Sequence[tuple[str, tuple[Any, ...]]]) -> Schema:
        """That of a tree that was written before: a column for each branch, but for those that count."""
        schema = cls({})
        counts: dict[int, str] = {}
        for name, storage in stored:
            if storage[0] == "counted":
                counts.setdefault(storage[3], name)
        for place, (name, storage) in enumerate(stored):
            form = _form(storage)
            if place in counts:
                schema._add(Planned(name, storage, form, None, counts=counts[place]))
            else:
                schema.columns[name] = ColumnType(form, stored=_stored(storage))
                schema._add(Planned(name, storage, form, name))
        return schema

    def buffers(self, data: Mapping[str, Any]) -> tuple[int, list[list[NDArray[Any]]]]:
        """The number of entries, and the buffers of each branch as bytes.

        Raises:
            UsageError: if columns are missing, have different lengths, or other types.
            KeyInFileError: if there are others.
            UnsupportedTypeError: if there are missing values.
        """
        self._check_names(data)
        length, first = 0, None
        parts: dict[str, dict[Path, BuiltColumn]] = {}
        shared: Offsets = {}
        for name in self.columns:
            column = column_of(name, data[name], shared)
            if first is not None and column.length != length:
                raise UsageError(
                    f"{name!r} has {column.length} entries, and {first!r} has {length}", branch=name
                )
            length, first = column.length, first or name
            parts[name] = self._parts(name, column)
        made: dict[str, list[NDArray[Any]]] = {}
        for branch in self.branches:
            if branch.column is not None:
                part = parts[branch.column][branch.path]
                made[branch.name] = fit(branch.name, part, branch.form)
        for branch in self.branches:
            if branch.counts is not None:
                counts = np.diff(made[branch.counts][0])
                made[branch.name] = [counts.astype(np.int32)]
            elif branch.column is None:
                made[branch.name] = []
        return length, [[buffer.view(np.uint8) for buffer in made[branch.name]] for branch in self.branches]

    def _check_names(self, data: Mapping[str, Any]) -> None:
        for name in self.columns:
            if name not in data:
                raise UsageError(f"the column {name!r} is missing", branch=name)
        # A counter that is made here may be given, too: it was read from such a file.
        counters = {branch.name for branch in self.branches if branch.counts is not None}
        for name in data:
            if name not in self.columns and name not in counters:
                raise KeyInFileError.not_found("column", name, self.columns, "the tree")

    def _parts(self, name: str, column: BuiltColumn) -> dict[Path, BuiltColumn]:
        if is_plain(column.form) and self._paths[name] == [()]:
            return {(): column}
        parts = leaves(column)
        found = {path: _given(path, parts) for path in self._paths[name]}
        if None in found.values() or set(parts) != set(found.values()):
            raise UsageError(
                f"{name!r}: {type_string(column.form)} was given, "
                f"and the tree holds {type_string(self.columns[name].form)}",
                branch=name,
            )
        return {path: parts[given] for path, given in found.items() if given is not None}

    def _counters_among_columns(self) -> Iterator[str]:
        for column, kind in self.columns.items():
            if column in self._split:
                continue
            for path, part in leaves(empty_column(kind.form)).items():
                form = storable(column, part.form)
                if form[0] == "list" and is_block(form[1]) and kind.stored != "vector":
                    name = self._counter_of(self._group(column, path, kind))
                    if self._can_count(name):
                        yield name

    def _plan(self, column: str, kind: ColumnType) -> None:
        if column in self._given_counters:
            form: Form = ("primitive", "uint32" if kind.form[1] == "uint32" else "int32")
            self._add(Planned(column, _storage(form, None), form, column))
            return
        if column in self._split:
            self._plan_split(column, kind.form)
            return
        for path, part in leaves(empty_column(kind.form)).items():
            name = self._branch_name(column, path)
            form = storable(name, part.form)
            if form[0] != "list":
                self._add(Planned(name, _storage(form, kind.stored), form, column, path))
            elif kind.stored == "vector" or not is_block(form[1]):
                form = as_vector(form)
                self._add(Planned(name, ("vector", _item(form[1])), form, column, path))
            else:
                counter = self._counter(self._group(column, path, kind), name)
                storage = ("counted", *_numbers(form[1]), counter)
                self._add(Planned(name, storage, form, column, path))

    def _plan_split(self, column: str, form: Form) -> None:
        # The dot with which the branch of one object ends stands in the names of what was read from such.
        parts = split_parts(column.rstrip("."), form, len(self.branches))
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            takes = column if part.holds == "values" else None
            # The first member tells how many objects there are.
            counts = following.name if part.holds == "counts" and following is not None else None
            self._add(Planned(part.name, part.storage, part.form, takes, part.path, counts))

    def _group(self, column: str, path: Path, kind: ColumnType) -> str:
        """What the lists that a member is in are called: those of records have one name for all members."""
        return self._branch_name(column, path[: _depth(kind.form, path)])

    def _branch_name(self, column: str, path: Path) -> str:
        name = column
        for field in path:
            name = self._field_name(name, field)
        return name

    def _counter(self, group: str, counted: str) -> int:
        """The place of the branch that counts the items of a group of branches."""
        name = self._counter_of(group)
        if name not in self._places:
            if name in self._given_counters:
                self._plan(name, self.columns[name])
            else:
                form = ("primitive", "int32")
                self._add(Planned(name, _storage(form, None), form, None, counts=counted))
        return self._places[name]

    def _counter_of(self, group: str) -> str:
        if self._counter_name is not None:
            return self._counter_name(group)
        return next((f"n{name}" for name in _beginnings(group) if self._can_count(f"n{name}")), f"n{group}")

    def _can_count(self, name: str) -> bool:
        kind = self.columns.get(name)
        return kind is not None and kind.form[0] == "primitive" and np.dtype(kind.form[1]).kind in "iu"

    def _add(self, branch: Planned) -> None:
        self._places.setdefault(branch.name, len(self.branches))
        if branch.column is not None:
            self._paths.setdefault(branch.column, []).append(branch.path)
        self.branches.append(branch)


def columns_of(data: Mapping[str, Any]) -> dict[str, ColumnType]:
    """The types that data have."""
    return {name: ColumnType(column_of(name, array).form) for name, array in data.items()}


def _beginnings(name: str) -> Iterator[str]:
    """``a_b_c``, ``a_b``, ``a``."""
    while name:
        yield name
        name = name.rpartition("_")[0]


def _depth(form: Form, path: Path) -> int:
    """How many records are around the first list on a path: their members have nothing in common."""
    for depth, name in enumerate(path):
        if form[0] == "record":
            form = dict(form[1])[name]
        elif form[0] == "tuple":
            form = form[1][int(name)]
        else:
            return depth
    return len(path)


def _given(path: Path, parts: Mapping[Path, BuiltColumn]) -> Path | None:
    """Where the values of a member are among what was given: lists that are all empty tell no members."""
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
    return ("numbers", *_numbers(form))


def _numbers(form: Form) -> tuple[str, list[int]]:
    dims = []
    while form[0] == "fixed":
        dims.append(form[1])
        form = form[2]
    return form[1], dims


def _form(storage: tuple[Any, ...]) -> Form:
    """The form of what a branch holds that is stored so: the way back from :func:`_storage`."""
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


def _item(form: Form) -> Any:
    if form[0] == "list":
        return ("vector", _item(form[1]))
    return ("string",) if form[0] == "string" else form[1]
