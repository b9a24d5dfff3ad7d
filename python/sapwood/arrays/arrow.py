"""Converts columns into Arrow arrays and tables. Numbers are not copied.

Lists and text have 64-bit offsets, tuples become structs with the fields "0", "1", …, missing items become
null, and unions become dense unions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedTypeError
from .column import Column, Form, kept_alternatives
from .numpy import awkward_to_column


def column_to_arrow(column: Column) -> Any:
    """The column as a ``pyarrow.Array``. Text that is not UTF-8 becomes ``large_binary``."""
    return _build(column.form, column.length, iter(column.buffers))


def awkward_to_arrow(array: Any) -> Any:
    """A computed Awkward Array as a ``pyarrow.Array``."""
    return column_to_arrow(awkward_to_column(array))


def table(arrays: Mapping[str, Any], length: int, metadata: Mapping[str, Mapping[str, str]]) -> Any:
    """A ``pyarrow.Table`` of arrays of equal lengths; ``metadata`` describes columns by name."""
    import pyarrow as pa

    fields = [
        pa.field(name, array.type, metadata=dict(metadata[name]) if name in metadata else None)
        for name, array in arrays.items()
    ]
    if not fields:
        return pa.table({"": pa.nulls(length)}).select([])
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def concatenate_tables(tables: Sequence[Any]) -> Any:
    """Concatenates tables. Where the types of a column differ (one part has no items, say), it is widened.

    Raises:
        UnsupportedTypeError: if the types have no common type, such as unions of different classes.
    """
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedTypeError(
            f'Arrow has no common type for these parts ({error}); read them one by one, or use library="ak"'
        ) from None


def concatenate_arrays(arrays: Sequence[Any]) -> Any:
    """Like :func:`concatenate_tables`, but for arrays."""
    import pyarrow as pa

    if all(array.type == arrays[0].type for array in arrays):
        return pa.concat_arrays(arrays)
    joined = concatenate_tables([pa.table({"": array}) for array in arrays])
    return joined.column(0).combine_chunks()


def _build(form: Form, length: int, buffers: Iterator[NDArray[Any]]) -> Any:
    import pyarrow as pa

    kind = form[0]
    if kind == "primitive":
        return pa.array(next(buffers))
    if kind == "fixed":
        content = _build(form[2], length * form[1], buffers)
        if form[1] == 0:
            # Arrow would derive the length of such an array from its content, which is empty.
            return pa.array([[]] * length, type=pa.list_(content.type, 0))
        return pa.FixedSizeListArray.from_arrays(content, form[1])
    if kind == "list":
        offsets = next(buffers)
        content = _build(form[1], int(offsets[-1]), buffers)
        return pa.LargeListArray.from_arrays(pa.array(offsets), content)
    if kind == "string":
        return _text(next(buffers), next(buffers), length)
    if kind == "option":
        return _option(form[1], next(buffers), buffers)
    if kind == "union":
        return _union(form[1], next(buffers), next(buffers), buffers)
    if kind == "empty":
        return pa.nulls(length)
    if kind == "tuple":
        return _struct([(str(i), _build(item, length, buffers)) for i, item in enumerate(form[1])], length)
    return _struct([(name, _build(field, length, buffers)) for name, field in form[1]], length)


def _struct(fields: list[tuple[str, Any]], length: int) -> Any:
    import pyarrow as pa

    if not fields:
        return pa.array([{}] * length, type=pa.struct([]))
    return pa.StructArray.from_arrays([array for _, array in fields], names=[name for name, _ in fields])


def _option(form: Form, positions: NDArray[Any], buffers: Iterator[NDArray[Any]]) -> Any:
    import pyarrow as pa

    missing = positions < 0
    content = _build(form, int(np.count_nonzero(~missing)), buffers)
    if pa.types.is_null(content.type):
        return pa.nulls(len(positions))
    return content.take(pa.array(positions, mask=missing)) if missing.any() else content


def _union(
    forms: list[Form], tags: NDArray[Any], positions: NDArray[Any], buffers: Iterator[NDArray[Any]]
) -> Any:
    """A dense union of the alternatives; if there is only one, its array."""
    import pyarrow as pa

    counts, kept, new_tags = kept_alternatives(tags, forms)
    contents = [_build(form, int(count), buffers) for form, count in zip(forms, counts, strict=True)]
    if len(kept) == 0:
        return pa.nulls(0)
    if len(kept) == 1:
        return contents[kept[0]].take(pa.array(positions))
    if counts.max() > np.iinfo(np.int32).max:
        raise UnsupportedTypeError(
            "an Arrow union holds at most 2**31 - 1 items of each type, but this one has more; "
            "read fewer entries"
        )
    return pa.UnionArray.from_dense(
        pa.array(new_tags), pa.array(positions.astype(np.int32)), [contents[tag] for tag in kept]
    )


def _text(offsets: NDArray[Any], text: NDArray[Any], length: int) -> Any:
    import pyarrow as pa

    parts = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    strings = pa.Array.from_buffers(pa.large_utf8(), length, parts)
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return pa.Array.from_buffers(pa.large_binary(), length, parts)
    return strings
