"""Opens trees of thousands of branches, and files of many trees: `make bench-wide`.

    python bench/wide.py --data DIR [--markdown FILE] [--json FILE]

The inputs are written by ROOT: one tree of 3,500, 10,000 and 20,000 branches, half of them numbers and half
lists, and a file of 200 trees of 50 branches. Each run is a process of its own with a warm page cache, the
readers in turns: it opens the tree, reads its first column, and loops over its events with three columns,
sapwood in a loop of Python, ROOT in compiled code, uproot in arrays. Figures are medians. What is imported
and begun once does not count: each process has read a small file before.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import results
from generate import WIDE
from machine import load_file
from measured import measured
from results import Check, required, table
from rootbuild import HERE, compiled

COLUMNS = ["number1", "list1", "number7"]
SAPWOOD, ROOT, UPROOT = "sapwood", "ROOT", "uproot"
CLIENTS = [SAPWOOD, ROOT, UPROOT]
SMALL = "wide_small"
MEASURED = ("open", "open_cpu", "memory", "first", "loop")
DEADLINE = 300.0
# CPU seconds to open a branch; bytes of metadata for each byte of a tree.
MOST_SECONDS, MOST_METADATA = 15e-6, 10e6 / 1e9
NANO, NANO_COLUMNS = "nano_zstd5", ["MET_pt", "Muon_pt", "run"]

Record = dict[str, Any]


def run(client: str, path: Path, trees: list[str], columns: list[str], options: argparse.Namespace) -> Record:
    """One run in a process of its own."""
    what = [str(path), *trees, "--", *columns]
    if client == ROOT:
        program = compiled(HERE / "readers" / "root_wide.cpp", options.data / "build")
        return measured([str(program), *what], None, DEADLINE)
    program = HERE / "readers" / "python_wide.py"
    small = str(options.data / f"{SMALL}.root")
    return measured([sys.executable, str(program), client, small, *what], dict(os.environ), DEADLINE)


def inputs() -> Iterator[tuple[str, int, list[str]]]:
    """The inputs: name, branches of each tree, trees."""
    for name, (branches, trees, _) in WIDE.items():
        if name != SMALL:
            yield name, branches, ["Events"] if trees == 1 else [f"tree{i}" for i in range(trees)]


def measure(options: argparse.Namespace) -> Iterator[Record]:
    for name, branches, trees in inputs():
        path = options.data / f"{name}.root"
        load_file(path)
        runs: dict[str, list[Record]] = {client: [] for client in CLIENTS}
        for _ in range(options.runs):
            for client, found in runs.items():
                found.append(run(client, path, trees, COLUMNS, options))
        sums = {one["sum"] for found in runs.values() for one in found if "error" not in one}
        if len(sums) > 1:
            raise SystemExit(f"{name}: the readers read different values: {sums}")
        for client, found in runs.items():
            where = {"input": name, "branches": branches, "trees": len(trees), "client": client}
            failed = next((one for one in found if "error" in one), None)
            yield {**where, **(failed or {what: median(one[what] for one in found) for what in MEASURED})}
    yield metadata(options)


def metadata(options: argparse.Namespace) -> Record:
    """The memory that an open NanoAOD-like tree takes, and its uncompressed size."""
    import sapwood

    path = options.data / f"{NANO}.root"
    with sapwood.open({str(path): "Events"}) as tree:
        nbytes, branches = tree.uncompressed_bytes, len(tree.branches)
    found = run(SAPWOOD, path, ["Events"], NANO_COLUMNS, options)
    return {"input": NANO, "branches": branches, "trees": 1, "client": SAPWOOD, "nbytes": nbytes, **found}


def all_branches(record: Record) -> int:
    return int(record["branches"] * record["trees"])


def line(record: Record) -> str:
    if "error" in record:
        return f"{record['input']}, {record['client']}: {record['error']}"
    each = record["open_cpu"] / all_branches(record) * 1e6
    return f"{record['input']}, {record['client']}: {each:.1f} µs and {kilobytes(record):.1f} kB a branch"


def kilobytes(record: Record) -> float:
    """Memory of each branch."""
    return float(record["memory"]) / all_branches(record) / 1e3


def checks(records: list[Record]) -> list[Check]:
    asked: list[Check] = []
    for name, branches, trees in inputs():
        own = results.found(records, input=name, client=SAPWOOD)
        if own:
            each = own["open_cpu"] / all_branches(own)
            what = f"opening {described(branches, len(trees))}: CPU time of a branch"
            asked.append((what, f"{each * 1e6:.1f} µs", "at most 15 µs", each <= MOST_SECONDS))
    nano = results.found(records, input=NANO, client=SAPWOOD)
    if nano:
        share = nano["memory"] / nano["nbytes"]
        what = f"metadata of a NanoAOD-like tree of {nano['nbytes'] / 1e9:.2f} GB"
        asked.append((what, f"{share * 1e3:.1f} MB per GB", "at most 10 MB per GB", share <= MOST_METADATA))
    return asked


def described(branches: int, trees: int) -> str:
    return f"{branches:,} branches" if trees == 1 else f"{trees} trees of {branches} branches"


def tables(records: list[Record]) -> dict[str, str]:
    rows = []
    for name, branches, trees in inputs():
        for client in CLIENTS:
            one = results.found(records, input=name, client=client)
            cells = ["failed"] * 5
            if one:
                cpu = one["open_cpu"] / all_branches(one) * 1e6
                cells = [f"{one['open']:.3f}", f"{cpu:.1f}", f"{kilobytes(one):.2f}"]
                cells += [f"{one['first']:.3f}", f"{one['loop']:.3f}"]
            rows.append([f"{described(branches, len(trees))}, {client}", *cells])
    head = ["input, reader", "open: s", "µs of CPU a branch", "kB a branch", "first column: s", "loop: s"]
    return {"Required": required(checks(records)), "Wide trees": table(head, rows)}


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader")
    options = parser.parse_args()
    records = results.collect(measure(options), line)
    results.report(options, records, tables(records), checks(records))


if __name__ == "__main__":
    main()
