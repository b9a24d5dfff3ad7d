"""Creates and updates ROOT files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from .. import _core
from ..display.printable import shows_printable
from ..errors import (
    ArgumentTypeError,
    FileNotFoundError,
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
from .directory import FileContent, WritableDirectory


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
    ``file["Events"].extend({"met": …})``, with a column for each branch except counters. And you can add
    branches to any existing tree: ``file["Events"].add_branches({"score": …})``.

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


class WritableFile(WritableDirectory, ClosingContext):
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
        url = where if isinstance(where, str) else str(getattr(where, "name", "<object>"))
        chosen = Compression.of(compression)
        self._closed = False
        if threads is not None and not isinstance(threads, int):
            raise ArgumentTypeError(f"'threads' must be a whole number, not {threads!r}")
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, not {threads}")
        before: dict[str, None] = {}
        with contextlib.nullcontext() if _update else _writable(where), core_errors():
            if _update:
                core = _core.Writer.update(where, compression=chosen.code, threads=threads)
                before = dict.fromkeys(path for path, kind in core.paths() if not _is_directory(kind))
            else:
                name = os.path.basename(url)
                core = _core.Writer(
                    where, name, title=check_text("title", title), compression=chosen.code, threads=threads
                )
        super().__init__("", FileContent(core, url, chosen, before, {}))

    @property
    def url(self) -> str:
        """The path or URL."""
        return self._content.url

    @property
    def compression(self) -> Compression:
        """The default compression."""
        return self._content.compression

    @property
    def closed(self) -> bool:
        """Whether the file was completed or discarded."""
        return self._closed

    def close(self) -> None:
        """Completes the file and moves it to its path. Nothing can be added afterwards."""
        if not self._closed:
            self._closed = True
            with core_errors():
                self._content.core.commit()

    def abandon(self) -> None:
        """Discards the file; an existing file stays as it was."""
        self._closed = True
        self._content.core.abandon()

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
