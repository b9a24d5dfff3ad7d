"""Reads a dataset or the tree of a file with sapwood, and prints a line of JSON.

    python stripe_read.py URL TREE MODE [COLUMN...]

MODE: open (only the number of entries), columns (these columns), batch (these columns, first entries only),
whole (everything, in steps of whole clusters with about 10,000 entries; the clusters of a dataset are its
batches). The clock starts after imports, and stops with arrays in memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import awkward  # noqa: F401  imported here, so that its import is not measured
import numpy  # noqa: F401

import sapwood

ENTRIES = 10_000
# Fewer entries than in a batch.
FEW = 10

# Looked up before the clock starts, because the package imports modules at their first use.
opening = sapwood.open


def step(tree: Any) -> int:
    """The number of entries of whole clusters that is closest to the target."""
    cluster = int(tree.cluster_starts[1] - tree.cluster_starts[0])
    return max(1, round(ENTRIES / cluster)) * cluster


def read(url: str, tree: str, mode: str, columns: list[str]) -> Any:
    """Reads the tree, and returns it."""
    opened = opening(url)
    found: Any = opened if hasattr(opened, "num_entries") else opened[tree]
    if mode == "columns":
        found.arrays(columns, how=dict)
    elif mode == "batch":
        found.arrays(columns, entry_stop=FEW, how=dict)
    elif mode == "whole":
        for batch in found.iterate(step_size=step(found), how=dict):
            del batch
    assert found.num_entries
    return found


def main() -> None:
    url, tree, mode, *columns = sys.argv[1:]
    used, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    found = read(url, tree, mode, columns)
    seconds = time.perf_counter() - begin
    now = resource.getrusage(resource.RUSAGE_SELF)
    report = found.file.report()
    counted = {name: getattr(report, name) for name in ("requests", "round_trips", "fetched_bytes")}
    times = {"decompress": report.decompress_seconds, "decode": report.decode_seconds}
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    figures = {"seconds": seconds, "cpu": cpu, "peak": now.ru_maxrss * 1024, **times, **counted}
    print(json.dumps(figures), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
