"""Columns that sapwood reads, as the arrays that uproot's interpretations give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from uproot.containers import AsVector
from uproot.interpretation.identify import _registered_interpretations
from uproot.interpretation.jagged import AsJagged, JaggedArray
from uproot.interpretation.library import Awkward
from uproot.interpretation.numerical import AsDtype
from uproot.interpretation.objects import AsObjects, AsStridedObjects, CannotBeAwkward
from uproot.interpretation.strings import AsStrings, StringArray

from ..arrays.awkward import awkward_form, column_to_layout
from ..arrays.column import BuiltColumn, Column, Form, is_flat
from ..arrays.libraries import Doc, Library
from ..arrays.numpy import column_to_numpy
from ..model.branch import Branch
from ..query.query import Query
from ..query.reading import read_arrays, read_steps
from ..query.select import Selection

_DTYPES = {
    "bool": "?",
    "int8_t": "i1",
    "uint8_t": "u1",
    "int16_t": ">i2",
    "uint16_t": ">u2",
    "int32_t": ">i4",
    "uint32_t": ">u4",
    "int64_t": ">i8",
    "uint64_t": ">u8",
    "float": ">f4",
    "double": ">f8",
}
_LEAF = re.compile(r"(\w+)(\[\])?((?:\[\d+\])*)")
_VECTOR = re.compile(r"std::vector<(\w+)>")


@dataclass(frozen=True)
class Simple:
    """The interpretation that uproot gives to branches of one type, and sapwood's form."""

    interpretation: Any
    form: Form


def simple(branch: Branch) -> Simple | None:
    """What uproot and sapwood make of a branch of numbers or of text; None if only uproot can tell."""
    if branch.branches or _registered_interpretations:
        return None
    return _simple(branch.class_name, branch.typename)


@lru_cache(maxsize=1000)
def _simple(class_name: str, typename: str) -> Simple | None:
    if (class_name, typename) == ("TBranch", "char*"):
        return Simple(AsStrings(), ("string",))
    leaf = _LEAF.fullmatch(typename) if class_name == "TBranch" else None
    if leaf and leaf[1] in _DTYPES:
        sizes = tuple(map(int, re.findall(r"\d+", leaf[3])))
        dtype = np.dtype(_DTYPES[leaf[1]])
        numbers = AsDtype(np.dtype((dtype, sizes)))
        form: Form = ("primitive", dtype.name)
        for size in reversed(sizes):
            form = ("fixed", size, form)
        return Simple(AsJagged(numbers), ("list", form)) if leaf[2] else Simple(numbers, form)
    vector = _VECTOR.fullmatch(typename) if class_name == "TBranchElement" else None
    if vector and vector[1] in _DTYPES:
        dtype = np.dtype(_DTYPES[vector[1]])
        # Ten bytes before the items of each entry: their size, the version, and the number of items.
        interpretation = AsJagged(AsDtype(dtype), 10, typename, original=AsVector(True, dtype))
        return Simple(interpretation, ("list", ("primitive", dtype.name)))
    return None


Convert = Callable[[Column], Any]
"""Makes what ``uproot.interpretation.library.Library.finalize`` takes from a column."""


def converter(branch: Branch, interpretation: Any, library: Any, file: Any) -> Convert | None:
    """How a column becomes the array of an interpretation; None if only uproot can read it so."""
    form = branch.form
    if form is None or branch.unsupported or branch.is_group:
        return None
    if branch.num_entries != branch.tree.num_entries:
        return None
    kind = type(interpretation)
    content = interpretation.content if kind is AsJagged else interpretation
    if kind is AsStrings:
        return _strings if form == ("string",) else None
    if type(content) is AsDtype and content.to_dtype.names is None:
        numbers = form[1] if kind is AsJagged and form[0] == "list" else form
        is_same = (form[0] == "list") == (kind is AsJagged) and is_flat(numbers)
        return (
            _converter_of_numbers(form, library)
            if is_same and _numbers(numbers) == _native(content)
            else None
        )
    # Subclasses, and numbers that uproot rounds in its own way, are left to it.
    if type(library) is Awkward and type(content) in (AsObjects, AsStridedObjects):
        try:
            is_same = interpretation.awkward_form(file) == awkward_form(_untitled(form))
        except (CannotBeAwkward, NotImplementedError, ValueError, TypeError, AttributeError):
            return None
        return _untitled_layout if is_same else None
    return None


def _converter_of_numbers(form: Form, library: Any) -> Convert:
    if type(library) is Awkward:
        return column_to_layout
    return _jagged if form[0] == "list" else column_to_numpy


def _native(interpretation: AsDtype) -> tuple[np.dtype[Any], tuple[int, ...]]:
    dtype = interpretation.to_dtype
    return (dtype.base, dtype.shape)


def _numbers(form: Form) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The type of the numbers in a flat form, and the sizes of its fixed dimensions."""
    sizes: list[int] = []
    while form[0] == "fixed":
        sizes.append(form[1])
        form = form[2]
    return np.dtype(form[1]), tuple(sizes)


def _jagged(column: Column) -> JaggedArray:
    offsets, *rest = column.buffers
    content = BuiltColumn(column.form[1], int(offsets[-1]), rest)
    return JaggedArray(offsets, column_to_numpy(content))


def _strings(column: Column) -> StringArray:
    offsets, text = column.buffers
    return StringArray(offsets, text.tobytes())


def _untitled(form: Form) -> Form:
    """A form as uproot describes it: without descriptions of fields, and spaces between ``>`` and ``>``."""
    if form[0] == "record":
        fields = [(name, _untitled(field)) for name, field in form[1]]
        class_name = form[2] and re.sub(r">(\s+)(?=>)", ">", form[2])
        return ("record", fields, class_name, [""] * len(fields))
    return tuple(
        _untitled(part)
        if isinstance(part, tuple)
        else [*map(_untitled, part)]
        if isinstance(part, list)
        else part
        for part in form
    )


def _untitled_layout(column: Column) -> Any:
    return column_to_layout(BuiltColumn(_untitled(column.form), column.length, column.buffers))


class _Columns(Library):
    """Columns as they are."""

    name, module, package = "column", "numpy", "numpy"

    def array(self, column: Column, index: NDArray[np.int64] | range, doc: Doc | None) -> Any:
        return column

    def computed(self, value: Any, index: NDArray[np.int64] | range) -> Any:
        raise NotImplementedError

    def select(self, array: Any, mask: NDArray[np.bool_]) -> Any:
        raise NotImplementedError

    def concatenate_arrays(self, arrays: Sequence[Any]) -> Any:
        raise NotImplementedError

    def lists(self, table: Any, counts: NDArray[np.int64], axes: Mapping[str, Sequence[int]]) -> Any:
        raise NotImplementedError


def read_columns(branches: Mapping[str, Branch], start: int, stop: int) -> dict[str, Column]:
    """The columns of branches of one tree, by the same names, fetched together."""
    columns: dict[str, Column] = read_arrays(_query(branches), start, stop)
    return columns


def iterate_columns(
    branches: Mapping[str, Branch], steps: Sequence[tuple[int, int]]
) -> Iterator[dict[str, Column]]:
    """The columns of one range of entries after the other; the next is read while you use the last."""
    return read_steps(_query(branches), steps)


def _query(branches: Mapping[str, Branch]) -> Query:
    tree = next(iter(branches.values())).tree
    return Query(tree, Selection(dict(branches), None, {}, True), _Columns(), dict)
