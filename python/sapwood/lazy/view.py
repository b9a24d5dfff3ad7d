"""The base class of lazy views: their tree and fields, and closing the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from ..errors.closing import ClosingContext
from .reader import LazyReader

if TYPE_CHECKING:
    from ..model.tree import Tree


class LazyView(ClosingContext):
    """Entries of a tree whose columns are read when you touch them. It works as a context manager."""

    _ADVICE: ClassVar[str]
    """How to read a field, after its name."""

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

    def __getattr__(self, name: str) -> NoReturn:
        """Says where fields are: not here, but in each event or chunk."""
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        # Without a reader while it is copied or pickled.
        reader = self.__dict__.get("_reader")
        fields = () if reader is None else reader.fields
        if any(name in (field, field.partition("_")[0]) for field in fields):
            message += f": {name!r} {self._ADVICE}"
        raise AttributeError(message, name=name, obj=self)

    def close(self) -> None:
        """Saves the profile, and stops updating it and the report. The entries stay readable."""
        self._reader.close()
