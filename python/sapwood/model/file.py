"""Open files: keys, objects by path, and what applies to a file as a whole."""

from __future__ import annotations

import os
import time
import uuid
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display.printable import shows_printable
from ..display.units import human_bytes
from ..errors import ClosedFileError, SapwoodWarning, UnsupportedTypeError, UsageError
from ..errors.closing import ClosingContext
from ..errors.core import core_errors
from ..options.compression import Compression
from ..options.open_files import remember_open
from ..options.paths import check_exists, is_url
from ..options.reading import WITHOUT_SECRETS, OpenOptions
from .accepted import Traffic
from .directory import Directory, SubDirectory
from .tree import Tree
from .watching import watch

if TYPE_CHECKING:
    from ..lazy.reader import Ledger
    from ..report.cost import ReadReport


class File(Directory, ClosingContext):
    """An open file: its top directory, and properties of the file as a whole.

    A ``with`` block closes the file. A file that was opened by path or URL can be pickled; the copy opens it
    again. Several threads may use a file at the same time.

    Attributes:
        kept_trees: trees that stay parsed until the file is closed, by the paths that tasks name.
    """

    def __init__(self, where: Any, options: OpenOptions) -> None:
        super().__init__(())
        self._options = options
        self._closed = False
        self._all_keys: list[_core.Key] | None = None
        self._reopen_by: str | None = where if isinstance(where, str) else None
        self._opened = time.monotonic()
        self._ledgers: list[Ledger] = []
        self.kept_trees: dict[str | None, Tree] = {}
        with core_errors():
            if isinstance(where, str):
                replicas = options.replicas_of(where)
                if not replicas:
                    check_exists(where)
                given = options.for_core(replicas)
                log: dict[str, Any] = {} if options.log is None else {"log": _log_of(where, options)}
                self._core = _core.File.open(where, deadline=options.deadline, options=given, **log)
            elif options.replicas is not None:
                raise UsageError("'replicas' requires a file that is opened by its path or URL")
            else:
                self._core = _core.File.open_object(where, _object_name(where), deadline=options.deadline)
        self._dataset_tree = self._core.dataset_tree
        if self._dataset_tree is not None:
            # A newer version may appear at any time: pickled copies and later steps must read this one.
            url = self._core.url
            self._reopen_by = url if is_url(url) else os.path.abspath(url)
            if any(
                kept is not None and kept.is_explicit
                for kept in (options.lazy_download, options.column_cache)
            ):
                warnings.warn(
                    f"{self._core.url} is a dataset: 'cache' and 'lazy_download' apply only to files "
                    "and are ignored",
                    SapwoodWarning,
                    stacklevel=4,
                )
        self._tell_closed = watch(self, self._core, self._opened)
        remember_open(self)

    @property
    def file(self) -> File:
        """This file."""
        return self

    @property
    def options(self) -> OpenOptions:
        """The options that the file was opened with; they apply to every read."""
        return self._options

    @property
    def file_path(self) -> str:
        """The path or URL, without passwords, tokens and query values."""
        by = self._reopen_by
        return by if by is not None and not is_url(by) else self._core.url

    @property
    def dataset_tree(self) -> str | None:
        """The path of the tree if this is a dataset, else None."""
        return self._dataset_tree

    @property
    def size(self) -> int:
        """Size of the file in bytes; for a dataset, the bytes of all baskets located so far."""
        return self._core.size

    @cached_property
    def uuid(self) -> uuid.UUID:
        """The UUID that the writer gave to the file."""
        with core_errors():
            return uuid.UUID(self._core.uuid)

    @property
    def hex_uuid(self) -> str:
        """The UUID as text of 36 characters."""
        return str(self.uuid)

    @property
    def root_version(self) -> str:
        """The version of ROOT that wrote the file, as text such as "6.28/08"."""
        major, minor, patch = self.root_version_tuple
        return f"{major}.{minor:02d}/{patch:02d}"

    @property
    def root_version_tuple(self) -> tuple[int, int, int]:
        """The version of ROOT that wrote the file, as (major, minor, patch)."""
        with core_errors():
            code = self._core.root_version
        return code // 10000, code // 100 % 100, code % 100

    @property
    def compression(self) -> Compression:
        """The compression setting of the file; branches may have their own."""
        with core_errors():
            return Compression(self._core.compression)

    @cached_property
    def streamers(self) -> list[dict[str, Any]]:
        """The streamer infos: a dict with name, version, checksum and elements for each C++ class."""
        with core_errors():
            return list(self._core.streamers(deadline=self._options.deadline))

    @cached_property
    def top_keys(self) -> list[_core.Key]:
        """The keys of the top directory; for a dataset, also those of the other objects stored with it."""
        with core_errors():
            return self._core.keys(recursive=False, deadline=self._options.deadline)

    @property
    def all_keys(self) -> list[_core.Key]:
        """The keys of all directories."""
        return self.read_keys()

    def read_keys(self, deadline: float | None = None) -> list[_core.Key]:
        """The keys of all directories. The first call reads them, within ``deadline`` seconds."""
        if self._all_keys is None:
            with core_errors():
                deadline = self._options.deadline_or(deadline)
                self._all_keys = self._core.keys(recursive=True, deadline=deadline)
        return self._all_keys

    def item_at(self, path: str, cycle: int | None = None, deadline: float | None = None) -> Any:
        """The tree or object at a path from the top, in the given or the highest cycle."""
        self.require_open()
        with core_errors():
            core, cycle = self._core.item(path, cycle, deadline=self._options.deadline_or(deadline))
        if isinstance(core, _core.Object):
            from ..objects.reading import value_of

            return value_of(core, self)
        directory = tuple(path.split("/")[:-1])
        return Tree(SubDirectory(self, directory) if directory else self, path, cycle, core)

    def likely_tree(self, name: str) -> Tree | None:
        """The tree with this name if it has arrived before the keys of the file, else None."""
        self.require_open()
        if name == self._dataset_tree:
            # The keys of a dataset are in separate objects, which the tree does not need.
            return self.tree_at(name)
        with core_errors():
            core = self._core.likely_tree(name)
        return None if core is None else Tree(self, name, None, core, likely=True)

    def tree_at(self, path: str, cycle: int | None = None) -> Tree:
        """The tree at a path from the top, in the given or the highest cycle."""
        found = self.item_at(path, cycle)
        if not isinstance(found, Tree):
            raise UnsupportedTypeError(f"{self.file_path}:{path} is not a tree", url=self.file_path)
        return found

    def raw(self) -> _core.RawFile:
        """The bytes of the file, over the same connection."""
        return self._core.raw()

    def beside(self, name: str) -> File:
        """Opens another file with the same options; a relative ``name`` starts at this file's directory."""
        if self._reopen_by is None:
            raise UnsupportedTypeError(
                f"cannot locate {name!r}: the file that refers to it was opened from a Python object. "
                "Open that file by its path or URL"
            )
        with core_errors():
            return File(_core.beside(self._reopen_by, name), self._options.beside(name))

    def object_of(self, key: _core.Key, deadline: float | None = None) -> Any:
        """The directory, tree or object that a key refers to."""
        self.require_open()
        if key.is_directory:
            return SubDirectory(self, tuple(key.path.split("/")))
        return self.item_at(key.path, key.cycle, deadline)

    @property
    def fetched_bytes(self) -> int:
        """Bytes that were read so far."""
        return self._core.counters()["fetched_bytes"]

    @property
    def decompressed_bytes(self) -> int:
        """Bytes of the columns that were decoded so far."""
        return self._core.counters()["decompressed_bytes"]

    @property
    def source(self) -> Traffic:
        """What was read so far, under the names that uproot's sources have."""
        return Traffic.of(self._core.counters())

    def report(self) -> ReadReport:
        """What reading this file has cost so far. This also works after the file was closed."""
        from ..report.cost import ReadReport

        return ReadReport.from_counters(
            self.file_path,
            self._core.counters(),
            size=self.size,
            opened=self._opened,
            timeline=self._core.trace(),
            columns=self._core.column_costs(),
            lazy=[ledger.use() for ledger in self._ledgers],
            log=self._core.event_log()[0],
            messages=self._core.messages(),
        )

    def add_ledger(self, ledger: Ledger) -> None:
        """Includes a lazy reader in the reports of this file."""
        self._ledgers.append(ledger)

    def trace(self) -> list[tuple[float, float, int, int]]:
        """The ranges fetched so far, as (requested, received, offset, bytes).

        The first two are in seconds since opening began.
        """
        return [fetched[:4] for fetched in self._core.trace()]

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._closed

    def close(self) -> None:
        """Closes the file. Arrays stay valid, but its trees and branches can no longer be read."""
        for ledger in self._ledgers:
            ledger.save()
        self._closed = True
        self.kept_trees.clear()
        self._core.close()
        self._tell_closed()

    def __reduce__(self) -> tuple[Any, ...]:
        by = self._reopen_by
        if by is None:
            raise UsageError(
                "a file that was opened from a Python object cannot be pickled: open it by its path or URL"
            )
        options = self._options.pickled(by)
        if options.has_secrets or (is_url(by) and by != _core.redact(by)):
            raise UsageError(f"{self.file_path} cannot be pickled: {WITHOUT_SECRETS}")
        if not is_url(by) and os.path.exists(by):
            by = os.path.abspath(by)
        return (File, (by, options))

    @shows_printable
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<File {self.file_path!r}{state}>"

    def _summary(self) -> str:
        return f"{human_bytes(self.size)}, written by ROOT {self.root_version}, {self.compression}"

    def require_open(self) -> None:
        """Raises a ClosedFileError if the file was closed."""
        if self._closed:
            raise ClosedFileError(
                f"{self.file_path!r} is closed",
                url=self.file_path,
                hint="open it again; what was read before stays valid",
            )

    def highest_cycle(self, path: str) -> int | None:
        """The highest cycle of a key; None if the file was closed before its keys were read."""
        if self._closed and self._all_keys is None:
            return None
        if path == self._dataset_tree:
            return 1
        keys = self.all_keys if "/" in path else self.top_keys
        return max((key.cycle for key in keys if key.path == path), key=abs, default=None)


def _log_of(where: str, options: OpenOptions) -> Any:
    """The log of the dataset at a path or URL, which may name a version."""
    from ..history.logs import log_of, without_version

    return log_of(options.log, without_version(where), options)


def _object_name(candidate: Any) -> str:
    name = getattr(candidate, "name", None)
    return name if isinstance(name, str) else f"<{type(candidate).__name__}>"
