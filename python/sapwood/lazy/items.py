"""The items of a column, one by one: read-only, and not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise, starmap
from typing import Any

import numpy as np

from ..arrays.awkward import column_to_awkward
from ..arrays.column import BuiltColumn, Column, is_flat
from ..arrays.libraries import library_named
from ..arrays.numpy import column_to_numpy, read_only

Getter = Callable[[int], Any]
PIECE = 64
"""Offsets that become integers of Python together: those of a whole window take ten times its memory."""

Over = Callable[[Sequence[int]], Iterator[Any]]


class Items:
    """Access to the items of a column: ``at`` gives one by its position, ``over`` those at many positions."""

    __slots__ = ("at", "over")

    def __init__(self, at: Getter, over: Over | None = None) -> None:
        self.at = at
        self.over: Over = over or (lambda positions: map(at, positions))


def items_of(column: Column) -> Items:
    """The items of a column."""
    kind = column.form[0]
    if is_flat(column.form):
        return _values(column)
    if kind == "list" and is_flat(column.form[1]):
        return _lists(column)
    if kind == "string":
        return Items(_texts(column))
    if kind == "list" and column.form[1][0] == "record":
        return Items(_objects(column))
    return Items(array_of(column).__getitem__)


def array_of(column: Column) -> Any:
    """A column as an array: of NumPy where each item is a number or has a fixed shape, else of Awkward."""
    if is_flat(column.form):
        return read_only(column_to_numpy(column))
    library_named("ak")
    return column_to_awkward(column)


def _values(column: Column) -> Items:
    array = array_of(column)

    at = array.__getitem__

    def over(positions: Sequence[int]) -> Iterator[Any]:
        if not isinstance(positions, range):
            return map(at, positions)
        return iter(array[positions.start : positions.stop])

    return Items(at, over)


def _lists(column: Column) -> Items:
    offsets, *buffers = column.buffers
    content = read_only(column_to_numpy(BuiltColumn(column.form[1], int(offsets[-1]), buffers)))
    # Items of a memoryview are Python integers, which slice faster than NumPy's.
    edges: Sequence[int] = memoryview(offsets)  # type: ignore[arg-type]

    def at(position: int) -> Any:
        return content[edges[position] : edges[position + 1]]

    def over(positions: Sequence[int]) -> Iterator[Any]:
        if not isinstance(positions, range):
            return map(at, positions)
        here = offsets[positions.start : positions.stop + 1] if positions else offsets[:0]
        pieces = (here[start : start + PIECE].tolist() for start in range(0, len(here), PIECE))
        return map(content.__getitem__, starmap(slice, pairwise(chain.from_iterable(pieces))))

    return Items(at, over)


def _objects(column: Column) -> Getter:
    """Lists of records, behind an index: to cut that takes a tenth of the time of cutting every member."""
    import awkward as ak

    layout = array_of(column).layout
    index, records = np.arange(len(layout.content)), layout.content
    edges = memoryview(layout.offsets.data)

    def at(position: int) -> Any:
        here = ak.index.Index64(index[edges[position] : edges[position + 1]])
        return ak.Array(ak.contents.IndexedArray(here, records))

    return at


def _texts(column: Column) -> Getter:
    edges: Any
    text: Any
    edges, text = (memoryview(buffer) for buffer in column.buffers)  # type: ignore[arg-type]
    return lambda position: str(text[edges[position] : edges[position + 1]], "utf-8", "surrogateescape")
