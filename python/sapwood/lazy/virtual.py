"""Virtual Awkward Arrays: records whose buffers are read on first access."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays.awkward import with_parameters
from ..arrays.column import Column, Form, tagged_options
from ..arrays.libraries import library_named

ROOT = "<root>"
"""The prefix of all buffer keys."""


class BufferAccess(NamedTuple):
    """An access to a buffer, as recorded in an ``access_log``."""

    branch: str
    """The name of the field."""
    buffer_key: str
    """The key of the buffer among the buffers of the field."""


AccessCallback: TypeAlias = Callable[[BufferAccess], None]


class VirtualRecords:
    """Makes arrays of virtual records, all with the same form.

    Args:
        forms: the form of each field.
        titles: parameters of fields, such as ``{"__doc__": …}``.
        on_access: a function that is called at the first access to each buffer.
    """

    def __init__(
        self,
        forms: Mapping[str, Form],
        titles: Mapping[str, Mapping[str, str]] | None = None,
        on_access: AccessCallback | None = None,
    ) -> None:
        library_named("ak")
        import awkward as ak

        if tuple(int(part) for part in ak.__version__.split(".")[:2]) < (2, 8):
            raise ImportError(
                f"virtual arrays need Awkward Array 2.8 or newer, but {ak.__version__} is installed"
            )
        self._on_access = on_access
        self._keys: dict[str, _Keys] = {}
        contents = []
        for name, form in forms.items():
            keys = self._keys[name] = _Keys()
            contents.append(with_parameters(_form(form, f"{ROOT}.{name}", keys), (titles or {}).get(name)))
        self._form = ak.forms.RecordForm(contents, list(forms), form_key=ROOT)

    def array(self, length: int, load: Callable[[str], Column]) -> Any:
        """An ``ak.Array`` of ``length`` records. The first access to a buffer of a field loads the field.

        ``load`` returns the column of a field, which must have the field's form and this length.
        """
        import awkward as ak

        with _no_collection():
            buffers = {}
            for name, keys in self._keys.items():
                field = _Field(name, load, len(keys.found), self._on_access)
                for number, (key, find) in enumerate(keys.found):
                    buffers[key] = partial(field.read, number, key, find)
            return ak.from_buffers(self._form, length, buffers)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disables garbage collection.

    Records with 1,500 fields consist of 50,000 objects, none of them garbage. Scanning them repeatedly while
    they are made would take twice as long as making them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


Find: TypeAlias = Callable[[list[NDArray[Any]]], NDArray[Any]]
"""Returns a buffer of an array, given the buffers of the column."""


class _Keys:
    """The keys of the buffers of a field, each with how to find the buffer among those of the column."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Find]] = []
        self._taken = 0

    def take(self, *keys: str) -> None:
        """The next buffers of the column have these keys."""
        for key in keys:
            self.found.append((key, itemgetter(self.skip())))

    def skip(self, count: int = 1) -> int:
        """Skips the next buffers of the column, and returns the number of the first."""
        self._taken += count
        return self._taken - count


class _Field:
    """A field that keeps its column from the first access to a buffer until all buffers were returned."""

    __slots__ = ("_column", "_load", "_name", "_on_access", "_pending")

    def __init__(
        self, name: str, load: Callable[[str], Column], count: int, on_access: AccessCallback | None
    ) -> None:
        self._name = name
        self._load = load
        self._pending = set(range(count))
        self._on_access = on_access
        self._column: Column | None = None

    def read(self, number: int, key: str, find: Find) -> Any:
        """The buffer with this number and key, which ``find`` finds."""
        if self._on_access is not None:
            self._on_access(BufferAccess(self._name, key))
        column = self._column
        if column is None:
            column = self._column = self._load(self._name)
        self._pending.discard(number)
        if not self._pending:
            self._column = None
        return find(column.buffers)


def _form(form: Form, key: str, keys: _Keys) -> Any:
    """The ``ak.forms.Form`` of a form; adds the keys of its buffers to ``keys``.

    Unlike the form of an actual array, it does not depend on the data: on whether an option has missing
    items.
    """
    import awkward as ak

    kind = form[0]
    if kind == "primitive":
        keys.take(f"{key}-data")
        return ak.forms.NumpyForm(form[1], form_key=key)
    if kind == "fixed":
        return ak.forms.RegularForm(_form(form[2], f"{key}.content", keys), form[1], form_key=key)
    if kind == "list":
        keys.take(f"{key}-offsets")
        return ak.forms.ListOffsetForm("i64", _form(form[1], f"{key}.content", keys), form_key=key)
    if kind == "string":
        keys.take(f"{key}-offsets", f"{key}.content-data")
        text = ak.forms.NumpyForm("uint8", parameters={"__array__": "char"}, form_key=f"{key}.content")
        return ak.forms.ListOffsetForm("i64", text, parameters={"__array__": "string"}, form_key=key)
    if kind == "option":
        if form[1][0] == "union":
            return _options_form(form[1][1], key, keys)
        keys.take(f"{key}-index")
        content = _form(form[1], f"{key}.content", keys)
        return ak.forms.IndexedOptionForm.simplified("i64", content, form_key=key)
    if kind == "union":
        return _union_form(form[1], key, keys)
    if kind == "tuple":
        items = [_form(one, f"{key}.{number}", keys) for number, one in enumerate(form[1])]
        return ak.forms.RecordForm(items, None, form_key=key)
    if kind == "record":
        return _record(form, key, keys)
    return ak.forms.EmptyForm(form_key=key)


def _union_form(forms: list[Form], key: str, keys: _Keys) -> Any:
    import awkward as ak

    keys.take(f"{key}-tags", f"{key}-index")
    contents = [_form(one, f"{key}.{number}", keys) for number, one in enumerate(forms)]
    return ak.forms.UnionForm("i8", "i64", contents, form_key=key)


def _options_form(forms: list[Form], key: str, keys: _Keys) -> Any:
    """The form of an option of a union. Awkward Array has only unions of options, so each has an index."""
    import awkward as ak

    first = keys.skip(3)
    # Awkward Array has no options of options either: one index stands for both.
    contents = []
    for number, one in enumerate(forms):
        name = f"{key}.{number}"
        own = keys.skip() if one[0] == "option" else None
        keys.found.append((f"{name}-index", partial(_option_index, first, own, number, len(forms))))
        content = _form(one[1] if one[0] == "option" else one, f"{name}.content", keys)
        contents.append(ak.forms.IndexedOptionForm("i64", content, form_key=name))
    if len(contents) == 1:
        return contents[0]
    keys.found.append((f"{key}-tags", partial(_tags, first, len(forms))))
    keys.found.append((f"{key}-index", partial(_places, first, len(forms))))
    return ak.forms.UnionForm("i8", "i64", contents, form_key=key)


def _tags(first: int, number: int, buffers: list[NDArray[Any]]) -> NDArray[Any]:
    """The tags of a union of options, from three buffers of an option of a union."""
    positions, tags, places = buffers[first : first + 3]
    return tagged_options(positions, tags, places, number)[0]


def _places(first: int, number: int, buffers: list[NDArray[Any]]) -> NDArray[Any]:
    """The positions in the alternatives of a union of options, likewise."""
    positions, tags, places = buffers[first : first + 3]
    return tagged_options(positions, tags, places, number)[1]


def _option_index(
    first: int, own: int | None, tag: int, number: int, buffers: list[NDArray[Any]]
) -> NDArray[Any]:
    """The index of an alternative of a union of options; ``own`` is the buffer of its own option."""
    positions, tags, places = buffers[first : first + 3]
    index = tagged_options(positions, tags, places, number)[2][tag]
    return index if own is None else np.where(index < 0, -1, np.append(buffers[own], -1)[index])


def _record(form: Form, key: str, keys: _Keys) -> Any:
    import awkward as ak

    _, fields, class_name, titles = form
    contents = [
        with_parameters(_form(field, f"{key}.{name}", keys), {"__doc__": title} if title else None)
        for (name, field), title in zip(fields, titles, strict=True)
    ]
    parameters = {"__record__": class_name} if class_name else None
    return ak.forms.RecordForm(contents, [name for name, _ in fields], parameters=parameters, form_key=key)
