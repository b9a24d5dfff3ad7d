"""Writes a tree from columns in memory, with sapwood or uproot, and prints JSON.

    python python_write.py sapwood|sapwood-rntuple|uproot COLUMNS TARGET THREADS CLUSTER COMPRESSION

See root_write.cpp for COLUMNS and for the output. Both libraries receive one cluster at a time. uproot
receives the columns of a counter as records, so that they share it. sapwood-rntuple writes an RNTuple without
the counters, whose clusters have the default size: CLUSTER is only what it receives at a time.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

NAMES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
DTYPES = dict(zip("OBbSsIiLlFD", NAMES, strict=True))


def columns(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The columns by name, and the counters of columns with lists."""
    data = np.fromfile(folder / "data", np.uint8)
    arrays: dict[str, Any] = {}
    counters: dict[str, str] = {}
    offsets: dict[str, Any] = {}
    for line in (folder / "list").read_text().splitlines():
        name, kind, counter, begin, length = line.split()
        values = data[int(begin) : int(begin) + int(length)].view(DTYPES[kind])
        if counter == "-":
            arrays[name] = values
            continue
        if counter not in offsets:
            offsets[counter] = ak.index.Index64(np.concatenate(([0], np.cumsum(arrays[counter], dtype="i8"))))
        content = ak.contents.NumpyArray(values)
        arrays[name] = ak.Array(ak.contents.ListOffsetArray(offsets[counter], content))
        counters[name] = counter
    return arrays, counters


def main() -> None:
    writer, folder, target, threads, cluster, compression = sys.argv[1:]
    arrays, counters = columns(Path(folder))
    step = int(cluster)
    entries = min(len(array) for array in arrays.values())
    if writer == "sapwood-rntuple":
        import sapwood

        arrays = {name: array for name, array in arrays.items() if name not in counters.values()}
        recreate = sapwood.recreate
        before, begin, used = memory("VmRSS:"), time.perf_counter(), time.process_time()
        with recreate(target, compression=int(compression), threads=int(threads)) as file:
            ntuple = file.mkrntuple("Events")
            for start in range(0, entries, step):
                ntuple.extend({name: array[start : start + step] for name, array in arrays.items()})
    elif writer == "sapwood":
        import sapwood

        recreate = sapwood.recreate
        before, begin, used = memory("VmRSS:"), time.perf_counter(), time.process_time()
        with recreate(target, compression=int(compression), threads=int(threads)) as file:
            tree = file.mktree("Events", cluster_entries=step)
            for start in range(0, entries, step):
                tree.extend({name: array[start : start + step] for name, array in arrays.items()})
    else:
        import uproot

        groups = grouped(arrays, counters)
        setting = uproot.compression.Compression.from_code_pair(*divmod(int(compression), 100))
        before, begin, used = memory("VmRSS:"), time.perf_counter(), time.process_time()
        with uproot.recreate(target, compression=setting) as file:
            first = {name: array[:1] for name, array in groups.items()}
            tree = file.mktree(
                "Events", {name: ak.Array(array).type.content for name, array in first.items()}
            )
            for start in range(0, entries, step):
                tree.extend({name: array[start : start + step] for name, array in groups.items()})
    wall, used = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"wall": wall, "cpu": used, "memory": memory("VmHWM:") - before}))


def grouped(arrays: dict[str, Any], counters: dict[str, str]) -> dict[str, Any]:
    """Merges the columns of each counter into one column of lists of records."""
    found = {name: array for name, array in arrays.items() if name not in counters}
    for counter in dict.fromkeys(counters.values()):
        prefix = counter[1:] + "_"
        members = {name.removeprefix(prefix): arrays[name] for name in counters if counters[name] == counter}
        del found[counter]
        found[counter[1:]] = ak.zip(members)
    return found


def memory(what: str) -> int:
    """A value in the kernel's status of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(what)[1].split()[0])


if __name__ == "__main__":
    main()
