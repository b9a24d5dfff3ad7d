"""Branches of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..arrays.awkward import awkward_form
from ..arrays.column import Form, fields_of, record_form, type_string
from ..arrays.libraries import library_named
from ..display.printable import shows_printable
from ..errors import KeyInFileError, UsageError
from ..errors.core import core_errors
from ..options.compression import Compression
from ..query.assemble import empty_column_of, readable_leaves
from ..query.query import Query
from ..query.reading import read_arrays
from ..query.select import Selection, require_readable
from .branches import HasBranches

if TYPE_CHECKING:
    from .. import _core
    from .file import File
    from .tree import Tree


class Branch(HasBranches):
    """A branch: a column of the tree, a group of sub-branches, or both; or a member of the objects in it.

    It is a mapping of its sub-branches. :meth:`array` reads it. What is in the objects of an unsplit branch
    is listed by :attr:`fields` and :meth:`show`, and ``branch["name"]`` or ``tree["branch.name"]`` is a
    column of it: what lies around the member in the file is skipped.
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
        """The branch that this is a sub-branch or a member of, or the tree."""
        if self.member:
            above, _, _ = self.member.rpartition(".")
            branch = self._tree.branch_at(self.index)
            return branch.member_at(above) or branch if above else branch
        return self._tree if self._core.parent is None else self._tree.branch_at(self._core.parent)

    @property
    def index(self) -> int:
        """The position among all branches of the tree, depth first."""
        return self._core.index

    @property
    def member(self) -> str:
        """The path of the member of the objects in the branch that this is; empty for the whole branch."""
        return self._core.member

    @property
    def key(self) -> tuple[int, int, str]:
        """What tells this column from all others that can be read at the same time, friends' included."""
        return id(self._tree), *self.request

    @property
    def request(self) -> tuple[int, str]:
        """What to ask the core for: the index and the member."""
        return self.index, self.member

    @property
    def name(self) -> str:
        """The name, as in the file; for a member, with its path."""
        return _dotted(self._core.name, self.member)

    @property
    def path(self) -> str:
        """The names from the tree down, joined with "/". No two branches of a tree have the same."""
        return _dotted(self._core.path, self.member)

    @property
    def title(self) -> str:
        """The title: often a description, or the list of leaves; for a member, the comment behind it."""
        if self.member and isinstance(self.parent, Branch):
            return fields_of(self.parent.form).get(self.member.rpartition(".")[2], "")
        return self._core.title

    @cached_property
    def fields(self) -> list[str]:
        """Names of the members of the objects in the branch, whatever lists are around these.

        Each is a column: ``branch["name"]``. For a group, they are its sub-branches.
        """
        return list(fields_of(self.interpretation.form))

    def members(self, depth: int = 1) -> Iterator[tuple[int, Branch]]:
        """The members of the objects in the branch, each before those inside of it, with their depths."""
        if self.is_group:
            return
        for field in self.fields:
            member = self.member_at(field)
            if member is not None:
                yield depth, member
                yield from member.members(depth + 1)

    def member_at(self, path: str) -> Branch | None:
        """The member of a path from here on, with dots, or None if there is no such."""
        try:
            with core_errors():
                return Branch(self._tree, self._core.member_at(path))
        except KeyInFileError:
            return None

    def _itself(self) -> list[Branch]:
        return [self]

    @property
    def object_path(self) -> str:
        """Where the branch is in its file."""
        return f"{self._tree.object_path}:{self.path}"

    @property
    def class_name(self) -> str:
        """The C++ class of the branch itself: ``TBranch``, ``TBranchElement``, …."""
        return self._core.class_name

    classname = class_name

    @property
    def typename(self) -> str:
        """The C++ type of one entry, such as ``float``, ``int32_t[]``, ``std::vector<float>``."""
        return self._core.typename

    @cached_property
    def form(self) -> Form | None:
        """The shape of the data as nested tuples, or None if it cannot be read or is a group."""
        form: Form | None = self._core.form
        return form

    @cached_property
    def unsupported(self) -> str | None:
        """Why the branch cannot be read, or None if it can."""
        return self._core.unsupported

    @cached_property
    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of the members that arrays leave out, because their bytes cannot be understood.

        They are those of classes whose streamers were written by hand and published nowhere. Those of a group
        are those of its sub-branches, and these themselves where they cannot be read.
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
        """Whether it has no data of its own: its array is one of records of its sub-branches."""
        return self._core.is_group

    @cached_property
    def item_class(self) -> str | None:
        """The class of the items, if the branch is a split collection: its sub-branches are their members."""
        return self._core.item_class

    @property
    def records(self) -> Branch:
        """The branch as one whose array has the objects that were split into its sub-branches.

        The array of a group has them anyway. That of a split ``TClonesArray`` has the numbers of items, which
        is what the branch itself holds (and what ROOT and uproot give): ``branch.records.array()`` has a list
        of records per entry.
        """
        if self.is_group or self.item_class is None or self.member or not self.branches:
            return self
        return _Records(self._tree, self._core)

    @property
    def ancestors(self) -> Iterator[Branch]:
        """The branches that this is in, the innermost first."""
        above = self.parent
        while isinstance(above, Branch):
            yield above
            above = above.parent

    @cached_property
    def interpretation(self) -> Interpretation:
        """What an entry becomes in memory."""
        return Interpretation(self)

    @property
    def num_entries(self) -> int:
        """Entries of this branch. They may be fewer than the tree's."""
        return self._core.num_entries

    @property
    def num_baskets(self) -> int:
        """Baskets of this branch, not those of its sub-branches."""
        return self._core.num_baskets

    @property
    def compressed_bytes(self) -> int:
        """Bytes of the baskets in the file, with their headers."""
        return self._core.compressed_bytes

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of the baskets before compression, with their headers."""
        return self._core.uncompressed_bytes

    @property
    def compression_ratio(self) -> float:
        """Uncompressed over compressed bytes; 1 if there are none."""
        return self.uncompressed_bytes / self.compressed_bytes if self.compressed_bytes else 1.0

    @property
    def compression(self) -> Compression:
        """How the baskets were compressed; what the file says if the branch says nothing."""
        own = Compression(self._core.compression)
        says_none_but_is = own.level == 0 and self.compressed_bytes < self.uncompressed_bytes
        return self.file.compression if says_none_but_is else own

    @property
    def count_branch(self) -> Branch | None:
        """The branch that holds the lengths of the lists in this one, if there is one."""
        index = self._core.count_branch
        return None if index is None else self._tree.branch_at(index)

    @cached_property
    def baskets(self) -> list[tuple[int, int, int, int, bool]]:
        """(first entry, entries, byte offset in the file, bytes in the file, embedded) of each basket.

        An embedded basket lies in the tree's own record: it costs no read of its own.
        """
        return self._core.baskets()

    @property
    def entry_offsets(self) -> list[int]:
        """First entries of the baskets, and one after the last entry; ``[0]`` if there are no baskets."""
        baskets = self.baskets
        if not baskets:
            return [0]
        return [*(first for first, *_ in baskets), baskets[-1][0] + baskets[-1][1]]

    def basket_entry_start_stop(self, basket: int) -> tuple[int, int]:
        """First entry of a basket, and one after its last."""
        first, entries, *_ = self.baskets[basket]
        return first, first + entries

    @property
    def basket_sizes(self) -> list[tuple[int, bool]]:
        """(bytes in the file, embedded) of each basket. An embedded basket's size is estimated."""
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
        interpretation: None = None,
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
        """The data of the branch as one array.

        Args:
            interpretation: has no meaning here; it stands first because uproot's users expect it there.
            entry_start: first entry; negative counts from the end. Default: 0.
            entry_stop: one after the last entry; negative counts from the end. Default: all.
            entries: numbers of entries, or a mask, as in :meth:`arrays`.
            library: ``"ak"``, ``"np"``, ``"pd"`` or ``"arrow"``.
            ak_add_doc: True to attach the title as ``__doc__``; a dict of names and attributes for more.
            threads: threads that decompress and decode. Default: as the file was opened.
            deadline: seconds that it may take. Default: as the file was opened.
            decompression_executor: accepted for uproot's sake, without effect; so are the next two.
            interpretation_executor: see above.
            array_cache: see above.

        Returns:
            An ``ak.Array``, ``numpy.ndarray``, ``pandas.Series`` or ``pyarrow.Array`` of
            ``entry_stop - entry_start`` items (fewer if the branch has fewer entries than its tree). That of
            a group is one of records.

        Raises:
            UnsupportedTypeError: if the branch has a type that sapwood cannot read.
            UsageError: for ``entries`` outside of the range or beyond the end of the branch.
        """
        if interpretation is not None:
            raise UsageError("sapwood reads a branch as what the file says it is: leave 'interpretation' out")
        selection = Selection({self.name: require_readable(self)}, None, {}, True)
        query = Query(self, selection, library_named(library), tuple, ak_add_doc)
        (array,) = read_arrays(
            query, entry_start, entry_stop, entries=entries, threads=threads, deadline=deadline
        )
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.array(library="np")
        return array if dtype is None else array.astype(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self._tree, self.index, self._core.path, self.member))

    @shows_printable
    def __repr__(self) -> str:
        inside = f" ({len(self)} sub-branches)" if len(self) else ""
        return f"<Branch {self.path!r}: {self.typename or 'group'}{inside} of tree {self._tree.name!r}>"


class _Records(Branch):
    """A branch that has numbers of items, as the group of its sub-branches."""

    @property
    def is_group(self) -> bool:
        return True


class Interpretation:
    """What an entry of a branch becomes in memory. Its ``repr`` is the type of an entry."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    @cached_property
    def form(self) -> Form | None:
        """The shape of the data as nested tuples: a group's is that of its records. None if unreadable."""
        branch = self._branch
        if not branch.is_group:
            return branch.form
        return empty_column_of(branch).form if readable_leaves(branch) else None

    def awkward_form(self, file: Any = None) -> Any:
        """The ``ak.forms.Form`` of the array that :meth:`Branch.array` returns."""
        require_readable(self._branch)
        return awkward_form(self.form or record_form([]))

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
    """The name of a member: one dot in between, which the name of a branch may bring along."""
    return f"{name.removesuffix('.')}.{member}" if member else name
