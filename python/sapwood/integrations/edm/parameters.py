"""Decodes parameter sets from the text that CMSSW stores to Python values."""

from __future__ import annotations

from typing import Any

from ...errors import CorruptFileError

_INTEGERS = frozenset("IULX")
_LISTS = {"i": "I", "u": "U", "l": "L", "x": "X", "d": "D", "b": "B", "s": "S", "v": "t", "p": "P", "q": "Q"}
_MAX_DEPTH = 64


def decode(text: str) -> dict[str, Any]:
    """Decodes a parameter set to a dict of parameters by name.

    The encoding is ``<name=+T(value);…>``, with "-" instead of "+" for untracked parameters and a letter T
    for the type. Strings are hexadecimal, lists are ``{a,b}``. Types without a counterpart in Python stay
    text.

    >>> decode("<n=+I(+3);name=-S(68656c6c6f);v=+d({1.5,2});sub=+P(<on=+B(true)>)>")
    {'n': 3, 'name': 'hello', 'v': [1.5, 2.0], 'sub': {'on': True}}
    """
    return _parameters(text, 0)


def _parameters(text: str, depth: int) -> dict[str, Any]:
    inner = _stripped(text, "<", ">")
    if depth > _MAX_DEPTH:
        raise CorruptFileError(f"parameter sets are nested more than {_MAX_DEPTH} levels deep")
    out: dict[str, Any] = {}
    for part in _split(inner, ";"):
        name, equals, entry = part.partition("=")
        if not equals or len(entry) < 4:
            raise CorruptFileError(f"{part[:60]!r} is not a parameter")
        out[name] = _value(entry[1], _stripped(entry[2:], "(", ")"), depth)
    return out


def _value(kind: str, text: str, depth: int) -> Any:
    if kind in _LISTS:
        return [_value(_LISTS[kind], item, depth) for item in _split(_stripped(text, "{", "}"), ",")]
    if kind == "P":
        return _parameters(text, depth + 1)
    if kind == "Q":
        return {"@id": text}
    try:
        if kind in _INTEGERS:
            return int(text.rstrip("uU"))
        if kind == "D":
            return float(text)
        if kind == "S":
            return bytes.fromhex(text).decode("utf-8", "surrogateescape")
    except ValueError:
        raise CorruptFileError(f"{text[:60]!r} is not a value of type {kind!r}") from None
    return text == "true" if kind == "B" else text


def _split(text: str, separator: str) -> list[str]:
    """Splits a text at separators outside of brackets; an empty text has no parts."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        if letter in "<({":
            depth += 1
        elif letter in ">)}":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]] if text else []


def _stripped(text: str, before: str, after: str) -> str:
    if not (text.startswith(before) and text.endswith(after)):
        raise CorruptFileError(f"{text[:60]!r} is not enclosed in {before} and {after}")
    return text[1:-1]
