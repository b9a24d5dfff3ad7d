"""Columns that a program reads one by one, in one range of entries after the other: then fetched together."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from ..arrays.column import Column
from ..errors import SapwoodError
from ..model.branch import Branch
from ..model.tree import Tree
from ._columns import read_columns

_MOST_BYTES = 64_000_000
"""Uncompressed size of the columns of a range that are read before they are asked for."""
_MOST_RANGES = 4
"""Ranges of a tree whose columns wait: several threads may be reading it."""
_MOST_UNUSED = 2
"""A column is no longer expected once it was fetched and not used in this many ranges."""

_LOCK = Lock()
_EXPECTED: dict[tuple[str, str], dict[str, int]] = {}
"""By name and schema of trees: the columns that were read one by one, and how often they then were not."""
_READ: WeakKeyDictionary[Tree, dict[tuple[int, int], dict[str, Column | None]]] = WeakKeyDictionary()
"""By tree and range: columns that wait to be asked for, or None once they were; the last few ranges."""


def read_one(key: str, branch: Branch, start: int, stop: int) -> Mapping[str, Column]:
    """The column of a branch.

    From a server, the columns that a program read in an earlier range, also of another file with the same
    schema, are fetched with the first of them.
    """
    tree = branch.tree
    if not tree.core.is_distant or branch.member:
        return read_columns({key: branch}, start, stop)
    with _LOCK:
        expected = _EXPECTED.setdefault((tree.name, tree.schema), {})
        ranges = _READ.setdefault(tree, {})
        while len(ranges) >= _MOST_RANGES and (start, stop) not in ranges:
            del ranges[next(iter(ranges))]
        read = ranges.setdefault((start, stop), {})
        column = read.get(branch.path)
        wanted = [path for path in expected if path not in read] if branch.path in expected else []
        expected[branch.path], read[branch.path] = 0, None
    if column is not None:
        return {key: column}
    others = _affordable(tree, [path for path in wanted if path != branch.path], start, stop)
    if not others:
        return read_columns({key: branch}, start, stop)
    try:
        columns = read_columns({branch.path: branch, **others}, start, stop)
    except SapwoodError:  # it may be about another column
        return read_columns({key: branch}, start, stop)
    with _LOCK:
        for path in others:
            read.setdefault(path, columns[path])
            expected[path] = expected.get(path, 0) + 1
            if expected[path] > _MOST_UNUSED:
                del expected[path]
    return {key: columns[branch.path]}


def _affordable(tree: Tree, paths: list[str], start: int, stop: int) -> dict[str, Branch]:
    """The branches of some paths, as many as fit into memory."""
    found: dict[str, Branch] = {}
    left, share = _MOST_BYTES, (stop - start) / max(1, tree.num_entries)
    for path in paths:
        branch: Any = tree.get(f"/{path}")
        if branch is not None and branch.num_entries == tree.num_entries:
            left -= branch.uncompressed_bytes * share
            if left > 0:
                found[path] = branch
    return found
