"""What trees and RNTuples that are being written have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from .. import _core
from ..arrays.column import Form, type_string
from ..display.printable import shows_printable
from ..display.units import counted
from ..options.compression import Compression
from .settings import by_name, cluster, unknown_name


class WritableTable(ABC):
    """A tree or an RNTuple to which you can add entries.

    Attributes:
        path: the path in the file.
    """

    _column: ClassVar[tuple[str, str]]
    """What a column is called, in the singular and in the plural."""

    def __init__(
        self,
        core: _core.Writer,
        path: str,
        compression: Compression,
        cluster_size: int | str,
        cluster_entries: int | None,
    ) -> None:
        self.path = path
        self._core = core
        self._compression = compression
        self._cluster = cluster(cluster_size, cluster_entries)
        self._number = -1
        self._entries = 0

    @property
    def name(self) -> str:
        """The name: the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def num_entries(self) -> int:
        """Number of entries so far."""
        return self._entries

    @abstractmethod
    def _forms(self) -> Mapping[str, Form]:
        """The form of each column; empty until the types are known."""

    def keys(self) -> list[str]:
        """The names of the branches, including counters, or of the top-level fields; empty until known."""
        return list(self._forms())

    def typenames(self) -> dict[str, str]:
        """The type of each branch or field in the notation of Awkward Array."""
        return {name: type_string(form) for name, form in self._forms().items()}

    def _compressions(self, option: Any, names: list[str]) -> dict[str, int]:
        """ROOT's number for the compression of each column; that of the file if the option names no other."""
        chosen = by_name("compression", option, names, what=self._column[0])
        given = {name: Compression.of(one) for name, one in chosen.items() if one is not None}
        return {name: given.get(name, self._compression).code for name in names}

    def _check_titles(self, titles: Mapping[str, str], names: list[str]) -> None:
        for name in titles:
            if name not in names:
                raise unknown_name("titles", self._column[0], name, names)

    @shows_printable
    def __repr__(self) -> str:
        columns = counted(len(self.keys()), *self._column)
        entries = counted(self._entries, "entry", "entries")
        return f"<{type(self).__name__} {self.path!r} of {columns}, {entries} so far>"
