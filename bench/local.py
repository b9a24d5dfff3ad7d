"""Reads columns of local files with sapwood, its peers and the limit, in separate processes that take turns.

    python bench/local.py --data DIR [--inputs nano_zstd5,…] [--columns one,ten,all] [--markdown FILE]

Reports medians of CPU seconds and wall seconds, from before `open` to the last array, without start-up and
imports. Readers that are not installed are skipped with a message. See README.md for the readers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import report
import results
import uproot
from basketlist import write_list
from machine import load_file, touch_memory
from measured import must_be_measured
from rootbuild import HERE, compiled, root_folder

TREE = "Events"
INPUTS = ["nano_zstd5", "nano_lz4", "nano_zlib1", "nano_lzma9"]
MUON = ["Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass", "Muon_charge"]
TEN = [*MUON, "Jet_pt", "Jet_eta", "PuppiMET_pt", "HLT_Path0_v", "PV_npvs"]
SELECTIONS: dict[str, list[str]] = {"one": ["Muon_pt"], "ten": TEN, "all": []}
RUN_SECONDS = 900


@dataclass(frozen=True)
class Reader:
    """A way to read: `kind` is its program, `mode` an argument of the program."""

    name: str
    kind: str
    mode: str
    threads: int

    def command(self, data: Path, columns: Path, baskets: Path, build: Path) -> list[str]:
        """The call that reads `columns` of `data`."""
        threads = str(self.threads)
        if self.kind == "limit":
            return [str(limit_program(build)), str(baskets), threads]
        if self.kind == "root":
            program = compiled(HERE / "readers" / "root_read.cpp", build)
            return [str(program), str(data), TREE, self.mode, threads, str(columns)]
        program = HERE / "readers" / "python_read.py"
        return [sys.executable, str(program), self.kind, str(data), TREE, threads, str(columns)]


READERS = [
    Reader("limit", "limit", "", 1),
    Reader("limit", "limit", "", 2),
    Reader("sapwood", "sapwood", "", 1),
    Reader("sapwood", "sapwood", "", 2),
    Reader("ROOT bulk I/O", "root", "bulk", 0),
    Reader("ROOT branch loop", "root", "loop", 0),
    Reader("ROOT GetEntry", "root", "getentry", 0),
    Reader("ROOT GetEntry", "root", "getentry", 2),
    Reader("RDataFrame", "root", "rdataframe", 0),
    Reader("RDataFrame", "root", "rdataframe", 2),
    Reader("uproot", "uproot", "", 0),
    Reader("uproot", "uproot", "", 2),
]


def limit_program(build: Path, name: str = "limit") -> Path:
    """A compiled program of `bench/limit`: that of trees, or `pages`, that of RNTuples."""
    target = build / "limit"
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(target)]
    subprocess.run([*command, "--manifest-path", str(HERE / "limit" / "Cargo.toml")], check=True)
    return target / "release" / name


def available(readers: list[Reader]) -> list[Reader]:
    """The readers whose software is installed; prints the others."""
    missing = {}
    if subprocess.run([sys.executable, "-c", "import sapwood"], capture_output=True).returncode:
        missing["sapwood"] = "the package sapwood"
    if root_folder() is None:
        missing["root"] = "ROOT (pip install --pre ROOT==0.1a12)"
    for kind, what in missing.items():
        if any(reader.kind == kind for reader in readers):
            print(f"skipped, {what} is not installed: {kind}", file=sys.stderr)
    return [reader for reader in readers if reader.kind not in missing]


def run(reader: Reader, command: list[str]) -> dict[str, float]:
    """The measurements that one run reports."""
    touch_memory()
    environment = {**os.environ, "SAPWOOD_THREADS": str(reader.threads)}
    return must_be_measured(command, environment, RUN_SECONDS)


def measure(
    data: Path, selection: str, readers: list[Reader], options: argparse.Namespace
) -> list[report.Record]:
    """Runs all readers on one selection of columns of one file, in turns; returns one record per reader."""
    with tempfile.TemporaryDirectory() as folder, uproot.open(f"{data}:{TREE}") as tree:
        names = SELECTIONS[selection] or tree.keys()
        columns, baskets = Path(folder) / "columns", Path(folder) / "baskets"
        columns.write_text("\n".join(names) + "\n")
        write_list(data, TREE, names, baskets)
        commands = {reader: reader.command(data, columns, baskets, options.build) for reader in readers}
        return turns({"input": data.stem, "columns": selection}, commands, options)


def turns(
    common: dict[str, str], commands: dict[Reader, list[str]], options: argparse.Namespace
) -> list[report.Record]:
    """Runs the commands of readers in turns, slow ones less often; one record per reader."""
    runs: dict[Reader, list[dict[str, float]]] = {reader: [] for reader in commands}
    for _ in range(options.repeats):
        for reader, command in commands.items():
            if not runs[reader] or sum(each["wall"] for each in runs[reader]) <= options.patience:
                runs[reader].append(run(reader, command))
    return [{**common, "reader": each.name, "threads": each.threads, "runs": runs[each]} for each in commands]


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--inputs", default=",".join(INPUTS), help="names of files, without .root")
    parser.add_argument("--columns", default=",".join(SELECTIONS), help="some of one, ten, all")
    parser.add_argument("--readers", default="", help="only those whose name contains one of these words")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--patience", type=float, default=30, help="seconds for one reader's repeats")
    parser.add_argument("--build", type=Path, help="folder for compiled programs; default: build in the data")
    options = parser.parse_args()
    options.build = options.build or options.data / "build"
    options.inputs = options.inputs.split(",")
    options.columns = options.columns.split(",")
    if unknown := set(options.columns) - set(SELECTIONS):
        parser.error(f"unknown columns: {', '.join(sorted(unknown))}")
    if absent := [name for name in options.inputs if not (options.data / f"{name}.root").exists()]:
        parser.error(f"not in {options.data}: {', '.join(absent)}; bench/generate.py makes them")
    return options


def main() -> None:
    options = arguments()
    words = [word.lower() for word in options.readers.split(",")]
    readers = available([each for each in READERS if any(word in each.name.lower() for word in words)])
    records: list[report.Record] = []
    for name in options.inputs:
        data = options.data / f"{name}.root"
        load_file(data)
        for selection in options.columns:
            begin = time.monotonic()
            records += measure(data, selection, readers, options)
            print(f"{name}, {selection}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    tables = {"Local files": report.markdown(records)}
    results.report(options, records, tables, report.checks(records))


if __name__ == "__main__":
    main()
