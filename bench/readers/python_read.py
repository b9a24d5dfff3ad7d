"""Reads columns of a tree with sapwood or uproot, and prints a line of JSON.

    python python_read.py sapwood|uproot FILE TREE THREADS COLUMNS

The clock starts after imports. sapwood takes its number of threads from SAPWOOD_THREADS; for uproot, 0 means
no executors, and any other number is that of their threads.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import awkward as ak


def main() -> None:
    reader, path, tree_name, threads, list_of_columns = sys.argv[1:]
    columns = Path(list_of_columns).read_text().split()
    options = {}
    module = importlib.import_module(reader)
    if reader != "sapwood" and threads != "0":
        executor = ThreadPoolExecutor(int(threads))
        options = {"decompression_executor": executor, "interpretation_executor": executor}

    # Looked up before the clock starts, because a package may import modules at their first use.
    open_tree = module.open
    begin, used = time.perf_counter(), time.process_time()
    tree = open_tree(f"{path}:{tree_name}")
    opened = time.perf_counter()
    arrays = tree.arrays(columns, how=dict, **options)
    end, used = time.perf_counter(), time.process_time() - used

    if missing := set(columns) - set(arrays):
        raise SystemExit(f"no column {', '.join(sorted(missing))}")
    if wrong := [name for name, array in arrays.items() if not isinstance(array, ak.Array)]:
        raise SystemExit(f"not an Awkward array: {', '.join(wrong)}")
    print(json.dumps({"open": opened - begin, "wall": end - begin, "cpu": used, "peak": peak_memory()}))


def peak_memory() -> int:
    """The peak memory of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    main()
