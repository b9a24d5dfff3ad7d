"""Makes Python values of the items of columns, on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays.column import Column, Form
from ..arrays.numpy import read_only

Present: TypeAlias = Callable[[str, Mapping[str, Any]], Any]
"""Makes the value of an object from its C++ class (empty for a record without a class) and its members."""
MemberTypes: TypeAlias = Callable[[str], Mapping[str, str]]
"""Returns the C++ types of the members of a class, including those of base classes."""

_MAPS = frozenset({"map", "unordered_map", "TMap"})
# Characters around the name of a type, as in "const std::map<…>*".
_POINTER = "*& "


def first_item(column: Column, typename: str, present: Present, member_types: MemberTypes) -> Any:
    """The first item of a column with a C++ type, as a Python value.

    Numbers become ``bool``, ``int`` and ``float``. Lists of numbers become read-only arrays, and other lists
    become lists. Text becomes ``str``, in which surrogates stand for bytes that are not UTF-8. Pairs become
    tuples, maps become dicts if their keys are hashable, and missing items become ``None``. ``present`` makes
    the values of objects.
    """
    builder = _Builder(present, member_types, iter(column.buffers))
    return builder.build(column.form, typename).at(0)


class Values(ABC):
    """The items of one node of a form."""

    @abstractmethod
    def at(self, index: int) -> Any:
        """The item at an index."""

    def slice(self, start: int, stop: int) -> Any:
        """The items of a range, as a list or an array."""
        return [self.at(index) for index in range(start, stop)]


class Numbers(Values):
    """Numbers; a slice is a read-only array."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = read_only(values)

    def at(self, index: int) -> Any:
        return self._values[index].item()

    def slice(self, start: int, stop: int) -> NDArray[Any]:
        return self._values[start:stop]


class Fixed(Values):
    """Lists of a fixed size."""

    def __init__(self, size: int, content: Values) -> None:
        self._size = size
        self._content = content

    def at(self, index: int) -> Any:
        return self._content.slice(index * self._size, (index + 1) * self._size)

    def slice(self, start: int, stop: int) -> Any:
        items = self._content.slice(start * self._size, stop * self._size)
        if isinstance(items, np.ndarray):
            return items.reshape(stop - start, self._size, *items.shape[1:])
        return super().slice(start, stop)


class Lists(Values):
    """Lists of variable length."""

    def __init__(self, offsets: NDArray[Any], content: Values) -> None:
        self._offsets = offsets
        self._content = content

    def at(self, index: int) -> Any:
        return self._content.slice(int(self._offsets[index]), int(self._offsets[index + 1]))


class Maps(Lists):
    """Maps: lists of pairs of a unique key and a value."""

    def at(self, index: int) -> Any:
        pairs = super().at(index)
        try:
            return dict(pairs)
        except TypeError:  # Keys that are arrays or objects are not hashable.
            return pairs


class Texts(Values):
    """Text."""

    def __init__(self, offsets: NDArray[Any], content: NDArray[Any]) -> None:
        self._offsets = offsets
        self._content = content

    def at(self, index: int) -> str:
        text = self._content[int(self._offsets[index]) : int(self._offsets[index + 1])]
        return text.tobytes().decode("utf-8", "surrogateescape")


class Records(Values):
    """Objects, or records without a class."""

    def __init__(self, class_name: str, fields: Mapping[str, Values], present: Present) -> None:
        self._class_name = class_name
        self._fields = fields
        self._present = present

    def at(self, index: int) -> Any:
        return self._present(self._class_name, Members(self._fields, index))


class Members(Mapping[str, Any]):
    """The members of one object; the value of each is made on first access."""

    def __init__(self, fields: Mapping[str, Values], index: int) -> None:
        self._fields = fields
        self._index = index
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = self._fields[name].at(self._index)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __repr__(self) -> str:
        return repr(dict(self))


class Tuples(Values):
    """Pairs and tuples."""

    def __init__(self, contents: Sequence[Values]) -> None:
        self._contents = contents

    def at(self, index: int) -> tuple[Any, ...]:
        return tuple(content.at(index) for content in self._contents)


class Options(Values):
    """Items that can be missing."""

    def __init__(self, positions: NDArray[Any], content: Values) -> None:
        self._positions = positions
        self._content = content

    def at(self, index: int) -> Any:
        position = int(self._positions[index])
        return None if position < 0 else self._content.at(position)


class Unions(Values):
    """Items of several types."""

    def __init__(self, tags: NDArray[Any], positions: NDArray[Any], contents: Sequence[Values]) -> None:
        self._tags = tags
        self._positions = positions
        self._contents = contents

    def at(self, index: int) -> Any:
        return self._contents[int(self._tags[index])].at(int(self._positions[index]))


class Nothing(Values):
    """A form without items."""

    def at(self, index: int) -> None:
        return None


class _Builder:
    def __init__(self, present: Present, member_types: MemberTypes, buffers: Iterator[NDArray[Any]]) -> None:
        self._present = present
        self._member_types = member_types
        self._buffers = buffers

    def build(self, form: Form, typename: str) -> Values:
        """The values of a form and of the next buffers. Only the C++ type identifies a map."""
        kind = form[0]
        typename = typename.removeprefix("const ").strip(_POINTER)
        if kind == "primitive":
            return Numbers(next(self._buffers))
        if kind == "fixed":
            return Fixed(form[1], self.build(form[2], typename))
        if kind == "list":
            offsets, inner = next(self._buffers), template_arguments(typename)
            if form[1][0] == "tuple" and container(typename) in _MAPS:
                return Maps(offsets, self.build(form[1], f"pair<{','.join(inner[:2])}>"))
            # A member `T* x; //[n]` is a list, too; the type of its items is the type without the pointer.
            content = inner[0] if inner and container(typename) != "pair" else typename
            if container(typename) in {"multimap", "unordered_multimap"}:
                content = f"pair<{','.join(inner[:2])}>"
            return Lists(offsets, self.build(form[1], content))
        if kind == "string":
            return Texts(next(self._buffers), next(self._buffers))
        if kind == "record":
            return self._record(form)
        if kind == "tuple":
            types = template_arguments(typename) if len(form[1]) == 2 else []
            types += [""] * (len(form[1]) - len(types))
            return Tuples([self.build(*item) for item in zip(form[1], types, strict=False)])
        if kind == "option":
            return Options(next(self._buffers), self.build(form[1], typename))
        if kind == "union":
            tags, positions = next(self._buffers), next(self._buffers)
            return Unions(tags, positions, [self.build(one, typename) for one in form[1]])
        return Nothing()

    def _record(self, form: Form) -> Records:
        class_name = form[2] if len(form) > 2 else ""
        needs_types = class_name and any(_has_pairs(field) for _, field in form[1])
        types = self._member_types(class_name) if needs_types else {}
        fields = {name: self.build(field, types.get(name, "")) for name, field in form[1]}
        return Records(class_name, fields, self._present)


def container(typename: str) -> str:
    """The name of a C++ type without template arguments and without the namespace std.

    >>> container("std::map<string,int>")
    'map'
    """
    return typename.partition("<")[0].strip().removeprefix("std::")


def template_arguments(typename: str) -> list[str]:
    """The template arguments of a C++ type.

    >>> template_arguments("map<string,vector<pair<int,float> > >")
    ['string', 'vector<pair<int,float> >']
    """
    inside = typename.partition("<")[2].rpartition(">")[0]
    found, depth, start = [], 0, 0
    for position, letter in enumerate(inside):
        if letter == "," and depth == 0:
            found.append(inside[start:position].strip())
            start = position + 1
        depth += {"<": 1, ">": -1}.get(letter, 0)
    return [*found, inside[start:].strip()] if inside else []


def _has_pairs(form: Form) -> bool:
    kind = form[0]
    if kind == "list":
        return bool(form[1][0] == "tuple") or _has_pairs(form[1])
    if kind == "tuple":
        return any(_has_pairs(one) for one in form[1])
    return kind in {"fixed", "option"} and _has_pairs(form[-1])
