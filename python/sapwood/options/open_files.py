"""Which files this process has open for reading, so that none of them is replaced."""

from __future__ import annotations

import gc
import weakref
from typing import Protocol

from .outputs import is_same


class OpenFile(Protocol):
    """A file that may be open."""

    @property
    def closed(self) -> bool:
        """True once the file is closed."""

    @property
    def file_path(self) -> str:
        """Its path or URL."""


_OPENED: weakref.WeakSet[OpenFile] = weakref.WeakSet()


def remember_open(file: OpenFile) -> None:
    """Remembers a file until it is collected."""
    _OPENED.add(file)


def is_open(path: str) -> bool:
    """True if this process reads the file at a local path."""

    def found() -> bool:
        return any(not file.closed and is_same(path, file.file_path) for file in list(_OPENED))

    if found():
        # Unreferenced files stay alive until the collector breaks the cycles among their parts.
        gc.collect()
    return found()
