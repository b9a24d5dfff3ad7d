"""Writes ROOT files: trees from arrays, histograms and texts. A file appears only when it is complete."""

from __future__ import annotations

from .file import WritableFile, create, recreate, update
from .tree import WritableTree

__all__ = ["WritableFile", "WritableTree", "create", "recreate", "update"]
