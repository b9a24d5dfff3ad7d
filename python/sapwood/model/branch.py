"""Branches, and members of the objects in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..arrays.awkward import awkward_form
from ..arrays.column import Form, fields_of, type_string
from ..arrays.libraries import library_named
from ..display.printable import shows_printable
from ..errors import KeyInFileError, UnsupportedTypeError, UsageError
from ..errors.closing import ClosingContext
from ..errors.core import core_errors
from ..options.compression import Compression
from ..query.assemble import empty_column_of, readable_leaves
from ..query.filters import Filters
from ..query.query import Query
from ..query.reading import read_arrays
from ..query.select import Selection, require_readable, require_whole
from .accepted import refusal
from .branches import HasBranches

if TYPE_CHECKING:
    from .. import _core
    from .file import File
    from .tree import Tree


class Branch(HasBranches, ClosingContext):
    """A branch: a column of a tree, a group of sub-branches, or both.

    A branch is a mapping of its sub-branches, and :meth:`array` reads it. If the branch holds unsplit
    objects, :attr:`fields` and :meth:`show` list their members, and ``branch["name"]`` or
    ``tree["branch.name"]`` is a :class:`Branch` for one member, which is read without decoding the others.

    A ``with`` block closes the file.
    """

    def __init__(self, tree: Tree, core: _core.Branch) -> None:
        self._tree = tree
        self._core = core

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self._tree

    @property
    def file(self) -> File:
        """The file."""
        return self._tree.file

    @property
    def parent(self) -> HasBranches:
        """The branch that contains this sub-branch or member, or the tree."""
        if self.member:
            above, _, _ = self.member.rpartition(".")
            branch = self._tree.branch_at(self.index)
            return branch.member_at(above) or branch if above else branch
        return self._tree if self._core.parent is None else self._tree.branch_at(self._core.parent)

    @property
    def top_level(self) -> bool:
        """Whether the branch is one of the tree itself, and not a sub-branch or member of another."""
        return self.parent is self._tree

    @property
    def index(self) -> int:
        """The position among all branches of the tree, counted depth first from 0."""
        return self._core.index

    @property
    def member(self) -> str:
        """The dotted path of the member within the objects; empty for a whole branch."""
        return self._core.member

    @property
    def key(self) -> tuple[int, int, str]:
        """A key that is unique among all columns that one call can read, including those of friends."""
        return id(self._tree), self._core.index, self._core.member

    @property
    def request(self) -> tuple[int, str]:
        """The index and the member, as the core expects them."""
        return self._core.index, self._core.member

    @property
    def name(self) -> str:
        """The name in the file; for a member, followed by a dot and its path."""
        return _dotted(self._core.name, self.member)

    @property
    def path(self) -> str:
        """The names from the tree down, joined with "/". It is unique in the tree."""
        return _dotted(self._core.path, self.member)

    @property
    def title(self) -> str:
        """The title: often a description or the list of leaves. For a member, its comment in the class."""
        if self.member and isinstance(self.parent, Branch):
            return fields_of(self.parent.form).get(self.member.rpartition(".")[2], "")
        return self._core.title

    @cached_property
    def fields(self) -> list[str]:
        """Names of the members of the objects in the branch, at any depth of lists.

        ``branch["name"]`` is the column of a member. The fields of a group are its sub-branches.
        """
        return list(fields_of(self.interpretation.form))

    def members(self, depth: int = 1) -> Iterator[tuple[int, Branch]]:
        """Iterates over (depth, member) of the objects in the branch, depth first from ``depth`` on."""
        if self.is_group:
            return
        for field in self.fields:
            member = self.member_at(field)
            if member is not None:
                yield depth, member
                yield from member.members(depth + 1)

    def passing_members(self, filters: Filters, skip: int) -> Iterator[tuple[str, Branch]]:
        """The outermost members that pass, as :meth:`Filters.passing` yields branches."""
        if self.is_group:
            return
        for member in filter(None, map(self.member_at, self.fields)):
            passing = list(filters.passing([member], skip))
            yield from passing or member.passing_members(filters, skip)

    def member_at(self, path: str) -> Branch | None:
        """The member at a dotted path below this branch, or None if there is none."""
        try:
            with core_errors():
                return Branch(self._tree, self._core.member_at(path))
        except KeyInFileError:
            return None

    def _itself(self) -> list[Branch]:
        return [self]

    @property
    def object_path(self) -> str:
        """The path in the file: that of the tree, a colon, and that of the branch."""
        return f"{self._tree.object_path}:{self.path}"

    @property
    def class_name(self) -> str:
        """The C++ class of the branch itself, such as ``TBranch`` or ``TBranchElement``."""
        return self._core.class_name

    classname = class_name

    @property
    def typename(self) -> str:
        """The C++ type of one entry, such as ``float``, ``int32_t[]``, ``std::vector<float>``."""
        return self._core.typename

    @cached_property
    def form(self) -> Form | None:
        """The form of the data as nested tuples, or None if it cannot be read or is a group."""
        form: Form | None = self._core.form
        return form

    @cached_property
    def unsupported(self) -> str | None:
        """The reason why the branch cannot be read, or None if it can."""
        return self._core.unsupported

    @cached_property
    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of the members that arrays omit because their encoding is unknown.

        Such members belong to classes with a custom streamer that is not documented. For a group, the list
        contains the skipped members of its sub-branches, and the sub-branches that cannot be read.
        """
        if not self.is_group:
            return list(self._core.skipped)
        return [
            (f"{child.name}.{path}" if path else child.name, reason)
            for child in self.branches
            for path, reason in ([("", child.unsupported)] if child.unsupported else child.records.skipped)
        ]

    @cached_property
    def is_group(self) -> bool:
        """Whether the branch has no data of its own, so that its array holds records of its sub-branches."""
        return self._core.is_group

    @cached_property
    def item_class(self) -> str | None:
        """The C++ class of the items if the branch is a split collection, else None."""
        return self._core.item_class

    @property
    def records(self) -> Branch:
        """The branch, reading the objects that were split into its sub-branches as records.

        This matters for a split ``TClonesArray``: ``branch.array()`` returns the number of items per entry,
        which is what the branch itself stores (as in ROOT and uproot); ``branch.records.array()`` returns a
        list of records per entry. For any other branch, it is the branch itself.
        """
        if self.is_group or self.item_class is None or self.member or not self.branches:
            return self
        return _Records(self._tree, self._core)

    @property
    def ancestors(self) -> Iterator[Branch]:
        """Iterates over the branches that contain this one, innermost first."""
        above = self.parent
        while isinstance(above, Branch):
            yield above
            above = above.parent

    @cached_property
    def interpretation(self) -> Interpretation:
        """The type of an entry in memory."""
        return Interpretation(self)

    @property
    def cache_key(self) -> str:
        """Text that differs between all branches of all files, as uproot's branches have it."""
        return f"{self.file.hex_uuid}:{self.object_path}"

    @property
    def num_entries(self) -> int:
        """Number of entries of this branch, which may be smaller than that of the tree."""
        return self._core.num_entries

    @property
    def num_baskets(self) -> int:
        """Number of baskets of this branch, without those of its sub-branches."""
        return self._core.num_baskets

    @property
    def compressed_bytes(self) -> int:
        """Bytes of the baskets in the file, including their headers."""
        return self._core.compressed_bytes

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of the baskets before compression, including their headers."""
        return self._core.uncompressed_bytes

    @property
    def compression_ratio(self) -> float:
        """Uncompressed divided by compressed bytes; 1 if there are none."""
        return self.uncompressed_bytes / self.compressed_bytes if self.compressed_bytes else 1.0

    @property
    def compression(self) -> Compression:
        """The compression setting of the branch; if it has none, that of the file."""
        own = Compression(self._core.compression)
        is_unset = own.level == 0 and self.compressed_bytes < self.uncompressed_bytes
        return self.file.compression if is_unset else own

    @property
    def count_branch(self) -> Branch | None:
        """The branch that stores the lengths of the lists in this one, or None."""
        index = self._core.count_branch
        return None if index is None else self._tree.branch_at(index)

    @cached_property
    def baskets(self) -> list[tuple[int, int, int, int, bool]]:
        """(first entry, entries, byte offset in the file, bytes in the file, embedded) of each basket.

        An embedded basket is stored in the tree's own record, so it needs no read of its own.
        """
        return self._core.baskets()

    @property
    def entry_offsets(self) -> list[int]:
        """First entry of each basket, then the end (exclusive) of the last; ``[0]`` without baskets."""
        baskets = self.baskets
        if not baskets:
            return [0]
        return [*(first for first, *_ in baskets), baskets[-1][0] + baskets[-1][1]]

    def basket_entry_start_stop(self, basket: int) -> tuple[int, int]:
        """First entry of a basket, and its end (exclusive)."""
        first, entries, *_ = self.baskets[basket]
        return first, first + entries

    @property
    def basket_sizes(self) -> list[tuple[int, bool]]:
        """(bytes in the file, embedded) of each basket; sizes of embedded baskets are estimates."""
        known = [size for _, _, _, size, embedded in self.baskets if not embedded]
        rest = max(self.compressed_bytes - sum(known), 0)
        entries = sum(count for _, count, _, _, embedded in self.baskets if embedded)
        share = rest / entries if entries else 0.0
        return [
            (int(share * count) if embedded else size, embedded)
            for _, count, _, size, embedded in self.baskets
        ]

    def array(
        self,
        interpretation: Interpretation | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        entries: Any = None,
        library: str = "ak",
        ak_add_doc: bool | dict[str, str] = False,
        threads: int | None = None,
        deadline: float | None = None,
        decompression_executor: Any = None,
        interpretation_executor: Any = None,
        array_cache: Any = None,
    ) -> Any:
        """Reads the branch as one array.

        >>> tree["Muon_pt"].array(entry_stop=3)          # doctest: +SKIP
        <Array [[45.2, 31.7], [], [27.9]] type='3 * var * float32'>

        Args:
            interpretation: None or :attr:`interpretation`; it is here for compatibility with uproot.
            entry_start: first entry; negative values count from the end. Default: 0.
            entry_stop: end of the range (exclusive); negative values count from the end. Default: all.
            entries: numbers of entries, or a boolean mask, as in :meth:`arrays`.
            library: ``"ak"`` (Awkward Array), ``"np"`` (NumPy), ``"pd"`` (pandas) or ``"arrow"``.
            ak_add_doc: True to attach the title as ``__doc__``, or a dict ``{parameter: attribute}``.
            threads: threads that decompress and decode. Default: those given when the file was opened.
            deadline: seconds that the call may take. Default: the one given when the file was opened.
            decompression_executor, interpretation_executor, array_cache: accepted for compatibility with
                uproot and ignored.

        Returns:
            An ``ak.Array``, ``numpy.ndarray``, ``pandas.Series`` or ``pyarrow.Array`` of
            ``entry_stop - entry_start`` items (fewer if the branch has fewer entries than its tree), of the
            type that :attr:`interpretation` shows. For a group, the items are records.

        Raises:
            UnsupportedTypeError: sapwood cannot read the type of the branch.
            UsageError: ``entries`` lie outside the range or beyond the end of the branch, or another
                ``interpretation`` is given.
            DeadlineError: the deadline passed.
        """
        if interpretation is not None and interpretation is not self.interpretation:
            raise UsageError("sapwood takes the type of a branch from the file: omit 'interpretation'")
        selection = Selection({self.name: require_readable(self)}, None, {}, True)
        query = Query(self, selection, library_named(library), tuple, ak_add_doc)
        (array,) = read_arrays(
            query, entry_start, entry_stop, entries=entries, threads=threads, deadline=deadline
        )
        return array

    def __getitem__(self, name: Any) -> Any:
        """A sub-branch or a member by its name; for a slice, the array of these entries.

        >>> pt = tree["Muon_pt"]         # doctest: +SKIP
        >>> pt[:3]                       # doctest: +SKIP
        <Array [[45.2, 31.7], [], [27.9]] type='3 * var * float32'>

        A number is that of a sub-branch or, for a branch without any, of one entry.
        """
        is_entry = hasattr(name, "__index__") and not isinstance(name, bool) and not self.branches
        if not isinstance(name, slice) and not is_entry:
            return super().__getitem__(name)
        if is_entry:
            number = name.__index__()
            entry = number + self.num_entries if number < 0 else number
            if not 0 <= entry < self.num_entries:
                raise IndexError(f"{self.name!r} has no entry {number}: it has {self.num_entries}")
            return self.array(entry_start=entry, entry_stop=entry + 1)[0]
        chosen = range(self.num_entries)[name]
        ordered = chosen if chosen.step > 0 else chosen[::-1]
        if not ordered:
            return self.array(entry_start=0, entry_stop=0)
        array = self.array(entry_start=ordered.start, entry_stop=ordered[-1] + 1)
        return array[:: ordered.step][:: 1 if ordered is chosen else -1]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.array(library="np")
        return array if dtype is None else array.astype(dtype)

    def close(self) -> None:
        """Closes the file, and the files of friends of the tree that were opened."""
        self._tree.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self._tree, self.index, self._core.path, self.member))

    @shows_printable
    def __repr__(self) -> str:
        inside = f" ({len(self)} sub-branches)" if len(self) else ""
        return f"<Branch {self.path!r}: {self.typename or 'group'}{inside} of tree {self._tree.name!r}>"


class _Records(Branch):
    """A split collection, read as the group of its sub-branches instead of as numbers of items."""

    @property
    def is_group(self) -> bool:
        return True


class Interpretation:
    """The type of an entry of a branch in memory, which ``repr`` shows."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    @cached_property
    def form(self) -> Form | None:
        """The form of the data as nested tuples (for a group, that of its records); None if unreadable."""
        branch = self._branch
        if not branch.is_group:
            return branch.form
        return empty_column_of(branch).form if readable_leaves(branch) else None

    def awkward_form(self, file: Any = None) -> Any:
        """The ``ak.forms.Form`` of the array that :meth:`Branch.array` returns.

        Raises:
            UnsupportedTypeError: the branch, or a sub-branch of a group, cannot be read, or its objects have
                no members. Libraries over uproot then leave the branch out, as they do under uproot.
        """
        try:
            return awkward_form(require_whole(self._branch))
        except UnsupportedTypeError as error:
            raise refusal(error) from None

    @shows_printable
    def __repr__(self) -> str:
        if self._branch.is_group:
            return "group"
        if self.form is None:
            return f"unsupported: {self._branch.unsupported}"
        return type_string(self.form)


def _reopen(tree: Tree, index: int, path: str, member: str) -> Branch:
    branch = tree.branch_at(index)
    branch = branch if branch.path == path else tree[f"/{path}"]
    return branch[member] if member else branch


def _dotted(name: str, member: str) -> str:
    """The name of a member, with exactly one dot after the branch name, which may end in a dot itself."""
    return f"{name.removesuffix('.')}.{member}" if member else name
