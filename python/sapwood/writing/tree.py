"""A tree that is written."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..arrays.column import type_string
from ..display.printable import shows_printable
from ..errors import UsageError
from ..errors.core import core_errors
from ..options.compression import Compression
from ..options.memory import memory_size
from .columns import fields_of_table
from .records import has_records
from .schema import CounterName, FieldName, Planned, Schema, columns_of, join_names
from .types import ColumnType

_SMALLEST_BASKET = 1000
_LARGEST_BASKET = 1_000_000_000


@dataclass(frozen=True)
class TreeLayout:
    """How a tree is written; see :meth:`WritableFile.mktree`."""

    title: str
    compression: Compression | str | int | Mapping[str, Any] | None
    basket_size: int | str | Mapping[str, Any]
    cluster_size: int | str
    cluster_entries: int | None
    titles: Mapping[str, str]
    field_name: FieldName = join_names
    counter_name: CounterName | None = None
    records: str | Mapping[str, str] = "columns"

    def split(self, columns: Mapping[str, ColumnType]) -> set[str]:
        """The columns whose records are split objects."""
        chosen = _by_branch("records", self.records, list(columns), what="column")
        for setting in chosen.values():
            if setting not in ("columns", "split"):
                raise UsageError(f'records are "columns" or "split", not {setting!r}')
        split = {name for name, setting in chosen.items() if setting == "split"}
        found = {name for name in split if has_records(columns[name].form)}
        named = self.records if isinstance(self.records, Mapping) else ()
        for name in sorted((split - found).intersection(named)):
            raise UsageError(f"{name!r} has no records that could be split", branch=name)
        return found

    def cluster(self) -> tuple[str, int]:
        """What the core is told of clusters."""
        unit, size = "bytes", 0
        if self.cluster_entries is not None:
            unit, size = "entries", self.cluster_entries
            if isinstance(size, bool) or not hasattr(size, "__index__"):
                raise TypeError(f"cluster_entries is a whole number, not {size!r}")
        else:
            size = memory_size(self.cluster_size)
        if size < 1:
            raise UsageError(f"a cluster has at least one entry or byte, not {size}")
        return unit, int(size)


class WritableTree:
    """A tree that is written; it comes from :meth:`WritableFile.mktree`, or was in the file before.

    Attributes:
        path: its path in the file.
    """

    def __init__(
        self,
        core: _core.Writer,
        path: str,
        columns: Mapping[str, ColumnType] | None,
        layout: TreeLayout,
        compression: Compression,
    ) -> None:
        self.path = path
        self._core = core
        self._layout = layout
        self._compression = compression
        self._cluster = layout.cluster()
        self._schema: Schema | None = None
        self._number = -1
        self._entries = 0
        if columns is not None:
            self._begin(columns)

    @classmethod
    def again(cls, core: _core.Writer, path: str, compression: Compression) -> WritableTree:
        """A tree that was in the file before."""
        layout = TreeLayout("", None, DEFAULT_BASKET, DEFAULT_CLUSTER, None, {})
        tree = cls(core, path, None, layout, compression)
        with core_errors():
            tree._number, tree._entries, stored = core.existing_tree(path)
        tree._schema = Schema.of_branches(stored)
        return tree

    @property
    def name(self) -> str:
        """Its name: the last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def title(self) -> str:
        """Its title."""
        return self._layout.title

    @property
    def num_entries(self) -> int:
        """How many entries it has so far."""
        return self._entries

    def keys(self) -> list[str]:
        """The names of its branches, those that count others included; none before its types are known."""
        return [branch.name for branch in self._schema.branches] if self._schema else []

    def typenames(self) -> dict[str, str]:
        """The type of each branch, as Awkward Array spells it."""
        branches = self._schema.branches if self._schema else []
        return {branch.name: type_string(branch.form) for branch in branches}

    def extend(self, arrays: Any) -> None:
        """Adds entries.

        Baskets and clusters do not depend on how many are added at once, the time that it takes does: 10,000
        are better than 10.

        >>> with sapwood.recreate("out.root") as file:
        ...     tree = file.mktree("Events", {"met": "float32", "Jet_pt": "var * float32"})
        ...     tree.extend({"met": np.zeros(2, "f4"), "Jet_pt": [[40.5, 20.25], []]})

        Args:
            arrays: a column for each that was declared, and as many entries in all: a dict of NumPy or
                Awkward arrays, Arrow arrays, Series or lists; an Awkward Array of records, a structured
                array, a DataFrame, or an Arrow table. Whole numbers may come in another type if all of
                them fit, floating point numbers are rounded where the branch is narrower.

        Raises:
            UsageError: if columns are missing, differ in length, or have another type; nothing was added.
            KeyInFileError: if there are other columns; nothing was added.
            UnsupportedTypeError: if values are missing, or no branch can hold them; nothing was added.
            ClosedFileError: if the file is complete, or was given up.
        """
        data = fields_of_table(arrays)
        if self._schema is None:
            self._begin(columns_of(data))
        assert self._schema is not None
        entries, buffers = self._schema.buffers(data)
        with core_errors():
            self._core.extend(self._number, entries, buffers)
        self._entries += entries

    def _begin(self, columns: Mapping[str, ColumnType]) -> None:
        if not columns:
            raise UsageError(f"the tree {self.path!r} has no columns")
        split = self._layout.split(columns)
        schema = Schema(columns, self._layout.field_name, self._layout.counter_name, split)
        directory, _, name = self.path.rpartition("/")
        branches = self._branches(schema.branches)
        with core_errors():
            self._number = self._core.tree(directory, name, self._layout.title, branches, self._cluster)
        self._schema = schema

    def _branches(self, planned: Sequence[Planned]) -> list[tuple[str, str | None, Any, int, int]]:
        names = [branch.name for branch in planned]
        settings = _by_branch("compression", self._layout.compression, names)
        sizes = _by_branch("basket_size", self._layout.basket_size, names)
        for name in self._layout.titles:
            if name not in names:
                raise UsageError(f"titles names {name!r}, and no branch is called so")
        found = []
        for branch in planned:
            chosen = settings.get(branch.name)
            setting = self._compression if chosen is None else Compression.of(chosen)
            size = memory_size(sizes.get(branch.name, DEFAULT_BASKET))
            if not _SMALLEST_BASKET <= size <= _LARGEST_BASKET:
                raise UsageError(f"a basket has between 1 kB and 1 GB, not {size} bytes", branch=branch.name)
            title = self._layout.titles.get(branch.name)
            found.append((branch.name, title, branch.storage, setting.code, size))
        return found

    @shows_printable
    def __repr__(self) -> str:
        return f"<WritableTree {self.path!r} of {len(self.keys())} branches, {self._entries} entries so far>"


DEFAULT_BASKET = 262_144
"""Bytes of a basket before compression."""

DEFAULT_CLUSTER = "20 MB"
"""What a cluster has after compression."""


def _by_branch(option: str, value: Any, names: Sequence[str], what: str = "branch") -> dict[str, Any]:
    """What a setting, or settings by name or pattern, say of each branch; the first that fits counts."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    found: dict[str, Any] = {}
    for pattern, setting in value.items():
        matching = fnmatch.filter(names, pattern)
        if not matching:
            raise UsageError(f"{option} names {pattern!r}, and no {what} is called so")
        for name in matching:
            found.setdefault(name, setting)
    return found
