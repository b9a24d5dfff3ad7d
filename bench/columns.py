"""The second run over the same columns, with a cache of decoded columns: `make bench-columns`.

    python bench/columns.py --data DIR [--megabytes 1000] [--markdown FILE] [--json FILE]

A tree of 12 columns: four of numbers, and eight of lists with two counters. It is written as a TTree, once
for each compression, and with zstd also as an RNTuple. In turns, each in a process of its own, with a warm
page cache:

plain: without a cache.
first: with an empty cache.
second: with the cache that the first run filled.
np.load: the same arrays, as files that np.load(mmap_mode="r") maps.

Every run touches all values: it adds them up. Times are from before opening to after the last sum, without
the imports of Python.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import results

ROUNDS = 5
KINDS = {"zstd": "zstd:5", "lzma": "lzma:5", "zlib": "zlib:5", "zstd, RNTuple": "zstd:5"}
LIMITS = {"zstd": 5.0, "lzma": 20.0}
NUMBERS = ["run", "weight", "MET_pt", "MET_phi"]
LISTS = {"Muon": 1.5, "Jet": 5.0}
MEMBERS = ["pt", "eta", "phi", "mass"]
EVENT_BYTES = 4 * 4 + 2 * 8 + sum(4 * 4 * mean for mean in LISTS.values())

Record = dict[str, Any]


def content(events: int, seed: int) -> dict[str, Any]:
    """Columns that compress like those of an analysis: floats with twelve bits of mantissa."""
    import awkward as ak

    random = np.random.default_rng(seed)

    def floats(count: int) -> Any:
        bits = random.exponential(30, count).astype("f4").view("u4") & np.uint32(0xFFFFF800)
        return bits.view("f4")

    columns: dict[str, Any] = {name: floats(events) for name in NUMBERS[1:]}
    columns["run"] = np.full(events, seed, "u4")
    for name, mean in LISTS.items():
        counts = random.poisson(mean, events)
        columns |= {f"{name}_{member}": ak.unflatten(floats(counts.sum()), counts) for member in MEMBERS}
    return columns


def make(path: Path, kind: str, megabytes: int) -> None:
    """Writes the file, unless it is there."""
    import sapwood

    if path.exists():
        return
    events, cluster = int(megabytes * 1e6 / EVENT_BYTES), 200_000
    with sapwood.recreate(path, compression=KINDS[kind]) as file:
        tree = None
        for seed, start in enumerate(range(0, events, cluster)):
            part = content(min(cluster, events - start), seed)
            if tree is None:
                create = file.mkrntuple if "RNTuple" in kind else file.mktree
                tree = create("Events", None, cluster_entries=cluster)
            tree.extend(part)


def buffers(path: Path, stop: int | None = None, **options: Any) -> list[Any]:
    """The arrays of all columns, each once, up to an entry."""
    import awkward as ak

    import sapwood

    names = [*NUMBERS, *(f"{name}_{member}" for name in LISTS for member in MEMBERS)]
    with sapwood.open(f"{path}:Events", **options) as tree:
        arrays = tree.arrays(names, entry_stop=stop)
    found: dict[int, np.ndarray] = {}
    for name in names:
        layout = ak.to_layout(arrays[name])
        parts = [layout.offsets.data, layout.content.data] if layout.is_list else [layout.data]
        found |= {part.__array_interface__["data"][0]: part for part in parts}
    return list(found.values())


def run(way: str, path: Path, cache: Path, saved: Path) -> Record:
    """One run in this process."""
    # Imports what is needed.
    buffers(path, 1)
    begin = time.perf_counter()
    if way == "np.load":
        found = [np.load(file, mmap_mode="r") for file in sorted(saved.iterdir())]
    else:
        options = {"cache": cache, "cache_form": "columns", "cache_size": "100 GB"}
        found = buffers(path) if way == "plain" else buffers(path, None, **options)
    read = time.perf_counter()
    total = float(sum(part.sum(dtype="f8") for part in found))
    done = time.perf_counter()
    nbytes = sum(part.nbytes for part in found)
    return {"seconds": done - begin, "read": read - begin, "sum": total, "nbytes": nbytes}


def measure(options: Any) -> Iterator[Record]:
    """All ways in turns."""
    work = options.data / "columns"
    work.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        path = work / f"{kind.replace(', ', '_')}_{options.megabytes}.root"
        make(path, kind, options.megabytes)
        cache, saved = work / "cache", work / "saved"
        shutil.rmtree(saved, ignore_errors=True)
        saved.mkdir()
        for number, part in enumerate(buffers(path)):
            np.save(saved / f"{number:02}.npy", part)
        for _ in range(ROUNDS):
            shutil.rmtree(cache, ignore_errors=True)
            sums = set()
            for way in ("plain", "first", "second", "np.load"):
                arguments = [sys.executable, __file__, "--run", way, str(path), str(cache), str(saved)]
                done = subprocess.run(arguments, capture_output=True, text=True, check=True)
                record = json.loads(done.stdout)
                sums.add(record["sum"])
                yield {"kind": kind, "way": way, **record}
            if len(sums) > 1:
                raise SystemExit(f"{kind}: the values differ: {sums}")
    shutil.rmtree(work / "cache")
    shutil.rmtree(work / "saved")


def line(record: Record) -> str:
    return f"{record['kind']}, {record['way']}: {record['seconds']:.3f} s, {record['read']:.3f} s to read"


def seconds(records: list[Record], kind: str, way: str) -> float:
    """The median."""
    found = [one["seconds"] for one in records if (one["kind"], one["way"]) == (kind, way)]
    return float(statistics.median(found))


def checks(records: list[Record]) -> list[results.Check]:
    found: list[results.Check] = []
    for kind, least in LIMITS.items():
        gain = seconds(records, kind, "first") / seconds(records, kind, "second")
        found.append((f"{kind}: first run / second", f"{gain:.1f}", f"at least {least:g}", gain >= least))
        peer = seconds(records, kind, "second") / seconds(records, kind, "np.load")
        found.append((f"{kind}: second run / np.load", f"{peer:.2f}", "at most 1.3", peer <= 1.3))
    return found


def tables(records: list[Record]) -> dict[str, str]:
    rows = []
    for kind in KINDS:
        plain, first, second, load = (
            seconds(records, kind, way) for way in ("plain", "first", "second", "np.load")
        )
        nbytes = next(one["nbytes"] for one in records if one["kind"] == kind)
        numbers = [f"{value:.2f}" for value in (plain, first, second, load, second / load)]
        rows.append([kind, f"{nbytes / 1e6:,.0f}", *numbers, f"{first / second:.1f}"])
    head = ["input", "decoded: MB", "no cache: s", "first: s", "second: s", "np.load: s"]
    head += ["second / np.load", "first / second"]
    return {
        "Required": results.required(checks(records)),
        "Times": results.table(head, rows),
    }


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        way, *paths = sys.argv[2:]
        print(json.dumps(run(way, *map(Path, paths))))
        return
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the decoded columns")
    options = parser.parse_args()
    records = results.collect(measure(options), line)
    results.report(options, records, tables(records), checks(records))


if __name__ == "__main__":
    main()
