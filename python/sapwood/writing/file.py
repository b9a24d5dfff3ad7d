"""A file that is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from .. import _core
from ..display.printable import shows_printable
from ..errors import KeyInFileError, UsageError
from ..errors.closing import Closing
from ..errors.core import core_errors
from ..model.file import open_files
from ..options.compression import Compression
from ..options.outputs import ROOT, check_output
from ..options.paths import is_url
from .columns import fields_of_table, is_table
from .histograms import as_object
from .schema import CounterName, FieldName, join_names
from .tree import DEFAULT_BASKET, DEFAULT_CLUSTER, TreeLayout, WritableTree
from .types import ColumnType, column_type


def recreate(
    path: Any,
    *,
    compression: Compression | str | int | None = "zstd:5",
    title: str = "",
    threads: int | None = None,
) -> WritableFile:
    """Writes a new file; one that is there is replaced, when the new one is complete.

    >>> with sapwood.recreate("out.root", compression="zstd:5") as file:
    ...     file["Events"] = {"run": np.array([1, 1, 2]), "Muon_pt": ak.Array([[31.5], [], [12.0, 8.5]])}
    >>> sapwood.open("out.root:Events").keys()
    ['run', 'nMuon_pt', 'Muon_pt']

    Nothing is seen of the file before it is complete. At the end of the ``with`` block it is; if that ends
    with an exception, the file is given up, and what was there before stays.

    Args:
        path: a path, the URL of an object, or an object with ``write`` and ``seek``. A file that this process
            has open for reading is not replaced: close it first.
        compression: algorithm and level, such as ``"zstd:5"``, ``"lz4"`` or ``"none"``, ROOT's number for it,
            or a :class:`Compression`; that of all that says nothing else.
        title: the title of the file.
        threads: threads that compress. Default: the environment variable ``SAPWOOD_THREADS``, else all cores.

    Raises:
        FileNotFoundError: if there is no such directory.
        PermissionError: if nothing may be written there.
        UsageError: if an option makes no sense, the file is open for reading, or its name has the suffix of
            another format.
    """
    where = _place(path)
    if isinstance(where, str):
        where = check_output(where, ROOT, overwrite=True, remote=True)
        if open_files(where):
            raise UsageError(f"{where} is open for reading: close it before you replace it", url=where)
    return WritableFile(where, compression=compression, title=title, threads=threads)


def create(
    path: Any,
    *,
    compression: Compression | str | int | None = "zstd:5",
    title: str = "",
    threads: int | None = None,
) -> WritableFile:
    """As :func:`recreate`, of a file that does not exist yet.

    Raises:
        UsageError: if it exists.
    """
    where = _place(path)
    if isinstance(where, str):
        where = check_output(where, ROOT, remote=True, replaced_by="use sapwood.recreate")
    return WritableFile(where, compression=compression, title=title, threads=threads)


def update(
    path: Any, *, compression: Compression | str | int | None = "zstd:5", threads: int | None = None
) -> WritableFile:
    """Adds trees and objects to a local file that is there.

    >>> with sapwood.recreate("out.root") as file:
    ...     file["Events"] = {"met": np.zeros(3, "f4")}
    >>> with sapwood.update("out.root") as file:
    ...     file["notes/by"] = "somebody"
    >>> sapwood.open("out.root").keys()
    ['Events;1', 'notes;1', 'notes/by;1']

    What is in the file stays as it is, and can be read meanwhile. What is added is there at the end of the
    ``with`` block; if that ends with an exception, or the process is killed, the file holds what it held
    before. A second object of a name becomes its next cycle. Entries can be added to trees, also to those of
    ROOT and uproot, if their branches are of the kinds that are written:
    ``file["Events"].extend({"met": …})``, with a column for each branch that does not count others.

    Args:
        path: a path; nobody else may be adding to the file.
        compression: that of what is added, as in :func:`recreate`.
        threads: as in :func:`recreate`.

    Raises:
        FileNotFoundError: if there is no such file.
        PermissionError: if it may not be written to.
        UnsupportedTypeError: for URLs, and for files of a ROOT older than 4.
    """
    where = _place(path)
    if not isinstance(where, str):
        raise UsageError("only files at a path can be added to")
    return WritableFile(where, compression=compression, title="", threads=threads, _update=True)


class WritableFile(Closing):
    """A file that is written, by :func:`recreate`, :func:`create` or :func:`update`."""

    def __init__(
        self,
        path: Any,
        *,
        compression: Compression | str | int | None,
        title: str,
        threads: int | None,
        _update: bool = False,
    ) -> None:
        where = _place(path)
        self.url = where if isinstance(where, str) else str(getattr(where, "name", "<object>"))
        self.compression = Compression.of(compression)
        self._items: dict[str, WritableTree | str] = {}
        self._closed = False
        if threads is not None and threads < 1:
            raise UsageError(f"threads is at least 1, not {threads}")
        name = os.path.basename(self.url)
        code = self.compression.code
        with core_errors():
            if _update:
                self._core = _core.Writer.update(where, compression=code, threads=threads)
                self._before = dict.fromkeys(
                    path for path, kind in self._core.paths() if not _is_directory(kind)
                )
            else:
                self._core = _core.Writer(where, name, title=title, compression=code, threads=threads)
                self._before = {}

    @property
    def closed(self) -> bool:
        """Whether it is complete, or was given up."""
        return self._closed

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
        """Makes a tree.

        >>> with sapwood.recreate("out.root") as file:
        ...     types = {"met": "float32", "p4": ("float64", (4,)), "Jet": "var * {pt: float32, id: int8}"}
        ...     tree = file.mktree("Events", types, cluster_entries=1000)
        ...     tree.keys()
        ['met', 'p4', 'nJet', 'Jet_pt', 'Jet_id']

        Args:
            path: its path in the file; directories are made.
            branches: a type for each column: one of NumPy's, a pair of it and a shape, a type of Awkward
                Array or its words (``"var * float32"``, ``"string"``), or C++'s (``"vector<vector<float>>"``,
                ``"char*"``); a structured ``dtype``. None: the types of what is added first. A list of
                numbers is a branch with another one, ``n`` and its name, that counts; a list of records is a
                branch for each member, with one counter for all. Lists of lists and lists of texts are
                ``std::vector``.
            title: its title.
            compression: as in :func:`recreate`; or by the names of branches, which may be patterns. None:
                that of the file.
            basket_size: bytes of a basket before compression, or memory such as ``"64 kB"``; or these by the
                names of branches.
            cluster_size: bytes after compression that the first cluster has. All others have as many entries.
            cluster_entries: entries of a cluster, instead.
            titles: titles of branches.
            field_name: makes the name of a branch from those of a column and of a member: ``x_y``.
            counter_name: makes the name of the branch that counts from that of the column; columns for which
                it makes the same share one. Default: an integer column that is there and is called so, as
                ``nMuon`` for ``Muon_pt``, else ``n`` and the name of the column.
            records: what records and lists of records become: ``"columns"``, a branch ``x_y`` for each
                member; or ``"split"``, objects of a class, or a ``std::vector`` of these, which ROOT splits
                into a branch ``x.y`` for each member. Or these by the names of columns. The class is called
                as the record, if that has a name, or else as the column; see the guide on writing.

        Raises:
            UsageError: if types or options make no sense, or there is something of that name.
            UnsupportedTypeError: if there are no branches of such a type.
        """
        columns = None if branches is None else _declared(branches)
        layout = TreeLayout(
            title=title,
            compression=compression,
            basket_size=basket_size,
            cluster_size=cluster_size,
            cluster_entries=cluster_entries,
            titles=titles or {},
            field_name=field_name,
            counter_name=counter_name,
            records=records,
        )
        path = self._free(path)
        tree = WritableTree(self._core, path, columns, layout, self.compression)
        self._items[path] = tree
        return tree

    def mkdir(self, path: str) -> None:
        """Makes a directory, and those above it; what is there already is left as it is."""
        with core_errors():
            self._core.directory(path.strip("/"))

    def __setitem__(self, path: str, value: Any) -> None:
        """Writes a tree of whatever has columns, or an object: a histogram or a text.

        Histograms are those of ``hist``, ``boost-histogram`` and others that follow UHI, those that were read
        by sapwood, and tuples as from ``numpy.histogram``. A text becomes a ``TObjString``.
        """
        if isinstance(value, str):
            self._object(path, "TObjString", "", {"fString": value})
            return
        found = as_object(value, self._name(path))
        if found is not None:
            self._object(path, *found)
        elif is_table(value):
            self.mktree(path).extend(fields_of_table(value))
        else:
            raise UsageError(
                f"{type(value).__name__} cannot be written",
                hint="trees come from a dict of arrays or a DataFrame; histograms and texts are objects",
            )

    def __getitem__(self, path: str) -> WritableTree:
        """A tree that was made before; in a file that is updated, also one that was in it.

        Raises:
            KeyInFileError: if there is none of that path.
            UnsupportedTypeError: if it was in the file, and has branches of other kinds than are written.
        """
        path = path.strip("/")
        if path in self._before and path not in self._items:
            self._items[path] = WritableTree.again(self._core, path, self.compression)
        found = self._items.get(path)
        if isinstance(found, WritableTree):
            return found
        trees = [name for name, item in self._items.items() if isinstance(item, WritableTree)]
        raise KeyInFileError.not_found("tree", path, trees, self.url)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path.strip("/") in {*self._before, *self._items}

    def keys(self) -> list[str]:
        """The paths of trees and objects so far, without cycles."""
        return list({**self._before, **self._items})

    def close(self) -> None:
        """Completes the file, and puts it in its place. Nothing can be added afterwards."""
        if not self._closed:
            self._closed = True
            with core_errors():
                self._core.commit()

    def abandon(self) -> None:
        """Gives the file up: what was there before stays."""
        self._closed = True
        self._core.abandon()

    def _object(self, path: str, class_name: str, title: str, members: dict[str, Any]) -> None:
        path = self._free(path)
        with core_errors():
            self._core.object(path.rpartition("/")[0], class_name, self._name(path), title, members)
        self._items[path] = class_name

    def _free(self, path: str) -> str:
        """A path that nothing has yet."""
        path = path.strip("/")
        if not path:
            raise UsageError("a tree or an object needs a name")
        if path in self._items:
            raise UsageError(f"{path!r} already exists", url=self.url)
        return path

    @staticmethod
    def _name(path: str) -> str:
        return path.rpartition("/")[2]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    @shows_printable
    def __repr__(self) -> str:
        return f"<WritableFile {self.url!r}{' (closed)' if self._closed else ''}>"


def _place(path: Any) -> Any:
    """A path as a string, or the object that was given."""
    if isinstance(path, (str, os.PathLike)):
        where = os.fspath(path)
        if isinstance(where, bytes):
            where = os.fsdecode(where)
        return where if is_url(where) else os.path.expanduser(where)
    if hasattr(path, "write") and hasattr(path, "seek"):
        return path
    raise TypeError(f"a file is written to a path, or an object with write and seek, not to {path!r}")


def _is_directory(kind: str) -> bool:
    return kind in ("TDirectory", "TDirectoryFile")


def _declared(branches: Any) -> dict[str, ColumnType]:
    names = getattr(branches, "names", None)
    if names is not None and hasattr(branches, "fields") and not isinstance(branches, Mapping):
        branches = {name: branches.fields[name][0] for name in names}
    if not isinstance(branches, Mapping):
        raise TypeError(f"branches is a dict of types or a structured dtype, not {branches!r}")
    return {str(name): column_type(str(name), declared) for name, declared in branches.items()}
