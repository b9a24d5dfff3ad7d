"""Trees as tables of other engines: DuckDB, Polars, and whatever else reads ``pyarrow.dataset``."""

from __future__ import annotations

from .dataset import ArrowDataset, arrow_dataset

__all__ = ["ArrowDataset", "arrow_dataset"]
