"""Where a batch of arrays came from: the entries of which tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..display.printable import shows_printable

if TYPE_CHECKING:
    from ..model.file import File
    from ..model.tree import Tree


@dataclass(frozen=True)
class Report:
    """The entries of one batch of :func:`sapwood.iterate`.

    Attributes:
        tree: the tree that was read.
        tree_entry_start: first entry of the batch, counted in this tree.
        tree_entry_stop: one after its last entry, counted in this tree.
        global_offset: entries in the trees before this one.
    """

    tree: Tree
    tree_entry_start: int
    tree_entry_stop: int
    global_offset: int = 0

    @property
    def source(self) -> Tree:
        """The same as ``tree``."""
        return self.tree

    @property
    def file(self) -> File:
        """The file of the tree."""
        return self.tree.file

    @property
    def file_path(self) -> str:
        """The path or URL of the file, without secrets."""
        return self.tree.file.file_path

    @property
    def global_entry_start(self) -> int:
        """First entry of the batch, counted through all files."""
        return self.tree_entry_start + self.global_offset

    @property
    def global_entry_stop(self) -> int:
        """One after the last entry of the batch, counted through all files."""
        return self.tree_entry_stop + self.global_offset

    @property
    def start(self) -> int:
        """The same as ``global_entry_start``."""
        return self.global_entry_start

    @property
    def stop(self) -> int:
        """The same as ``global_entry_stop``."""
        return self.global_entry_stop

    def to_global(self, global_offset: int) -> Report:
        """The same entries with another global offset."""
        return Report(self.tree, self.tree_entry_start, self.tree_entry_stop, global_offset)

    @shows_printable
    def __repr__(self) -> str:
        source = f"{self.file_path}:{self.tree.object_path}"
        return f"<Report start={self.start} stop={self.stop} source={source!r}>"
