"""A catalogue of datasets in a database: their locations, versions, products and lineage.

The database is an SQLite file, or PostgreSQL for shared use. Install ``'sapwood[catalog]'``, or
``'sapwood[postgresql]'`` for PostgreSQL.
"""

from __future__ import annotations

from ..history.database_log import DatabaseLog
from ._catalog import Catalog
from ._records import Dataset, Input, Match, Product, RefreshResult, Related, Version

Refreshed = RefreshResult
"""The former name of :class:`RefreshResult`."""

__all__ = [
    "Catalog",
    "DatabaseLog",
    "Dataset",
    "Input",
    "Match",
    "Product",
    "RefreshResult",
    "Related",
    "Version",
]
