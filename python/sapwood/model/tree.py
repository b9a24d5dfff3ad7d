"""Trees: their metadata, and their friends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import DeadlineError, SapwoodError
from ..errors.closing import ClosingContext
from ..errors.core import core_errors
from ..query.filters import Filter, Filters
from .branch import Branch
from .branches import BranchFilter, HasBranches
from .lookup import BranchLookup

if TYPE_CHECKING:
    import os

    from .. import _core
    from ..lazy.chunks import LazyChunks
    from ..lazy.events import Events
    from ..lazy.profile import Profile
    from ..lazy.reader import Caching
    from .directory import Directory
    from .file import File

P = ParamSpec("P")
T = TypeVar("T")

_SPECULATING: ContextVar[Tree | None] = ContextVar("speculating", default=None)
"""The tree that is being read before the keys of its file have confirmed it."""


def speculative(read: Callable[P, T]) -> Callable[P, T]:
    """Makes a read method start on a likely tree without waiting for the keys of the file.

    The keys are checked at the end. If they name another tree, that tree is read instead.
    """

    @wraps(read)
    def speculating(*args: P.args, **kwargs: P.kwargs) -> T:
        tree = args[0]
        if not isinstance(tree, Tree) or not tree._likely:
            return read(*args, **kwargs)
        token = _SPECULATING.set(tree)
        try:
            result = [read(*args, **kwargs)]
        except DeadlineError:
            raise
        except SapwoodError:
            result = []
        finally:
            _SPECULATING.reset(token)
        return result[0] if tree._confirm() and result else read(*args, **kwargs)

    return speculating


class Friend:
    """A friend of a tree: another tree with the same entries, named in the tree's file.

    Attributes:
        name: the name of the friend in this tree.
        file_name: the file that holds it, as stored; empty if it is the same file.
        path: its path in that file.
    """

    def __init__(self, main: Tree, name: str, file_name: str, path: str) -> None:
        self._main = main
        self.name = name
        self.file_name = file_name
        self.path = path
        self._opened: Tree | None = None

    @property
    def tree(self) -> Tree:
        """The tree, which is opened at the first access.

        Raises:
            SapwoodError: the tree cannot be opened; the message names both files.
        """
        if self._opened is None:
            main = self._main.file
            try:
                file = main.beside(self.file_name) if self.file_name else main
                self._opened = file.tree_at(self.path)
            except SapwoodError as error:
                error.message += f" (for the friend {self.name!r} of {main.file_path})"
                raise
        return self._opened

    def close(self) -> None:
        """Closes the friend's file if it was opened and is not the tree's own file."""
        if self._opened is not None and self._opened.file is not self._main.file:
            self._opened.file.close()

    @shows_printable
    def __repr__(self) -> str:
        place = f"{self.file_name}:{self.path}" if self.file_name else self.path
        return f"<Friend {self.name!r}: {place!r}>"


class Tree(HasBranches, ClosingContext):
    """A tree: a mapping of branches, which :meth:`arrays` and :meth:`iterate` read.

    A ``with`` block closes its file. A tree can be pickled; the copy opens the file again.
    """

    def __init__(
        self, parent: Directory, path: str, cycle: int | None, core: _core.Tree, *, likely: bool = False
    ) -> None:
        self._parent = parent
        self._path = path
        self._cycle = cycle
        self._found = core
        # The keys of the file have not arrived yet, and may name another tree.
        self._likely = likely

    def _confirm(self) -> bool:
        """Waits for the keys of the file; returns whether they name this tree, and else adopts theirs."""
        with core_errors():
            other = self._found.settled(self.file.options.deadline)
        if other is not None:
            self._found = other
            for name in set(self.__dict__) - {"_parent", "_path", "_cycle", "_found", "_likely"}:
                self.__dict__.pop(name, None)
        self._likely = False
        return other is None

    arrays = speculative(HasBranches.arrays)

    if not TYPE_CHECKING:  # type checkers would take any name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Says where branches are: not attributes, but items."""
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            # Without a parent while it is copied or pickled.
            if not name.startswith("_") and "_parent" in self.__dict__:
                with suppress(SapwoodError):
                    if name in self:
                        message += f": a branch is an item, and tree[{name!r}].array() returns its values"
            raise AttributeError(message, name=name, obj=self)

    @property
    def core(self) -> _core.Tree:
        """The tree in the compiled core."""
        if self._likely and _SPECULATING.get() is not self:
            self._confirm()
        return self._found

    @property
    def tree(self) -> Tree:
        """This tree."""
        return self

    @property
    def file(self) -> File:
        """The file."""
        return self._parent.file

    @property
    def parent(self) -> Directory:
        """The directory that holds the tree."""
        return self._parent

    @property
    def name(self) -> str:
        """The name, without the cycle."""
        return self.core.name

    @property
    def title(self) -> str:
        """The title."""
        return self.core.title

    @cached_property
    def object_path(self) -> str:
        """The path in the file with the cycle, such as "/dir/name;1"."""
        cycle = self.file.highest_cycle(self._path) if self._cycle is None else self._cycle
        return f"/{self._path}" if cycle is None else f"/{self._path};{cycle}"

    @property
    def class_name(self) -> str:
        """The C++ class: ``TTree``, ``TNtuple`` or ``TNtupleD``."""
        return self.core.class_name

    classname = class_name

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return self.core.num_entries

    @property
    def compressed_bytes(self) -> int:
        """Bytes of all baskets in the file."""
        return self.core.compressed_bytes

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of all baskets before compression."""
        return self.core.uncompressed_bytes

    @property
    def compression_ratio(self) -> float:
        """Uncompressed divided by compressed bytes; 1 if there are none."""
        return self.uncompressed_bytes / self.compressed_bytes if self.compressed_bytes else 1.0

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Aliases stored in the tree: a dict of names and expressions."""
        return dict(self.core.aliases)

    @cached_property
    def schema(self) -> str:
        """A short digest of the names and types of all branches, whatever their order."""
        from ..lazy.profile import schema_digest

        return schema_digest(self)

    @cached_property
    def cluster_starts(self) -> list[int]:
        """The first entry of each cluster, then the number of entries."""
        return list(self.core.cluster_starts)

    @cached_property
    def friends(self) -> dict[str, Friend]:
        """The friends of this tree by name.

        Read a column of a friend as ``tree["name.column"]``, or use that name in expressions. The file of a
        friend is opened at its first use; relative paths start at the directory of this tree's file.
        """
        return {name: Friend(self, name, file, path) for name, file, path in self.core.friends}

    def events(
        self,
        columns: Iterable[str] = (),
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        profile: Profile | str | os.PathLike[str] | None = None,
        caching: Caching | None = None,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Events:
        """The entries one by one, for loops in Python; each column is read when you first touch it.

        A touched column is fetched for many events at once, together with the columns that sapwood has
        learned you touch next. This loop needs about as few requests as if you had declared its columns:

        >>> for event in tree.events():          # doctest: +SKIP
        ...     if event.Muon_pt.size > 1:
        ...         histogram.fill(event.Jet_pt)

        Args:
            columns: names of columns that you know you need; they are fetched from the start. You may touch
                all other branches, too, but members of the objects in a branch only if you name them here.
            filter_name, filter_typename, filter_branch: the branches to offer, as in :meth:`iteritems`.
            entry_start: first entry; negative values count from the end. Default: 0.
            entry_stop: end of the range (exclusive); negative values count from the end. Default: all.
            profile: a :class:`sapwood.Profile`, its name or its path. It holds what earlier jobs learned, and
                is updated.
            caching: a :class:`sapwood.Caching` that limits read-ahead and memory.
            threads: threads that decompress and decode. Default: those given when the file was opened.
            deadline: seconds that reading a touched column may take. Default: the one given when the file
                was opened.

        Raises:
            KeyInFileError: one of ``columns`` does not exist; the message suggests similar names.
        """
        from ..lazy.events import Events
        from ..lazy.reader import lazy_options, open_reader

        options = lazy_options(columns, profile, caching, threads, deadline)
        filters = Filters(filter_name, filter_typename, filter_branch)
        reader = open_reader(self, "events", entry_start, entry_stop, options, filters)
        return Events(reader, range(reader.start, reader.stop))

    def lazy(
        self,
        columns: Iterable[str] = (),
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        profile: Profile | str | os.PathLike[str] | None = None,
        caching: Caching | None = None,
        ak_add_doc: bool | Mapping[str, str] = False,
        access_log: Any = None,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> LazyChunks:
        """The entries in chunks: Awkward Arrays of records that read each column when you first touch it.

        >>> for events in tree.lazy():          # doctest: +SKIP
        ...     histogram.fill(events.MET_pt[events.nMuon > 1])

        Args:
            ak_add_doc: as in :meth:`arrays`.
            access_log: a list to which ``Accessed(branch, buffer_key)`` is appended for each accessed buffer.

        The other arguments are those of :meth:`events`.
        """
        from ..lazy.chunks import LazyChunks, virtual_records
        from ..lazy.reader import lazy_options, open_reader

        options = lazy_options(columns, profile, caching, threads, deadline)
        filters = Filters(filter_name, filter_typename, filter_branch)
        reader = open_reader(self, "lazy", entry_start, entry_stop, options, filters)
        return LazyChunks(reader, virtual_records(reader, ak_add_doc, access_log))

    @property
    def attribute_sets(self) -> list[str]:
        """The names of an RNTuple's attribute sets, which :meth:`attribute_set` opens. A TTree has none."""
        return self.core.attribute_sets

    def attribute_set(self, name: str) -> AttributeSet:
        """An attribute set: a tree whose entries describe ranges of entries of this one.

        Its branches are ``_rangeStart``, the first entry of a range, ``_rangeLen``, its number of entries,
        and ``_userData``, a record of what its writer says about them. Ranges can overlap, and be empty.

        Raises:
            KeyInFileError: there is none of this name.
            UnsupportedTypeError: it is of a newer format.
        """
        with core_errors():
            core = self.core.attribute_set(name, self.file.options.deadline)
        return AttributeSet(self, name, core)

    @cached_property
    def lookup(self) -> BranchLookup:
        """Finds branches by position, path and name."""
        return BranchLookup(self)

    @property
    def all_branches(self) -> list[Branch]:
        """The branches at any depth, by their :attr:`Branch.index`."""
        return self.lookup.branches

    def branch_at(self, index: int) -> Branch:
        """The branch with this :attr:`Branch.index`."""
        return self.lookup.branches[index]

    def close(self) -> None:
        """Closes the file, and the files of friends that were opened."""
        self.file.close()
        # Friends that were never asked for are not listed yet, and not opened.
        for friend in self.__dict__.get("friends", {}).values():
            friend.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self.file, self._path, self._cycle))

    @shows_printable
    def __repr__(self) -> str:
        return (
            f"<Tree {self.object_path!r}: {counted(self.num_entries, 'entry', 'entries')}, "
            f"{counted(len(self), 'branch', 'branches')}, in {self.file.file_path!r}>"
        )


class AttributeSet(Tree):
    """An attribute set of an RNTuple: see :meth:`Tree.attribute_set`."""

    def __init__(self, main: Tree, name: str, core: _core.Tree) -> None:
        super().__init__(main.parent, f"{main._path}.{name}", None, core)
        self._main = main
        self._name = name

    @cached_property
    def object_path(self) -> str:
        """The path of the RNTuple, a dot, and the name of the set."""
        return f"{self._main.object_path}.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_attribute_set, (self._main, self._name))


def _attribute_set(main: Tree, name: str) -> AttributeSet:
    return main.attribute_set(name)


def _reopen(file: File, path: str, cycle: int | None) -> Tree:
    return file.tree_at(path, cycle)
