"""Works on all columns of a tree with sapwood, and prints a line of JSON: for threads.py.

    python python_threads.py WORK FILE TREE TARGET

iterate reads steps of about 10,000 entries. chunks loops over some columns of events, with arrays. recompress
rewrites the file with LZ4. write and write_rntuple write arrays in memory, with ZSTD-5. The clock starts
after imports. The number of threads is that of SAPWOOD_THREADS.
"""

from __future__ import annotations

import json
import sys
import time

import awkward  # noqa: F401  imported here, so that its import is not measured
import numpy  # noqa: F401

import sapwood

ENTRIES, COLUMNS = 10_000, 100


def main() -> None:
    work, path, tree_name, target = sys.argv[1:]
    # Looked up before the clock starts, because a package may import modules at their first use.
    opening, creating, repacking = sapwood.open, sapwood.recreate, sapwood.repack
    name = f"{path}:{tree_name}"
    arrays = opening(name).arrays(how=dict) if work.startswith("write") else {}
    begin, used = time.perf_counter(), time.process_time()
    if work == "iterate":
        for step in opening(name).iterate(step_size=ENTRIES, how=dict):
            del step
    elif work == "chunks":
        tree = opening(name)
        columns = tree.keys()[:: len(tree.keys()) // COLUMNS][:COLUMNS]
        for chunk in sapwood.events(name).chunks():
            for column in columns:
                chunk[column]
    elif work == "recompress":
        repacking(path, target, compression="lz4:4", overwrite=True)
    else:
        with creating(target, compression="zstd:5") as file:
            if work == "write":
                file[tree_name] = arrays
            else:
                file.mkrntuple(tree_name, arrays)
    seconds = time.perf_counter() - begin
    print(json.dumps({"wall": seconds, "cpu": time.process_time() - used}))


if __name__ == "__main__":
    main()
