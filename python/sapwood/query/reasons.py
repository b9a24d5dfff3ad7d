"""Why an expression cannot be computed, in its own terms instead of those of NumPy and Awkward Array."""

from __future__ import annotations

import re

_BITWISE = {
    "invert": "~",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
}
_WORDS = {"~": "not", "&": "and", "|": "or"}
"""The operators of conditions that are often meant by those of bits."""

_NO_SUCH_TYPES = re.compile(r"ufunc '(\w+)' (?:not supported for the input types|did not contain a loop)")
ONLY_COMPARED = "text can only be compared"
_REASONS = (
    (
        re.compile(r"numpy\.\w+ is not implemented for string types"),
        "text can only be compared with == or !=",
    ),
    (re.compile(r"cannot broadcast nested list"), "the lists of an entry have different lengths"),
    (re.compile(r"cannot broadcast: <class"), "the operands have different shapes or types"),
    (re.compile(r"not an array of records"), "the value before the brackets has no fields"),
    (
        re.compile(r"array slice must be an array of integers|arrays used as indices must be of integer"),
        "an index must hold whole numbers or booleans",
    ),
    (re.compile(r"too many jagged slice dimensions"), "the index has more levels of lists than the value"),
)


def reason_and_hint(error: Exception) -> tuple[str, str]:
    """The reason for an error of NumPy or Awkward Array, and what to write instead, or "".

    >>> reason_and_hint(TypeError("ufunc 'invert' not supported for the input types, and the inputs …"))
    ("'~' works on whole numbers and booleans only", "write 'not' for conditions")
    """
    reason = next(iter(str(error).strip().splitlines()), "")
    if isinstance(error, AssertionError) or not reason:
        return "the operands do not fit together", ""
    if "index out of range" in reason:
        return "an entry has fewer items", "a slice such as '[:, :1]' selects those that there are"
    if types := _NO_SUCH_TYPES.match(reason):
        sign = _BITWISE.get(types[1])
        if sign is None:
            return "it is not defined for values of these types", ""
        hint = f"write {_WORDS[sign]!r} for conditions" if sign in _WORDS else ""
        return f"{sign!r} works on whole numbers and booleans only", hint
    return next((text for pattern, text in _REASONS if pattern.search(reason)), reason), ""


def is_text(value: object) -> bool:
    """Whether a value is text, or an array of it at any depth of lists."""
    if isinstance(value, str):
        return True
    layout = getattr(value, "layout", None)
    if layout is not None:
        return layout.purelist_parameter("__array__") in ("string", "bytestring")
    return getattr(getattr(value, "dtype", None), "kind", "") in ("U", "S")
