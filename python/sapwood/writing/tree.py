"""Trees that are being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..arrays.column import Form
from ..errors import UnsupportedTypeError, UsageError
from ..errors.core import core_errors
from ..options.compression import Compression
from ..options.memory import memory_size
from .columns import fields_of_table
from .records import has_records
from .schema import BranchPlan, CounterName, FieldName, Schema, columns_of, join_names
from .settings import by_name
from .table import WritableTable
from .types import ColumnType

DEFAULT_BASKET = 262_144
"""Bytes of a basket before compression."""

DEFAULT_CLUSTER = "20 MB"
"""Size of a cluster after compression."""

_SMALLEST_BASKET = 1000
_LARGEST_BASKET = 1_000_000_000


@dataclass(frozen=True)
class TreeLayout:
    """The options of :meth:`WritableFile.mktree`."""

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
        """The columns whose records are stored as split objects."""
        chosen = by_name("records", self.records, list(columns), what="column")
        for setting in chosen.values():
            if setting not in ("columns", "split"):
                raise UsageError(f'records must be "columns" or "split", not {setting!r}')
        split = {name for name, setting in chosen.items() if setting == "split"}
        found = {name for name in split if has_records(columns[name].form)}
        named = self.records if isinstance(self.records, Mapping) else ()
        for name in sorted((split - found).intersection(named)):
            raise UsageError(f"{name!r} has no records to split", branch=name)
        return found


class WritableTree(WritableTable):
    """A tree to which you can add entries: a new one from :meth:`WritableFile.mktree`, or an existing one."""

    _column = ("branch", "branches")

    def __init__(
        self,
        core: _core.Writer,
        path: str,
        columns: Mapping[str, ColumnType] | None,
        layout: TreeLayout,
        compression: Compression,
    ) -> None:
        super().__init__(core, path, compression, layout.cluster_size, layout.cluster_entries)
        self._layout = layout
        self._schema: Schema | None = None
        self._exists = False
        self._refusal: UnsupportedTypeError | None = None
        if columns is not None:
            self._begin(self._planned(columns))

    @classmethod
    def reopen(cls, core: _core.Writer, path: str, compression: Compression) -> WritableTree:
        """A tree that is already in the file."""
        layout = TreeLayout("", None, DEFAULT_BASKET, DEFAULT_CLUSTER, None, {})
        tree = cls(core, path, None, layout, compression)
        tree._exists = True
        try:
            with core_errors():
                tree._number, tree._entries, stored = core.existing_tree(path)
            tree._schema = Schema.of_branches(stored)
        except UnsupportedTypeError as refusal:
            # It gets no entries, but it may get branches.
            with core_errors():
                tree._entries = core.existing_entries(path)
            tree._refusal = refusal
        return tree

    @property
    def title(self) -> str:
        """The title."""
        return self._layout.title

    def _forms(self) -> Mapping[str, Form]:
        return {branch.name: branch.form for branch in self._schema.branches} if self._schema else {}

    def extend(self, arrays: Any) -> None:
        """Adds entries.

        The layout of baskets and clusters does not depend on how many entries you add at a time, but the
        speed does: prefer 10,000 to 10.

        >>> with sapwood.recreate("out.root") as file:
        ...     tree = file.mktree("Events", {"met": "float32", "Jet_pt": "var * float32"})
        ...     tree.extend({"met": np.zeros(2, "f4"), "Jet_pt": [[40.5, 20.25], []]})

        Args:
            arrays: a table with all declared columns, which have the same length: a dict of NumPy, Awkward or
                Arrow arrays, Series or lists; an Awkward Array of records; a structured array; a DataFrame;
                or an Arrow table. Integers are converted if all values fit; floating-point numbers are
                rounded if the branch has a narrower type.

        Raises:
            UsageError: columns are missing, differ in length, or have another type.
            KeyInFileError: there are undeclared columns.
            UnsupportedTypeError: values are missing, no branch can store their type, or an existing tree has
                a branch of a kind that sapwood cannot write.
            ClosedFileError: the file was completed or discarded.

        After an error, no entry was added.
        """
        if self._refusal is not None:
            raise self._refusal
        data = fields_of_table(arrays)
        schema = self._schema or self._planned(columns_of(data))
        entries, buffers = schema.buffers(data)
        if self._schema is None:
            # Not before the data have the right types: the file would have a tree without entries.
            self._begin(schema)
        with core_errors():
            self._core.extend(self._number, entries, buffers)
        self._entries += entries

    def add_branches(
        self,
        arrays: Any,
        *,
        compression: Compression | str | int | Mapping[str, Any] | None = None,
        basket_size: int | str | Mapping[str, Any] = DEFAULT_BASKET,
        titles: Mapping[str, str] | None = None,
        field_name: FieldName = join_names,
        counter_name: CounterName | None = None,
    ) -> None:
        """Adds branches to a tree that was in the file before :func:`sapwood.update`, such as a score.

        The other branches stay as they are, of whatever types they are.

        >>> with sapwood.recreate("out.root") as file:
        ...     file["Events"] = {"met": [10.5, 20.0, 31.5]}
        >>> with sapwood.update("out.root") as file:
        ...     file["Events"].add_branches({"score": np.array([0.1, 0.7, 0.9], "f4")})
        >>> sapwood.open("out.root:Events").keys()
        ['met', 'score']

        Args:
            arrays: a table with one column per branch, as for :meth:`extend`, and as many entries as the
                tree. A list of numbers becomes a branch plus a counter of its own.
            compression, basket_size, titles, field_name, counter_name: as for :meth:`WritableFile.mktree`,
                for these branches.

        Raises:
            UsageError: a name is in use, the number of entries differs, the tree is not yet in a complete
                file, or entries were added to it.
            UnsupportedTypeError: values are missing, no branch can store their type, or the record of the
                tree cannot be changed.
            ClosedFileError: the file was completed or discarded.

        After an error, no branch was added.
        """
        if not self._exists:
            raise UsageError(
                f"the tree {self.path!r} is not yet complete", hint="declare all branches with mktree"
            )
        data = fields_of_table(arrays)
        columns = columns_of(data)
        if not columns:
            raise UsageError(f"no branches are given for the tree {self.path!r}")
        schema = Schema(columns, field_name, counter_name, set())
        branches = self._branches(schema.branches, compression, basket_size, titles or {})
        entries, buffers = schema.buffers(data)
        with core_errors():
            self._core.add_branches(self.path, branches, entries, buffers)

    def _planned(self, columns: Mapping[str, ColumnType]) -> Schema:
        if not columns:
            raise UsageError(f"the tree {self.path!r} has no columns")
        split = self._layout.split(columns)
        return Schema(columns, self._layout.field_name, self._layout.counter_name, split)

    def _begin(self, schema: Schema) -> None:
        directory, _, name = self.path.rpartition("/")
        layout = self._layout
        branches = self._branches(schema.branches, layout.compression, layout.basket_size, layout.titles)
        with core_errors():
            self._number = self._core.tree(directory, name, layout.title, branches, self._cluster)
        self._schema = schema

    def _branches(
        self,
        planned: Sequence[BranchPlan],
        compression: Compression | str | int | Mapping[str, Any] | None,
        basket_size: int | str | Mapping[str, Any],
        titles: Mapping[str, str],
    ) -> list[tuple[str, str | None, Any, int, int]]:
        names = [branch.name for branch in planned]
        compressions = self._compressions(compression, names)
        sizes = by_name("basket_size", basket_size, names)
        self._check_titles(titles, names)
        found = []
        for branch in planned:
            size = memory_size(sizes.get(branch.name, DEFAULT_BASKET))
            if not _SMALLEST_BASKET <= size <= _LARGEST_BASKET:
                raise UsageError(f"basket_size must be 1 kB to 1 GB, not {size} bytes", branch=branch.name)
            title = titles.get(branch.name)
            found.append((branch.name, title, branch.storage, compressions[branch.name], size))
        return found
