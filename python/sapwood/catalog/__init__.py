"""A catalogue of datasets in a database: what there is, where, in which versions, and what was made of what.

SQLite keeps it in a file, PostgreSQL for many people. Needs ``pip install 'sapwood[catalog]'``; for
PostgreSQL, ``pip install 'sapwood[postgresql]'``.
"""

from __future__ import annotations

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ImportError:
    raise ImportError("a catalogue needs SQLAlchemy: pip install 'sapwood[catalog]'") from None

from ._catalog import Catalog
from ._log import DatabaseLog
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
