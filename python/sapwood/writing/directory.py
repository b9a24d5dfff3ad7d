"""Directories of a file that is being written: what you write to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..display.printable import shows_printable
from ..errors import KeyInFileError, UsageError
from ..errors.core import core_errors
from ..options.checks import check_text
from ..options.compression import Compression
from .columns import fields_of_table, is_table
from .histograms import as_object
from .rntuple import RNTupleLayout, WritableRNTuple, declared_fields
from .schema import CounterName, FieldName, join_names
from .tree import DEFAULT_BASKET, DEFAULT_CLUSTER, TreeLayout, WritableTree
from .types import declared_types


@dataclass
class FileContent:
    """What the directories of a file share.

    Attributes:
        core: writes the file.
        url: its path or URL.
        compression: its default compression.
        before: the paths of the trees and objects that were in the file.
        items: the new ones by path: tables, and the classes of objects.
    """

    core: _core.Writer
    url: str
    compression: Compression
    before: dict[str, None]
    items: dict[str, WritableTree | WritableRNTuple | str]


class WritableDirectory:
    """A directory of a file that is being written. Paths are relative to it.

    Attributes:
        path: its path in the file; empty for the file itself.
    """

    path: str
    _content: FileContent

    def __init__(self, path: str, content: FileContent) -> None:
        self.path, self._content = path, content

    def mktree(
        self,
        path: str,
        branches: Any = None,
        title: str = "",
        *,
        compression: Compression | str | int | Mapping[str, Any] | None = None,
        basket_size: int | str | Mapping[str, Any] = DEFAULT_BASKET,
        cluster_size: int | str = DEFAULT_CLUSTER,
        cluster_entries: int | None = None,
        titles: Mapping[str, str] | None = None,
        field_name: FieldName = join_names,
        counter_name: CounterName | None = None,
        records: str | Mapping[str, str] = "columns",
    ) -> WritableTree:
        """Creates a tree.

        >>> with sapwood.recreate("out.root") as file:
        ...     types = {"met": "float32", "p4": ("float64", (4,)), "Jet": "var * {pt: float32, id: int8}"}
        ...     tree = file.mktree("Events", types, cluster_entries=1000)
        ...     tree.keys()
        ['met', 'p4', 'nJet', 'Jet_pt', 'Jet_id']

        Args:
            path: the path in the file; missing directories are created.
            branches: a dict with a type for each column, or a structured ``dtype``. A type is a NumPy type, a
                pair of a NumPy type and a shape, a type of Awkward Array or its notation
                (``"var * float32"``, ``"string"``), or a C++ type (``"vector<vector<float>>"``, ``"char*"``).
                Or data, as for :meth:`WritableTree.extend`, which also give the types. None: the types of the
                first data that you add. A list of numbers becomes a branch plus a
                counter branch, whose name is ``n`` and the name of the column. A list of records becomes one
                branch per member with one shared counter. Lists of lists and lists of texts become
                ``std::vector``.
            title: the title of the tree.
            compression: as in :func:`recreate`, or a dict of these by name or pattern of branches. Default:
                that of the file.
            basket_size: bytes of a basket before compression, or text such as ``"64 kB"``; or a dict of these
                by name or pattern of branches.
            cluster_size: bytes of the first cluster after compression, or text such as ``"20 MB"``. All other
                clusters get the same number of entries.
            cluster_entries: entries per cluster, instead of ``cluster_size``.
            titles: a dict of titles by branch.
            field_name: a function that makes the name of a branch from those of a column and a member.
                Default: ``x_y``.
            counter_name: a function that makes the name of the counter from that of the column; columns with
                the same counter name share a counter. Default: an existing integer column with a matching
                name, such as ``nMuon`` for ``Muon_pt``, else ``n`` and the name of the column.
            records: how to store records and lists of records: ``"columns"``, one branch ``x_y`` per member;
                or ``"split"``, objects of a class or a ``std::vector`` of them, which ROOT splits into one
                branch ``x.y`` per member. Or a dict of these by name or pattern of columns. The class is
                named after the record, if that has a name, else after the column; see the guide on writing.

        Raises:
            UsageError: a type or an option is invalid, or the path is in use.
            UnsupportedTypeError: no branch can store a type.
        """
        columns = None if branches is None else declared_types(branches)
        layout = TreeLayout(
            title=check_text("title", title),
            compression=compression,
            basket_size=basket_size,
            cluster_size=cluster_size,
            cluster_entries=cluster_entries,
            titles=titles or {},
            field_name=field_name,
            counter_name=counter_name,
            records=records,
        )
        path, content = self._unused(path), self._content
        tree = WritableTree(content.core, path, columns, layout, content.compression)
        if branches is not None and columns is None:
            tree.extend(branches)
        content.items[path] = tree
        return tree

    def mkrntuple(
        self,
        path: str,
        fields: Any = None,
        description: str = "",
        *,
        compression: Compression | str | int | Mapping[str, Any] | None = None,
        page_size: int | str = "1 MiB",
        cluster_size: int | str = "128 MiB",
        cluster_entries: int | None = None,
        checksums: bool = True,
        titles: Mapping[str, str] | None = None,
    ) -> WritableRNTuple:
        """Creates an RNTuple, the format that follows trees in ROOT 6.34 and later.

        >>> with sapwood.recreate("out.root") as file:
        ...     types = {"met": "float32", "p4": ("float64", (4,)), "Jet": "var * {pt: float32, id: int8}"}
        ...     events = file.mkrntuple("Events", types, "simulated")
        ...     events.typenames()
        {'met': 'float32', 'p4': '4 * float64', 'Jet': 'var * {pt: float32, id: int8}'}

        Args:
            path: the path in the file; missing directories are created.
            fields: a dict with a type for each top-level field, as for :meth:`mktree`, or a structured
                ``dtype``, an Awkward type or form of records. Or data, as for :meth:`WritableRNTuple.extend`,
                which also gives the types. None: the types of the first data that you add. Lists become
                ``std::vector``, fixed arrays ``std::array``, options ``std::optional``, unions
                ``std::variant``, tuples ``std::tuple``; records become records without a class.
            description: what the RNTuple holds.
            compression: as in :func:`recreate`, or a dict of these by name or pattern of fields. Default:
                that of the file.
            page_size: most bytes of a page before compression, or text such as ``"64 KiB"``.
            cluster_size: bytes of a cluster after compression, approximately.
            cluster_entries: entries per cluster, instead of ``cluster_size``.
            checksums: whether each page has a checksum. Pages with the same content are then stored once.
            titles: a dict of descriptions by top-level field.

        Raises:
            UsageError: a type, a name or an option is invalid, or the path is in use.
            UnsupportedTypeError: ROOT has no such type.
        """
        declared = None if fields is None else declared_fields(fields)
        layout = RNTupleLayout(
            description=check_text("description", description),
            compression=compression,
            page_size=page_size,
            cluster_size=cluster_size,
            cluster_entries=cluster_entries,
            checksums=bool(checksums),
            titles=titles or {},
        )
        path, content = self._unused(path), self._content
        rntuple = WritableRNTuple(content.core, path, declared, layout, content.compression)
        if fields is not None and declared is None:
            rntuple.extend(fields)
        content.items[path] = rntuple
        return rntuple

    def mkdir(self, path: str) -> WritableDirectory:
        """Creates a directory and its parents; existing ones are kept.

        >>> with sapwood.recreate("out.root") as file:
        ...     folder = file.mkdir("muons")
        ...     folder["pt"] = np.histogram([31.5, 12.0, 8.5], bins=4, range=(0, 40))
        ...     file.keys()
        ['muons/pt']
        """
        path = self._absolute(path)
        with core_errors():
            self._content.core.directory(path)
        return WritableDirectory(path, self._content)

    def update(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), **named: Any) -> None:
        """Writes several tables, histograms or texts, by path, as ``file[path] = …`` does."""
        for path, value in {**dict(items), **named}.items():
            self[path] = value

    def __setitem__(self, path: str, value: Any) -> None:
        """Writes a table as a tree, a histogram, or a text as a ``TObjString``.

        Tables are dicts of arrays, Awkward Arrays of records, DataFrames and Arrow tables. Histograms are
        those of ``hist``, ``boost-histogram`` and other libraries that follow UHI, those read by sapwood, and
        tuples such as ``numpy.histogram`` returns.
        """
        if isinstance(value, str):
            self._object(path, "TObjString", "", {"fString": value})
            return
        found = as_object(value, path.strip("/").rpartition("/")[2])
        if found is not None:
            self._object(path, *found)
        elif is_table(value):
            columns = fields_of_table(value)
            tree = self.mktree(path)
            try:
                tree.extend(columns)
            finally:
                if not tree.keys():
                    # Nothing was written, so that the name is free for another attempt.
                    del self._content.items[tree.path]
        elif is_table(value, empty=True):
            raise UsageError(
                f"{path!r} would be a tree without branches: the {type(value).__name__} is empty"
            )
        else:
            raise UsageError(
                f"{type(value).__name__} cannot be written to a ROOT file",
                hint="write a dict of arrays, a DataFrame, another table, a histogram or a text",
            )

    def __getitem__(self, path: str) -> WritableTree | WritableRNTuple:
        """A tree or an RNTuple that you created, or, after :func:`update`, a tree that was in the file.

        Raises:
            KeyInFileError: there is none at this path; the message suggests similar names.
            UnsupportedTypeError: it is an RNTuple of the file before, or not a table.
        """
        own, path, content = path, self._absolute(path), self._content
        if path in content.before and path not in content.items:
            content.items[path] = WritableTree.reopen(content.core, path, content.compression)
        found = content.items.get(path)
        if found is not None and not isinstance(found, str):
            return found
        items = ((name, content.items.get(self._absolute(name))) for name in self.keys())
        tables = [name for name, item in items if not isinstance(item, str)]
        raise KeyInFileError.not_found("tree", own.strip("/"), tables, content.url)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path.strip("/") in self.keys()

    def keys(self) -> list[str]:
        """The paths of the trees, RNTuples and objects so far, without cycles."""
        above = f"{self.path}/" if self.path else ""
        every = {**self._content.before, **self._content.items}
        return [path.removeprefix(above) for path in every if path.startswith(above)]

    def _object(self, path: str, class_name: str, title: str, members: dict[str, Any]) -> None:
        path, content = self._unused(path), self._content
        directory, _, name = path.rpartition("/")
        with core_errors():
            content.core.object(directory, class_name, name, title, members)
        content.items[path] = class_name

    def _absolute(self, path: str) -> str:
        """The path in the file, without slashes at its ends."""
        return f"{self.path}/{path.strip('/')}".strip("/")

    def _unused(self, path: str) -> str:
        """The path in the file; it must not be in use."""
        if not path.strip("/"):
            raise UsageError("the name of a tree or an object must not be empty")
        path = self._absolute(path)
        if path in self._content.items:
            raise UsageError(f"{path!r} already exists", url=self._content.url)
        return path

    @shows_printable
    def __repr__(self) -> str:
        return f"<WritableDirectory {self.path!r} of {self._content.url!r}>"
