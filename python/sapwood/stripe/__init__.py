"""Datasets in an object store or a directory: products that are read, added and replaced alone, in versions."""

from __future__ import annotations

from ._dataset import Collected, Dataset, Exported, Verified, Written, Wrong, create, open
from ._describe import describe, log

__all__ = [
    "Collected",
    "Dataset",
    "Exported",
    "Verified",
    "Written",
    "Wrong",
    "create",
    "describe",
    "log",
    "open",
]
