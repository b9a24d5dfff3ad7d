"""Columns as the core hands them over: a form, a length, and buffers in the order of the form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Form: TypeAlias = tuple[Any, ...]
"""``("primitive", dtype)``, ``("fixed", size, form)``, ``("list", form)``, ``("string",)``
or ``("record", [(name, form), …])``."""


class Column(Protocol):
    """What the core returns. Buffers: one for a primitive (values) and a list (offsets), two for a string
    (offsets, bytes), none for what is fixed and for records, depth first."""

    @property
    def form(self) -> Form: ...

    @property
    def length(self) -> int: ...

    @property
    def buffers(self) -> list[NDArray[Any]]: ...


@dataclass(frozen=True)
class BuiltColumn:
    """A column that was put together here."""

    form: Form
    length: int
    buffers: list[NDArray[Any]]


def record_of(fields: Mapping[str, Column]) -> BuiltColumn:
    """The record whose fields are columns of equal lengths."""
    length = min((column.length for column in fields.values()), default=0)
    if any(column.length != length for column in fields.values()):
        raise ValueError(
            f"fields of different lengths: { {name: col.length for name, col in fields.items()} }"
        )
    buffers = [buffer for column in fields.values() for buffer in column.buffers]
    return BuiltColumn(("record", [(name, column.form) for name, column in fields.items()]), length, buffers)


def empty_column(form: Form) -> BuiltColumn:
    """A column of a form without any entry."""
    return BuiltColumn(form, 0, list(_empty_buffers(form)))


def is_flat(form: Form) -> bool:
    """Whether NumPy alone can hold it as one array of numbers."""
    return form[0] == "primitive" or (form[0] == "fixed" and is_flat(form[2]))


def is_jagged(form: Form) -> bool:
    """Whether an entry is a list of any length (text is not a list)."""
    return bool(form[0] == "list")


def type_string(form: Form) -> str:
    """The type of one entry, as Awkward Array spells it.

    >>> type_string(("list", ("record", [("pt", ("primitive", "float32")), ("name", ("string",))])))
    'var * {pt: float32, name: string}'
    """
    kind = form[0]
    if kind == "primitive":
        return str(form[1])
    if kind == "fixed":
        return f"{form[1]} * {type_string(form[2])}"
    if kind == "list":
        return f"var * {type_string(form[1])}"
    if kind == "string":
        return "string"
    return "{" + ", ".join(f"{name}: {type_string(field)}" for name, field in form[1]) + "}"


def _empty_buffers(form: Form) -> Iterator[NDArray[Any]]:
    kind = form[0]
    if kind == "primitive":
        yield np.empty(0, dtype=form[1])
    elif kind == "fixed":
        yield from _empty_buffers(form[2])
    elif kind == "list":
        yield np.zeros(1, dtype=np.int64)
        yield from _empty_buffers(form[1])
    elif kind == "string":
        yield np.zeros(1, dtype=np.int64)
        yield np.empty(0, dtype=np.uint8)
    else:
        for _, field in form[1]:
            yield from _empty_buffers(field)
