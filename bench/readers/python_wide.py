"""Opens trees of many branches with sapwood or uproot, and prints a line of JSON; see ../wide.py.

    python_wide.py sapwood|uproot SMALL FILE TREE... -- COLUMN...

Opens each tree, reads its first column, and loops over its entries with all columns: sapwood event by event,
uproot in arrays. SMALL is a file of the same kind with the tree "Events", which is read before: what is
imported and begun once does not count.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

Times = dict[str, float]
WARM = ["number1", "list1", "number7"]


def resident() -> float:
    """The memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def sapwood_tree(path: str, tree: str) -> Any:
    import sapwood

    return sapwood.open({path: tree})


def sapwood_loop(tree: Any, columns: list[str]) -> None:
    touch = attrgetter(*columns)
    for event in tree.events(filter_name=columns):
        touch(event)


def uproot_tree(path: str, tree: str) -> Any:
    import uproot

    return uproot.open({path: tree})


def uproot_loop(tree: Any, columns: list[str]) -> None:
    for step in tree.iterate(columns):
        for name in columns:
            len(step[name])


WAYS: dict[str, tuple[Callable[[str, str], Any], Callable[[Any, list[str]], None]]] = {
    "sapwood": (sapwood_tree, sapwood_loop),
    "uproot": (uproot_tree, uproot_loop),
}


def read(way: str, path: str, trees: list[str], columns: list[str]) -> Times:
    """Reads all trees, one after the other; all stay open."""
    opening, looping = WAYS[way]
    found = dict.fromkeys(("open", "open_cpu", "memory", "first", "loop", "sum"), 0.0)
    before, kept = resident(), []
    for name in trees:
        begin, used = time.perf_counter(), time.process_time()
        tree = opening(path, name)
        found["open"] += time.perf_counter() - begin
        found["open_cpu"] += time.process_time() - used
        found["memory"] = resident() - before
        kept.append(tree)
        begin = time.perf_counter()
        found["sum"] += float(np.sum(tree[columns[0]].array(library="np"), dtype="f8"))
        found["first"] += time.perf_counter() - begin
        begin = time.perf_counter()
        looping(tree, columns)
        found["loop"] += time.perf_counter() - begin
    return found


def main() -> None:
    way, small, path, *rest = sys.argv[1:]
    end = rest.index("--")
    trees, columns = rest[:end], rest[end + 1 :]
    read(way, small, ["Events"], WARM)
    print(json.dumps(read(way, path, trees, columns)))


if __name__ == "__main__":
    main()
