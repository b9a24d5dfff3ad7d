"""The same events in several formats: reading, and the full chain; part of `make bench-stripe`.

    python bench/chain_formats.py --data DIR [--entries N] [--markdown FILE] [--json FILE]

NanoAOD-like events are written as a tree, an RNTuple, a dataset of stripes, a flat file, Parquet (pyarrow)
and HDF5 (h5py). All columns, or ten, are read as arrays in memory. The full chain reads all columns in steps
of 10,000 events, and writes them in the same format: read, decompress, deserialise, serialise, compress,
write. ZSTD-5 everywhere, but for HDF5: gzip, level 4, with the shuffle filter, which every HDF5 library has.
Row groups, chunks, batches and clusters have 10,000 events; those of RNTuples have their default size. Lists
contain their own lengths in RNTuple and Parquet; in HDF5, these are columns, as in trees.

Each run is a process of its own, and all formats take turns; figures are medians. The ten columns of what the
chain writes are read again and compared.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import local
import results
from machine import load_file, touch_memory
from measured import must_be_measured
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
FLAT = "flat, chain"
THREADS, SECONDS = (1, 2), 900
PROGRAM = HERE / "readers" / "python_formats.py"

Record = dict[str, Any]


def files(path: Path) -> list[Path]:
    """A file, or all files of a dataset."""
    return [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]


def run(action: str, form: str, source: Path, target: Path, threads: int, listed: Path) -> Record:
    """One run in a process of its own."""
    touch_memory()
    command = [
        sys.executable,
        str(PROGRAM),
        action,
        form,
        str(source),
        str(target),
        str(threads),
        str(listed),
    ]
    return must_be_measured(command, None, SECONDS)


def measure(options: argparse.Namespace) -> Iterator[Record]:
    import sapwood

    with tempfile.TemporaryDirectory(dir=options.data, prefix="formats-") as name:
        folder = Path(name)
        origin, ten, all_columns = folder / "origin.root", folder / "ten", folder / "all"
        sapwood.repack(options.data / f"{INPUT}.root", origin, trees=[TREE], entry_stop=options.entries)
        ten.write_text("\n".join(local.TEN))
        all_columns.write_text("")
        runs: dict[tuple[str, int], dict[str, list[Record]]] = {}
        for repeat in range(options.repeats):
            for what, (form, suffix) in FORMATS.items():
                source, target = folder / f"{form}{suffix}", folder / f"written{suffix}"
                if not repeat:
                    run("convert", form, origin, source, THREADS[-1], all_columns)
                for one in files(source):
                    load_file(one)
                for threads in THREADS:
                    found = runs.setdefault((what, threads), {"all": [], "ten": [], "chain": [], "sizes": []})
                    found["all"].append(run("read", form, source, target, threads, all_columns))
                    found["chain"].append(run("chain", form, source, target, threads, all_columns))
                    written = run("read", form, target, target, threads, ten)
                    found["sizes"].append({"bytes": sum(one.stat().st_size for one in files(target))})
                    shutil.rmtree(target) if target.is_dir() else target.unlink()
                    if form != FLAT:
                        found["ten"].append(run("read", form, source, target, threads, ten))
                        checked(what, written["sums"], found["ten"][-1]["sums"], runs)
    for (what, threads), found in runs.items():
        yield {"format": what, "threads": threads, "entries": options.entries, **found}


def checked(what: str, written: Record, read: Record, runs: Any) -> None:
    """The values of all formats, and of what the chain wrote, must be those of the first."""
    first = next(iter(runs.values()))["ten"][0]["sums"]
    for sums in (written, read):
        if any(abs(sums[name] - value) > 1e-9 * abs(value) for name, value in first.items()):
            raise RuntimeError(f"{what}: other values than those of the tree: {sums}, not {first}")


def markdown(records: list[Record], threads: int) -> str:
    """A row for each format."""
    rows = []
    for record in records:
        if record["threads"] == threads:
            cells = [f"{value(record['sizes'], 'bytes') / 1e6:.1f}"]
            for part in ("all", "ten", "chain"):
                cells += [
                    f"{value(record[part], each):.2f}" if record[part] else "-" for each in ("cpu", "wall")
                ]
            rows.append(
                [record["format"], *cells, f"{record['entries'] / value(record['chain'], 'wall'):,.0f}"]
            )
    head = ["format", "MB", "all columns: CPU s", "wall s", "ten columns: CPU s", "wall s"]
    return results.table([*head, "full chain: CPU s", "wall s", "events/s"], rows)


def value(found: list[Record], quantity: str) -> float:
    return float(median(one[quantity] for one in found))


def line(record: Record) -> str:
    """A line of progress."""
    return f"{record['format']}, {record['threads']}: chain {value(record['chain'], 'wall'):.1f} s"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--entries", type=int, default=50_000, help="most entries of the input")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    records = results.collect(measure(options), line)
    titles = {1: "One thread", 2: "Two threads"}
    tables = {titles[threads]: markdown(records, threads) for threads in THREADS}
    results.publish(options, tables, results.document(records))


if __name__ == "__main__":
    main()
