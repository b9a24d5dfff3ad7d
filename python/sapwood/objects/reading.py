"""Makes the Python value of an object that the core has read."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..display.units import counted
from ..errors import MemberSkippedWarning
from .classes import present
from .instance import Instance
from .values import first_item

if TYPE_CHECKING:
    from .. import _core
    from ..model.file import File


def value_of(core: _core.Object, file: File) -> Any:
    """The value of an object that the core has read.

    ``skipped`` of the object lists members that could not be read. If the value has no such attribute,
    because it is a list, for example, a warning lists them.
    """

    def types_of(class_name: str) -> Mapping[str, str]:
        return member_types(file.streamers, class_name)

    value = first_item(core.column, core.class_name, present, types_of)
    if isinstance(value, Instance):
        value.skipped = tuple(core.skipped)
    elif core.skipped:
        members = ", ".join(f"{path} ({reason})" for path, reason in core.skipped)
        message = f"skipped {counted(len(core.skipped), 'member')} of a {core.class_name}: {members}"
        warnings.warn(message, MemberSkippedWarning, stacklevel=4)
    return value


def member_types(streamers: Iterable[Mapping[str, Any]], class_name: str) -> dict[str, str]:
    """The C++ types of the members of a class and its base classes, from their newest streamer infos."""
    newest: dict[str, Mapping[str, Any]] = {}
    for info in streamers:
        other = newest.get(info["name"])
        if other is None or info["version"] >= other["version"]:
            newest[info["name"]] = info
    types: dict[str, str] = {}
    visited: set[str] = set()
    pending = [class_name]
    while pending:
        name = pending.pop()
        if name in visited or name not in newest:
            continue
        visited.add(name)
        for element in newest[name]["elements"]:
            if element["class"] == "TStreamerBase":
                pending.append(element["name"])
            else:
                types.setdefault(element["name"], element["type_name"])
    return types
