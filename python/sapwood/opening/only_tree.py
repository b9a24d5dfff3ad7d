"""The only tree of a file or directory, for callers that need a tree and were given no name."""

from __future__ import annotations

from typing import Any

from ..errors import KeyInFileError, UsageError
from ..model.directory import TREE_CLASSES, Directory
from ..model.tree import Tree

_NAMED = 8
"""The most trees that a message names."""


def only_tree(found: Any) -> Tree:
    """A tree as it is, or the only tree in a file or directory and everything below it.

    Raises:
        KeyInFileError: if there is no tree.
        UsageError: if there are several, or ``found`` is something else.
    """
    if isinstance(found, Tree):
        return found
    if not isinstance(found, Directory):
        raise UsageError(f"{found!r} is not a tree")
    trees = trees_in(found)
    if len(trees) == 1:
        tree: Tree = found[trees[0]]
        return tree
    place = found.file.file_path
    found.file.close()
    if not trees:
        raise KeyInFileError(f"there is no tree in {place}")
    named = ", ".join(trees[:_NAMED]) + (", …" if len(trees) > _NAMED else "")
    raise UsageError(f"{place} has {len(trees)} trees; name one after a colon: {named}")


def trees_in(directory: Directory) -> list[str]:
    """The paths of the trees in a directory and below it, highest cycles only."""
    classes = directory.classnames(recursive=True, cycle=False)
    return [path for path, class_name in classes.items() if class_name in TREE_CLASSES]
