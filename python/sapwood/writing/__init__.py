"""Writes ROOT files: trees and RNTuples from arrays, histograms and texts. A file appears only when it is complete."""

from __future__ import annotations

from .file import WritableFile, create, recreate, update
from .rntuple import WritableRNTuple
from .tree import WritableTree

__all__ = ["WritableFile", "WritableRNTuple", "WritableTree", "create", "recreate", "update"]
