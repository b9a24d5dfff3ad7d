"""Loops over 20 files, at no and at high latency, with sapwood and its peers: `make bench-loops`.

    python bench/loops.py --data DIR [--only local,far] [--markdown FILE] [--json FILE]

The files are NanoAOD-like, of 1,491 branches and 5,000 events each: 460 MB in all. Two patterns:

columns: 8 columns of all events.
trigger: 3 columns of all events, and 20 more of 1 % of them.

local: from disk, with a warm page cache, all readers in turns; the medians of several runs. The cost of a
    scalar column is that of a loop over one file's events that touches four, above an empty loop of Python.
far: over http://, behind a delay line; the faster of two runs. What a file costs beyond one long file of the
    same events (nano_zstd5, 100,000 events in 20 clusters) is given in round trips, as time and as counted.

sapwood's events() and ROOT go event by event, sapwood in a loop of Python and ROOT in compiled code with a
TTreeCache of its default size. The others read arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import loops_report
import results
from generate import LOOPS
from loops_report import PATTERNS, ROOT, UPROOT, WAYS
from machine import load_file
from measured import measured
from remote_servers import Far, serve
from rootbuild import HERE, compiled

TREE, LONG = "Events", "nano_zstd5.root"
ROUND_TRIPS = [22.0, 100.0]
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
    program = HERE / "readers" / "python_loops.py"
    way = "uproot" if client == UPROOT else WAYS.get(client, client)
    return [sys.executable, str(program), way, json.dumps(task), *urls]


def run(
    client: str, task: Record, urls: list[str], options: argparse.Namespace, far: Far | None = None
) -> Record:
    """One run in a process of its own, with the counters of the delay line."""
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
        runs: dict[str, list[Record]] = {client: [] for client in [*WAYS, ROOT, UPROOT]}
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
    """Loops over a server, and over the one long file there."""
    inputs = {"20 files": [path.name for path in files], "1 file": [LONG]}
    with serve("http", options.data) as server:
        for rtt_ms in options.rtt:
            for pattern, task in patterns.items():
                for what, names in inputs.items():
                    clients = [*WAYS, ROOT, UPROOT] if what == "20 files" else list(WAYS)
                    for client in clients:
                        runs = []
                        for _ in range(2):
                            with server.far(rtt_ms, options.megabits) as far:
                                runs.append(
                                    run(client, task, [far.url(name) for name in names], options, far)
                                )
                            if runs[-1].get("seconds", DEADLINE) > DEADLINE / 8:
                                break
                        checked(runs)
                        best = min(runs, key=lambda one: one.get("seconds", float("inf")))
                        where = {"part": "far", "rtt_ms": rtt_ms, "pattern": pattern, "input": what}
                        yield {**where, "client": client, **best}


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
    parser.add_argument("--megabits", type=float, default=1000.0, help="bandwidth; 0 for no limit")
    options = parser.parse_args()
    options.only = options.only.split(",")
    options.rtt = [float(each) for each in options.rtt.split(",")]
    records = results.collect(measure(options), loops_report.line)
    missed = results.missed(loops_report.checks(records))
    results.publish(options, loops_report.tables(records), results.document(records), missed)


if __name__ == "__main__":
    main()
