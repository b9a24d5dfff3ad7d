"""The same events in several formats: reading, and the full chain; part of `make bench-stripe`.

    python bench/chain_formats.py --data DIR [--entries N] [--markdown FILE] [--json FILE]

NanoAOD-like events are written as a tree, an RNTuple, a dataset of stripes, a flat file, Parquet (pyarrow)
and HDF5 (h5py). Ten columns are read as arrays. The chain that only reads has all columns of 10,000 events in
memory at a time; the full chain also writes them in the same format: it reads, decompresses, deserializes,
serializes, compresses and writes. ZSTD-5 everywhere, but for HDF5: gzip, level 4, with the shuffle filter,
which every HDF5 library has. Row groups, chunks, batches and clusters have 10,000 events, clusters of
RNTuples their default size. Lists contain their lengths in RNTuple and Parquet; in HDF5, as in trees, these
are columns.

The bare loop (bench/limit) is given the places and sizes of the baskets of the tree, and only reads,
decompresses and byte-swaps them, column by column, on as many threads: it shows what a second thread can gain
on this machine. Each run is a process of its own, and all formats take turns; figures are medians. The ten
columns of what the chain writes are read again and compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import local
import results
from basketlist import write_list
from machine import load_file, touch_memory
from measured import must_be_measured
from results import median_of
from rootbuild import HERE

INPUT, TREE = "nano_zstd5", "Events"
FORMATS = {
    "tree, sapwood": ("TTree", ".root"),
    "tree, sapwood's chain": ("TTree, chain", ".root"),
    "RNTuple, sapwood": ("RNTuple", ".root"),
    "stripes, sapwood's chain": ("stripes, chain", ""),
    "flat file, sapwood's chain": ("flat, chain", ".pds"),
    "Parquet, pyarrow": ("Parquet", ".parquet"),
    "HDF5, h5py": ("HDF5", ".h5"),
}
"""What is measured: the name in readers/python_formats.py, and the suffix."""
FLAT, BARE, PARTS = "flat, chain", "tree, bare loop", ("read", "ten", "chain", "size")
THREADS, SECONDS = (1, 2), 900
SINGLE = "HDF5"
"""h5py uses one thread."""
PROGRAM = HERE / "readers" / "python_formats.py"

Record = dict[str, Any]


def files(path: Path) -> list[Path]:
    """A file, or all files of a dataset."""
    return [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]


def run(action: str, form: str, source: Path, target: Path, threads: int) -> Record:
    """One run in a process of its own."""
    arguments = map(str, (action, form, source, target, threads, ",".join(local.TEN)))
    return must_be_measured([sys.executable, str(PROGRAM), *arguments], os.environ, SECONDS)


def bare(source: Path, threads: int, options: argparse.Namespace) -> Record:
    """The program of bench/limit on the baskets of a tree."""
    import uproot

    baskets = source.with_suffix(".baskets")
    if not baskets.exists():
        with uproot.open(f"{source}:{TREE}") as tree:
            write_list(source, TREE, tree.keys(), baskets)
    program = local.limit_program(options.data / "build")
    return must_be_measured([str(program), str(baskets), str(threads)], os.environ, SECONDS)


def measure(options: argparse.Namespace) -> Iterator[Record]:
    import sapwood

    with tempfile.TemporaryDirectory(dir=options.data, prefix="formats-") as name:
        folder = Path(name)
        origin = folder / "origin.root"
        sapwood.repack(options.data / f"{INPUT}.root", origin, trees=[TREE], entry_stop=options.entries)
        runs: dict[tuple[str, int], dict[str, list[Record]]] = {}
        for repeat in range(options.repeats):
            for what, (form, suffix) in FORMATS.items():
                source, target = folder / f"{form}{suffix}", folder / f"written{suffix}"
                if not repeat:
                    run("convert", form, origin, source, THREADS[-1])
                for one in files(source):
                    load_file(one)
                touch_memory()
                for threads in THREADS[: 1 if form == SINGLE else 2]:
                    found = runs.setdefault((what, threads), {part: [] for part in PARTS})
                    found["read"].append(run("read", form, source, target, threads))
                    found["chain"].append(run("chain", form, source, target, threads))
                    found["size"].append({"bytes": sum(one.stat().st_size for one in files(target))})
                    if form != FLAT:
                        found["ten"].append(run("columns", form, source, target, threads))
                        written = run("columns", form, target, target, threads)
                        checked(what, [found["ten"][-1], written], runs)
                    if form == "TTree":
                        loop = runs.setdefault((BARE, threads), {part: [] for part in PARTS})
                        loop["read"].append(bare(source, threads, options))
                    shutil.rmtree(target) if target.is_dir() else target.unlink()
    for (what, threads), found in runs.items():
        yield {"format": what, "threads": threads, "entries": options.entries, **found}


def checked(what: str, found: list[Record], runs: Any) -> None:
    """The values must be those of the first format."""
    first = next(iter(runs.values()))["ten"][0]["sums"]
    for one in found:
        if any(abs(one["sums"][name] - value) > 1e-9 * abs(value) for name, value in first.items()):
            raise RuntimeError(f"{what}: other values than those of the tree: {one['sums']}, not {first}")


def markdown(records: list[Record], threads: int) -> str:
    """A row for each format."""
    rows = []
    for record in records:
        if record["threads"] == threads:
            cells = [f"{median_of(record['size'], 'bytes') / 1e6:.1f}" if record["size"] else "-"]
            for part in ("ten", "read", "chain"):
                for quantity in ("cpu", "wall"):
                    cells.append(f"{median_of(record[part], quantity):.2f}" if record[part] else "-")
            chain = record["chain"]
            rate = f"{record['entries'] / median_of(chain, 'wall'):,.0f}" if chain else "-"
            rows.append([record["format"], *cells, rate])
    head = ["format", "MB", "ten columns: CPU s", "wall s", "all columns: CPU s", "wall s"]
    return results.table([*head, "full chain: CPU s", "wall s", "events/s"], rows)


def scaling(records: list[Record]) -> str:
    """How much faster two threads are than one, and than the two threads of the bare loop."""
    found = {(one["format"], one["threads"]): one for one in records}
    rows = []
    for what in dict.fromkeys(what for what, threads in found if threads > 1):
        one, two = (found[what, threads] for threads in THREADS)
        cells = []
        for part in ("read", "chain"):
            if one[part]:
                gain = median_of(one[part], "wall") / median_of(two[part], "wall")
                best = median_of(found[BARE, 1]["read"], "wall") / median_of(found[BARE, 2]["read"], "wall")
                cells += [f"{gain:.2f}", f"{gain / best:.2f}"]
        rows.append([what, *cells, *["-"] * (4 - len(cells))])
    return results.table(["format", "all columns", "/ bare loop", "full chain", "/ bare loop"], rows)


def line(record: Record) -> str:
    """A line of progress."""
    seconds = median_of(record["read"], "wall")
    return f"{record['format']}, {record['threads']}: {seconds:.2f} s for all columns"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--entries", type=int, default=40_000, help="most entries of the input")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    records = results.collect(measure(options), line)
    tables = {"One thread": markdown(records, 1), "Two threads": markdown(records, 2)}
    tables["One thread / two threads"] = scaling(records)
    results.report(options, records, tables)


if __name__ == "__main__":
    main()
