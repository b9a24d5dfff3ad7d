"""The origin of a batch of arrays: its tree and its entries (:class:`Report`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..display.notebook import notebook_table
from ..display.printable import shows_printable

if TYPE_CHECKING:
    from ..model.file import File
    from ..model.tree import Tree


@dataclass(frozen=True)
class Report:
    """The entries of one batch of :func:`sapwood.iterate`, as yielded with ``report=True``.

    Attributes:
        tree: the tree that was read.
        tree_entry_start: number of the first entry in this tree.
        tree_entry_stop: number of the last entry in this tree, plus one.
        global_offset: number of entries in the trees before this one. Default: 0.
    """

    tree: Tree
    tree_entry_start: int
    tree_entry_stop: int
    global_offset: int = 0

    @property
    def source(self) -> Tree:
        """Alias of ``tree``."""
        return self.tree

    @property
    def file(self) -> File:
        """The file of the tree."""
        return self.tree.file

    @property
    def file_path(self) -> str:
        """The path or URL of the file, without passwords, tokens and query values."""
        return self.tree.file.file_path

    @property
    def global_entry_start(self) -> int:
        """Number of the first entry, counted over all files."""
        return self.tree_entry_start + self.global_offset

    @property
    def global_entry_stop(self) -> int:
        """Number of the last entry, counted over all files, plus one."""
        return self.tree_entry_stop + self.global_offset

    @property
    def start(self) -> int:
        """Alias of ``global_entry_start``."""
        return self.global_entry_start

    @property
    def stop(self) -> int:
        """Alias of ``global_entry_stop``."""
        return self.global_entry_stop

    def to_global(self, global_offset: int) -> Report:
        """A copy with another global offset."""
        return Report(self.tree, self.tree_entry_start, self.tree_entry_stop, global_offset)

    def _repr_html_(self) -> str:
        numbers = (self.start, self.stop, self.tree_entry_start, self.tree_entry_stop)
        names = ("first entry", "end", "first entry in the tree", "end in the tree")
        rows = [(name, f"{number:,}") for name, number in zip(names, numbers, strict=True)]
        title = f"Entries of {self.file_path}:{self.tree.object_path}"
        return notebook_table(title, ["measure", "value"], rows)

    @shows_printable
    def __repr__(self) -> str:
        source = f"{self.file_path}:{self.tree.object_path}"
        return f"<Report start={self.start} stop={self.stop} source={source!r}>"
