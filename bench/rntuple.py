"""Reads, writes and merges NanoAOD-like RNTuples with sapwood, ROOT and uproot: `make bench-rntuple`.

    python bench/rntuple.py --data DIR [--only read,loops,write,merge,remote] [--markdown FILE] [--json FILE]

read: 1, 10, 100 and all columns of files that ROOT wrote in four compressions, next to the limit (a program
    that only decompresses and decodes pages), and next to the same events in a tree.
loops: `iterate` and event loops over 8 columns.
write: the same events from memory, with clusters and pages of the default sizes.
merge: four files, with their compression and with another one, next to ROOT's hadd.
remote: three columns over http://, s3:// and root://, at five round-trip times.

Programs take turns, each in a process of its own; figures are medians. See README.md for what is measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import local
import pagelist
import remote
import repack
import results
import rntuple_report
import uproot
import write
from loops import COLUMNS as LOOPED
from machine import load_file
from remote_servers import missing, serve
from rntuple_report import LOOPS, NTUPLE_WRITERS
from rootbuild import HERE, compiled

TREE = local.TREE
INPUTS = [name.replace("nano", "rntuple") for name in local.INPUTS]
SELECTIONS = ("one", "ten", "hundred", "all")
PARTS = ("read", "loops", "write", "merge", "remote")
FAR_COLUMNS = ["Muon_pt", "Jet_pt", "PuppiMET_pt"]
ROUND_TRIPS = [0, 2, 22, 100, 240]
RECOMPRESSED = (("zstd:3", 303), ("lz4:4", 404), ("zlib:1", 101))
RUN_SECONDS = 900

Record = dict[str, Any]


@dataclass(frozen=True)
class Reader(local.Reader):
    """A way to read an RNTuple."""

    def command(self, data: Path, columns: Path, baskets: Path, build: Path) -> list[str]:
        if self.kind == "limit":
            return [str(local.limit_program(build, "pages")), str(baskets), str(self.threads)]
        if self.kind == "root":
            return root_reader(build, str(data), self.mode, columns, self.threads)
        return super().command(data, columns, baskets, build)


READERS = [
    Reader("limit", "limit", "", 1),
    Reader("limit", "limit", "", 2),
    Reader("sapwood", "sapwood", "", 1),
    Reader("sapwood", "sapwood", "", 2),
    Reader("ROOT bulk", "root", "bulk", 0),
    Reader("RDataFrame", "root", "rdataframe", 0),
    Reader("RDataFrame", "root", "rdataframe", 2),
    Reader("uproot", "uproot", "", 0),
]
TREE_READER = local.Reader(rntuple_report.OF_TREE, "sapwood", "", 1)


@dataclass(frozen=True)
class Client(remote.Client):
    """A way to read an RNTuple far away."""

    def command(self, what: str, build: Path, arguments: list[str]) -> list[str]:
        if self.name != "ROOT":
            return super().command(what, build, arguments)
        url, _, *columns = arguments
        listed = build / "far_columns"
        listed.write_text("\n".join(columns) + "\n")
        return [*root_reader(build, url, "loop", listed, 0), "wait"]


CLIENTS = {
    "http": [Client("sapwood"), Client("uproot"), Client("ROOT")],
    "s3": [Client("sapwood"), Client("uproot")],
    "root": [Client("sapwood"), Client("uproot"), Client("ROOT")],
}


def root_reader(build: Path, data: str, mode: str, columns: Path, threads: int) -> list[str]:
    """The call of ROOT's reader."""
    program = compiled(HERE / "readers" / "root_rntuple.cpp", build)
    return [str(program), data, TREE, mode, str(threads), str(columns)]


def names(tree: Path, selection: str) -> list[str]:
    """The columns to read: names that the tree and the RNTuple have in common."""
    if selection in local.SELECTIONS and selection != "all":
        return local.SELECTIONS[selection]
    with uproot.open(f"{tree}:{TREE}") as file:
        found = list(file.keys())
    return found[:: len(found) // 100][:100] if selection == "hundred" else found


def read(options: argparse.Namespace) -> Iterator[Record]:
    """Reads columns of local files."""
    build, tree = options.data / "build", options.data / "nano_zstd5.root"
    for name, selection in itertools.product(options.inputs, options.columns):
        data = options.data / f"{name}.root"
        load_file(data)
        load_file(tree)
        with tempfile.TemporaryDirectory() as folder:
            columns, pages = Path(folder) / "columns", Path(folder) / "pages"
            columns.write_text("\n".join(names(tree, selection)) + "\n")
            pagelist.write_list(data, TREE, names(tree, selection), pages)
            commands: dict[local.Reader, list[str]] = {
                reader: reader.command(data, columns, pages, build) for reader in READERS
            }
            if name == "rntuple_zstd5":
                commands[TREE_READER] = TREE_READER.command(tree, columns, pages, build)
            for record in local.turns({"input": name, "columns": selection}, commands, options):
                yield {"part": "read", **record}


def loops(options: argparse.Namespace) -> Iterator[Record]:
    """Loops over some columns of a local file."""
    data = options.data / "rntuple_zstd5.root"
    load_file(data)
    task = {"tree": TREE, "always": LOOPED, "sometimes": [], "every": 0, "offset": 0}
    runs: dict[str, list[Record]] = {name: [] for name in LOOPS}
    with tempfile.NamedTemporaryFile("w") as listed:
        listed.write("\n".join(LOOPED) + "\n")
        listed.flush()
        python = [sys.executable, str(HERE / "readers" / "python_loops.py")]
        for _ in range(options.repeats):
            for name, way in LOOPS.items():
                if way == "root":
                    call = root_reader(options.data / "build", str(data), "loop", Path(listed.name), 0)
                else:
                    call = [*python, way, json.dumps(task), str(data)]
                done = subprocess.run(call, capture_output=True, text=True, timeout=RUN_SECONDS)
                if done.returncode:
                    raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
                found = json.loads(done.stdout.strip().splitlines()[-1])
                if way == "root":
                    found = {"seconds": found["wall"], "entries": found["entries"], "sum": found["sums"][0]}
                runs[name].append(found)
    seen = {(one["entries"], float(f"{one['sum']:.6g}")) for found in runs.values() for one in found}
    if len(seen) > 1:
        raise SystemExit(f"the readers read different values: {seen}")
    for name, found in runs.items():
        yield {"part": "loops", "reader": name, "runs": found}


def writing(options: argparse.Namespace) -> Iterator[Record]:
    """Writes the events from memory."""
    folder = options.data / f"columns-{options.entries}"
    write.dump(options.data / "nano_zstd5.root", folder, options.entries)
    runs: dict[tuple[str, int], list[Record]] = {each: [] for each in NTUPLE_WRITERS}
    with tempfile.TemporaryDirectory(dir=options.data) as scratch:
        target = Path(scratch) / "written.root"
        for repeat in range(options.write_repeats):
            for (writer, threads), found in runs.items():
                step = "0" if writer == "ROOT" else str(write.CLUSTER)
                arguments = [str(folder), str(target), str(threads), step, str(write.COMPRESSION)]
                if writer == "ROOT":
                    program = compiled(HERE / "writers" / "root_rntuple_write.cpp", options.data / "build")
                    call = [str(program), *arguments]
                else:
                    program = HERE / "writers" / "python_write.py"
                    call = [sys.executable, str(program), "sapwood-rntuple", *arguments]
                found.append(write.timed(writer, call, threads, target))
                if writer == "sapwood" and repeat == 0:
                    found[-1]["cluster_bytes"] = repack.apart(compare, folder, target)
    for (writer, threads), found in runs.items():
        yield {"part": "write", "writer": writer, "threads": threads, "runs": found}


def compare(folder: Path, target: Path) -> float:
    """Fails if a written file differs from the columns; the bytes of columns per cluster."""
    arrays, counters = write.columns(folder)
    total = 0
    with uproot.open(target) as file:
        ntuple = file[TREE]
        for name in set(arrays) - set(counters.values()):
            found, array = ntuple[name].array(), arrays[name]
            if name in counters:
                if not (found.layout.offsets.data == array.layout.offsets.data).all():
                    raise SystemExit(f"the written lists of {name} differ")
                found, array = found.layout.content, array.layout.content.data
                total += 8 * len(arrays[name])
            else:
                found = found.layout
            if found.data.tobytes() != array.tobytes():
                raise SystemExit(f"the written values of {name} differ")
            total += array.nbytes
        return total / len(ntuple.cluster_summaries)


def merging(options: argparse.Namespace) -> Iterator[Record]:
    """Merges files, and recompresses one."""
    source = str(options.data / "rntuple_zstd5.root")
    cases: list[tuple[str, list[str], dict[str, repack.Call]]] = [
        ("merge", [source] * 4, {"sapwood": ("sapwood", [], {}), "hadd": ("hadd", ["-fk"], {})})
    ]
    for name, number in RECOMPRESSED:
        calls: dict[str, repack.Call] = {
            "sapwood": ("sapwood", [], {"compression": name}),
            "hadd": ("hadd", [f"-f{number}"], {}),
        }
        cases.append((f"merge to {name}", [source], calls))
    with tempfile.TemporaryDirectory(dir=options.data) as scratch:
        target = Path(scratch) / "merged.root"
        for work, sources, calls in cases:
            runs: dict[str, list[Record]] = {who: [] for who in calls}
            for _ in range(options.write_repeats):
                for who, (program, arguments, given) in calls.items():
                    runs[who].append(repack.run(work, program, arguments, given, sources, target))
                    if who == "sapwood" and len(runs[who]) == 1:
                        repack.apart(repack.compare, sources, target)
            for who, found in runs.items():
                yield {"part": "merge", "work": work, "by": who, "runs": found}


def away(options: argparse.Namespace) -> Iterator[Record]:
    """Reads three columns over a network."""
    for protocol in options.protocols:
        if (lack := missing(protocol)) is not None:
            print(f"skipped, {protocol}://: {lack}", file=sys.stderr)
            continue
        with serve(protocol, options.data) as server:
            for rtt_ms in options.rtt:
                runs: dict[Client, list[Record]] = {client: [] for client in CLIENTS[protocol]}
                for _ in range(options.far_repeats):
                    for client, found in runs.items():
                        with server.far(rtt_ms, 0) as far:
                            arguments = [far.url("rntuple_zstd5.root"), TREE, *FAR_COLUMNS]
                            one = remote.run(client, far, "columns", arguments, options)
                        found.append({**one, "seconds": one["wall"]} if "wall" in one else one)
                everything = [one for found in runs.values() for one in found]
                remote.check_sums(
                    [{**one, "sums": rounded(one["sums"])} for one in everything if "sums" in one]
                )
                for client, found in runs.items():
                    point = {"protocol": protocol, "rtt_ms": rtt_ms, "client": client.name, "runs": found}
                    yield {"part": "remote", **point}


def rounded(sums: list[float]) -> list[float]:
    """Sums as far as they do not depend on the order of adding."""
    return [float(f"{one:.5g}") for one in sums]


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--inputs", default=",".join(INPUTS), help="names of files, without .root")
    parser.add_argument("--columns", default=",".join(SELECTIONS), help="some of one, ten, hundred, all")
    parser.add_argument("--protocols", default="http,s3,root")
    parser.add_argument("--rtt", default=",".join(map(str, ROUND_TRIPS)), help="round trips in ms")
    parser.add_argument("--entries", type=int, default=100_000, help="events to write")
    parser.add_argument("--repeats", type=int, default=5, help="of reading")
    parser.add_argument("--write-repeats", type=int, default=2, help="of writing and merging")
    parser.add_argument("--far-repeats", type=int, default=3, help="of each point far away")
    parser.add_argument("--patience", type=float, default=20, help="seconds for one reader's repeats")
    options = parser.parse_args()
    for name in ("only", "inputs", "columns", "protocols", "rtt"):
        setattr(options, name, getattr(options, name).split(","))
    options.rtt = [float(each) for each in options.rtt]
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    needed = [*(options.inputs if "read" in options.only else []), "rntuple_zstd5", "nano_zstd5"]
    if absent := [name for name in needed if not (options.data / f"{name}.root").exists()]:
        parser.error(f"not in {options.data}: {', '.join(absent)}; bench/generate.py makes them")
    return options


def measure(options: argparse.Namespace) -> Iterator[Record]:
    """All measurements."""
    parts = {"read": read, "loops": loops, "write": writing, "merge": merging, "remote": away}
    for name in options.only:
        yield from parts[name](options)


def main() -> None:
    options = arguments()
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    records = results.collect(measure(options), rntuple_report.line)
    checks = [check for part in rntuple_report.checks(records).values() for check in part]
    results.report(options, records, rntuple_report.tables(records), checks)


if __name__ == "__main__":
    main()
