"""Converts columns into Awkward Arrays that share the column's buffers: nothing is copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .column import Column, Form, empty_column, used_alternatives


def column_to_layout(column: Column, parameters: Mapping[str, str] | None = None) -> Any:
    """The column as an ``ak.contents.Content`` with optional parameters, such as ``{"__doc__": …}``."""
    return with_parameters(_build(column.form, column.length, iter(column.buffers)), parameters)


def with_parameters(content: Any, parameters: Mapping[str, str] | None) -> Any:
    """A layout or a form of Awkward Array with additional parameters, if there are any."""
    return content.copy(parameters={**content.parameters, **parameters}) if parameters else content


def column_to_awkward(column: Column, parameters: Mapping[str, str] | None = None) -> Any:
    """The column as an ``ak.Array`` with optional parameters."""
    import awkward as ak

    return ak.Array(column_to_layout(column, parameters))


def awkward_form(form: Form) -> Any:
    """The ``ak.forms.Form`` of a column's form."""
    return column_to_layout(empty_column(form)).form


def records(arrays: Mapping[str, Any], length: int) -> Any:
    """An ``ak.Array`` of records, one for each entry, whose fields are the arrays."""
    import awkward as ak

    contents = [as_layout(array) for array in arrays.values()]
    return ak.Array(ak.contents.RecordArray(contents, list(arrays), length))


def as_layout(array: Any) -> Any:
    """The layout of an ``ak.Array``; a layout is returned as it is."""
    return getattr(array, "layout", array)


def zipped(arrays: Mapping[str, Any], length: int) -> Any:
    """Like :func:`records`, but lists of equal lengths are zipped into lists of records.

    ``Muon_pt`` and ``Muon_eta`` become ``Muon`` with fields ``pt`` and ``eta``. Where the names have no
    common prefix, the zipped lists are called ``jagged0``, ``jagged1``, ….
    """
    import awkward as ak

    groups: list[tuple[NDArray[Any], dict[str, Any]]] = []
    out: dict[str, Any] = {}
    for name, array in arrays.items():
        layout = as_layout(array)
        if not layout.is_list or layout.is_regular or layout.parameter("__array__") is not None:
            out[name] = array
            continue
        layout = layout.to_ListOffsetArray64(True)
        offsets = layout.offsets.data
        for group_offsets, members in groups:
            if np.array_equal(group_offsets, offsets):
                members[name] = layout.content[: offsets[-1]]
                break
        else:
            groups.append((offsets, {name: layout.content[: offsets[-1]]}))
    for number, (offsets, members) in enumerate(groups):
        common = _common_prefix(list(members))
        title = common.strip("_./")
        if not title or title in out:
            common, title = "", f"jagged{number}"
        names = [name[len(common) :].strip("_./") for name in members]
        content = ak.contents.RecordArray(list(members.values()), names, int(offsets[-1]))
        out[title] = ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
    return records(out, length)


def check_cut(name: str, array: Any, cut: Any) -> None:
    """Raises a UsageError if the cut selects items of lists, but ``array`` has no lists."""
    if cut.ndim > 1 and array.ndim < cut.ndim:
        raise UsageError(
            f"the cut selects items of lists, but {name!r} has one value per entry; "
            "reduce the cut to one value per entry, for example with Any$(…), or leave that column out"
        )


def is_numeric(array: Any) -> bool:
    """Whether an array holds only numbers or booleans, at one depth of lists."""
    return _is_numeric(array.layout)


def _is_numeric(layout: Any) -> bool:
    if layout.is_union:
        depths = {content.purelist_depth for content in layout.contents}
        return len(depths) == 1 and all(map(_is_numeric, layout.contents))
    if layout.is_list or layout.is_option or layout.is_indexed:
        return layout.parameter("__array__") is None and _is_numeric(layout.content)
    return layout.is_unknown or (layout.is_numpy and layout.dtype.kind in "biuf")


def is_true(array: Any) -> Any:
    """Whether each number of an array is not 0; for a missing value, False."""
    import awkward as ak

    return ak.fill_none(array != 0, False, axis=-1)


def _common_prefix(names: list[str]) -> str:
    """The longest common prefix of all names that ends at a separator."""
    first, last = min(names), max(names)
    end = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
    while end > 0 and first[end - 1] not in "_./":
        end -= 1
    return first[:end]


def _build(form: Form, length: int, buffers: Iterator[NDArray[Any]]) -> Any:
    import awkward as ak

    kind = form[0]
    if kind == "primitive":
        return ak.contents.NumpyArray(next(buffers))
    if kind == "fixed":
        content = _build(form[2], length * form[1], buffers)
        return ak.contents.RegularArray(content, form[1], zeros_length=length)
    if kind == "list":
        offsets = next(buffers)
        content = _build(form[1], int(offsets[-1]), buffers)
        return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
    if kind == "string":
        offsets = ak.index.Index64(next(buffers))
        text = ak.contents.NumpyArray(next(buffers), parameters={"__array__": "char"})
        return ak.contents.ListOffsetArray(offsets, text, parameters={"__array__": "string"})
    if kind == "option":
        return _option(form[1], next(buffers), buffers)
    if kind == "union":
        return _union(form[1], next(buffers), next(buffers), buffers)
    if kind == "tuple":
        items = [_build(content, length, buffers) for content in form[1]]
        return ak.contents.RecordArray(items, None, length)
    if kind == "record":
        return _record(form, length, buffers)
    return ak.contents.EmptyArray()


def _record(form: Form, length: int, buffers: Iterator[NDArray[Any]]) -> Any:
    import awkward as ak

    _, fields, class_name, titles = form
    contents = [
        with_parameters(_build(field, length, buffers), {"__doc__": title} if title else None)
        for (_, field), title in zip(fields, titles, strict=True)
    ]
    parameters = {"__record__": class_name} if class_name else None
    return ak.contents.RecordArray(contents, [name for name, _ in fields], length, parameters=parameters)


def _option(form: Form, positions: NDArray[Any], buffers: Iterator[NDArray[Any]]) -> Any:
    import awkward as ak

    present = int(np.count_nonzero(positions >= 0))
    content = _build(form, present, buffers)
    if present == len(positions):
        return ak.contents.UnmaskedArray.simplified(content)
    return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(positions), content)


def _union(
    forms: list[Form], tags: NDArray[Any], positions: NDArray[Any], buffers: Iterator[NDArray[Any]]
) -> Any:
    """A union of the alternatives that occur; if only one occurs, its layout."""
    import awkward as ak

    counts, used, new_tags = used_alternatives(tags, len(forms))
    contents = [_build(form, int(count), buffers) for form, count in zip(forms, counts, strict=True)]
    if len(used) == 0:
        return ak.contents.EmptyArray()
    if len(used) == 1:
        return contents[used[0]]
    return ak.contents.UnionArray.simplified(
        ak.index.Index8(new_tags), ak.index.Index64(positions), [contents[tag] for tag in used]
    )
