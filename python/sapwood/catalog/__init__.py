"""A catalogue of datasets in a database: what there is, where, in which versions, and what was made of what.

SQLite keeps it in a file, PostgreSQL for many people. Needs ``pip install 'sapwood[catalog]'``; for
PostgreSQL, ``pip install 'sapwood[postgresql]'``.
"""

from __future__ import annotations

from ..history.database_log import DatabaseLog
from ._catalog import Catalog
from ._records import Dataset, Input, Match, Product, Refreshed, Related, Version

__all__ = [
    "Catalog",
    "DatabaseLog",
    "Dataset",
    "Input",
    "Match",
    "Product",
    "Refreshed",
    "Related",
    "Version",
]
