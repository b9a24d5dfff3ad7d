"""Reports: the cost of reading, the layout of trees, recordings of jobs, and damage in files."""

from __future__ import annotations

from ..errors.log import SourceEvent
from ..query.batch import Report
from .columns import ColumnCost
from .cost import FetchedRange, ReadReport
from .lazy_use import ColumnUse, KindUse, LazyFetch, LazyUse
from .sources import SourceUse

__all__ = [
    "ColumnCost",
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
