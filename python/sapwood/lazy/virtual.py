"""Virtual Awkward Arrays: records whose buffers are read when they are first looked at."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ..arrays.column import Column, Form
from ..arrays.libraries import library_named

ROOT = "<root>"
"""The beginning of all keys of buffers."""


class Accessed(NamedTuple):
    """A buffer that was looked at: the field that it belongs to, and what it is called among its buffers."""

    branch: str
    buffer_key: str


AccessCallback: TypeAlias = Callable[[Accessed], None]


class VirtualRecords:
    """Makes virtual records of one form again and again, each an ``ak.Array``.

    Args:
        forms: the form of each field.
        titles: parameters of fields, such as ``{"__doc__": …}``.
        accessed: told of every buffer when it is first looked at.
    """

    def __init__(
        self,
        forms: Mapping[str, Form],
        titles: Mapping[str, Mapping[str, str]] | None = None,
        accessed: AccessCallback | None = None,
    ) -> None:
        library_named("ak")
        import awkward as ak

        if tuple(int(part) for part in ak.__version__.split(".")[:2]) < (2, 8):
            raise ImportError(f"virtual arrays need Awkward Array 2.8 or newer; this is {ak.__version__}")
        self._accessed = accessed
        self._keys: dict[str, list[str]] = {}
        contents = []
        for name, form in forms.items():
            keys = self._keys[name] = []
            content = _form(form, f"{ROOT}.{name}", keys)
            if titles and name in titles:
                content = content.copy(parameters={**content.parameters, **titles[name]})
            contents.append(content)
        self._form = ak.forms.RecordForm(contents, list(forms), form_key=ROOT)

    def array(self, length: int, load: Callable[[str], Column]) -> Any:
        """Records of so many entries; the first look at any buffer of a field loads the field.

        ``load`` gives the column of a field, of its form and that length.
        """
        import awkward as ak

        with _no_collection():
            buffers = {}
            for name, keys in self._keys.items():
                field = _Field(name, load, len(keys), self._accessed)
                for number, key in enumerate(keys):
                    buffers[key] = partial(field.read, number, key)
            return ak.from_buffers(self._form, length, buffers)


@contextmanager
def _no_collection() -> Iterator[None]:
    """A context in which no garbage is looked for.

    Records of 1,500 fields are 50,000 objects, none of them garbage; to look at them again and again while
    they are made takes twice as long as to make them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Field:
    """The column of a field, from when its first buffer is looked at until all are handed out."""

    __slots__ = ("_accessed", "_column", "_load", "_missing", "_name")

    def __init__(
        self, name: str, load: Callable[[str], Column], count: int, accessed: AccessCallback | None
    ) -> None:
        self._name = name
        self._load = load
        self._missing = set(range(count))
        self._accessed = accessed
        self._column: Column | None = None

    def read(self, number: int, key: str) -> Any:
        """One of the buffers."""
        if self._accessed is not None:
            self._accessed(Accessed(self._name, key))
        column = self._column
        if column is None:
            column = self._column = self._load(self._name)
        self._missing.discard(number)
        if not self._missing:
            self._column = None
        return column.buffers[number]


def _form(form: Form, key: str, keys: list[str]) -> Any:
    """The ``ak.forms.Form`` of a form, whatever is in the column, and the keys of its buffers in their order.

    Unlike that of an array that is there, it does not depend on whether anything is missing in an option, and
    which alternatives of a union occur.
    """
    import awkward as ak

    kind = form[0]
    if kind == "primitive":
        keys.append(f"{key}-data")
        return ak.forms.NumpyForm(form[1], form_key=key)
    if kind == "fixed":
        return ak.forms.RegularForm(_form(form[2], f"{key}.content", keys), form[1], form_key=key)
    if kind == "list":
        keys.append(f"{key}-offsets")
        return ak.forms.ListOffsetForm("i64", _form(form[1], f"{key}.content", keys), form_key=key)
    if kind == "string":
        keys += [f"{key}-offsets", f"{key}.content-data"]
        text = ak.forms.NumpyForm("uint8", parameters={"__array__": "char"}, form_key=f"{key}.content")
        return ak.forms.ListOffsetForm("i64", text, parameters={"__array__": "string"}, form_key=key)
    if kind == "option":
        keys.append(f"{key}-index")
        content = _form(form[1], f"{key}.content", keys)
        return ak.forms.IndexedOptionForm.simplified("i64", content, form_key=key)
    if kind == "union":
        keys += [f"{key}-tags", f"{key}-index"]
        contents = [_form(one, f"{key}.{number}", keys) for number, one in enumerate(form[1])]
        return ak.forms.UnionForm("i8", "i64", contents, form_key=key)
    if kind == "tuple":
        items = [_form(one, f"{key}.{number}", keys) for number, one in enumerate(form[1])]
        return ak.forms.RecordForm(items, None, form_key=key)
    if kind == "record":
        return _record(form, key, keys)
    return ak.forms.EmptyForm(form_key=key)


def _record(form: Form, key: str, keys: list[str]) -> Any:
    import awkward as ak

    _, fields, class_name, titles = form
    contents = []
    for (name, field), title in zip(fields, titles, strict=True):
        content = _form(field, f"{key}.{name}", keys)
        if title:
            content = content.copy(parameters={**content.parameters, "__doc__": title})
        contents.append(content)
    parameters = {"__record__": class_name} if class_name else None
    return ak.forms.RecordForm(contents, [name for name, _ in fields], parameters=parameters, form_key=key)
