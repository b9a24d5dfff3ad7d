"""Output of an object: one member per line, with nested members indented below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..display.units import counted
from ._output import plain, print_json, print_line

_LONGEST = 20
"""The most items of a list that are shown."""


def print_object(source: str, value: Any, *, as_json: bool) -> None:
    """Prints an object that was read from ``source``."""
    from ..objects import Instance
    from ..objects.instance import plain as plain_value

    skipped = list(getattr(value, "skipped", ()))
    if as_json:
        class_name = value.class_name if isinstance(value, Instance) else None
        value = plain(plain_value(value))
        print_json({"object": source, "class": class_name, "value": value, "skipped": skipped})
        return
    for line in lines(value):
        print_line(line)
    for path, why in skipped:
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
