"""Loops over 20 files, at no and at high latency, with sapwood and its peers: `make bench-loops`.

    python bench/loops.py --data DIR [--only local,far] [--protocols http,root,s3] [--markdown FILE]

The files are NanoAOD-like, of 1,491 branches and 5,000 events each: 460 MB in all. Two patterns:

columns: 8 columns of all events.
trigger: 3 columns of all events, and 20 more of 1 % of them.

local: from disk, with a warm page cache, all readers in turns; the medians of several runs. The cost of a
    scalar column is that of a loop over one file's events that touches four, above an empty loop of Python.
far: over http://, root:// and s3://, behind an emulated link of 1 Gbit/s; the faster of two runs. What a file
    costs beyond one long file of the same events (nano_zstd5, 100,000 events in 20 clusters) is given in
    round trips, by the time. "Busy" is sapwood's event loop with 0.1 ms of work per event, which takes longer
    than the bytes: what it waits is not for bandwidth.

sapwood's events() and ROOT go event by event, sapwood in a loop of Python and ROOT in compiled code with a
TTreeCache of its default size. The others read arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import loops_report
import results
from generate import LOOPS
from loops_report import BUSY, PATTERNS, ROOT, RUST, UPROOT, WAYS
from machine import load_file
from measured import measured
from remote_servers import Far, Server, missing, serve
from rootbuild import HERE, compiled

TREE, LONG = "Events", "nano_zstd5.root"
ROUND_TRIPS = [22.0, 100.0]
PROTOCOLS = ["http", "root", "s3"]
# Seconds of work per event of the busy loop.
WORK = 1e-4
COLUMNS = ["nMuon", "Muon_pt", "Muon_eta", "MET_pt", "nJet", "Jet_pt", "Jet_eta", "run"]
ALWAYS, SOMETIMES = ["nMuon", "Muon_pt", "MET_pt"], 20
SCALARS = ["nMuon", "MET_pt", "nJet", "run"]
DEADLINE = 120.0

Record = dict[str, Any]


def tasks(path: Path) -> dict[str, Record]:
    """What is read in each pattern."""
    import sapwood

    with sapwood.open(f"{path}:{TREE}") as tree:
        floats = [name for name in tree if name not in ALWAYS and tree[name].typename == "float[]"]
    some = floats[:: len(floats) // SOMETIMES][:SOMETIMES]
    return {
        "columns": {"tree": TREE, "always": COLUMNS, "sometimes": [], "every": 0, "offset": 0},
        "trigger": {"tree": TREE, "always": ALWAYS, "sometimes": some, "every": 100, "offset": 37},
    }


def command(client: str, task: Record, urls: list[str], options: argparse.Namespace) -> list[str]:
    """The command that loops."""
    if client == ROOT:
        program = compiled(HERE / "readers" / "root_loops.cpp", options.data / "build")
        what = [TREE, str(task["every"]), str(task["offset"]), *task["always"], "--", *task["sometimes"]]
        return [str(program), *what, "--", *urls]
    if client == RUST:
        return [str(rust_example()), *urls]
    program = HERE / "readers" / "python_loops.py"
    if client == BUSY:
        task = {**task, "work": WORK}
    way = {UPROOT: "uproot", BUSY: "events", **WAYS}.get(client, client)
    return [sys.executable, str(program), way, json.dumps(task), *urls]


@cache
def rust_example() -> Path:
    """The crate's example of a loop, in its newest build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    program = target / "release" / "examples" / "event_loop"
    build = ["cargo", "build", "--locked", "--release", "--quiet", "-p", "sapwood", "--example", program.name]
    subprocess.run(build, check=True)
    return program


def run(
    client: str, task: Record, urls: list[str], options: argparse.Namespace, far: Far | None = None
) -> Record:
    """One run in a process of its own, with the counters of the emulated link."""
    environment = {**os.environ, **(far.variables if far else {})}
    found = measured(command(client, task, urls, options), environment, DEADLINE)
    if far is not None and "error" not in found:
        counted = far.counts()
        found |= {name: counted[name] for name in ("round_trips", "bytes_sent")}
    return found


def checked(records: list[Record]) -> None:
    """All readers must have read the same."""
    read = {(one["entries"], one["sum"]) for one in records if "error" not in one}
    if len(read) > 1:
        raise RuntimeError(f"the readers read different values: {read}")


def local(files: list[Path], patterns: dict[str, Record], options: argparse.Namespace) -> Iterator[Record]:
    """Loops over local files."""
    for path in files:
        load_file(path)
    urls = [str(path) for path in files]
    for pattern, task in patterns.items():
        clients = [*WAYS, *([RUST] if pattern == "columns" else []), ROOT, UPROOT]
        runs: dict[str, list[Record]] = {client: [] for client in clients}
        for _ in range(options.runs):
            for client, found in runs.items():
                found.append(run(client, task, urls, options))
        checked([one for found in runs.values() for one in found])
        for client, found in runs.items():
            where = {"part": "local", "pattern": pattern, "client": client}
            failed = next((one for one in found if "error" in one), None)
            yield {**where, **(failed or {"seconds": statistics.median(one["seconds"] for one in found)})}
    task = {**patterns["columns"], "always": SCALARS}
    yield {
        "part": "scalars",
        "pattern": "columns",
        "client": "events()",
        **run("scalars", task, urls[:1], options),
    }


def away(files: list[Path], patterns: dict[str, Record], options: argparse.Namespace) -> Iterator[Record]:
    """Loops over servers, and over the one long file there."""
    inputs = {"20 files": [path.name for path in files], "1 file": [LONG]}
    for protocol in options.protocols:
        if (lack := missing(protocol)) is not None:
            print(f"{protocol}:// is left out: {lack}", file=sys.stderr)
            continue
        with serve(protocol, options.data) as server:
            for rtt_ms in options.rtt:
                for pattern, task in patterns.items():
                    where = {"part": "far", "protocol": protocol, "rtt_ms": rtt_ms, "pattern": pattern}
                    for what, names in inputs.items():
                        for client in filter(options.wants, far_clients(protocol, pattern, what)):
                            found = faster(client, task, server, rtt_ms, names, options)
                            yield {**where, "input": what, "client": client, **found}


def far_clients(protocol: str, pattern: str, what: str) -> list[str]:
    """Who loops. ROOT's wheel has no client for s3://."""
    if what == "1 file":
        return list(WAYS)
    busy = [BUSY] if pattern == "columns" else []
    return [*WAYS, *busy, *([] if protocol == "s3" else [ROOT]), UPROOT]


def faster(
    client: str, task: Record, server: Server, rtt_ms: float, names: list[str], options: argparse.Namespace
) -> Record:
    """The faster of two runs; a slow reader runs once."""
    runs: list[Record] = []
    while len(runs) < 2:
        with server.far(rtt_ms, options.megabits) as far:
            runs.append(run(client, task, [far.url(name) for name in names], options, far))
        if runs[-1].get("seconds", DEADLINE) > DEADLINE / 8:
            break
    checked(runs)
    return min(runs, key=lambda one: one.get("seconds", float("inf")))


def measure(options: argparse.Namespace) -> Iterator[Record]:
    files = [options.data / f"{name}.root" for name in LOOPS]
    patterns = {name: task for name, task in tasks(files[0]).items() if name in PATTERNS}
    if "local" in options.only:
        yield from local(files, patterns, options)
    if "far" in options.only:
        yield from away(files, patterns, options)


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default="local,far", help="parts")
    parser.add_argument("--runs", type=int, default=5, help="runs of each reader on local files")
    parser.add_argument(
        "--rtt", default=",".join(f"{each:g}" for each in ROUND_TRIPS), help="round trips in ms"
    )
    parser.add_argument("--protocols", default=",".join(PROTOCOLS), help="of the part far")
    parser.add_argument("--clients", default="", help="of the part far: those whose names hold one of these")
    parser.add_argument(
        "--earlier", type=Path, nargs="*", default=[], help="files of --json whose records are published, too"
    )
    parser.add_argument("--megabits", type=float, default=1000.0, help="bandwidth; 0 for no limit")
    options = parser.parse_args()
    options.only = [part for part in options.only.split(",") if part]
    options.protocols = options.protocols.split(",")
    wanted = options.clients.split(",")
    options.wants = lambda client: any(text in client for text in wanted)
    options.rtt = [float(each) for each in options.rtt.split(",")]
    records = [one for path in options.earlier for one in json.loads(path.read_text())["records"]]
    records += results.collect(measure(options), loops_report.line)
    results.report(options, records, loops_report.tables(records), loops_report.checks(records))


if __name__ == "__main__":
    main()
