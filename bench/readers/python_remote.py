"""Reads over a network with sapwood or uproot, and prints a line of JSON.

    python python_remote.py CLIENT SECONDS columns URL TREE COLUMN...   opens and reads the columns
    python python_remote.py CLIENT SECONDS whole URL TREE               reads everything, step by step
    python python_remote.py CLIENT SECONDS files LIST TREE COLUMN...    the columns of the URLs in a file

CLIENT: sapwood, uproot (its defaults), uproot-HTTPSource, uproot-XRootDSource. The clock starts after
imports, before the first file is opened, and stops with arrays in memory. After SECONDS (0: no limit), the
reader stops early, and the result contains the share that it has read.
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

# The sums of a column are compared with limited precision, because clients add in different orders.
DIGITS = 6
# Entries of a step: 100 MB of arrays for the whole file, and complete files for the others. (For a step in
# bytes, uproot first requests the key of every basket, one by one.)
STEP, FILE = 10_000, 1 << 40

Result = dict[str, Any]


def array_sums(arrays: dict[str, Any], columns: list[str]) -> list[float]:
    values = (ak.to_numpy(ak.flatten(arrays[name], axis=None)) for name in columns)
    return [float(f"{np.sum(each, dtype='f8'):.{DIGITS}g}") for each in values]


class Client:
    """sapwood or uproot, whose functions have the same names."""

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
        # Looked up before the clock starts, because a package may import modules at their first use.
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
    sys.stdin.read()  # keep the file open until the counters of the link have been read


if __name__ == "__main__":
    main()
