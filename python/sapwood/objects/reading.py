"""From what the core reads to the value of an object."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import MemberSkippedWarning
from .classes import present
from .instance import Instance
from .values import first_item

if TYPE_CHECKING:
    from .. import _core
    from ..model.file import File


def value_of(core: _core.Object, file: File) -> Any:
    """The value of an object that the core read.

    Members that could not be read are told by ``skipped`` of the object; of a value that cannot have it,
    because it is a list, for example, by a warning.
    """

    def types_of(class_name: str) -> Mapping[str, str]:
        return member_types(file.streamers, class_name)

    value = first_item(core.column, core.class_name, present, types_of)
    if isinstance(value, Instance):
        value.skipped = tuple(core.skipped)
    elif core.skipped:
        left_out = ", ".join(f"{path} ({why})" for path, why in core.skipped)
        message = f"members were left out of a {core.class_name}: {left_out}"
        warnings.warn(message, MemberSkippedWarning, stacklevel=4)
    return value


def member_types(streamers: Iterable[Mapping[str, Any]], class_name: str) -> dict[str, str]:
    """The C++ types of the members of a class, bases' members included, by the newest description."""
    described: dict[str, Mapping[str, Any]] = {}
    for info in streamers:
        known = described.get(info["name"])
        if known is None or info["version"] >= known["version"]:
            described[info["name"]] = info
    types: dict[str, str] = {}
    met: set[str] = set()
    open_ = [class_name]
    while open_:
        name = open_.pop()
        if name in met or name not in described:
            continue
        met.add(name)
        for element in described[name]["elements"]:
            if element["class"] == "TStreamerBase":
                open_.append(element["name"])
            else:
                types.setdefault(element["name"], element["type_name"])
    return types
