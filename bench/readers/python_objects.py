"""Reads the products of a tree with sapwood or uproot, and prints a line of JSON.

    python python_objects.py sapwood|uproot FILE TREE total|products|leaves|BRANCH,BRANCH…

total: all top-level branches at once; products: whole products, one after the other; leaves: every branch
with data, one after the other. sapwood reads all entries. uproot, which may need hours, starts with a few
entries and reads more of them until a branch takes BRANCH_SECONDS, each branch in a separate process. A
branch that takes longer than LIMIT_SECONDS or more memory than LIMIT_BYTES counts as an error.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

FIRST_ENTRIES, MORE = 100, 8
BRANCH_SECONDS, LIMIT_SECONDS = 0.5, 60
LIMIT_BYTES = 4 << 30

Taken = dict[str, Any]


class Clock:
    """CPU and wall seconds since the clock was created."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {"cpu": time.process_time() - self.cpu, "wall": time.perf_counter() - self.wall}


def measured(read: Callable[[int], Any], entries: int, first: int) -> Taken:
    """The cost of `read(entry_stop)`, for `first` entries and then for more."""
    stop = min(first, entries)
    try:
        while True:
            clock = Clock()
            read(stop)
            taken = clock.read()
            if stop == entries or taken["wall"] > BRANCH_SECONDS:
                return {**taken, "entries": stop, "read": True}
            stop = min(MORE * stop, entries)
    except Exception as error:
        return failed(f"{type(error).__name__}: {cause(str(error))[:160]}")


def cause(message: str) -> str:
    """The most informative line of an error: the first with "Error" in it, or the first."""
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith("in file")] or [""]
    return next((line for line in lines if "Error" in line), lines[0])


def failed(error: str) -> Taken:
    return {"read": False, "error": error}


def measured_apart(read: Callable[[int], Any], entries: int, first: int) -> Taken:
    """The same, in a separate process that may fail, hang or be killed."""
    ours, theirs = multiprocessing.Pipe()

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
        theirs.send(measured(read, entries, first))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    theirs.close()
    try:
        if ours.poll(LIMIT_SECONDS):
            result: Taken = ours.recv()
            return result
        return failed(f"took longer than {LIMIT_SECONDS} s")
    except EOFError:
        return failed("the process ended")
    finally:
        process.kill()
        process.join()


def main() -> None:
    reader, path, tree_name, what = sys.argv[1:]
    module = importlib.import_module(reader)
    import awkward  # noqa: F401 -- so that its import does not count for the first branch

    tree = module.open(f"{path}:{tree_name}")
    entries = tree.num_entries
    first, measure = (entries, measured) if reader == "sapwood" else (FIRST_ENTRIES, measured_apart)
    if what == "total":
        clock = Clock()
        tree = module.open(f"{path}:{tree_name}")
        tree.arrays([branch.name for branch in tree.branches], how=dict)
        print(json.dumps(clock.read()))
        return

    def one(name: str) -> Taken:
        branch = tree[f"/{name}"]
        taken = measure(lambda stop: branch.array(entry_stop=stop), entries, first)
        return {"bytes": branch.uncompressed_bytes, **taken}

    if what == "products":
        names = [branch.name for branch in tree.branches]
    elif what == "leaves":
        names = [name for name, branch in tree.items() if not branch.branches]
    else:
        names = what.split(",")
    print(json.dumps({name: one(name) for name in names}))


if __name__ == "__main__":
    main()
