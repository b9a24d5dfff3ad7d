"""How a tree lies in its file, as a picture: its baskets, and which of them a read touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..display.units import human_bytes
from ..query.steps import entry_range
from .picture import document

if TYPE_CHECKING:
    from ..model.tree import Tree

__all__ = ["Basket", "BranchLayout", "TreeLayout", "draw", "human_bytes", "layout_of"]


@dataclass(frozen=True)
class Basket:
    """One basket of a branch: the entries it holds, and where in the file it lies."""

    first_entry: int
    num_entries: int
    offset: int
    nbytes: int
    embedded: bool = False
    """Whether it lies in the tree's own record (the last, unfinished basket of a branch can)."""


@dataclass(frozen=True)
class BranchLayout:
    """A branch that has baskets."""

    name: str
    typename: str
    compressed_bytes: int
    uncompressed_bytes: int
    baskets: Sequence[Basket]


@dataclass(frozen=True)
class TreeLayout:
    """What the picture shows."""

    title: str
    num_entries: int
    cluster_starts: Sequence[int]
    branches: Sequence[BranchLayout]
    wanted: frozenset[str] = frozenset()
    """The names of the branches that were read."""
    entries: tuple[int, int] = (0, 0)
    """The entries that were read."""
    fetched: Sequence[tuple[int, int]] = ()
    """The byte ranges (offset, bytes) that were fetched for it."""
    notes: Sequence[str] = ()
    """Lines under the title."""

    @property
    def num_baskets(self) -> int:
        """All baskets."""
        return sum(len(branch.baskets) for branch in self.branches)

    @property
    def num_read(self) -> int:
        """The baskets that were read, not counting those fetched on the way."""
        return sum(self.is_read(branch, basket) for branch in self.branches for basket in branch.baskets)

    def is_read(self, branch: BranchLayout, basket: Basket) -> bool:
        """Whether the read needed a basket."""
        start, stop = self.entries
        inside = basket.first_entry < stop and start < basket.first_entry + basket.num_entries
        return inside and branch.name in self.wanted


def layout_of(
    tree: Tree, columns: Sequence[str] = (), entry_start: int | None = None, entry_stop: int | None = None
) -> TreeLayout:
    """What the picture of a tree shows; columns (names or globs) are read, to see which baskets that touches.

    >>> with sapwood.open("nano.root:Events") as tree:                      # doctest: +SKIP
    ...     picture = sapwood.layout.draw(sapwood.layout.layout_of(tree, ["Muon_pt"], 0, 50_000))
    """
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
    )
    return _with_read(plain, tree, columns, entry_start, entry_stop) if columns else plain


def cluster_starts(tree: Tree) -> list[int]:
    """First entries of the clusters, then the number of entries.

    Some writers record no clusters; then it is where baskets of all branches begin together.
    """
    return tree.cluster_starts or tree.common_entry_offsets()


def _with_read(
    plain: TreeLayout, tree: Tree, columns: Sequence[str], entry_start: int | None, entry_stop: int | None
) -> TreeLayout:
    chosen = [branch for name in columns for branch in tree.values(filter_name=name) or [tree[name]]]
    start, stop = entry_range(tree.num_entries, entry_start, entry_stop)
    before = tree.file.report()
    for _ in tree.iterate(
        filter_name=list(columns), entry_start=start, entry_stop=stop, library="np", how=tuple
    ):
        pass
    after = tree.file.report()
    requests = after.requests - before.requests
    note = (
        f"read: {_count(len(chosen), 'branch', 'branches')}, entries {start:,} to {stop:,}: "
        f"{human_bytes(after.wanted_bytes - before.wanted_bytes)} in "
        f"{_count(requests, 'request', 'requests')}, "
        f"{human_bytes(after.overread_bytes - before.overread_bytes)} more fetched on the way"
    )
    return replace(
        plain,
        wanted=frozenset(leaf.path for branch in chosen for leaf in (branch, *branch.values())),
        entries=(start, stop),
        fetched=[(offset, nbytes) for _, _, offset, nbytes in tree.file.trace()],
        notes=[note],
    )


def draw(layout: TreeLayout) -> str:
    """The picture as an SVG document, complete in itself.

    Entries go downwards, branches across, one rectangle per basket. The width of a branch is its bytes,
    so area is bytes. Baskets that were read are filled; those that were only fetched because they lie between
    two of these are filled otherwise.
    """
    return document(layout)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
