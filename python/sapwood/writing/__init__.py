"""Writes ROOT files: trees and RNTuples, histograms and texts. A file appears only when complete."""

from __future__ import annotations

from .directory import WritableDirectory
from .file import WritableFile, create, recreate, update
from .rntuple import WritableRNTuple
from .tree import WritableTree

__all__ = [
    "WritableDirectory",
    "WritableFile",
    "WritableRNTuple",
    "WritableTree",
    "create",
    "recreate",
    "update",
]
