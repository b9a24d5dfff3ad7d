"""Versioned datasets in an object store or a directory: each product is read and replaced on its own."""

from __future__ import annotations

from ..history.describe import describe, log
from ._dataset import Dataset, create, open
from ._events import find, select
from ._results import Collected, Consolidated, Exported, Verified, Written, Wrong
from ._statistics import Statistics

__all__ = [
    "Collected",
    "Consolidated",
    "Dataset",
    "Exported",
    "Statistics",
    "Verified",
    "Written",
    "Wrong",
    "create",
    "describe",
    "find",
    "log",
    "open",
    "select",
]
