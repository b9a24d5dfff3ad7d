"""Creates and updates ROOT files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from .. import _core
from ..display.printable import shows_printable
from ..errors import (
    ArgumentTypeError,
    FileNotFoundError,
    KeyInFileError,
    PermissionError,
    UsageError,
)
from ..errors.closing import ClosingContext
from ..errors.core import core_errors
from ..options.checks import check_text
from ..options.compression import Compression
from ..options.open_files import is_open
from ..options.outputs import ROOT, check_output
from ..options.paths import is_url
from .columns import fields_of_table, is_table
from .histograms import as_object
from .rntuple import RNTupleLayout, WritableRNTuple, declared_fields
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
    """Writes a file. An existing file is replaced once the new one is complete.

    >>> with sapwood.recreate("out.root", compression="zstd:5") as file:
    ...     file["Events"] = {"run": np.array([1, 1, 2]), "Muon_pt": ak.Array([[31.5], [], [12.0, 8.5]])}
    >>> sapwood.open("out.root:Events").keys()
    ['run', 'nMuon_pt', 'Muon_pt']

    The file becomes visible at the end of the ``with`` block, when it is complete. If the block raises an
    exception, the new file is discarded and an existing file stays as it was.

    Args:
        path: a path, the URL of an object, or an object with ``write`` and ``seek``. You cannot replace a
            file that this process has open for reading; close it first.
        compression: algorithm and level, such as ``"zstd:5"``, ``"lz4"`` or ``"none"``; ROOT's number for
            them; or a :class:`Compression`. It applies to all objects, and to branches without their own.
        title: the title of the file.
        threads: threads that compress. Default: the environment variable ``SAPWOOD_THREADS``, else all cores.

    Raises:
        FileNotFoundError: the directory does not exist.
        PermissionError: you may not write there.
        UsageError: an option is invalid, the file is open for reading, or its name has the suffix of another
            format.
    """
    where = _place(path)
    if isinstance(where, str):
        where = check_output(where, ROOT, overwrite=True, remote=True)
        if is_open(where):
            raise UsageError(f"{where} is open for reading: close it before you replace it", url=where)
    return WritableFile(where, compression=compression, title=title, threads=threads)


def create(
    path: Any,
    *,
    compression: Compression | str | int | None = "zstd:5",
    title: str = "",
    threads: int | None = None,
) -> WritableFile:
    """Writes a file as :func:`recreate` does, but never replaces an existing file.

    Raises:
        UsageError: the file exists.
    """
    where = _place(path)
    if isinstance(where, str):
        where = check_output(where, ROOT, remote=True, replaced_by="use sapwood.recreate")
    return WritableFile(where, compression=compression, title=title, threads=threads)


def update(
    path: Any, *, compression: Compression | str | int | None = "zstd:5", threads: int | None = None
) -> WritableFile:
    """Adds trees and objects to an existing local file.

    >>> with sapwood.recreate("out.root") as file:
    ...     file["Events"] = {"met": np.zeros(3, "f4")}
    >>> with sapwood.update("out.root") as file:
    ...     file["notes/by"] = "somebody"
    >>> sapwood.open("out.root").keys()
    ['Events;1', 'notes;1', 'notes/by;1']

    Existing content is not changed and can be read in the meantime. New content becomes visible at the end
    of the ``with`` block. If the block raises an exception, or the process is killed, the file keeps its
    previous content. A second object with the same name gets the next cycle. You can also add entries to
    existing trees, including those written by ROOT and uproot, if sapwood can write their types of branches:
    ``file["Events"].extend({"met": …})``, with a column for each branch except counters.

    Args:
        path: a path. No other process may write to the file at the same time.
        compression: the compression of new content, as in :func:`recreate`.
        threads: as in :func:`recreate`.

    Raises:
        FileNotFoundError: the file does not exist.
        PermissionError: you may not write to the file.
        UnsupportedTypeError: the path is a URL, or the file was written by a ROOT older than version 4.
    """
    where = _place(path)
    if not isinstance(where, str):
        raise UsageError(f"update requires the path of a file, not {type(where).__name__}")
    return WritableFile(where, compression=compression, title="", threads=threads, _update=True)


class WritableFile(ClosingContext):
    """A file that :func:`recreate`, :func:`create` or :func:`update` writes.

    ``file["name"] = …`` writes a tree or an object, and ``file["name"]`` is a tree to which you can add
    entries. A ``with`` block completes the file at its end, or discards it after an exception.

    Attributes:
        url: the path or URL.
        compression: the default :class:`Compression`.
    """

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
        self._items: dict[str, WritableTree | WritableRNTuple | str] = {}
        self._closed = False
        if threads is not None and not isinstance(threads, int):
            raise ArgumentTypeError(f"'threads' must be a whole number, not {threads!r}")
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, not {threads}")
        name = os.path.basename(self.url)
        code = self.compression.code
        with contextlib.nullcontext() if _update else _writable(where), core_errors():
            if _update:
                self._core = _core.Writer.update(where, compression=code, threads=threads)
                self._before = dict.fromkeys(
                    path for path, kind in self._core.paths() if not _is_directory(kind)
                )
            else:
                self._core = _core.Writer(
                    where, name, title=check_text("title", title), compression=code, threads=threads
                )
                self._before = {}

    @property
    def closed(self) -> bool:
        """Whether the file was completed or discarded."""
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
                None: the types of the first data that you add. A list of numbers becomes a branch plus a
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
        columns = None if branches is None else _declared(branches)
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
        path = self._unused(path)
        tree = WritableTree(self._core, path, columns, layout, self.compression)
        self._items[path] = tree
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
        path = self._unused(path)
        rntuple = WritableRNTuple(self._core, path, declared, layout, self.compression)
        if fields is not None and declared is None:
            rntuple.extend(fields)
        self._items[path] = rntuple
        return rntuple

    def mkdir(self, path: str) -> None:
        """Creates a directory and its parents; existing ones are kept."""
        with core_errors():
            self._core.directory(path.strip("/"))

    def __setitem__(self, path: str, value: Any) -> None:
        """Writes a table as a tree, a histogram, or a text as a ``TObjString``.

        Tables are dicts of arrays, Awkward Arrays of records, DataFrames and Arrow tables. Histograms are
        those of ``hist``, ``boost-histogram`` and other libraries that follow UHI, those read by sapwood, and
        tuples such as ``numpy.histogram`` returns.
        """
        if isinstance(value, str):
            self._object(path, "TObjString", "", {"fString": value})
            return
        found = as_object(value, self._name(path))
        if found is not None:
            self._object(path, *found)
        elif is_table(value):
            self.mktree(path).extend(fields_of_table(value))
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
            UnsupportedTypeError: an existing tree has a branch of a type that sapwood cannot write.
        """
        path = path.strip("/")
        if path in self._before and path not in self._items:
            self._items[path] = WritableTree.reopen(self._core, path, self.compression)
        found = self._items.get(path)
        if found is not None and not isinstance(found, str):
            return found
        tables = [name for name, item in self._items.items() if not isinstance(item, str)]
        raise KeyInFileError.not_found("tree", path, tables, self.url)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path.strip("/") in {*self._before, *self._items}

    def keys(self) -> list[str]:
        """The paths of the trees, RNTuples and objects so far, without cycles."""
        return list({**self._before, **self._items})

    def close(self) -> None:
        """Completes the file and moves it to its path. Nothing can be added afterwards."""
        if not self._closed:
            self._closed = True
            with core_errors():
                self._core.commit()

    def abandon(self) -> None:
        """Discards the file; an existing file stays as it was."""
        self._closed = True
        self._core.abandon()

    def _object(self, path: str, class_name: str, title: str, members: dict[str, Any]) -> None:
        path = self._unused(path)
        with core_errors():
            self._core.object(path.rpartition("/")[0], class_name, self._name(path), title, members)
        self._items[path] = class_name

    def _unused(self, path: str) -> str:
        """The path without slashes at its ends; it must not be in use."""
        path = path.strip("/")
        if not path:
            raise UsageError("the name of a tree or an object must not be empty")
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
    """A path or URL as text, or the file object that was given."""
    if isinstance(path, (str, os.PathLike)):
        where = os.fspath(path)
        if isinstance(where, bytes):
            where = os.fsdecode(where)
        return where if is_url(where) else os.path.expanduser(where)
    if hasattr(path, "write") and hasattr(path, "seek"):
        return path
    raise ArgumentTypeError(f"expected a path, a URL, or an object with write and seek, not {path!r}")


def _is_directory(kind: str) -> bool:
    return kind in ("TDirectory", "TDirectoryFile")


def _declared(branches: Any) -> dict[str, ColumnType]:
    names = getattr(branches, "names", None)
    if names is not None and hasattr(branches, "fields") and not isinstance(branches, Mapping):
        branches = {name: branches.fields[name][0] for name in names}
    if not isinstance(branches, Mapping):
        raise ArgumentTypeError(f"branches must be a dict of types or a structured dtype, not {branches!r}")
    return {str(name): column_type(str(name), declared) for name, declared in branches.items()}


@contextlib.contextmanager
def _writable(where: Any) -> Iterator[None]:
    """Says so if a directory that exists takes no new file, as those of ``/proc``: the system finds none."""
    try:
        yield
    except FileNotFoundError as error:
        folder = os.path.dirname(where) if isinstance(where, str) else ""
        if not os.path.isdir(folder) or os.path.exists(where):
            raise
        message = f"{where}: the directory {folder!r} takes no new files: choose another one"
        raise PermissionError(message, url=error.url, hint="choose another one") from None
