"""Concatenates columns of the same form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column import BuiltColumn, Column, Form, contents, empty_column

Buffers = Iterator[NDArray[Any]]


def concatenated(form: Form, columns: Sequence[Column]) -> Column:
    """One column with the items of all columns, which have the given form. A single column is not copied.

    >>> from numpy import array
    >>> one = BuiltColumn(("list", ("primitive", "int32")), 2, [array([0, 1, 3]), array([1, 2, 3], "i4")])
    >>> [buffer.tolist() for buffer in concatenated(one.form, [one, one]).buffers]
    [[0, 1, 3, 4, 6], [1, 2, 3, 1, 2, 3]]
    """
    if not columns:
        return empty_column(form)
    if len(columns) == 1:
        return columns[0]
    buffers: list[NDArray[Any]] = []
    _join(form, [iter(column.buffers) for column in columns], buffers)
    return BuiltColumn(form, sum(column.length for column in columns), buffers)


def _join(form: Form, parts: Sequence[Buffers], out: list[NDArray[Any]]) -> None:
    kind = form[0]
    if kind == "primitive":
        out.append(np.concatenate([next(part) for part in parts]))
    elif kind in ("list", "string"):
        out.append(_offsets([next(part) for part in parts]))
        if kind == "string":
            out.append(np.concatenate([next(part) for part in parts]))
    elif kind == "option":
        out.append(_positions([next(part) for part in parts]))
    elif kind == "union":
        _join_union(len(form[1]), parts, out)
    for content in contents(form):
        _join(content, parts, out)


def _join_union(alternatives: int, parts: Sequence[Buffers], out: list[NDArray[Any]]) -> None:
    tags, positions = zip(*((next(part), next(part)) for part in parts), strict=True)
    before = np.zeros(alternatives, np.int64)
    shifted = []
    for tag, position in zip(tags, positions, strict=True):
        shifted.append(position + before[tag])
        before += np.bincount(tag.view(np.uint8), minlength=alternatives)
    out += [np.concatenate(tags), np.concatenate(shifted)]


def _offsets(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The offsets of concatenated lists: those of each part are shifted by the end of the part before it."""
    ends = np.cumsum([0, *(int(part[-1]) for part in parts)])
    shifted = [part[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return np.concatenate([np.zeros(1, np.int64), *shifted])


def _positions(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The positions of items, shifted by the present items of the parts before; -1 for a missing item."""
    before, shifted = 0, []
    for part in parts:
        present = part >= 0
        shifted.append(np.where(present, part + before, -1))
        before += int(np.count_nonzero(present))
    return np.concatenate(shifted)
