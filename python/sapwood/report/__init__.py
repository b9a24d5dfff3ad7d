"""What reading cost, how files lie, what a job read, and what is damaged."""

from __future__ import annotations

from ..errors.log import SourceEvent
from ..query.batch import Report
from .cost import FetchedRange, ReadReport
from .lazy_use import ColumnUse, KindUse, LazyFetch, LazyUse
from .sources import SourceUse

__all__ = [
    "ColumnUse",
    "FetchedRange",
    "KindUse",
    "LazyFetch",
    "LazyUse",
    "ReadReport",
    "Report",
    "SourceEvent",
    "SourceUse",
]
