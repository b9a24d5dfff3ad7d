"""Reads over a network with sapwood or uproot, in a process of its own, and prints a line of JSON.

    python python_remote.py CLIENT SECONDS columns URL TREE COLUMN...   opens and reads the columns
    python python_remote.py CLIENT SECONDS whole URL TREE               reads everything, step by step
    python python_remote.py CLIENT SECONDS files LIST TREE COLUMN...    the columns of the URLs in a file

CLIENT: sapwood, uproot (its defaults), uproot-HTTPSource, uproot-XRootDSource. The clock starts after the
imports, before the first file is opened, and stops with arrays in memory. After so many SECONDS (0: no limit)
steps end early, and the result says what share had been read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

# A column's sum is compared between clients that add in different orders.
DIGITS = 6
# Entries of a step: 100 MB of arrays of the whole file, and more than the other files have. (Given bytes,
# uproot first asks for the key of every basket, one by one.)
STEP, FILE = 10_000, 1 << 40

Result = dict[str, Any]


def array_sums(arrays: dict[str, Any], columns: list[str]) -> list[float]:
    values = (ak.to_numpy(ak.flatten(arrays[name], axis=None)) for name in columns)
    return [float(f"{np.sum(each, dtype='f8'):.{DIGITS}g}") for each in values]


class Client:
    """One of the two packages, whose calls have the same names."""

    def __init__(self, name: str, limit: float) -> None:
        self.limit = limit or float("inf")
        self.kept: Any = None
        self.options: dict[str, Any] = {}
        if name == "sapwood":
            import sapwood as module
        else:
            import uproot as module  # type: ignore[no-redef]

            if "-" in name:
                self.options["handler"] = getattr(module, name.split("-")[1])
        # Looked up first: a package may import what it needs for reading when that is first asked for.
        self.open: Callable[..., Any] = module.open
        self.iterate: Callable[..., Any] = module.iterate

    def columns(self, url: str, tree: str, *columns: str) -> Result:
        begin = time.perf_counter()
        self.kept = self.open(f"{url}:{tree}", **self.options)
        arrays = self.kept.arrays(list(columns), how=dict)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "sums": array_sums(arrays, list(columns))}

    def whole(self, url: str, tree: str) -> Result:
        begin, entries = time.perf_counter(), 0
        self.kept = self.open(f"{url}:{tree}", **self.options)
        for batch in self.kept.iterate(step_size=STEP, how=dict):
            entries += len(next(iter(batch.values())))
            if (seconds := time.perf_counter() - begin) > self.limit:
                break
        return {"seconds": seconds, "share": entries / self.kept.num_entries}

    def files(self, listed: str, tree: str, *columns: str) -> Result:
        urls = Path(listed).read_text().split()
        begin, ends = time.perf_counter(), []
        paths = dict.fromkeys(urls, tree)
        for batch in self.iterate(paths, list(columns), step_size=FILE, how=dict, **self.options):
            if missing := set(columns) - set(batch):
                raise RuntimeError(f"no column {', '.join(sorted(missing))}")
            ends.append(time.perf_counter() - begin)
            if ends[-1] > self.limit:
                break
        return {"seconds": ends[-1], "ends": ends, "share": len(ends) / len(urls)}


def main() -> None:
    name, seconds, what, *arguments = sys.argv[1:]
    client = Client(name, float(seconds))
    print(json.dumps(getattr(client, what)(*arguments)), flush=True)
    sys.stdin.read()  # with the file open, until what went through the line was noted


if __name__ == "__main__":
    main()
