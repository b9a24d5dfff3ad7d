"""Options of callers: which files, how to reach them, and where results may be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reading import OpenOptions as OpenOptions


def __getattr__(name: str) -> Any:
    # Old pickles name it here; a program that only writes does not load it.
    if name == "OpenOptions":
        from .reading import OpenOptions

        return OpenOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
