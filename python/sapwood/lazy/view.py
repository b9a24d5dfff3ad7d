"""The base class of lazy views: their tree and fields, and closing the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors.closing import ClosingContext
from .reader import LazyReader

if TYPE_CHECKING:
    from ..model.tree import Tree


class LazyView(ClosingContext):
    """Entries of a tree whose columns are read when you touch them. It works as a context manager."""

    def __init__(self, reader: LazyReader) -> None:
        self._reader = reader

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self._reader.tree

    @property
    def fields(self) -> list[str]:
        """The names of all fields."""
        return list(self._reader.fields)

    def close(self) -> None:
        """Saves the profile, and stops updating it and the report. The entries stay readable."""
        self._reader.close()
