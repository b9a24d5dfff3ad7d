"""Output of an object: one member per line, with nested members indented below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..display.units import counted
from ._output import plain, print_line

_LONGEST = 20
"""The most items of a list that are shown."""


def object_document(source: str, value: Any) -> dict[str, Any]:
    """An object that was read from ``source``, for JSON."""
    from ..objects import Instance
    from ..objects.instance import plain as plain_value

    class_name = value.class_name if isinstance(value, Instance) else None
    skipped = list(getattr(value, "skipped", ()))
    return {"object": source, "class": class_name, "value": plain(plain_value(value)), "skipped": skipped}


def print_object(value: Any) -> None:
    """Prints an object."""
    for line in lines(value):
        print_line(line)
    for path, why in getattr(value, "skipped", ()):
        print_line(f"{path}: not read: {why}")


def lines(value: Any, name: str = "", indent: str = "") -> Iterator[str]:
    """A value as lines of text."""
    import numpy as np

    from ..objects import Axis, Instance

    head = f"{indent}{name}: " if name else indent
    if isinstance(value, Instance):
        yield f"{head}{value!r}" if isinstance(value, Axis) else f"{head}{value.class_name or 'record'}"
        items = list(value.members.items())
    elif isinstance(value, dict):
        yield f"{head}{counted(len(value), 'item')}"
        items = list(value.items())
    elif isinstance(value, (list, tuple)) and any(isinstance(item, (Instance, dict, list)) for item in value):
        yield f"{head}{counted(len(value), 'item')}"
        items = [(f"[{place}]", item) for place, item in enumerate(value)]
    else:
        text = np.array2string(value, threshold=_LONGEST) if isinstance(value, np.ndarray) else repr(value)
        first, *others = text.split("\n")
        yield head + first
        yield from (f"{indent}  {line}" for line in others)
        return
    shown = items if isinstance(value, Instance) else items[:_LONGEST]
    for key, item in shown:
        yield from lines(item, str(key), indent + "  ")
    if len(shown) < len(items):
        yield f"{indent}  … {len(items) - len(shown)} more"
