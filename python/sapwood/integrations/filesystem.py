"""The protocol ``sapwood`` of fsspec: any file that sapwood can reach, for programs that read through fsspec.

>>> pandas.read_parquet("sapwood::https://example.org/events.parquet")          # doctest: +SKIP
>>> uproot.open("sapwood://root://example.org//store/f.root")                   # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from fsspec.implementations.chained import ChainedFileSystem
from fsspec.spec import AbstractBufferedFile
from fsspec.utils import stringify_path

from .. import _core
from ..errors import FileNotFoundError, UnsupportedTypeError, UsageError
from ..opening.raw import RAW_POOL
from ..options.paths import is_url
from ..options.reading import WITHOUT_SECRETS, open_options
from ..options.remote_glob import lister, remote_glob

_LOCAL = (None, "file", "local")


class SapwoodFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """Reads files with sapwood's transport: replicas, cache, deadlines, retries, credentials.

    Put ``sapwood::`` before the URL of another protocol of fsspec, or ``sapwood://`` before any URL that
    sapwood reads; the latter needs no other package, also for ``root://``.

    Args:
        target_protocol, target_options, fo: the inner URL, as fsspec passes it.
        deadline: seconds that opening, reading or listing may take.
        options: as in :func:`sapwood.open`, such as ``replicas``, ``cache`` or ``headers``.

    Only reading is possible. An object that has secrets cannot be pickled.
    """

    protocol = "sapwood"
    root_marker = ""

    def __init__(
        self,
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        fo: str | None = None,
        deadline: float | None = None,
        **options: Any,
    ) -> None:
        own = ("asynchronous", "loop", "use_listings_cache", "listings_expiry_time", "max_paths")
        given = {name: options.pop(name) for name in own if name in options}
        super().__init__(**given)
        inner = dict(target_options or {})
        self._host = inner.pop("hostid", None)
        self._target, self._inner = target_protocol, fo
        self._options = open_options(deadline, None, {**inner, **options})

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = stringify_path(path)
        for prefix in ("sapwood::", "sapwood://"):
            path = path.removeprefix(prefix)
        return path if path.endswith("://") else path.rstrip("/")

    def unstrip_protocol(self, name: str) -> str:
        """The path with the protocol, by which fsspec finds the file again."""
        return f"sapwood://{self._url(name)}"

    def info(self, path: str, **ignored: Any) -> dict[str, Any]:
        """Name, size in bytes and type of a file, or of a directory that can be listed."""
        path = self._strip_protocol(path)
        try:
            with RAW_POOL.borrow(self._url(path), self._options) as file:
                return {"name": path, "size": file.size, "type": "file"}
        except (FileNotFoundError, IsADirectoryError, UsageError):
            try:
                is_directory = bool(path) and bool(self.ls(path, detail=False))
            except (OSError, UnsupportedTypeError, UsageError):
                is_directory = False
            if not is_directory:
                raise
        return {"name": path, "size": 0, "type": "directory"}

    def ls(self, path: str, detail: bool = True, **ignored: Any) -> list[Any]:
        """The content of a directory; sizes are unknown (None).

        Raises:
            UnsupportedTypeError: the server cannot list directories.
        """
        path = self._strip_protocol(path)
        url = self._url(path)
        if is_url(url):
            found = lister(self._options.deadline, self._options.for_core())(url.rstrip("/") + "/")
        else:
            with os.scandir(url or ".") as entries:
                found = sorted((entry.name, entry.is_dir()) for entry in entries)
        prefix = f"{path.rstrip('/')}/" if path else ""
        if not detail:
            return [prefix + name for name, _ in found]
        return [
            {"name": prefix + name, "size": None, "type": "directory" if is_directory else "file"}
            for name, is_directory in found
        ]

    def glob(self, path: str, maxdepth: int | None = None, **arguments: Any) -> Any:
        """The files that match a pattern, sorted."""
        path = self._strip_protocol(path)
        if is_url(path) and not arguments.get("detail") and maxdepth is None:
            return list(remote_glob(path, lister(self._options.deadline, self._options.for_core())))
        return super().glob(path, maxdepth=maxdepth, **arguments)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **ignored: Any) -> bytes:
        """The bytes of a file from ``start`` to ``end``; negative positions count from the end."""
        return self._read(self._strip_protocol(path), [(start, end)])[0]

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **ignored: Any,
    ) -> list[Any]:
        """The bytes of ranges; those of one file are fetched together, in as few requests as it allows.

        Args:
            paths: a file for each range.
            starts, ends: the ranges; None for the ends of the file.
            max_gap: ignored: sapwood decides which ranges to merge.
            on_error: "return" to put an exception in the place of each range that fails, else it is raised.
        """
        starts, ends = (
            list(given) if isinstance(given, Sequence) else [given] * len(paths) for given in (starts, ends)
        )
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise UsageError("'paths', 'starts' and 'ends' must have the same length")
        places: dict[str, list[int]] = {}
        for place, path in enumerate(paths):
            places.setdefault(self._strip_protocol(path), []).append(place)
        found: list[Any] = [None] * len(paths)
        for path, own in places.items():
            try:
                parts: Sequence[Any] = self._read(path, [(starts[place], ends[place]) for place in own])
            except Exception as error:
                if on_error != "return":
                    raise
                parts = [error] * len(own)
            for place, part in zip(own, parts, strict=True):
                found[place] = part
        return found

    def _read(self, path: str, ranges: Sequence[tuple[int | None, int | None]]) -> list[bytes]:
        with RAW_POOL.borrow(self._url(path), self._options) as file:
            return file.read([slice(*one).indices(file.size)[:2] for one in ranges])

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, **arguments: Any) -> _OpenFile:
        if mode != "rb":
            raise UnsupportedTypeError(f"the filesystem 'sapwood' only reads files: mode {mode!r}")
        names = ("cache_type", "cache_options", "size")
        kept = {name: arguments[name] for name in names if name in arguments}
        return _OpenFile(self, path, mode, block_size, **kept)

    def _url(self, path: str) -> str:
        """The URL that sapwood opens for a path."""
        if is_url(path) or self._target in _LOCAL:
            return path
        if self._target in ("root", "roots"):
            return f"{self._target}://{self._host}/{path}"
        return f"{self._target}://{path}"

    def __reduce__(self) -> Any:
        self._refuse_secrets()
        return super().__reduce__()

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:
        """The options as a dict, from which fsspec can make the same object."""
        self._refuse_secrets()
        described: dict[str, Any] = super().to_dict(include_password=include_password)
        return described

    def _refuse_secrets(self) -> None:
        inner = self._inner or ""
        if self._options.has_secrets or (is_url(inner) and _core.redact(inner) != inner):
            raise UsageError(f"this filesystem cannot be pickled: {WITHOUT_SECRETS}")


class _OpenFile(AbstractBufferedFile):  # type: ignore[misc]
    """An open file; fsspec's caches decide which ranges it asks for."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        data: bytes = self.fs.cat_file(self.path, start, end)
        return data
