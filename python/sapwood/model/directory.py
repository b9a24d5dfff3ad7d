"""Directories of a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..display.printable import shows_printable
from ..errors import KeyInFileError, UnsupportedTypeError, UsageError
from ..query.filters import Filter, text_filter
from .tree import Tree

if TYPE_CHECKING:
    from .. import _core
    from .file import File

T = TypeVar("T")
TREE_CLASSES = frozenset({"TTree", "TNtuple", "TNtupleD"})
"""The C++ classes of trees."""


class Directory(ABC):
    """A directory: a mapping from names to trees, directories and other objects (:mod:`sapwood.objects`).

    Names are paths from here down with an optional cycle: ``"Tree"``, ``"dir/Tree;2"``. Without a cycle, the
    highest is meant. A path may go on into a tree: ``"dir/Tree/branch"``.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path

    @property
    @abstractmethod
    def file(self) -> File:
        """The file."""

    @property
    def path(self) -> tuple[str, ...]:
        """The names from the file down to this directory."""
        return self._path

    @property
    def object_path(self) -> str:
        """The path from the file down: "/", "/dir/", …."""
        return "/".join(("", *self._path, ""))

    @property
    def file_path(self) -> str:
        """The path or URL of the file, without secrets."""
        return self.file.file_path

    def iteritems(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """(name, object) of all keys that the filters let pass; see :meth:`iterkeys` for the arguments."""
        filters = {"filter_name": filter_name, "filter_classname": filter_classname}
        for name, key in self._iterate(recursive=recursive, cycle=cycle, deadline=deadline, **filters):
            yield name, self.file.object_of(key, deadline)

    def iterkeys(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        deadline: float | None = None,
    ) -> Iterator[str]:
        """Names of the keys, from here down.

        Args:
            recursive: False for the keys of this directory only.
            cycle: False to leave ";1" away.
            filter_name: a name, a glob, ``"/regex/flags"``, a function of a name, or an iterable of these. It
                sees the path from here down without the cycle.
            filter_classname: the same for the C++ class.
            deadline: seconds that listing the keys may take, and reading each object. Default: as the
                file was opened.
        """
        filters = {"filter_name": filter_name, "filter_classname": filter_classname}
        keys = self._iterate(recursive=recursive, cycle=cycle, deadline=deadline, **filters)
        return (name for name, _ in keys)

    def iterclassnames(self, **filters: Any) -> Iterator[tuple[str, str]]:
        """(name, C++ class), with the arguments of :meth:`iterkeys`."""
        return ((name, key.class_name) for name, key in self._iterate(**filters))

    def keys(self, **filters: Any) -> list[str]:
        """Names of the keys, with the arguments of :meth:`iterkeys`."""
        return list(self.iterkeys(**filters))

    def values(self, **filters: Any) -> list[Any]:
        """The objects, with the arguments of :meth:`iterkeys`."""
        return [value for _, value in self.iteritems(**filters)]

    def items(self, **filters: Any) -> list[tuple[str, Any]]:
        """(name, object), with the arguments of :meth:`iterkeys`."""
        return list(self.iteritems(**filters))

    def classnames(self, **filters: Any) -> dict[str, str]:
        """The C++ class of each key by name, with the arguments of :meth:`iterkeys`."""
        return dict(self.iterclassnames(**filters))

    def key(self, where: str) -> _core.Key:
        """The key of a name: its class, title, cycle, offset and sizes. The object is not read."""
        found, rest = self._resolve(where)
        if found is None or rest:
            raise self._missing(where)
        return found

    def classname_of(self, where: str) -> str:
        """The C++ class of the object of a name."""
        return self.key(where).class_name

    def title_of(self, where: str) -> str:
        """The title of the object of a name."""
        return self.key(where).title

    def get(self, where: str, default: T | None = None) -> Any | T | None:
        """The object of a name, or a default if there is none."""
        try:
            return self[where]
        except KeyInFileError:
            return default

    def __getitem__(self, where: str) -> Any:
        if not isinstance(where, str):
            raise TypeError(f"an object is found by its name, not by {where!r}")
        if not self._path and (likely := self.file.likely_tree(where)) is not None:
            return likely
        if "/" in where.strip("/"):
            # The core finds an object by its path without listing directories that are not on the way to it.
            path, cycle = split_cycle(where)
            with suppress(KeyInFileError, UnsupportedTypeError, UsageError):
                return self.file.item_at("/".join((*self._path, path)), cycle)
        key, rest = self._resolve(where)
        if key is None:
            raise self._missing(where)
        found = self.file.object_of(key)
        if rest and not isinstance(found, Tree):
            raise self._missing(where)
        return found[rest] if rest else found

    def __contains__(self, where: object) -> bool:
        if not isinstance(where, str):
            return False
        key, rest = self._resolve(where)
        return key is not None and not rest

    def __iter__(self) -> Iterator[str]:
        return self.iterkeys()

    def __len__(self) -> int:
        return len(self._keys)

    def __bool__(self) -> bool:
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    @shows_printable
    def __repr__(self) -> str:
        return f"<Directory {self.object_path!r} of {self.file_path!r}>"

    @cached_property
    def _keys(self) -> list[_core.Key]:
        """All keys from here down."""
        prefix = "".join(f"{name}/" for name in self._path)
        return [key for key in self.file.all_keys if key.path.startswith(prefix)]

    def _iterate(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[str, _core.Key]]:
        if recursive or self._path:
            self.file.read_keys(deadline)
        by_name, by_class = text_filter(filter_name), text_filter(filter_classname)
        skip = sum(len(name) + 1 for name in self._path)
        for key in self._keys if recursive else self._own_keys():
            path = key.path[skip:]
            if by_name is not None and not by_name(path):
                continue
            if by_class is not None and not by_class(key.class_name):
                continue
            yield (f"{path};{key.cycle}" if cycle else path), key

    def _own_keys(self) -> list[_core.Key]:
        if not self._path:
            return self.file.top_keys
        depth = len(self._path)
        return [key for key in self._keys if len(key.path.split("/")) == depth + 1]

    def _resolve(self, where: str) -> tuple[_core.Key | None, str]:
        """The key that the longest possible part of a path leads to, and the rest of the path."""
        # A name can hold colons ("A::B"): they separate names only where the path makes no sense otherwise.
        for path in dict.fromkeys((where, where.replace(":", "/"))):
            key, rest = self._longest_match([piece for piece in path.split("/") if piece])
            if key is not None:
                return key, rest
        return None, ""

    def _longest_match(self, pieces: list[str]) -> tuple[_core.Key | None, str]:
        keys = self._keys if len(pieces) > 1 or self._path else self.file.top_keys
        skip = sum(len(name) + 1 for name in self._path)
        by_path: dict[str, list[_core.Key]] = {}
        for key in keys:
            by_path.setdefault(key.path[skip:], []).append(key)
        for count in range(len(pieces), 0, -1):
            path, cycle = split_cycle("/".join(pieces[:count]))
            matches = [key for key in by_path.get(path, []) if cycle is None or key.cycle == cycle]
            if matches:
                return max(matches, key=lambda key: abs(key.cycle)), "/".join(pieces[count:])
        return None, ""

    def _missing(self, where: str) -> KeyInFileError:
        place = f"{self.file_path}:{self.object_path}"
        return KeyInFileError.not_found("key", where, self.keys(cycle=False), place)


class SubDirectory(Directory):
    """A directory in a file."""

    def __init__(self, file: File, path: tuple[str, ...]) -> None:
        super().__init__(path)
        self._file = file

    @property
    def file(self) -> File:
        """The file."""
        return self._file

    @property
    def parent(self) -> Directory:
        """The directory that holds this one."""
        return self._file if len(self._path) == 1 else SubDirectory(self._file, self._path[:-1])

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def split_cycle(where: str) -> tuple[str, int | None]:
    """A path and its cycle, if it has one.

    >>> split_cycle("dir/Tree;2"), split_cycle("/Tree")
    (('dir/Tree', 2), ('Tree', None))
    """
    path, _, cycle = where.rpartition(";")
    if path and cycle.lstrip("-").isdigit():
        return path.strip("/"), int(cycle)
    return where.strip("/"), None


Mapping.register(Directory)  # type: ignore[type-abstract]
