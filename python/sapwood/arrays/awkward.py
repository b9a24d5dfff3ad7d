"""Converts columns into Awkward Arrays that share the column's buffers: nothing is copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .column import Column, Form, empty_column, kept_alternatives, tagged_options


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

    if form[0] == "union":
        return _union(form[1], next(buffers), next(buffers), buffers, positions)
    present = int(np.count_nonzero(positions >= 0))
    content = _build(form, present, buffers)
    if present == len(positions):
        return ak.contents.UnmaskedArray.simplified(content)
    return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(positions), content)


def _union(
    forms: list[Form],
    tags: NDArray[Any],
    places: NDArray[Any],
    buffers: Iterator[NDArray[Any]],
    positions: NDArray[Any] | None = None,
) -> Any:
    """A union of exactly these alternatives, however alike; if there is only one, its layout.

    Awkward Array would merge integers and floats, and lists of them, into floats, which have fewer digits.
    With ``positions``, those of an option of the union, it is a union of options.
    """
    import awkward as ak

    counts, kept, tags = kept_alternatives(tags, forms)
    built = [_build(form, int(count), buffers) for form, count in zip(forms, counts, strict=True)]
    tags, places, contents = _flattened(tags, places, [built[tag] for tag in kept])
    if positions is not None:
        tags, places, options = tagged_options(positions, tags, places, max(len(contents), 1))
        option = ak.contents.IndexedOptionArray.simplified
        contents = [
            option(ak.index.Index64(index), content)
            for index, content in zip(options, contents or [ak.contents.EmptyArray()], strict=True)
        ]
    return union_layout(tags, places, contents)


def union_layout(tags: NDArray[Any], places: NDArray[Any], contents: list[Any]) -> Any:
    """A union of layouts that are not unions; nothing is merged, but a single alternative stands alone."""
    import awkward as ak

    if not contents:
        return ak.contents.EmptyArray()
    if len(contents) == 1:
        return contents[0][places]
    if any(content.is_option for content in contents):
        # Awkward Array wants all alternatives to be options, or none.
        wrapped = ak.contents.UnmaskedArray.simplified
        contents = [content if content.is_option else wrapped(content) for content in contents]
    return ak.contents.UnionArray(ak.index.Index8(tags), ak.index.Index64(places), contents)


def _flattened(
    tags: NDArray[Any], places: NDArray[Any], contents: list[Any]
) -> tuple[NDArray[Any], NDArray[Any], list[Any]]:
    """A union whose alternatives are no unions: those inside an alternative become its own."""
    flat: list[Any] = []
    out_tags, out_places = tags.copy(), places.copy()
    for tag, content in enumerate(contents):
        here = tags == tag
        inside = places[here]
        if content.is_union:
            out_tags[here] = np.asarray(content.tags.data)[inside] + len(flat)
            out_places[here] = np.asarray(content.index.data)[inside]
            flat += content.contents
        else:
            out_tags[here] = len(flat)
            flat.append(content)
    return out_tags, out_places, flat


def concatenated_layouts(layouts: Sequence[Any]) -> Any:
    """Like ``ak.concatenate``, but the alternatives of unions are not merged, unless they have one type."""
    import awkward as ak

    layouts = [_projected(layout) for layout in layouts]
    first = layouts[0]
    if any(layout.is_union for layout in layouts):
        return _concatenated_unions(layouts)
    if any(layout.is_option and has_unions(layout) for layout in layouts):
        return _concatenated_options(layouts)
    same = all(type(layout) is type(first) for layout in layouts) and any(map(has_unions, layouts))
    if same and first.is_regular and all(layout.size == first.size for layout in layouts):
        content = concatenated_layouts([one.content[: one.length * one.size] for one in layouts])
        length = sum(layout.length for layout in layouts)
        return ak.contents.RegularArray(content, first.size, length, parameters=first.parameters)
    if same and first.is_list and not first.is_regular:
        return _concatenated_lists(layouts)
    if same and first.is_record and all(layout.fields == first.fields for layout in layouts):
        columns = zip(*([one[: layout.length] for one in layout.contents] for layout in layouts), strict=True)
        contents = [concatenated_layouts(column) for column in columns]
        fields = None if first.is_tuple else first.fields
        length = sum(layout.length for layout in layouts)
        return ak.contents.RecordArray(contents, fields, length, parameters=first.parameters)
    return ak.to_layout(ak.concatenate([ak.Array(layout) for layout in layouts]))


def has_unions(layout: Any) -> bool:
    """Whether there is a union anywhere in a layout."""
    if layout.is_union:
        return True
    if layout.is_record:
        return any(map(has_unions, layout.contents))
    return (layout.is_list or layout.is_option or layout.is_indexed) and has_unions(layout.content)


def _projected(layout: Any) -> Any:
    """A layout without the index that chooses its items, and with lists of the usual kind."""
    while layout.is_indexed and not layout.is_option:
        layout = layout.project()
    return layout.to_ListOffsetArray64(True) if layout.is_list and not layout.is_regular else layout


def _concatenated_lists(layouts: Sequence[Any]) -> Any:
    import awkward as ak

    counts = np.concatenate([np.diff(layout.offsets.data) for layout in layouts])
    content = concatenated_layouts([layout.content[: layout.offsets[-1]] for layout in layouts])
    offsets = ak.index.Index64(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))
    return ak.contents.ListOffsetArray(offsets, content, parameters=layouts[0].parameters)


def _concatenated_options(layouts: Sequence[Any]) -> Any:
    """An option of the present items of all parts; a part need not be an option."""
    import awkward as ak

    missing = np.concatenate(
        [
            np.asarray(one.mask_as_bool(valid_when=False)) if one.is_option else np.zeros(one.length, bool)
            for one in layouts
        ]
    )
    content = concatenated_layouts([one.project() if one.is_option else one for one in layouts])
    index = np.where(missing, -1, np.cumsum(~missing) - 1)
    return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(index), content)


def _concatenated_unions(layouts: Sequence[Any]) -> Any:
    """A union with the alternatives of all parts, each type once; a part need not be a union."""
    alternatives: list[list[Any]] = []
    tags, places = [], []
    for layout in layouts:
        own = layout.contents if layout.is_union else [layout]
        layout_tags = np.asarray(layout.tags.data) if layout.is_union else np.zeros(layout.length, np.int8)
        part_tags, part_places = np.zeros(layout.length, np.int8), np.zeros(layout.length, np.int64)
        taken: set[int] = set()
        for tag in range(len(own)):
            items = layout.project(tag) if layout.is_union else layout
            if items.is_unknown:
                continue
            place = _alternative_of(items, alternatives, taken)
            taken.add(place)
            here = layout_tags == tag
            part_tags[here] = place
            part_places[here] = sum(one.length for one in alternatives[place]) + np.arange(items.length)
            alternatives[place].append(items)
        tags.append(part_tags)
        places.append(part_places)
    contents = [concatenated_layouts(parts) for parts in alternatives]
    return union_layout(np.concatenate(tags), np.concatenate(places), contents)


def _alternative_of(items: Any, alternatives: list[list[Any]], taken: set[int]) -> int:
    """The alternative with the type of these items, which a part of the data has only once; or a new one."""
    wanted = _bare_type(items)
    for place, parts in enumerate(alternatives):
        if place not in taken and _bare_type(parts[0]) == wanted:
            return place
    alternatives.append([])
    return len(alternatives) - 1


def _bare_type(layout: Any) -> Any:
    """The type of a layout, without the option around it."""
    return layout.content.form.type if layout.is_option else layout.form.type
