"""Directories of a file: mappings from names to objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import ArgumentTypeError, KeyInFileError, SapwoodError, UnsupportedTypeError, UsageError
from ..options.unknown import named
from ..query.filters import Filter, text_filter
from .accepted import AcceptedByUproot
from .tree import Tree

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .. import _core
    from .file import File

T = TypeVar("T")
RNTUPLE_CLASSES = frozenset({"ROOT::RNTuple", "ROOT::Experimental::RNTuple"})
TREE_CLASSES = frozenset({"TTree", "TNtuple", "TNtupleD"}) | RNTUPLE_CLASSES
"""The C++ classes of trees in either format."""


class KeyFilters(TypedDict, total=False):
    """The keyword arguments of :meth:`Directory.iterkeys`."""

    recursive: bool
    cycle: bool
    filter_name: Filter
    filter_classname: Filter
    deadline: float | None


class Directory(AcceptedByUproot, ABC):
    """A directory: a mapping from names to trees, directories and other objects (:mod:`sapwood.objects`).

    Names are paths relative to this directory, with an optional cycle: ``"Tree"``, ``"dir/Tree;2"``. Without
    a cycle, the highest one is read. A path may continue into a tree: ``"dir/Tree/branch"``.
    """

    stands_for = ("uproot.reading", "ReadOnlyDirectory")

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path

    @property
    @abstractmethod
    def file(self) -> File:
        """The file."""

    @property
    def path(self) -> tuple[str, ...]:
        """The names from the top of the file down to this directory."""
        return self._path

    @property
    def object_path(self) -> str:
        """The path in the file, such as "/" or "/dir/"."""
        return "/".join(("", *self._path, ""))

    @property
    def location(self) -> str:
        """The path or URL of the file and the path in it, separated by a colon."""
        return f"{self.file_path}:{self.object_path}"

    @property
    def file_path(self) -> str:
        """The path or URL of the file, without secrets."""
        return self.file.file_path

    @named()
    def iteritems(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """Iterates over (name, object) of all keys that pass the filters.

        The arguments are those of :meth:`iterkeys`.
        """
        for name, key in self._listed(recursive, cycle, filter_name, filter_classname, deadline):
            yield name, self.file.object_of(key, deadline)

    @named()
    def iterkeys(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        deadline: float | None = None,
    ) -> Iterator[str]:
        """Iterates over the names of keys, as paths relative to this directory.

        Args:
            recursive: False to list only the keys of this directory itself.
            cycle: False to omit the cycle (";1"): a name stands once, for the key with the highest cycle.
            filter_name: a name, a glob, ``"/regex/flags"``, a function of a name, or an iterable of these
                (one match is enough). It is tried on the relative path without the cycle.
            filter_classname: the same for the C++ class.
            deadline: seconds that listing the keys, and reading each object, may take. Default: the one
                given when the file was opened.
        """
        keys = self._listed(recursive, cycle, filter_name, filter_classname, deadline)
        return (name for name, _ in keys)

    @named(KeyFilters)
    def itervalues(self, **filters: Unpack[KeyFilters]) -> Iterator[Any]:
        """Reads the objects one by one. Takes the arguments of :meth:`iterkeys`."""
        return (value for _, value in self.iteritems(**filters))

    @named(KeyFilters)
    def iterclassnames(self, **filters: Unpack[KeyFilters]) -> Iterator[tuple[str, str]]:
        """Iterates over (name, C++ class). Takes the arguments of :meth:`iterkeys`."""
        return ((name, key.class_name) for name, key in self._listed(**filters))

    @named(KeyFilters)
    def keys(self, **filters: Unpack[KeyFilters]) -> list[str]:
        """Lists the names of keys. Takes the arguments of :meth:`iterkeys`."""
        return list(self.iterkeys(**filters))

    @named(KeyFilters)
    def values(self, **filters: Unpack[KeyFilters]) -> list[Any]:
        """Reads and lists the objects. Takes the arguments of :meth:`iterkeys`."""
        return list(self.itervalues(**filters))

    @named(KeyFilters)
    def items(self, **filters: Unpack[KeyFilters]) -> list[tuple[str, Any]]:
        """Reads the objects and lists (name, object). Takes the arguments of :meth:`iterkeys`."""
        return list(self.iteritems(**filters))

    @named(KeyFilters)
    def classnames(self, **filters: Unpack[KeyFilters]) -> dict[str, str]:
        """Maps names to C++ classes. Takes the arguments of :meth:`iterkeys`."""
        return dict(self.iterclassnames(**filters))

    def key(self, where: str) -> _core.Key:
        """The key of an object: its class, title, cycle, offset and sizes. The object is not read."""
        found, rest = self._resolve(where)
        if found is None or rest:
            raise self._missing(where)
        return found

    def classname_of(self, where: str) -> str:
        """The C++ class of an object, which is not read."""
        return self.key(where).class_name

    def title_of(self, where: str) -> str:
        """The title of an object, which is not read."""
        return self.key(where).title

    def get(self, where: str, default: T | None = None) -> Any | T | None:
        """The object with this name, or ``default`` if there is none."""
        try:
            return self[where]
        except KeyInFileError:
            return default

    def __getitem__(self, where: str) -> Any:
        if not isinstance(where, str):
            raise ArgumentTypeError(f"expected the name of an object, not {where!r}")
        if not self._path and (likely := self.file.likely_tree(where)) is not None:
            return likely
        # The core finds an object by its path without listing unrelated directories.
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

    def _repr_html_(self) -> str:
        from ..display.notebook import notebook_table, table_or_text

        def table() -> str:
            listed = self._listed(cycle=False)
            rows = [(path, key.class_name, key.title, key.nbytes) for path, key in listed]
            return notebook_table(
                self.location, ["name", "class", "title", "record bytes"], rows, self._summary()
            )

        return table_or_text(self, table, SapwoodError)

    def _summary(self) -> str:
        """A line about the directory, for notebooks."""
        return counted(len(self.keys(cycle=False)), "object")

    @cached_property
    def _keys(self) -> list[_core.Key]:
        """All keys of this directory and those below it."""
        prefix = "".join(f"{name}/" for name in self._path)
        return [key for key in self.file.all_keys if key.path.startswith(prefix)]

    def _listed(
        self,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[str, _core.Key]]:
        """(name, key) of the keys that pass the filters; without cycles, each name once."""
        passing = self._passing(recursive, filter_name, filter_classname, deadline)
        if cycle:
            yield from ((f"{path};{key.cycle}", key) for path, key in passing)
            return
        highest: dict[str, _core.Key] = {}
        for path, key in passing:
            if path not in highest or abs(key.cycle) > abs(highest[path].cycle):
                highest[path] = key
        yield from highest.items()

    def _passing(
        self, recursive: bool, filter_name: Filter, filter_classname: Filter, deadline: float | None
    ) -> Iterator[tuple[str, _core.Key]]:
        """(path from this directory, key) of the keys that pass the filters."""
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
            yield path, key

    def _own_keys(self) -> list[_core.Key]:
        if not self._path:
            return self.file.top_keys
        depth = len(self._path)
        return [key for key in self._keys if len(key.path.split("/")) == depth + 1]

    def _resolve(self, where: str) -> tuple[_core.Key | None, str]:
        """The key with the longest match at the beginning of a path, and the rest of the path."""
        # Names can contain colons ("A::B"), so a colon separates names only if the path fails otherwise.
        for path in dict.fromkeys((where, where.replace(":", "/"))):
            pieces = [piece for piece in path.split("/") if piece]
            key, rest = self._longest_match(pieces)
            if key is not None and rest and ";" in path:
                # Names can contain semicolons, too, so cycles of directories are left out only now.
                key, rest = self._longest_match(self._without_cycles(pieces))
            if key is not None:
                return key, rest
        return None, ""

    def _without_cycles(self, pieces: list[str]) -> list[str]:
        """The pieces of a path, without the cycles of directories, or of a tree above a branch."""
        found: list[str] = []
        for piece in pieces[:-1]:
            name, cycle = split_cycle(piece)
            path = "/".join((*self._path, *found, name))
            is_known = cycle is not None and any((key.path, key.cycle) == (path, cycle) for key in self._keys)
            found.append(name if is_known else piece)
        return [*found, *pieces[-1:]]

    def _longest_match(self, pieces: list[str]) -> tuple[_core.Key | None, str]:
        keys = self._keys if len(pieces) > 1 or self._path else self.file.top_keys
        skip = sum(len(name) + 1 for name in self._path)
        for count in range(len(pieces), 0, -1):
            path, cycle = split_cycle("/".join(pieces[:count]))
            matches = [key for key in keys if key.path[skip:] == path and cycle in (None, key.cycle)]
            if matches:
                return max(matches, key=lambda key: abs(key.cycle)), "/".join(pieces[count:])
        return None, ""

    def _missing(self, where: str) -> KeyInFileError:
        return KeyInFileError.not_found("key", where, self.keys(cycle=False), self.location)


class SubDirectory(Directory):
    """A directory below the top of a file."""

    def __init__(self, file: File, path: tuple[str, ...]) -> None:
        super().__init__(path)
        self._file = file

    @property
    def file(self) -> File:
        """The file."""
        return self._file

    @property
    def parent(self) -> Directory:
        """The directory that contains this one."""
        return self._file if len(self._path) == 1 else SubDirectory(self._file, self._path[:-1])

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def split_cycle(where: str) -> tuple[str, int | None]:
    """Splits a path into the path without slashes at its ends and the cycle, or None.

    >>> split_cycle("dir/Tree;2"), split_cycle("/Tree")
    (('dir/Tree', 2), ('Tree', None))
    """
    path, _, cycle = where.rpartition(";")
    if path and cycle.lstrip("-").isdigit():
        return path.strip("/"), int(cycle)
    return where.strip("/"), None


Mapping.register(Directory)  # type: ignore[type-abstract]
