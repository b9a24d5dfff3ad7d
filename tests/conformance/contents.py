"""What is in a file, as far as two files are compared: columns and entries of trees, other objects."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import uproot
from corpus import CORPUS

import sapwood
from sapwood.errors import SapwoodError
from sapwood.errors.core import core_errors
from sapwood.model.directory import TREE_CLASSES

sys.path.append(str(CORPUS))
import uproot_cs  # noqa: F401  the compression of old files, which uproot lacks

Entries = tuple[bytes, tuple[int, ...]]
"""The bytes of all entries of a branch, one after the other, and how many each has."""


class Contents:
    """An open file. What was found out is remembered."""

    def __init__(self, path: Path, file: sapwood.File) -> None:
        self.path = path
        self.file = file
        classes = file.classnames(cycle=False)
        self.trees = {name: file.tree_at(name) for name, kind in classes.items() if kind in TREE_CLASSES}
        self.columns = cache(self._columns)

    @cached_property
    def others(self) -> set[tuple[Any, ...]]:
        """Everything but trees and folders: place, class, and then cycle, title and bytes."""
        keys = (
            key for key in self.file.all_keys if key.class_name not in TREE_CLASSES and not key.is_directory
        )
        return {(key.path, key.class_name, key.cycle, key.title, key.object_bytes) for key in keys}

    def _columns(self, name: str) -> dict[int, bytes]:
        """Digests of the branches of a tree that are understood, by their index."""
        tree = self.trees[name]
        known = [branch.index for branch in tree.core.branches if branch.form is not None]
        found = read(tree, known, 0, tree.num_entries)
        return {index: value for index, value in found.items() if isinstance(value, bytes)}

    @cached_property
    def _by_uproot(self) -> Any:
        return uproot.open(self.path)

    def entries(self, name: str, branch: str) -> Entries:
        """What is stored of a branch, as uproot finds it."""
        # Of several cycles, the newest is written, as the first of the new file.
        found = self._by_uproot[name.partition(";")[0]][branch]
        parts, lengths = [], []
        for number in range(found.num_baskets):
            basket = found.basket(number)
            if basket.byte_offsets is None:
                data = np.asarray(basket.data)
                parts.append(data.tobytes())
                lengths += [data.nbytes // max(basket.num_entries, 1)] * basket.num_entries
                continue
            if basket.raw_data is None:  # it stands in the record of the tree
                data, borders = np.asarray(basket.data), basket.byte_offsets
            else:
                # Offsets as the basket states them. uproot takes the end, where displacements may be.
                data, key_bytes = np.asarray(basket.raw_data), basket.member("fKeylen")
                border = basket.member("fLast") - key_bytes
                starts = data[border + 4 :][: 4 * basket.num_entries].view(">i4") - key_bytes
                borders = np.append(starts, border)
            parts.append(data[borders[0] : borders[-1]].tobytes())
            lengths += np.diff(borders).tolist()
        return b"".join(parts), tuple(lengths)


def read(
    tree: sapwood.Tree, branches: Sequence[int], start: int, stop: int
) -> dict[int, bytes | SapwoodError]:
    """A digest of each branch's column, or why there is none."""
    if not branches:
        return {}
    try:
        with core_errors():
            columns = tree.core.read(branches, start, stop, threads=1, deadline=None)
    except SapwoodError as error:
        if len(branches) == 1:
            return {branches[0]: error}
        middle = len(branches) // 2
        return read(tree, branches[:middle], start, stop) | read(tree, branches[middle:], start, stop)
    return dict(zip(branches, map(_digest, columns), strict=True))


def _digest(column: Any) -> bytes:
    digest = hashlib.sha1(f"{column.form} {column.length}".encode(), usedforsecurity=False)
    for buffer in column.buffers:
        digest.update(np.ascontiguousarray(buffer).view("u1"))
    return digest.digest()
