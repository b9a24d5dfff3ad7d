"""Columns as NumPy arrays.

Numbers and fixed arrays of them are arrays of that shape; records are structured arrays; text and lists are
object arrays whose items are ``str`` and arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._column import BuiltColumn, Column, Form


def column_to_numpy(column: Column) -> NDArray[Any]:
    """The column as one array of ``column.length`` items; numbers are not copied."""
    return _build(column.form, column.length, iter(column.buffers))


def awkward_to_numpy(array: Any) -> NDArray[Any]:
    """An Awkward Array in the same shape that :func:`column_to_numpy` gives."""
    column = awkward_to_column(array)
    if column is not None:
        return column_to_numpy(column)
    return objects(array.to_list())


def objects(items: list[Any]) -> NDArray[Any]:
    """A one-dimensional array of Python objects, whatever their shapes."""
    out = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        out[index] = item
    return out


def awkward_to_column(array: Any) -> BuiltColumn | None:
    """An Awkward Array as a column, or None if it has a form that no column has (missing values, unions)."""
    import awkward as ak

    layout = ak.to_layout(ak.to_packed(array))
    buffers: list[NDArray[Any]] = []
    try:
        form = _take_apart(layout, buffers)
    except NotImplementedError:
        return None
    return BuiltColumn(form, len(layout), buffers)


def _build(form: Form, length: int, buffers: Iterator[NDArray[Any]]) -> NDArray[Any]:
    kind = form[0]
    if kind == "primitive":
        return next(buffers)
    if kind == "fixed":
        content = _build(form[2], length * form[1], buffers)
        return content.reshape((length, form[1], *content.shape[1:]))
    if kind == "list":
        offsets = next(buffers)
        content = _build(form[1], int(offsets[-1]), buffers)
        return objects([content[start:stop] for start, stop in pairwise(offsets.tolist())])
    if kind == "string":
        offsets = next(buffers)
        text = next(buffers).tobytes()
        edges = pairwise(offsets.tolist())
        return objects([text[start:stop].decode(errors="surrogateescape") for start, stop in edges])
    fields = [(name, _build(field, length, buffers)) for name, field in form[1]]
    names = _unique([name for name, _ in fields])
    dtype = np.dtype(
        [(name, array.dtype, array.shape[1:]) for name, (_, array) in zip(names, fields, strict=True)]
    )
    out = np.empty(length, dtype=dtype)
    for name, (_, array) in zip(names, fields, strict=True):
        out[name] = array
    return out


def _unique(names: list[str]) -> list[str]:
    """Names as NumPy wants them: none twice (a class and its base may both have a member "x")."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return out


def _take_apart(layout: Any, buffers: list[NDArray[Any]]) -> Form:
    while layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if layout.is_unknown:
        buffers.append(np.empty(0, dtype=np.float64))
        return ("primitive", "float64")
    if layout.is_numpy:
        if layout.data.ndim > 1:
            return _take_apart(layout.to_RegularArray(), buffers)
        buffers.append(layout.data)
        return ("primitive", layout.data.dtype.name)
    if layout.is_regular:
        return ("fixed", layout.size, _take_apart(layout.content, buffers))
    if layout.is_list:
        layout = layout.to_ListOffsetArray64(True)
        buffers.append(layout.offsets.data)
        if layout.parameter("__array__") in ("string", "bytestring"):
            buffers.append(layout.content.data)
            return ("string",)
        return ("list", _take_apart(layout.content, buffers))
    if layout.is_record:
        fields = [(name, _take_apart(layout[name], buffers)) for name in layout.fields]
        return ("record", fields)
    raise NotImplementedError(type(layout).__name__)
