"""Finds the only tree of a file or directory, for callers that need a tree but got no name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..errors import KeyInFileError, UsageError
from ..model.branch import Branch
from ..model.directory import TREE_CLASSES, Directory
from ..model.tree import Tree

_NAMED = 8
"""Most trees that a message lists."""


def only_tree(found: Any) -> Tree:
    """The only tree in a file or in a directory and those below it. A tree is returned as it is.

    Raises:
        KeyInFileError: there is no tree.
        UsageError: there are several trees, or ``found`` is another object.

    After an error, the file is closed.
    """
    if isinstance(found, Tree):
        return found
    if isinstance(found, Branch):
        found.close()
        place = found.file.file_path
        raise UsageError(
            f"{found.path!r} is a branch: name its tree, {found.tree.name!r}, of {place}",
            url=place,
        )
    if not isinstance(found, Directory):
        raise UsageError(f"{found!r} is not a tree")
    classes = found.classnames(recursive=True, cycle=False)
    trees = [path for path, class_name in classes.items() if class_name in TREE_CLASSES]
    if len(trees) == 1:
        tree: Tree = found[trees[0]]
        return tree
    place = found.file.file_path
    found.file.close()
    if not trees:
        raise KeyInFileError(f"{place} has no trees{_content(classes)}", url=place)
    named = ", ".join(map(repr, trees[:_NAMED])) + (", …" if len(trees) > _NAMED else "")
    raise UsageError(
        f"{place} has {len(trees)} trees ({named}): name one, as in '{place}:{trees[0]}'", url=place
    )


def _content(classes: Mapping[str, str]) -> str:
    """The numbers of objects of each class, as the end of a message."""
    counts = Counter(name for name in classes.values() if not name.startswith("TDirectory"))
    most = [f"{number:,} {name}" for name, number in counts.most_common(_NAMED)]
    return f"; it holds {', '.join(most)}" + ", …" * (len(counts) > _NAMED) if counts else "; it is empty"
