"""Open files."""

from __future__ import annotations

import gc
import os
import time
import uuid
import warnings
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display.printable import shows_printable
from ..errors import ClosedFileError, SapwoodWarning, UnsupportedTypeError, UsageError
from ..errors.core import core_errors
from ..history.logs import log_of, without_version
from ..objects.reading import value_of
from ..options.compression import Compression
from ..options.outputs import is_same
from ..options.paths import check_exists, is_url
from ..options.reading import OpenOptions
from ..report import ReadReport
from .directory import Directory, SubDirectory
from .tree import Tree
from .watching import watch

if TYPE_CHECKING:
    from types import TracebackType

    from ..lazy.reader import Ledger


_OPENED: weakref.WeakValueDictionary[int, File] = weakref.WeakValueDictionary()
"""The files of this process that may be open."""


def open_files(path: str) -> list[File]:
    """The open files of this process at a local path."""

    def found() -> list[File]:
        return [file for file in list(_OPENED.values()) if not file.closed and is_same(path, file.file_path)]

    if found():
        # Files that nobody holds any more, but for references among their own parts.
        gc.collect()
    return found()


class File(Directory):
    """An open file: its top directory, and what concerns the file as a whole.

    It closes itself at the end of a ``with`` block. It can be pickled if it was opened by path or URL: the
    copy opens it again. It may be used by several threads at once.
    """

    def __init__(self, where: Any, options: OpenOptions) -> None:
        super().__init__(())
        self._options = options
        self._closed = False
        self._all_keys: list[_core.Key] | None = None
        self._reopen_by: str | None = where if isinstance(where, str) else None
        self._opened = time.monotonic()
        self._ledgers: list[Ledger] = []
        with core_errors():
            if isinstance(where, str):
                replicas = options.replicas_of(where)
                if not replicas:
                    check_exists(where)
                given = options.for_core(replicas)
                log: dict[str, Any] = {} if options.log is None else {"log": _log_of(where, options)}
                self._core = _core.File.open(where, deadline=options.deadline, options=given, **log)
            elif options.replicas is not None:
                raise UsageError("replicas are of a file that is opened by its path or URL")
            else:
                self._core = _core.File.open_object(where, _object_name(where), deadline=options.deadline)
        self._dataset_tree = self._core.dataset_tree
        if self._dataset_tree is not None:
            # Its newest version may be another one soon: copies and later steps read this one.
            url = self._core.url
            self._reopen_by = url if is_url(url) else os.path.abspath(url)
            if options.lazy_download is not None and options.lazy_download.is_explicit:
                warnings.warn(
                    f"{self._core.url} is a dataset, of which nothing is kept on the disk: "
                    "'cache' and 'lazy_download' are for files, and have no effect",
                    SapwoodWarning,
                    stacklevel=4,
                )
        self._tell_closed = watch(self, self._core, self._opened)
        _OPENED[id(self)] = self

    @property
    def file(self) -> File:
        """This file."""
        return self

    @property
    def options(self) -> OpenOptions:
        """What the file was opened with; every read follows it."""
        return self._options

    @property
    def file_path(self) -> str:
        """The path or URL, without passwords, tokens and query values."""
        by = self._reopen_by
        return by if by is not None and not is_url(by) else self._core.url

    @property
    def dataset_tree(self) -> str | None:
        """The path of the tree, if this is a dataset; else None."""
        return self._dataset_tree

    @property
    def size(self) -> int:
        """Bytes of the file; of a dataset, those of the baskets whose places are known so far."""
        return self._core.size

    @cached_property
    def uuid(self) -> uuid.UUID:
        """The identity that the writer gave to the file."""
        return uuid.UUID(self._core.uuid)

    @property
    def hex_uuid(self) -> str:
        """The same, as 36 characters."""
        return str(self.uuid)

    @property
    def root_version(self) -> str:
        """The version of ROOT that wrote the file, such as "6.28/08"."""
        code = self._core.root_version
        return f"{code // 10000}.{code // 100 % 100:02d}/{code % 100:02d}"

    @property
    def root_version_tuple(self) -> tuple[int, int, int]:
        """The same, as numbers."""
        code = self._core.root_version
        return code // 10000, code // 100 % 100, code % 100

    @property
    def compression(self) -> Compression:
        """The file's setting; branches may have others."""
        return Compression(self._core.compression)

    @cached_property
    def streamers(self) -> list[dict[str, Any]]:
        """The file's description of its C++ classes: name, version, checksum and elements of each."""
        with core_errors():
            return list(self._core.streamers(deadline=self._options.deadline))

    @cached_property
    def top_keys(self) -> list[_core.Key]:
        """The keys of the top directory; of a dataset, also those of what came with its entries."""
        with core_errors():
            return self._core.keys(recursive=False, deadline=self._options.deadline)

    @property
    def all_keys(self) -> list[_core.Key]:
        """The keys of all directories."""
        return self.read_keys()

    def read_keys(self, deadline: float | None = None) -> list[_core.Key]:
        """The keys of all directories: read at the first call, which may take ``deadline`` seconds."""
        if self._all_keys is None:
            with core_errors():
                deadline = self._options.deadline_or(deadline)
                self._all_keys = self._core.keys(recursive=True, deadline=deadline)
        return self._all_keys

    def item_at(self, path: str, cycle: int | None = None, deadline: float | None = None) -> Any:
        """The tree or the object of a path from the top, in its highest or the given cycle."""
        self.require_open()
        with core_errors():
            core = self._core.item(path, cycle, deadline=self._options.deadline_or(deadline))
        if isinstance(core, _core.Object):
            return value_of(core, self)
        directory = tuple(path.split("/")[:-1])
        return Tree(SubDirectory(self, directory) if directory else self, path, cycle, core)

    def likely_tree(self, name: str) -> Tree | None:
        """The tree of a name, if it is at hand while the keys of the file are still on their way."""
        self.require_open()
        if name == self._dataset_tree:
            # The keys of a dataset are in further objects, which need not be read for it.
            return self.tree_at(name)
        core = self._core.likely_tree(name)
        return None if core is None else Tree(self, name, None, core, likely=True)

    def tree_at(self, path: str, cycle: int | None = None) -> Tree:
        """The tree of a path from the top, in its highest or the given cycle."""
        found = self.item_at(path, cycle)
        if not isinstance(found, Tree):
            raise UnsupportedTypeError(f"{path!r} of {self.file_path} is no tree", url=self.file_path)
        return found

    def beside(self, name: str) -> File:
        """Opens the file that this one calls ``name``, with the same options: one that lies beside it."""
        if self._reopen_by is None:
            raise UnsupportedTypeError(
                f"the file {name!r} is named by one that was opened from a Python object, which is nowhere: "
                "open it by its path or URL"
            )
        with core_errors():
            return File(_core.beside(self._reopen_by, name), self._options.beside(name))

    def object_of(self, key: _core.Key, deadline: float | None = None) -> Any:
        """The directory, tree or object of a key."""
        self.require_open()
        if key.is_directory:
            return SubDirectory(self, tuple(key.path.split("/")))
        return self.item_at(key.path, key.cycle, deadline)

    def report(self) -> ReadReport:
        """What reading this file has cost so far; also when it is closed."""
        return ReadReport.from_counters(
            self.file_path,
            self._core.counters(),
            size=self.size,
            opened=self._opened,
            timeline=self._core.trace(),
            lazy=[ledger.use() for ledger in self._ledgers],
            log=self._core.event_log()[0],
        )

    def add_ledger(self, ledger: Ledger) -> None:
        """Takes a lazy reader into the reports of this file."""
        self._ledgers.append(ledger)

    def trace(self) -> list[tuple[float, float, int, int]]:
        """Every range fetched so far: seconds since opening began when asked and answered, offset, bytes."""
        return [fetched[:4] for fetched in self._core.trace()]

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._closed

    def close(self) -> None:
        """Closes the file. Arrays that were read stay; trees and branches cannot be read any more."""
        for ledger in self._ledgers:
            ledger.save()
        self._closed = True
        self._core.close()
        self._tell_closed()

    def __enter__(self) -> File:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        by = self._reopen_by
        if by is None:
            raise UsageError(
                "a file that was opened from a Python object cannot be pickled: open it by its path"
            )
        options = self._options.pickled(by)
        if options.has_secrets or (is_url(by) and by != _core.redact(by)):
            raise UsageError(
                f"{self.file_path} was opened with headers or keys, or by a URL that holds a password, token "
                "or query; these are never pickled: open it where it is needed"
            )
        if not is_url(by) and os.path.exists(by):
            by = os.path.abspath(by)
        return (File, (by, options))

    @shows_printable
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<File {self.file_path!r}{state}>"

    def require_open(self) -> None:
        """Raises a ClosedFileError if the file was closed."""
        if self._closed:
            raise ClosedFileError(f"{self.file_path!r} is closed", url=self.file_path)

    def highest_cycle(self, path: str) -> int | None:
        """The highest cycle of a key, or None if it cannot be told any more because the file was closed."""
        if self._closed and self._all_keys is None:
            return None
        if path == self._dataset_tree:
            return 1
        keys = self.all_keys if "/" in path else self.top_keys
        return max((key.cycle for key in keys if key.path == path), key=abs, default=None)


def _log_of(where: str, options: OpenOptions) -> Any:
    """The log of the dataset that a path or URL means."""
    return log_of(options.log, without_version(where), options)


def _object_name(candidate: Any) -> str:
    name = getattr(candidate, "name", None)
    return name if isinstance(name, str) else f"<{type(candidate).__name__}>"
