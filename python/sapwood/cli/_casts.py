"""Casts of Arrow tables that keep every value: an output has the types of its first batch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import UnsupportedTypeError


def cast_exactly(table: Any, schema: Any) -> Any:
    """The table in the types of a schema with the same columns.

    Numbers become other numbers if each has the same value there, and text may or may not be UTF-8.

    Raises:
        UnsupportedTypeError: a column has another kind of type, or a value that would change.
    """
    import pyarrow as pa

    if table.schema.equals(schema):
        return table
    columns = [
        _column(field.name, column, field.type) for field, column in zip(schema, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def other_type(name: str, first: Any, later: Any) -> UnsupportedTypeError:
    """The error of a column whose values do not fit the type of the first batch."""
    return UnsupportedTypeError(
        f"column {name!r} has type {first} at first and later {later}, but {first} cannot hold "
        "all its values; convert the files one by one, or leave the column out"
    )


def _column(name: str, column: Any, wanted: Any) -> Any:
    import pyarrow as pa

    if column.type == wanted:
        return column
    if _are_alike(column.type, wanted):
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            cast = column.cast(wanted)
            if all(map(_is_same, column.chunks, cast.chunks)):
                return cast
    raise other_type(name, wanted, column.type)


def _are_alike(found: Any, wanted: Any) -> bool:
    """Whether values may be equal in both types. Arrow would also cast numbers to text or to booleans."""
    import pyarrow as pa

    types = pa.types
    if types.is_null(found):
        return True
    if types.is_struct(found) and types.is_struct(wanted):
        pairs = zip(found, wanted, strict=False)
        return found.num_fields == wanted.num_fields and all(
            a.name == b.name and _are_alike(a.type, b.type) for a, b in pairs
        )
    if types.is_fixed_size_list(found) and types.is_fixed_size_list(wanted):
        return found.list_size == wanted.list_size and _are_alike(found.value_type, wanted.value_type)
    if types.is_large_list(found) and types.is_large_list(wanted):
        return _are_alike(found.value_type, wanted.value_type)
    return any(is_kind(found) and is_kind(wanted) for is_kind in (_is_number, _is_text))


def _is_number(one: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(one) or pa.types.is_floating(one))


def _is_text(one: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_string(one) or pa.types.is_large_binary(one))


def _is_same(before: Any, after: Any) -> bool:
    """Whether a cast kept every value. Arrow checks all numbers but floating-point ones that get narrower."""
    import pyarrow as pa

    for old, new in zip(_leaves(before), _leaves(after), strict=True):
        are_floating = pa.types.is_floating(old.type) and pa.types.is_floating(new.type)
        if not are_floating or new.type.bit_width >= old.type.bit_width:
            continue
        numbers = old.to_numpy(zero_copy_only=False)
        kept = new.to_numpy(zero_copy_only=False).astype(numbers.dtype)
        if not np.array_equal(numbers, kept, equal_nan=True):
            return False
    return True


def _leaves(array: Any) -> Iterator[Any]:
    """The arrays of numbers and text in an array of lists and structs."""
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        for field in array.flatten():
            yield from _leaves(field)
    elif pa.types.is_nested(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array
