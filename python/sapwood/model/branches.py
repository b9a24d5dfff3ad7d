"""What trees and branches have in common: a mapping of branches, and reading several of them at once."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from ..arrays.libraries import library_named
from ..display.printable import printable
from ..errors import KeyInFileError, UsageError
from ..lazy.chunks import whole_array
from ..lazy.reader import lazy_options, open_reader
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.reading import read_arrays, read_steps
from ..query.select import select
from ..query.steps import entry_range, entry_steps, num_entries_for

if TYPE_CHECKING:
    import os

    from ..lazy.profile import Profile
    from .branch import Branch
    from .file import File
    from .tree import Tree

T = TypeVar("T")
BranchFilter = Callable[["Branch"], Any]


class HasBranches(ABC):
    """A mapping of branches by name; the values are :class:`sapwood.Branch` objects.

    ``x["name"]`` finds a branch by its name at any depth, by its path ``"a/b"``, or from the top by
    ``"/a/b"``; ``x["name.member"]`` a member of the objects in a branch.
    """

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """The tree."""

    @property
    @abstractmethod
    def file(self) -> File:
        """The file."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name, as in the file."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The title, as in the file."""

    @property
    @abstractmethod
    def object_path(self) -> str:
        """Where this is in its file."""

    @property
    def branches(self) -> list[Branch]:
        """The branches directly under this one."""
        return self.tree.children_of(self)

    def iteritems(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
    ) -> Iterator[tuple[str, Branch]]:
        """(name, branch) of all branches that the filters let pass, depth first.

        Args:
            filter_name: a name, a glob, ``"/regex/flags"``, a function of a name, or an iterable of these
                (any may match). The name alone, the path, or the path with a "/" before it may match.
            filter_typename: the same for the C++ type.
            filter_branch: a function of a :class:`sapwood.Branch`.
            recursive: False for the branches directly under this one only.
            full_paths: False for the branch's own name instead of its path.
        """
        filters = Filters(filter_name, filter_typename, filter_branch)
        branches = self._below() if recursive else self.branches
        for path, branch in filters.passing(branches, len(self._path_prefix)):
            yield (path if full_paths else branch.name), branch

    def iterkeys(self, **filters: Any) -> Iterator[str]:
        """Names, with the arguments of :meth:`iteritems`."""
        return (name for name, _ in self.iteritems(**filters))

    def itervalues(self, **filters: Any) -> Iterator[Branch]:
        """Branches, with the arguments of :meth:`iteritems`."""
        return (branch for _, branch in self.iteritems(**filters))

    def itertypenames(self, **filters: Any) -> Iterator[tuple[str, str]]:
        """(name, C++ type), with the arguments of :meth:`iteritems`."""
        return ((name, branch.typename) for name, branch in self.iteritems(**filters))

    def keys(self, **filters: Any) -> list[str]:
        """Names, with the arguments of :meth:`iteritems`."""
        return list(self.iterkeys(**filters))

    def values(self, **filters: Any) -> list[Branch]:
        """Branches, with the arguments of :meth:`iteritems`."""
        return list(self.itervalues(**filters))

    def items(self, **filters: Any) -> list[tuple[str, Branch]]:
        """(name, branch), with the arguments of :meth:`iteritems`."""
        return list(self.iteritems(**filters))

    def typenames(self, **filters: Any) -> dict[str, str]:
        """The C++ type of each branch by name, with the arguments of :meth:`iteritems`."""
        return dict(self.itertypenames(**filters))

    def names(self) -> list[str]:
        """Everything that a branch can be called by here: names and paths."""
        return list(dict.fromkeys(text for path, branch in self.items() for text in (path, branch.name)))

    def get(self, name: str, default: T | None = None) -> Branch | T | None:
        """The branch of a name, or a default."""
        found = self.tree.find(self, name)
        return default if found is None else found

    def __getitem__(self, name: str | int) -> Branch:
        if isinstance(name, int):
            return self.branches[name]
        if not isinstance(name, str):
            raise TypeError(f"a branch is found by its name (or its number), not by {name!r}")
        found = self.tree.find(self, name)
        if found is None:
            place = f"{self.file.file_path}:{self.object_path}"
            names = [*self.tree.fields_near(self, name), *self.names()]
            raise KeyInFileError.not_found("branch", name, names, place)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.tree.find(self, name) is not None

    def __iter__(self) -> Iterator[str]:
        return self.iterkeys()

    def __len__(self) -> int:
        return len(self.branches)

    def __bool__(self) -> bool:
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    def show(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        name_width: int | None = None,
        typename_width: int = 24,
        interpretation_width: int = 30,
        stream: TextIO | None = None,
    ) -> None:
        """Prints a line per branch: name, C++ type, and what an entry becomes in memory.

        Below a branch that this is called for, the members of its objects follow. Filters as in
        :meth:`iteritems`; the widths are in characters, at least 3. By default names have the room that they
        need, 20 to 48 characters; of a longer one the end is shown, where names differ. ``stream`` is where
        it goes; default: ``sys.stdout``.
        """
        rows = [(branch.name, branch) for branch in self._itself()]
        for branch in self._itself():
            rows += [("  " * depth + one.member.rpartition(".")[2], one) for depth, one in branch.members()]
        rows += self.iteritems(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=full_paths,
        )
        if name_width is None:
            name_width = min(max([20, *(len(printable(name)) for name, _ in rows)]), 48)
        widths = (name_width, typename_width, interpretation_width)
        if min(widths) < 3:
            raise ValueError("the widths are at least 3")
        out = sys.stdout if stream is None else stream

        def line(name: str, *others: str) -> None:
            first, *rest = map(printable, (name, *others))
            cells = [first if len(first) <= widths[0] else "..." + first[3 - widths[0] :]]
            for cell, width in zip(rest, widths[1:], strict=True):
                cells.append(cell if len(cell) <= width else cell[: width - 3] + "...")
            padded = " | ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
            out.write(padded.rstrip() + "\n")

        line("name", "typename", "interpretation")
        out.write("-+-".join("-" * width for width in widths) + "\n")
        for name, branch in rows:
            line(name, branch.typename, repr(branch.interpretation))

    def arrays(
        self,
        expressions: Any = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        entries: Any = None,
        library: str = "ak",
        how: Any = None,
        ak_add_doc: bool | Mapping[str, str] = False,
        virtual: bool = False,
        access_log: Any = None,
        profile: Profile | str | os.PathLike[str] | None = None,
        threads: int | None = None,
        deadline: float | None = None,
        decompression_executor: Any = None,
        interpretation_executor: Any = None,
        array_cache: Any = None,
    ) -> Any:
        """Several branches, or expressions over them, as arrays.

        Args:
            expressions: a name, an expression, or an iterable of them. Default: all branches that the filters
                let pass and that can be read; one warning names those that cannot.
            cut: an expression; entries for which it is 0 or false are left out: its branches are read first,
                and of the others only the baskets that hold an entry that passes. If it has a value per item
                of a list, items are left out.
            filter_name, filter_typename, filter_branch: as in :meth:`iteritems`; without effect if there
                are ``expressions``.
            aliases: expressions by name, in addition to the tree's own.
            entry_start: first entry; negative counts from the end. Default: 0.
            entry_stop: one after the last entry; negative counts from the end. Default: all.
            entries: an entry list: numbers of entries in the range, in any order and any number of times, or
                a mask of booleans over the range. Only the baskets that hold one of them are read.
            library: ``"ak"`` (Awkward Array), ``"np"``, ``"pd"`` or ``"arrow"``.
            how: None for the library's own kind of table (records, dict, DataFrame, ``pyarrow.Table``), or
                ``dict``, ``tuple``, ``list``; with ``"ak"`` also ``"zip"``: lists of equal lengths are joined
                to lists of records.
            ak_add_doc: True to attach the titles as ``__doc__``; a dict of names and attributes for more.
            virtual: True for an ``ak.Array`` of records whose columns are read when they are touched: of all
                branches that the filters let pass, without expressions, cut and ``how``. For many entries,
                :meth:`sapwood.Tree.lazy` gives the same in chunks.
            access_log: with ``virtual``, a list that is told every buffer that was looked at.
            profile: with ``virtual``, a :class:`sapwood.Profile`, its name or its path.
            threads: threads that decompress and decode. Default: as the file was opened.
            deadline: seconds that it may take; with ``virtual``, that a column may take. Default: as the file
                was opened.
            decompression_executor, interpretation_executor, array_cache: accepted for uproot's sake, without
                effect: sapwood brings its own threads, and keeps no arrays.

        Returns:
            As ``how`` says; numbers of items and their types are those of :meth:`Branch.array`.

        Raises:
            KeyInFileError: for a name that is neither branch nor alias; it names the nearest.
            UnsupportedTypeError: for a branch that cannot be read and was asked for by name.
            UsageError: for ``entries`` outside of the range or beyond the end of a branch.
        """
        if virtual:
            _refuse("virtual=True", expressions=expressions, cut=cut, how=how, aliases=aliases)
            if library_named(library) is not library_named("ak"):
                raise UsageError('virtual arrays are those of library="ak"')
            options = lazy_options((), profile, None, threads, deadline)
            filters = Filters(filter_name, filter_typename, filter_branch)
            reader = open_reader(self, "virtual", entry_start, entry_stop, options, filters)
            return whole_array(reader, ak_add_doc, access_log)
        _refuse("virtual=False", access_log=access_log, profile=profile)
        filters = Filters(filter_name, filter_typename, filter_branch)
        query = Query.of(self, expressions, cut, filters, aliases, library_named(library), how, ak_add_doc)
        return read_arrays(
            query, entry_start, entry_stop, entries=entries, threads=threads, deadline=deadline
        )

    def iterate(
        self,
        expressions: Any = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        step_size: int | str = "100 MB",
        library: str = "ak",
        how: Any = None,
        ak_add_doc: bool | Mapping[str, str] = False,
        report: bool = False,
        threads: int | None = None,
        deadline: float | None = None,
        decompression_executor: Any = None,
        interpretation_executor: Any = None,
    ) -> Iterator[Any]:
        """The same as :meth:`arrays`, in steps: while one is worked on, the next is read.

        Args:
            step_size: entries per step, or memory, such as ``"100 MB"``, that the arrays of a step fill.
            report: True for pairs of arrays and a :class:`sapwood.Report` of the entries in them.
            deadline: seconds that one step may take.

        The other arguments are those of :meth:`arrays`.
        """
        filters = Filters(filter_name, filter_typename, filter_branch)
        query = Query.of(self, expressions, cut, filters, aliases, library_named(library), how, ak_add_doc)
        start, stop = entry_range(self.tree.num_entries, entry_start, entry_stop)
        steps = entry_steps(self.tree, query.leaves, start, stop, step_size)
        return read_steps(query, steps, report=report, threads=threads, deadline=deadline)

    def num_entries_for(
        self,
        memory_size: int | str,
        expressions: Any = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
    ) -> int:
        """About how many entries fill some memory, such as ``"100 MB"``; at least 1. Nothing is read."""
        filters = Filters(filter_name, filter_typename, filter_branch)
        selection = select(self, expressions, cut, filters, aliases)
        start, stop = entry_range(self.tree.num_entries, entry_start, entry_stop)
        return num_entries_for(selection.leaf_branches, start, stop, memory_size)

    def common_entry_offsets(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
    ) -> list[int]:
        """Entries at which baskets of all branches (that the filters let pass) begin, and the end.

        Branches without baskets do not count; ``[0]`` if there is no other.
        """
        branches = self.values(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
        )
        common: set[int] | None = None
        for branch in [*self._itself(), *branches]:
            if branch.num_baskets:
                offsets = set(branch.entry_offsets)
                common = offsets if common is None else common & offsets
        return [0] if common is None else sorted(common)

    def _itself(self) -> list[Branch]:
        """This, if it is a branch."""
        return []

    @property
    def _path_prefix(self) -> str:
        return "".join(f"{branch.path}/" for branch in self._itself())

    def _below(self) -> Iterator[Branch]:
        for branch in self.branches:
            yield branch
            yield from branch._below()


def _refuse(where: str, **arguments: Any) -> None:
    """Refuses arguments that have no meaning there."""
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise UsageError(f"with {where}, there is no {' and no '.join(given)}")


Mapping.register(HasBranches)  # type: ignore[type-abstract]
