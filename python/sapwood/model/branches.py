"""The base class of trees and branches: a mapping of branches that reads several of them at once."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO, TypedDict, TypeVar

from ..arrays.libraries import library_named
from ..display.printable import printable
from ..display.units import counted, human_compression
from ..errors import ArgumentTypeError, KeyInFileError, SapwoodError, UsageError
from ..options.unknown import named
from ..query.filters import Filter, Filters
from ..query.query import Query
from ..query.reading import read_arrays, read_steps
from ..query.select import select
from ..query.steps import entry_range, entry_steps, num_entries_for
from .accepted import AcceptedByUproot, Traffic

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from ..lazy.profile import Profile
    from .branch import Branch
    from .file import File
    from .tree import Tree

T = TypeVar("T")
BranchFilter = Callable[["Branch"], Any]


class BranchFilters(TypedDict, total=False):
    """The keyword arguments of :meth:`HasBranches.iteritems`."""

    filter_name: Filter
    filter_typename: Filter
    filter_branch: BranchFilter | None
    recursive: bool
    full_paths: bool
    ignore_duplicates: bool


class HasBranches(AcceptedByUproot, ABC):
    """A mapping of branches by name; the values are :class:`sapwood.Branch` objects.

    ``x["name"]`` finds a branch by its name at any depth, ``x["a/b"]`` by its path, and ``x["/a/b"]`` by its
    path from the top. ``x["name.member"]`` finds a member of the objects in a branch.
    """

    stands_for = ("uproot.behaviors.TBranch", "HasBranches")

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
        """The path in the file."""

    @property
    def location(self) -> str:
        """The path or URL of the file and the path in it, separated by a colon."""
        return f"{self.file.file_path}:{self.object_path}"

    @property
    @abstractmethod
    def num_entries(self) -> int:
        """Number of entries."""

    @property
    @abstractmethod
    def compressed_bytes(self) -> int:
        """Bytes of all baskets in the file."""

    @property
    @abstractmethod
    def uncompressed_bytes(self) -> int:
        """Bytes of all baskets before compression."""

    @property
    def source(self) -> Traffic:
        """What was read from the file so far, under the names that uproot's sources have."""
        return self.file.source

    @property
    def branches(self) -> list[Branch]:
        """The branches directly under this one."""
        return self.tree.lookup.children_of(self)

    @named()
    def iteritems(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> Iterator[tuple[str, Branch]]:
        """Iterates over (name, branch) of all branches that pass the filters, depth first.

        Args:
            filter_name: a name, a glob, ``"/regex/flags"``, a function of a name, or an iterable of these
                (one match is enough). It is tried on the name, the path, and the path after a leading "/".
                If a pattern with a dot matches no branch, it is tried on members of objects, and on
                sub-fields of RNTuples: ``"Muon.*"``.
            filter_typename: the same for the C++ type.
            filter_branch: a function that takes a :class:`sapwood.Branch` and returns true to keep it.
            recursive: False to list only the branches directly under this one.
            full_paths: False to yield the branch's own name instead of its path.
            ignore_duplicates: True to yield only the first branch of each name.
        """
        filters = Filters(filter_name, filter_typename, filter_branch)
        branches = list(self._below()) if recursive else self.branches
        skip = len(self._path_prefix)
        passing = filters.passing(branches, skip)
        for_members = filters.for_members(branches, skip) if recursive else None
        if for_members is not None:
            members = (member for branch in branches for member in branch.passing_members(for_members, skip))
            passing = chain(passing, members)
        seen: set[str] = set()
        for path, branch in passing:
            name = path if full_paths else branch.name
            if not ignore_duplicates or name not in seen:
                seen.add(name)
                yield name, branch

    @named(BranchFilters)
    def iterkeys(self, **filters: Unpack[BranchFilters]) -> Iterator[str]:
        """Iterates over names. Takes the arguments of :meth:`iteritems`."""
        return (name for name, _ in self.iteritems(**filters))

    @named(BranchFilters)
    def itervalues(self, **filters: Unpack[BranchFilters]) -> Iterator[Branch]:
        """Iterates over branches. Takes the arguments of :meth:`iteritems`."""
        return (branch for _, branch in self.iteritems(**filters))

    @named(BranchFilters)
    def itertypenames(self, **filters: Unpack[BranchFilters]) -> Iterator[tuple[str, str]]:
        """Iterates over (name, C++ type). Takes the arguments of :meth:`iteritems`."""
        return ((name, branch.typename) for name, branch in self.iteritems(**filters))

    @named(BranchFilters)
    def keys(self, **filters: Unpack[BranchFilters]) -> list[str]:
        """Lists names. Takes the arguments of :meth:`iteritems`."""
        return list(self.iterkeys(**filters))

    @named(BranchFilters)
    def values(self, **filters: Unpack[BranchFilters]) -> list[Branch]:
        """Lists branches. Takes the arguments of :meth:`iteritems`."""
        return list(self.itervalues(**filters))

    @named(BranchFilters)
    def items(self, **filters: Unpack[BranchFilters]) -> list[tuple[str, Branch]]:
        """Lists (name, branch). Takes the arguments of :meth:`iteritems`."""
        return list(self.iteritems(**filters))

    @named(BranchFilters)
    def typenames(self, **filters: Unpack[BranchFilters]) -> dict[str, str]:
        """Maps names to C++ types. Takes the arguments of :meth:`iteritems`."""
        return dict(self.itertypenames(**filters))

    def names(self) -> list[str]:
        """All names and paths by which branches can be found here."""
        return list(dict.fromkeys(text for path, branch in self.items() for text in (path, branch.name)))

    def get(self, name: str, default: T | None = None) -> Branch | T | None:
        """The branch with this name, or ``default`` if there is none."""
        found = self.tree.lookup.find(self, name)
        return default if found is None else found

    def __getitem__(self, name: str | int) -> Branch:
        if isinstance(name, int):
            return self.branches[name]
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"expected the name or number of a branch, not {name!r}; to read several columns, or some "
                "entries, use .arrays([names], entry_start=…, entry_stop=…)"
            )
        found = self.tree.lookup.find(self, name)
        if found is None:
            names = [*self.tree.lookup.fields_near(self, name), *self.names()]
            if not names and self is not self.tree:
                raise KeyInFileError(f"{self.location} has no members, so there is no {name!r}", key=name)
            raise KeyInFileError.not_found("branch", name, names, self.location)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.tree.lookup.find(self, name) is not None

    def __iter__(self) -> Iterator[str]:
        return self.iterkeys()

    def __len__(self) -> int:
        return len(self.branches)

    def __bool__(self) -> bool:
        return True

    def _repr_html_(self) -> str:
        from ..display.notebook import notebook_table, table_or_text

        def table() -> str:
            branches = [*self._itself(), *self._below()]
            rows = [
                (one.path, one.typename, repr(one.interpretation), one.title, one.compressed_bytes)
                for one in branches
            ]
            titles = ["branch", "type", "in memory", "title", "bytes"]
            return notebook_table(self.location, titles, rows, self._summary())

        return table_or_text(self, table, SapwoodError)

    def _summary(self) -> str:
        """A line about the tree or branch, for notebooks."""
        entries = counted(self.num_entries, "entry", "entries")
        return f"{entries}, {human_compression(self.compressed_bytes, self.uncompressed_bytes)}"

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    @named()
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
        """Prints one line per branch: its name, its C++ type, and the type of an entry in memory.

        For a branch, the members of its objects are listed as well.

        Args:
            filter_name, filter_typename, filter_branch, recursive, full_paths: as in :meth:`iteritems`.
            name_width: characters for names. Default: as many as the longest name needs, from 20 to 48.
                Longer names lose their beginning, because names differ at the end.
            typename_width: characters for C++ types.
            interpretation_width: characters for types in memory.
            stream: a text file to print to. Default: ``sys.stdout``.

        Raises:
            UsageError: a width is less than 3.
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
            raise UsageError(f"widths must be at least 3, not {min(widths)}")
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

    @named()
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
        """Reads several branches, or expressions over them, as arrays.

        >>> tree.arrays(["Muon_pt", "MET_pt"], "nMuon >= 2", entry_stop=10_000)          # doctest: +SKIP
        <Array [{Muon_pt: [45.2, 31.7], MET_pt: 27.1}, ...] type='2814 * {Muon_pt: ...'>

        Args:
            expressions: a name, an expression, or an iterable of them. Default: all branches that pass the
                filters and can be read; one warning lists those that cannot. A branch without sub-branches
                is its own only column.
            cut: an expression; entries for which it is 0 or false are dropped. Its branches are read first;
                of the other branches, only the baskets with a passing entry are read. A cut with one value
                per item of a list drops items instead.
            filter_name, filter_typename, filter_branch: as in :meth:`iteritems`; ignored if ``expressions``
                are given.
            aliases: a dict of names and expressions, in addition to the tree's own aliases.
            entry_start: first entry; negative values count from the end. Default: 0.
            entry_stop: end of the range (exclusive); negative values count from the end. Default: all.
            entries: the entries to read: either their numbers, which lie in the range and may come in any
                order and repeat, or a boolean mask over the range. Only baskets that hold one are read.
            library: ``"ak"`` (Awkward Array), ``"np"`` (NumPy), ``"pd"`` (pandas) or ``"arrow"``.
            how: the container: None for the library's own table (``ak.Array`` of records, dict, DataFrame,
                ``pyarrow.Table``), ``dict``, ``tuple`` or ``list``. With ``"ak"`` also ``"zip"``, which joins
                lists of equal lengths to lists of records.
            ak_add_doc: True to attach titles as ``__doc__``, or a dict ``{parameter: attribute}``.
            virtual: True to return an ``ak.Array`` of records that reads each column when you first touch it.
                It contains all branches that pass the filters; expressions, ``cut`` and ``how`` cannot be
                combined with it. For many entries, use :meth:`sapwood.Tree.lazy`, which works in chunks.
            access_log: a list to which each accessed buffer is appended; only with ``virtual``.
            profile: a :class:`sapwood.Profile`, its name or its path; only with ``virtual``.
            threads: threads that decompress and decode. Default: those given when the file was opened.
            deadline: seconds that the call may take; with ``virtual``, that reading one column may take.
                Default: the one given when the file was opened.
            decompression_executor, interpretation_executor, array_cache: accepted for compatibility with
                uproot and ignored: sapwood has its own threads and caches no arrays.

        Returns:
            A table of the kind that ``how`` and ``library`` select, one row per entry. Columns have the types
            that :meth:`Branch.array` returns.

        Raises:
            KeyInFileError: a name is neither a branch nor an alias; the message suggests similar names.
            UnsupportedTypeError: a branch that you named cannot be read.
            UsageError: ``entries`` lie outside the range or beyond the end of a branch.
            DeadlineError: the deadline passed.
        """
        if virtual:
            combined = {"expressions": expressions, "cut": cut, "how": how, "aliases": aliases}
            _refuse("cannot be combined with virtual=True", **combined)
            if library_named(library) is not library_named("ak"):
                raise UsageError(f'virtual=True requires library="ak", not {library!r}')
            from ..lazy.chunks import whole_array
            from ..lazy.reader import lazy_options, open_reader

            options = lazy_options((), profile, None, threads, deadline)
            filters = Filters(filter_name, filter_typename, filter_branch)
            reader = open_reader(self, "virtual", entry_start, entry_stop, options, filters)
            return whole_array(reader, ak_add_doc, access_log)
        _refuse("needs virtual=True", access_log=access_log, profile=profile)
        filters = Filters(filter_name, filter_typename, filter_branch)
        query = Query.of(self, expressions, cut, filters, aliases, library_named(library), how, ak_add_doc)
        return read_arrays(
            query, entry_start, entry_stop, entries=entries, threads=threads, deadline=deadline
        )

    @named()
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
        """Reads as :meth:`arrays` does, in steps: while you work on one step, the next is read.

        >>> for events in tree.iterate(["Muon_pt"], step_size="50 MB"):          # doctest: +SKIP
        ...     histogram.fill(ak.flatten(events.Muon_pt))

        Args:
            step_size: entries per step, or the memory of a step's arrays, such as ``"100 MB"``.
            report: True to yield pairs of arrays and a :class:`sapwood.Report`, which says which entries they
                hold.
            deadline: seconds that one step may take.

        The other arguments are those of :meth:`arrays`.
        """
        filters = Filters(filter_name, filter_typename, filter_branch)
        query = Query.of(self, expressions, cut, filters, aliases, library_named(library), how, ak_add_doc)
        start, stop = entry_range(self.tree.num_entries, entry_start, entry_stop)
        steps = entry_steps(self.tree, query.leaves, start, stop, step_size)
        return read_steps(query, steps, report=report, threads=threads, deadline=deadline)

    @named()
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
        """Estimates how many entries fill an amount of memory, without reading data.

        Args:
            memory_size: bytes, or text such as ``"100 MB"``.

        The other arguments are those of :meth:`arrays`.

        Returns:
            A number of entries, at least 1.
        """
        filters = Filters(filter_name, filter_typename, filter_branch)
        selection = select(self, expressions, cut, filters, aliases)
        start, stop = entry_range(self.tree.num_entries, entry_start, entry_stop)
        return num_entries_for(selection.leaf_branches, start, stop, memory_size)

    @named()
    def common_entry_offsets(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
    ) -> list[int]:
        """The entries at which all branches that pass the filters begin a basket, and the end.

        Branches without baskets are ignored. If there are no others, the result is ``[0]``. The arguments
        are those of :meth:`iteritems`.
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
        """This object in a list if it is a branch; empty for a tree."""
        return []

    @property
    def _path_prefix(self) -> str:
        return "".join(f"{branch.path}/" for branch in self._itself())

    def _below(self) -> Iterator[Branch]:
        for branch in self.branches:
            yield branch
            yield from branch._below()


def _refuse(reason: str, **arguments: Any) -> None:
    """Raises a UsageError for the first argument that is given."""
    for name, value in arguments.items():
        if value is not None:
            raise UsageError(f"{name!r} {reason}")


Mapping.register(HasBranches)  # type: ignore[type-abstract]
