"""Converts columns into NumPy arrays.

Numbers and fixed-size arrays of numbers become arrays of that shape, records and tuples become structured
arrays. Text, lists, options and unions become object arrays of ``str``, arrays, ``None`` or other items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column import BuiltColumn, Column, Form, record_form


def column_to_numpy(column: Column) -> NDArray[Any]:
    """The column as one array of ``column.length`` items; numbers are not copied."""
    return _build(column.form, column.length, iter(column.buffers))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def concatenate(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenates arrays; if they have no common dtype, the result is an array of objects."""
    try:
        return np.concatenate(arrays)
    except TypeError:
        return np.concatenate([objects(_items(array)) for array in arrays])


def awkward_to_numpy(array: Any) -> NDArray[Any]:
    """An Awkward Array as a NumPy array, converted as by :func:`column_to_numpy`."""
    return column_to_numpy(awkward_to_column(array))


def objects(items: list[Any]) -> NDArray[Any]:
    """A one-dimensional array of Python objects, whatever their shapes."""
    out = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        out[index] = item
    return out


def awkward_to_column(array: Any) -> BuiltColumn:
    """An Awkward Array as a column."""
    import awkward as ak

    layout = ak.to_layout(ak.to_packed(array))
    buffers: list[NDArray[Any]] = []
    form = take_apart(layout, buffers)
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
    if kind == "option":
        return _option(form[1], next(buffers), buffers)
    if kind == "union":
        return _union(form[1], next(buffers), next(buffers), buffers)
    if kind == "empty":
        return np.empty(0, dtype=np.float64)
    if kind == "tuple":
        return _structured(
            [(str(i), _build(item, length, buffers)) for i, item in enumerate(form[1])], length
        )
    return _structured([(name, _build(field, length, buffers)) for name, field in form[1]], length)


def _structured(fields: list[tuple[str, NDArray[Any]]], length: int) -> NDArray[Any]:
    names = _unique([name for name, _ in fields])
    dtype = np.dtype(
        [(name, array.dtype, array.shape[1:]) for name, (_, array) in zip(names, fields, strict=True)]
    )
    out = np.empty(length, dtype=dtype)
    for name, (_, array) in zip(names, fields, strict=True):
        out[name] = array
    return out


def _option(form: Form, positions: NDArray[Any], buffers: Iterator[NDArray[Any]]) -> NDArray[Any]:
    present = positions >= 0
    out = np.full(len(positions), None, dtype=object)
    out[present] = objects(_items(_build(form, int(np.count_nonzero(present)), buffers)))
    return out


def _union(
    forms: list[Form], tags: NDArray[Any], positions: NDArray[Any], buffers: Iterator[NDArray[Any]]
) -> NDArray[Any]:
    out = np.empty(len(tags), dtype=object)
    for tag, form in enumerate(forms):
        tagged = tags == tag
        items = _items(_build(form, int(np.count_nonzero(tagged)), buffers))
        out[tagged] = objects([items[position] for position in positions[tagged].tolist()])
    return out


def _items(array: NDArray[Any]) -> list[Any]:
    """One object per item: a Python number for a number, a row of the array for anything else."""
    return array.tolist() if array.ndim == 1 and array.dtype.names is None else list(array)


def _unique(names: list[str]) -> list[str]:
    """Distinct names, as NumPy requires: a class and its base may both have a member "x"."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return out


def take_apart(layout: Any, buffers: list[NDArray[Any]]) -> Form:
    """The form of a layout; appends its buffers, which may be too long or not contiguous."""
    while layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if layout.is_unknown:
        return ("empty",)
    if layout.is_option:
        return _take_option_apart(layout, buffers)
    if layout.is_union:
        tags = np.asarray(layout.tags.data)
        positions = np.empty(len(tags), np.int64)
        for tag in range(len(layout.contents)):
            positions[tags == tag] = np.arange(np.count_nonzero(tags == tag))
        buffers += [tags, positions]
        return ("union", [take_apart(layout.project(tag), buffers) for tag in range(len(layout.contents))])
    if layout.is_numpy:
        if layout.data.ndim > 1:
            return take_apart(layout.to_RegularArray(), buffers)
        buffers.append(layout.data)
        return ("primitive", layout.data.dtype.name)
    if layout.is_regular:
        return ("fixed", layout.size, take_apart(layout.content, buffers))
    if layout.is_list:
        layout = layout.to_ListOffsetArray64(True)
        buffers.append(layout.offsets.data)
        if layout.parameter("__array__") in ("string", "bytestring"):
            buffers.append(layout.content.data)
            return ("string",)
        return ("list", take_apart(layout.content, buffers))
    contents = [content[: layout.length] for content in layout.contents]
    if layout.is_tuple:
        return ("tuple", [take_apart(content, buffers) for content in contents])
    fields = [take_apart(content, buffers) for content in contents]
    titles = [content.parameter("__doc__") or "" for content in contents]
    class_name = layout.parameter("__record__") or ""
    return record_form(zip(layout.fields, fields, strict=True), class_name, titles)


def _take_option_apart(layout: Any, buffers: list[NDArray[Any]]) -> Form:
    missing = np.asarray(layout.mask_as_bool(valid_when=False))
    positions = np.cumsum(~missing, dtype=np.int64) - 1
    positions[missing] = -1
    buffers.append(positions)
    return ("option", take_apart(layout.project(), buffers))
