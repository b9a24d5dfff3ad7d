"""Writing files: trees from arrays, histograms and texts; whole at the end, or not there at all."""

from __future__ import annotations

from .file import WritableFile, create, recreate, update
from .tree import WritableTree

__all__ = ["WritableFile", "WritableTree", "create", "recreate", "update"]
