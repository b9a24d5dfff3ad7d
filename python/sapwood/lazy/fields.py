"""The base class of events and chunks: fields that are attributes and items."""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from typing import Any

from ..errors import KeyInFileError
from .reader import LazyReader


class HasFields(ABC):
    """Fields by name. Those whose names are Python identifiers are attributes, too."""

    __slots__ = ()

    @property
    @abstractmethod
    def _reader(self) -> LazyReader: ...

    @property
    def fields(self) -> list[str]:
        """The names of all fields."""
        return list(self._reader.fields)

    @abstractmethod
    def __getitem__(self, name: str) -> Any: ...

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyInFileError as error:
            raise AttributeError(str(error), name=name, obj=self) from None

    def __contains__(self, name: object) -> bool:
        return name in self._reader

    def __dir__(self) -> list[str]:
        names = [name for name in self.fields if name.isidentifier() and not keyword.iskeyword(name)]
        return [*super().__dir__(), *names]

    def _ipython_key_completions_(self) -> list[str]:
        return self.fields
