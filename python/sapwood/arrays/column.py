"""Columns as the core returns them: a form, a length, and buffers in the order of the form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Form: TypeAlias = tuple[Any, ...]
"""``("primitive", dtype)``, ``("fixed", size, form)``, ``("list", form)``, ``("string",)``,
``("record", [(name, form), …], class, [title, …])``, ``("tuple", [form, …])``, ``("option", form)``,
``("union", [form, …])`` or ``("empty",)``."""


def counter_names(name: str) -> Iterator[str]:
    """The names that a counter of the items of a list may have, the most specific one first.

    >>> list(counter_names("Muon_pt"))
    ['nMuon_pt', 'nMuon']
    """
    while name:
        yield f"n{name}"
        name = name.rpartition("_")[0]


class Column(Protocol):
    """A column as the core returns it.

    The buffers follow the form, depth first. A primitive has one (values), and so have a list (offsets) and
    an option (positions in its content, -1 for a missing item). A string has two (offsets, bytes), and so has
    a union (tags, positions in the content of that tag). Fixed arrays, records, tuples and empty forms have
    none of their own.
    """

    @property
    def form(self) -> Form:
        """The type of an entry, as nested tuples."""

    @property
    def length(self) -> int:
        """The number of entries."""

    @property
    def buffers(self) -> list[NDArray[Any]]:
        """The data, in the order of the form."""


@dataclass(frozen=True)
class BuiltColumn:
    """A column that was built in Python."""

    form: Form
    length: int
    buffers: list[NDArray[Any]]


def record_form(
    fields: Iterable[tuple[str, Form]], class_name: str = "", titles: Iterable[str] | None = None
) -> Form:
    """The form of a record; ``titles`` describe its fields."""
    named = list(fields)
    return ("record", named, class_name, [""] * len(named) if titles is None else list(titles))


def record_of(fields: Mapping[str, Column], class_name: str = "") -> BuiltColumn:
    """A column of records, made of one column of the same length for each field.

    Raises:
        ValueError: if the lengths differ.
    """
    length = min((column.length for column in fields.values()), default=0)
    if any(column.length != length for column in fields.values()):
        lengths = {name: column.length for name, column in fields.items()}
        raise ValueError(f"the fields have different lengths: {lengths}")
    buffers = [buffer for column in fields.values() for buffer in column.buffers]
    form = record_form(((name, column.form) for name, column in fields.items()), class_name)
    return BuiltColumn(form, length, buffers)


def field_columns(column: Column) -> dict[str, BuiltColumn]:
    """The fields of a column of records, each as a column."""
    buffers = iter(column.buffers)
    return {
        name: BuiltColumn(form, column.length, list(islice(buffers, buffer_count(form))))
        for name, form in column.form[1]
    }


def member_column(column: Column, path: str) -> BuiltColumn | None:
    """The column of the member at a dotted path in the records of a column, in the same lists.

    None if no record has such a member.
    """
    buffers = iter(column.buffers)
    form, kept = _member(column.form, path, buffers)
    return None if form is None else BuiltColumn(form, column.length, kept)


def _member(form: Form, path: str, buffers: Iterator[NDArray[Any]]) -> tuple[Form | None, list[NDArray[Any]]]:
    """The form and the buffers of a member; takes those of ``form`` before it, and its own."""
    if not path:
        return form, list(islice(buffers, buffer_count(form)))
    kind = form[0]
    if kind in ("list", "option", "fixed"):
        own = list(islice(buffers, len(_OWN_BUFFERS.get(kind, []))))
        found, kept = _member(form[-1], path, buffers)
        return (None if found is None else (*form[:-1], found)), own + kept
    named = {"record": form[1], "tuple": list(enumerate(form[1]))} if len(form) > 1 else {}
    for name, field in named.get(kind, []):
        if f"{path}.".startswith(f"{name}."):
            return _member(field, path[len(str(name)) + 1 :], buffers)
        list(islice(buffers, buffer_count(field)))
    return None, []


def buffer_count(form: Form) -> int:
    """The number of buffers of a column with this form."""
    own = 1 if form[0] == "primitive" else len(_OWN_BUFFERS.get(form[0], []))
    return own + sum(map(buffer_count, contents(form)))


def empty_column(form: Form) -> BuiltColumn:
    """A column with this form and without entries."""
    return BuiltColumn(form, 0, list(_empty_buffers(form)))


def is_flat(form: Form) -> bool:
    """Whether one NumPy array of numbers can hold a column with this form."""
    return form[0] == "primitive" or (form[0] == "fixed" and is_flat(form[2]))


def type_string(form: Form) -> str:
    """The type of one entry in Awkward Array's notation, without class names.

    >>> type_string(("list", record_form([("pt", ("primitive", "float32")), ("name", ("string",))])))
    'var * {pt: float32, name: string}'
    >>> type_string(("option", ("tuple", [("primitive", "int8"), ("list", ("empty",))])))
    '?(int8, var * unknown)'
    """
    kind = form[0]
    if kind == "primitive":
        return str(form[1])
    if kind == "fixed":
        return f"{form[1]} * {type_string(form[2])}"
    if kind == "list":
        return f"var * {type_string(form[1])}"
    if kind == "option":
        return _option_string(form[1])
    if kind == "union":
        return f"union[{', '.join(map(type_string, form[1]))}]"
    if kind == "tuple":
        return f"({', '.join(map(type_string, form[1]))})"
    if kind == "record":
        return "{" + ", ".join(f"{name}: {type_string(field)}" for name, field in form[1]) + "}"
    return {"string": "string", "empty": "unknown"}[kind]


def _option_string(content: Form) -> str:
    if content[0] == "union":
        # Awkward Array moves an option inside the union, to each of its alternatives.
        return f"union[{', '.join(map(_option_string, content[1]))}]"
    inner = type_string(content)
    return f"option[{inner}]" if content[0] in ("list", "fixed") else f"?{inner}"


def fields_of(form: Form | None) -> dict[str, str]:
    """Names and titles of the members of the objects in a form, at any depth of lists."""
    if form is None:
        return {}
    if form[0] == "record":
        return dict(zip((name for name, _ in form[1]), form[3], strict=True))
    if form[0] == "tuple":
        return {str(number): "" for number in range(len(form[1]))}
    fields: dict[str, str] = {}
    for content in contents(form):
        fields = {**fields_of(content), **fields}
    return fields


def has_values(form: Form) -> bool:
    """Whether there is a number or a text anywhere in a form."""
    return form[0] in ("primitive", "string") or any(map(has_values, contents(form)))


def contents(form: Form) -> list[Form]:
    """The forms directly inside a form."""
    kind = form[0]
    if kind == "record":
        return [field for _, field in form[1]]
    if kind in ("tuple", "union"):
        return list(form[1])
    if kind == "fixed":
        return [form[2]]
    return [form[1]] if kind in ("list", "option") else []


def kept_alternatives(
    tags: NDArray[Any], forms: Sequence[Form]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The number of items of each alternative of a union, the alternatives to keep, and tags for only these.

    Alternatives without items are kept, so that the type does not depend on which entries are read. Only
    those that cannot have items, because nothing is known about them, are left out.

    >>> forms = [("string",), ("empty",), ("primitive", "int8")]
    >>> [array.tolist() for array in kept_alternatives(np.array([2, 0, 2], np.int8), forms)]
    [[1, 0, 2], [0, 2], [1, 0, 1]]
    """
    counts = np.bincount(tags.view(np.uint8), minlength=len(forms))
    kept = np.array([i for i, form in enumerate(forms) if counts[i] or form[0] != "empty"], np.int64)
    renumbered = np.zeros(len(forms), np.int8)
    renumbered[kept] = np.arange(len(kept))
    return counts, kept, renumbered[tags]


def tagged_options(
    positions: NDArray[Any], tags: NDArray[Any], places: NDArray[Any], number: int
) -> tuple[NDArray[Any], NDArray[Any], list[NDArray[Any]]]:
    """The buffers of an option of a union, for a union of options: Awkward Array has no other kind.

    Args:
        positions: for each item, its position in the union; -1 if it is missing.
        tags: for each item of the union, its alternative.
        places: for each item of the union, its position among the items of its alternative.
        number: the number of alternatives.

    Returns:
        For each item, its tag and its position in the option of that tag; and for each of these options, the
        positions of its items among those of the alternative. Missing items have the first tag.

    >>> union = np.array([1, 0], np.int8), np.array([0, 0])
    >>> tags, index, options = tagged_options(np.array([0, -1, 1]), *union, 2)
    >>> tags.tolist(), index.tolist(), [option.tolist() for option in options]
    ([1, 0, 0], [0, 0, 1], [[-1, 0], [0]])
    """
    present = positions >= 0
    moved, place = np.zeros(len(positions), np.int8), np.full(len(positions), -1, np.int64)
    moved[present] = tags[positions[present]]
    place[present] = places[positions[present]]
    index, options = np.empty(len(positions), np.int64), []
    for tag in range(number):
        here = moved == tag
        options.append(place[here])
        index[here] = np.arange(len(options[-1]))
    return moved, index, options


_OWN_BUFFERS: dict[str, list[NDArray[Any]]] = {
    "list": [np.zeros(1, np.int64)],
    "string": [np.zeros(1, np.int64), np.empty(0, np.uint8)],
    "option": [np.empty(0, np.int64)],
    "union": [np.empty(0, np.int8), np.empty(0, np.int64)],
}


def _empty_buffers(form: Form) -> Iterator[NDArray[Any]]:
    if form[0] == "primitive":
        yield np.empty(0, dtype=form[1])
    for buffer in _OWN_BUFFERS.get(form[0], []):
        yield buffer.copy()
    for content in contents(form):
        yield from _empty_buffers(content)
