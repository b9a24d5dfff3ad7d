"""sapwood behind the interface of the corpus's compare.py: open(path) -> {tree name: tree}."""

from __future__ import annotations

import re

import sapwood
from sapwood.errors import SapwoodError
from sapwood.model.directory import TREE_CLASSES


class Tree:
    """A tree: names of branches, and their arrays."""

    def __init__(self, tree: sapwood.Tree) -> None:
        self.tree = tree
        self.num_entries = tree.num_entries

    def keys(self) -> list[str]:
        return self.tree.keys()

    def array(self, name: str, entry_start: int | None = None, entry_stop: int | None = None):
        try:
            return self.tree[f"/{name}"].array(entry_start=entry_start, entry_stop=entry_stop)
        except SapwoodError as error:
            # compare.py keeps the first 150 characters: not those that name the branch.
            cause = re.sub(r"^(cannot read )?branch '.*?'( of type '.*?')?: ", "", str(error))
            raise type(error)(cause) from None


class File:
    """The trees of a file, in their highest cycles, by their names without cycle."""

    def __init__(self, path: str) -> None:
        self.file = sapwood.open({path: None})
        classes = self.file.classnames(cycle=False)
        self.names = [name for name, kind in classes.items() if kind in TREE_CLASSES]

    def keys(self) -> list[str]:
        return self.names

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Tree:
        return Tree(self.file[name])


def open(path: str) -> File:
    return File(path)
