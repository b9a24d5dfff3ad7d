"""Columns as Arrow arrays and tables; lists and text have 64-bit offsets, numbers are not copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from ._column import Column, Form
from ._numpy import awkward_to_column


def column_to_arrow(column: Column) -> Any:
    """The column as a ``pyarrow.Array``. Text that is not UTF-8 becomes ``large_binary``."""
    return _build(column.form, column.length, iter(column.buffers))


def awkward_to_arrow(array: Any) -> Any:
    """A computed Awkward Array as a ``pyarrow.Array``."""
    import awkward as ak

    column = awkward_to_column(array)
    if column is not None:
        return column_to_arrow(column)
    return ak.to_arrow(array, list_to32=False, extensionarray=False)


def table(arrays: Mapping[str, Any], length: int, metadata: Mapping[str, Mapping[str, str]]) -> Any:
    """Arrays side by side, as a ``pyarrow.Table``; ``metadata`` are the descriptions of columns by name."""
    import pyarrow as pa

    fields = [
        pa.field(name, array.type, metadata=dict(metadata[name]) if name in metadata else None)
        for name, array in arrays.items()
    ]
    if not fields:
        return pa.table({"": pa.nulls(length)}).select([])
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def _build(form: Form, length: int, buffers: Iterator[NDArray[Any]]) -> Any:
    import pyarrow as pa

    kind = form[0]
    if kind == "primitive":
        return pa.array(next(buffers))
    if kind == "fixed":
        content = _build(form[2], length * form[1], buffers)
        if form[1] == 0:
            # Arrow tells the length of such an array from its content, which is empty.
            return pa.array([[]] * length, type=pa.list_(content.type, 0))
        return pa.FixedSizeListArray.from_arrays(content, form[1])
    if kind == "list":
        offsets = next(buffers)
        content = _build(form[1], int(offsets[-1]), buffers)
        return pa.LargeListArray.from_arrays(pa.array(offsets), content)
    if kind == "string":
        return _text(next(buffers), next(buffers), length)
    fields = [(name, _build(field, length, buffers)) for name, field in form[1]]
    if not fields:
        return pa.array([{}] * length, type=pa.struct([]))
    return pa.StructArray.from_arrays([array for _, array in fields], names=[name for name, _ in fields])


def _text(offsets: NDArray[Any], text: NDArray[Any], length: int) -> Any:
    import pyarrow as pa

    parts = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    strings = pa.Array.from_buffers(pa.large_utf8(), length, parts)
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return pa.Array.from_buffers(pa.large_binary(), length, parts)
    return strings
