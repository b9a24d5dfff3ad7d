"""Parses declared types of columns: NumPy, Awkward Array and C++ notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.column import Form, record_form
from ..errors import UsageError
from .columns import column_of, number

# Names of C++ types that NumPy does not know, or interprets differently.
_CPP_NUMBERS = {
    "char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "unsigned": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
    "Bool_t": "bool",
    "Char_t": "int8",
    "UChar_t": "uint8",
    "Short_t": "int16",
    "UShort_t": "uint16",
    "Int_t": "int32",
    "UInt_t": "uint32",
    "Long64_t": "int64",
    "ULong64_t": "uint64",
    "Float_t": "float32",
    "Double_t": "float64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_CODES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "float", "double", "int", "uint")
# As alone, where NumPy knows the name; otherwise as in C++.
_NUMBERS = _CPP_NUMBERS | {code: np.dtype(code).name for code in _CODES}
# Texts in quotes, names of numbers in several words, and words; with a colon, a word is the name of a field.
_SEVERAL = "|".join(sorted((name for name in _NUMBERS if " " in name), key=len, reverse=True))
_WORD = re.compile(rf'"[^"]*"|(?:{_SEVERAL})\b|[A-Za-z_]\w*(?:\s*:)?')
_EXAMPLES = 'use "float32", ("float32", (3,)), "var * float32", "string", "vector<float>" or similar'
# Matches `Jet[pt: float32]`, but not `datetime64[ns]`.
_NAMED_RECORD = re.compile(r"\w+\[[^\]]*:")
# How options, unions and tuples begin in Awkward Array's notation.
_AWKWARD = re.compile(r"\?.+|option\[.*|union\[.*|\(.*\)")
_VECTOR = re.compile(r"\s*(?:std::)?vector\s*<(.*)>\s*")


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, and how it is stored if there is a choice.

    Attributes:
        form: the form of the column.
        stored: ``"vector"`` for a ``std::vector``, ``"text"`` for a string of the leaf type ``C``; None for
            the default: a variable-size array with a counter branch, or a ``std::string``.
    """

    form: Form
    stored: str | None = None


def declared_types(columns: Any) -> dict[str, ColumnType] | None:
    """The types of declared columns: a dict of types, a structured dtype, an Awkward type or form of records.

    None if these are not types, but data.

    >>> declared_types({"x": "float32"})
    {'x': ColumnType(form=('primitive', 'float32'), stored=None)}
    >>> declared_types({"x": [1.5, 2.5]})
    """
    if isinstance(columns, np.dtype) and columns.names is not None:
        columns = {name: columns[name] for name in columns.names}
    elif type(columns).__module__.startswith("awkward.") and not hasattr(columns, "layout"):
        record = getattr(columns, "content", columns) if hasattr(columns, "size") else columns
        columns = dict(zip(record.fields, record.contents, strict=True))
    if not isinstance(columns, Mapping) or not all(map(_is_type, columns.values())):
        return None
    return {str(name): column_type(str(name), declared) for name, declared in columns.items()}


def _is_type(declared: Any) -> bool:
    if isinstance(declared, Mapping):
        return all(map(_is_type, declared.values()))
    if isinstance(declared, tuple):
        # A pair of a NumPy type and a shape.
        return len(declared) == 2 and isinstance(declared[0], (str, type, np.dtype))
    if isinstance(declared, (str, type, np.dtype)):
        return True
    return type(declared).__module__.startswith(("awkward.types", "awkward.forms"))


def column_type(name: str, declared: Any) -> ColumnType:
    """Parses the declared type of a column.

    >>> column_type("x", "float32").form, column_type("x", ("f8", (3,))).form
    (('primitive', 'float32'), ('fixed', 3, ('primitive', 'float64')))
    >>> column_type("x", "vector<vector<float>>")
    ColumnType(form=('list', ('list', ('primitive', 'float32'))), stored='vector')

    Raises:
        UsageError: the declaration is not a type.
        UnsupportedTypeError: no branch can store the type.
    """
    if declared is str:
        return ColumnType(("string",))
    if isinstance(declared, Mapping):
        fields = [(field, column_type(f"{name}.{field}", inner).form) for field, inner in declared.items()]
        return ColumnType(record_form(fields))
    if isinstance(declared, str):
        text = declared.strip()
        if text.replace(" ", "") in ("char*", "constchar*"):
            return ColumnType(("string",), "text")
        if _VECTOR.fullmatch(text):
            return ColumnType(_cpp_form(name, text), "vector")
        if text in ("string", "std::string"):
            return ColumnType(("string",))
        # For NumPy, "?" alone is bool, and "(3,)f8" an array.
        if "*" in text or "{" in text or _NAMED_RECORD.match(text) or _AWKWARD.fullmatch(text):
            return ColumnType(_awkward_form(name, text))
        if text.endswith("_t"):
            return ColumnType(_cpp_form(name, text))
    if type(declared).__module__.startswith("awkward."):
        return ColumnType(_awkward_form(name, declared))
    return ColumnType(_numpy_form(name, declared))


def _numpy_form(name: str, declared: Any) -> Form:
    try:
        dtype = np.dtype(declared)
    except (TypeError, ValueError, SyntaxError):
        raise UsageError(
            f"{name!r}: {declared!r} is not a type of a column",
            branch=name,
            hint=_EXAMPLES,
        ) from None
    if dtype.kind in "US":
        return ("string",)
    if dtype.names is not None:
        return record_form((field, _numpy_form(f"{name}.{field}", dtype[field])) for field in dtype.names)
    form: Form = ("primitive", number(name, dtype.base))
    for size in reversed(dtype.shape):
        form = ("fixed", size, form)
    return form


def _cpp_form(name: str, text: str) -> Form:
    vector = _VECTOR.fullmatch(text)
    if vector:
        return ("list", _cpp_form(name, vector[1]))
    text = text.strip().removeprefix("std::")
    if text == "string":
        return ("string",)
    return _numpy_form(name, _CPP_NUMBERS.get(text, text))


# The parser takes milliseconds for a type, and a tree with many columns has few types.
@lru_cache(maxsize=1024)
def _parsed(text: str) -> Any:
    import awkward as ak

    return ak.types.from_datashape(text, highlevel=False)


def _awkward_form(name: str, declared: Any) -> Form:
    import awkward as ak

    kind = declared
    if isinstance(declared, str):
        text = _WORD.sub(lambda word: _NUMBERS.get(word[0], word[0]), declared)
        try:
            kind = _parsed(text)
        except Exception:
            # The exceptions of Awkward Array's parser are undocumented, and speak of its tokens.
            raise UsageError(
                f"{name!r}: {declared!r} is not a type of a column", branch=name, hint=_EXAMPLES
            ) from None
    try:
        if isinstance(kind, ak.types.ArrayType):
            kind = kind.content
        form = ak.forms.from_type(kind) if isinstance(kind, ak.types.Type) else kind
        array = ak.Array(form.length_zero_array(highlevel=False))
    except Exception as error:
        # They are undocumented, too.
        raise UsageError(f"{name!r}: {declared!r} is not a type of a column: {error}", branch=name) from None
    return column_of(name, array).form
