"""Options of new tables: those that differ by branch or field, and the size of clusters."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ArgumentTypeError, UsageError, did_you_mean, nearest
from ..options.memory import memory_size


def cluster(size: int | str, entries: int | None) -> tuple[str, int]:
    """The unit and size of clusters, as the core expects them; ``entries`` take precedence."""
    unit, number = "bytes", 0
    if entries is not None:
        unit, number = "entries", entries
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise ArgumentTypeError(f"cluster_entries must be an integer, not {number!r}")
    else:
        number = memory_size(size)
    if number < 1:
        raise UsageError(f"a cluster must have at least one entry or byte, not {number}")
    return unit, int(number)


def by_name(option: str, value: Any, names: Sequence[str], what: str = "branch") -> dict[str, Any]:
    """The value of an option for each branch or field.

    It is one for all, or a dict by name or pattern, of which the first match wins.

    Raises:
        UsageError: a name or pattern matches nothing.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    found: dict[str, Any] = {}
    for pattern, setting in value.items():
        matching = fnmatch.filter(names, pattern)
        if not matching:
            raise unknown_name(option, what, pattern, names)
        for name in matching:
            found.setdefault(name, setting)
    return found


def unknown_name(option: str, what: str, name: str, names: Sequence[str]) -> UsageError:
    """The error for an option that names no branch or field; it suggests a similar name."""
    near = nearest(name, names)
    return UsageError(f"{option}: no {what} is named {name!r}{f'; {did_you_mean(near)}' if near else ''}")
