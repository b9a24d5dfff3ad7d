"""Reads trees of objects with sapwood, ROOT (with compiled dictionaries) and uproot, and compares the values.

    python bench/objects.py --data DIR [--inputs edm_zlib5,…] [--markdown FILE] [--json FILE]

Every run is a separate process. Readers take turns, in alternating order; figures are medians. MB count the
baskets before compression. ROOT reads products with TBranch::GetEntry and whole trees with TTree::GetEntry;
uproot reads as many entries of a branch as it can in half a second. See README.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import objects_report
import objects_values
import results
from machine import load_file
from measured import must_be_measured
from rootbuild import HERE, compiled, dictionary

# Input: its tree, the header of its classes.
INPUTS = {
    "edm_zlib5": ("Events", "edm"),
    "edm_lzma4": ("Events", "edm"),
    "xaod_zlib5": ("CollectionTree", "xaod"),
}
SMALL = {"edm": "edm_small", "xaod": "xaod_small"}
# One member of an unsplit object, and the object.
MEMBERS = [
    ("patJets_slimmedJetsPuppi__PAT.", "obj.pt_"),
    ("patJets_slimmedJetsPuppi__PAT.", "obj.hadronFlavour_"),
    ("patElectrons_slimmedElectrons__PAT.", "obj.pt_"),
    ("patElectrons_slimmedElectrons__PAT.", "obj.embeddedTrack_.chi2_"),
    ("recoJetTagInfos_pfInclusiveTagInfos__PAT.", "obj.kind_"),
]
RUN_SECONDS = 1800


@dataclass(frozen=True)
class Reader:
    """A way to read a tree: `what` is "total", "products" or "leaves"."""

    name: str
    what: str
    threads: int

    def command(self, data: Path, tree: str, header: str, build: Path) -> list[str]:
        """The call that reads `tree` of `data`."""
        if self.name == "ROOT":
            library = dictionary(HERE / "objects" / f"{header}.h", build)
            program = compiled(HERE / "objects" / "read.cpp", build)
            return [str(program), str(data), tree, self.what, str(self.threads), str(library)]
        program = HERE / "readers" / "python_objects.py"
        return [sys.executable, str(program), self.name, str(data), tree, self.what]

    def run(self, command: list[str]) -> dict[str, Any]:
        """What one run reports of itself."""
        environment = {**os.environ, "SAPWOOD_THREADS": str(self.threads)}
        return must_be_measured(command, environment, RUN_SECONDS)


ALL = [
    *(Reader(name, "total", threads) for threads in (1, 2) for name in ("sapwood", "ROOT")),
    Reader("sapwood", "products", 1),
    Reader("ROOT", "products", 1),
]
# uproot is measured once: it reads for minutes, and its figures differ by orders of magnitude.
LEAVES = [Reader("sapwood", "leaves", 1), Reader("uproot", "leaves", 1)]


def record(name: str, reader: Reader, runs: list[dict[str, Any]]) -> objects_report.Record:
    said = {"reader": reader.name, "what": reader.what, "threads": reader.threads}
    return {"input": name, **said, "runs": runs}


def measure(name: str, options: argparse.Namespace) -> list[objects_report.Record]:
    """Runs all readers on one input, in turns."""
    data = options.data / f"{name}.root"
    tree, header = INPUTS[name]
    runs: dict[Reader, list[dict[str, Any]]] = {reader: [] for reader in ALL}
    commands = {reader: reader.command(data, tree, header, options.build) for reader in [*ALL, *LEAVES]}
    for turn in range(options.repeats):
        for reader in ALL if turn % 2 == 0 else reversed(ALL):
            runs[reader].append(reader.run(commands[reader]))
    records = [record(name, reader, found) for reader, found in runs.items()]
    if name in options.leaves:
        records += [record(name, reader, [reader.run(commands[reader])]) for reader in LEAVES]
    return records


def members(name: str, options: argparse.Namespace) -> list[objects_report.Record]:
    """Runs sapwood on single members of unsplit objects, and on the whole objects."""
    wanted = sorted({branch for branch, _ in MEMBERS}) + [branch + path for branch, path in MEMBERS]
    reader = Reader("sapwood", ",".join(wanted), 1)
    command = reader.command(options.data / f"{name}.root", INPUTS[name][0], "", options.build)
    runs = [reader.run(command) for _ in range(options.repeats)]
    return [{**record(name, reader, runs), "what": "members"}]


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--inputs", default=",".join(INPUTS), help="names of files, without .root")
    parser.add_argument("--leaves", default="edm_zlib5,xaod_zlib5", help="inputs that uproot reads, too")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--build", type=Path, help="folder for compiled programs; default: build in the data")
    options = parser.parse_args()
    options.build = options.build or options.data / "build"
    options.inputs = options.inputs.split(",")
    options.leaves = options.leaves.split(",")
    if unknown := set(options.inputs) - set(INPUTS):
        parser.error(f"unknown inputs: {', '.join(sorted(unknown))}")
    return options


def main() -> None:
    options = arguments()
    records: list[objects_report.Record] = []
    for name in options.inputs:
        begin = time.monotonic()
        tree, header = INPUTS[name]
        small = options.data / f"{SMALL[header]}.root"
        expected = objects_values.of_root(small, tree, header, options.build)
        compared = objects_values.compare(small, tree, expected)
        records.append({"input": name, "what": "values", "products": compared})
        load_file(options.data / f"{name}.root")
        records += measure(name, options)
        if name == "edm_zlib5":
            records += members(name, options)
        print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    tables = {"Objects": objects_report.markdown(records, MEMBERS)}
    results.report(options, records, tables, objects_report.checks(records))


if __name__ == "__main__":
    main()
