"""The layout of a tree in its file, as a drawing: its baskets, and those that a read used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..display.units import counted, human_bytes
from ..errors import ArgumentTypeError
from ..query.steps import entry_range
from .picture import document

if TYPE_CHECKING:
    from ..model.tree import Tree

__all__ = ["Basket", "BranchLayout", "TreeLayout", "draw", "human_bytes", "layout_of"]


@dataclass(frozen=True)
class Basket:
    """A basket of a branch: its entries, and its byte offset and size in the file."""

    first_entry: int
    num_entries: int
    offset: int
    nbytes: int
    embedded: bool = False
    """Whether it is stored in the tree's own record, as the last basket of a branch can be."""


@dataclass(frozen=True)
class BranchLayout:
    """A branch with its baskets. ``name`` is its path; sizes are in bytes."""

    name: str
    typename: str
    compressed_bytes: int
    uncompressed_bytes: int
    baskets: Sequence[Basket]


@dataclass(frozen=True)
class TreeLayout:
    """The content of the drawing."""

    title: str
    num_entries: int
    cluster_starts: Sequence[int]
    """The first entry of each cluster, then the number of entries."""
    branches: Sequence[BranchLayout]
    wanted: frozenset[str] = frozenset()
    """The names of the branches that were read."""
    entries: tuple[int, int] = (0, 0)
    """The entries [start, stop) that were read."""
    fetched: Sequence[tuple[int, int]] = ()
    """The byte ranges (offset, bytes) that were fetched for the read."""
    notes: Sequence[str] = ()
    """Lines below the title."""
    is_rntuple: bool = False
    """Whether the branches are fields of an RNTuple, and the baskets pages."""

    @property
    def piece(self) -> str:
        """What a rectangle is: a basket or a page."""
        return "page" if self.is_rntuple else "basket"

    def counted_columns(self, number: int) -> str:
        """A number of branches or fields, in words."""
        return counted(number, "field") if self.is_rntuple else counted(number, "branch", "branches")

    @property
    def num_baskets(self) -> int:
        """The number of baskets of all branches."""
        return sum(len(branch.baskets) for branch in self.branches)

    @property
    def num_read(self) -> int:
        """The number of baskets that were read, without over-read ones."""
        return sum(self.is_read(branch, basket) for branch in self.branches for basket in branch.baskets)

    def is_read(self, branch: BranchLayout, basket: Basket) -> bool:
        """Whether the read needed a basket."""
        start, stop = self.entries
        inside = basket.first_entry < stop and start < basket.first_entry + basket.num_entries
        return inside and branch.name in self.wanted


def layout_of(
    tree: Tree, columns: Sequence[str] = (), entry_start: int | None = None, entry_stop: int | None = None
) -> TreeLayout:
    """The layout of a tree. If you name columns, they are read, and the baskets that were used are marked.

    >>> with sapwood.open("nano.root:Events") as tree:                      # doctest: +SKIP
    ...     svg = sapwood.layout.draw(sapwood.layout.layout_of(tree, ["Muon_pt"], 0, 50_000))

    Args:
        tree: an open tree.
        columns: names or globs of the branches to read. Default: none.
        entry_start, entry_stop: the entries to read, as in :meth:`sapwood.Tree.arrays`. Default: all.

    Raises:
        KeyInFileError: if there is no such branch.
    """
    if isinstance(columns, str) or not all(isinstance(name, str) for name in _iterable(columns)):
        raise ArgumentTypeError(f"'columns' must be a list of names or globs, not {columns!r}")
    branches = [
        BranchLayout(
            name=branch.path,
            typename=branch.typename,
            compressed_bytes=branch.compressed_bytes,
            uncompressed_bytes=branch.uncompressed_bytes,
            baskets=[Basket(*basket) for basket in branch.baskets],
        )
        for branch in tree.values()
        if branch.num_baskets
    ]
    plain = TreeLayout(
        title=f"{tree.file.file_path.rpartition('/')[2]}:{tree.object_path.strip('/').partition(';')[0]}",
        num_entries=tree.num_entries,
        cluster_starts=cluster_starts(tree),
        branches=branches,
        is_rntuple=tree.classname.endswith("RNTuple"),
    )
    return _with_read(plain, tree, columns, entry_start, entry_stop) if columns else plain


def _iterable(columns: Any) -> Iterable[Any]:
    return columns if isinstance(columns, Iterable) else [columns]


def cluster_starts(tree: Tree) -> list[int]:
    """The first entry of each cluster, then the number of entries.

    If the writer recorded no clusters, a cluster starts where baskets of all branches start together.
    """
    return tree.cluster_starts or tree.common_entry_offsets()


def _with_read(
    plain: TreeLayout, tree: Tree, columns: Sequence[str], entry_start: int | None, entry_stop: int | None
) -> TreeLayout:
    chosen = [branch for name in columns for branch in tree.values(filter_name=name) or [tree[name]]]
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    for _ in tree.iterate(
        filter_name=list(columns), entry_start=start, entry_stop=stop, library="np", how=tuple
    ):
        pass
    # With the opening, whose ranges the drawing shows, too.
    cost = tree.file.report()
    note = (
        f"read: {plain.counted_columns(len(chosen))}, entries {start:,} to {stop:,}: "
        f"{human_bytes(cost.wanted_bytes)} in {counted(cost.requests, 'request')}, "
        f"plus {human_bytes(cost.overread_bytes)} over-read"
    )
    return replace(
        plain,
        wanted=frozenset(leaf.path for branch in chosen for leaf in (branch, *branch.values())),
        entries=(start, stop),
        fetched=[(offset, nbytes) for _, _, offset, nbytes in tree.file.trace()],
        notes=[note],
    )


def draw(layout: TreeLayout) -> str:
    """The drawing as a complete SVG document.

    Each basket is a rectangle. Entries run from top to bottom, and branches from left to right. The width of
    a branch is proportional to its compressed bytes, so areas show bytes. Two colors mark baskets that were
    read, and baskets between them that were over-read.
    """
    return document(layout)
