"""Reads undeclared columns at low and high latency, with sapwood and its peers: `make bench-learned`.

    python bench/learned.py --data DIR [--only startup,trigger,random,local] [--markdown FILE] [--json FILE]

startup: 1,000 columns of the first 100 entries of a NanoAOD-like file (100,000 entries, 450 MB).
trigger: 3 columns of all entries, and 20 more for 1 % or 10 % of them: from no cache to declared columns.
random: 3 columns of 1,000 entries in random order.
local: the overhead of lazy readers on a local file: columns with arrays(), lazy() and events().

The server is real (xrootd, or nginx for http), behind an emulated link. Each run is a separate process with
its own emulated link. At high latency, the faster of two runs of sapwood and ROOT counts, unless the first is
slow. Very slow readers are stopped, and their time is extrapolated from the completed share. uproot and
coffea read columns in chunks; ROOT and sapwood go entry by entry. coffea may be installed in another
environment: name its Python with --coffea PYTHON, or in the environment variable SAPWOOD_BENCH_COFFEA.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import learned_report
import results
from machine import load_file
from measured import measured
from remote_servers import Far, Server, missing, serve
from rootbuild import HERE, compiled

ROUND_TRIPS = [0, 22, 100]
LOCAL_WAYS = ["arrays()", "lazy() of 23 columns", "lazy() of all columns", "events(), 3 columns of each"]
TREE, FILE = "Events", "nano_zstd5"
ALWAYS = ["nMuon", "Muon_pt", "MET_pt"]
SOMETIMES = 20
STARTUP = 1000
# The passing entries as (start, every, offset): every n-th entry from `start` on. ROOT learns from the first
# cluster (5,000 entries), of which it reads everything; columns touched there are declared to it.
PASSING = {"1 %": (0, 100, 37), "10 %": (0, 10, 7), "1 %, from 7,500 on": (7_500, 100, 37)}
DRAWN = "trigger 1 %, from 7,500 on"
# Seconds: a run stops itself after LIMIT; a hanging reader is killed after DEADLINE; runs faster than AGAIN
# are repeated, because a single one is not reliable on a machine with other load.
LIMIT, DEADLINE, AGAIN = 3.0, 60.0, 3.5

Record = dict[str, Any]


class Client(NamedTuple):
    """A way to read: a variant of sapwood, a cache of ROOT in bytes (-1: its default), or a package."""

    name: str
    variant: str | None = None
    cache: int | None = None


NO_CACHE, DECLARED = Client("sapwood, no cache", "no cache"), Client("sapwood, declared columns", "declared")
ALL = Client("sapwood", "trained, startup, trigger")
PROFILE = Client("sapwood, saved profile", "saved profile")
ROOT_NONE, ROOT_DEFAULT = Client("ROOT, no cache", cache=0), Client("ROOT", cache=-1)
PEERS = [ROOT_NONE, ROOT_DEFAULT, Client("uproot"), Client("coffea")]
LADDER = [
    NO_CACHE,
    Client("sapwood, trained only", "trained"),
    Client("sapwood, + startup", "trained, startup"),
    ALL,
    DECLARED,
    PROFILE,
    *PEERS,
]
CLIENTS = {
    "startup": [ALL, Client("sapwood, no startup", "no startup"), NO_CACHE, PROFILE, *PEERS],
    "trigger": LADDER,
    "random": [ALL, NO_CACHE, *PEERS],
}


def columns(path: Path) -> tuple[list[str], list[str]]:
    """The columns of the startup pattern, and those that are read occasionally; all are numbers."""
    import sapwood

    with sapwood.open(f"{path}:{TREE}") as tree:
        names = [name for name in tree if name not in ALWAYS]
        floats = [name for name in names if tree[name].typename == "float[]"]
    step = len(floats) // SOMETIMES
    return [*ALWAYS, *names[: STARTUP - len(ALWAYS)]], floats[::step][:SOMETIMES]


def command(
    client: Client, url: str, task: dict[str, Any], limit: float, options: argparse.Namespace
) -> list[str]:
    """The command that reads."""
    if client.cache is not None:
        program = compiled(HERE / "readers" / "root_learned.cpp", options.data / "build")
        others = ["--", *task["sometimes"]]
        what = [task["pattern"], url, TREE, *map(str, task["passing"]), *task["always"], *others]
        return [str(program), str(client.cache), str(limit), *what]
    program = HERE / "readers" / "python_learned.py"
    python = options.coffea if client.name == "coffea" else sys.executable
    name = f"sapwood:{client.variant}" if client.variant else client.name
    return [str(python), str(program), name, str(limit), url, TREE, json.dumps(task)]


def run(client: Client, far: Far, task: dict[str, Any], profile: Path, options: argparse.Namespace) -> Record:
    """One cold run: the measurements of the reader, and the counters of the emulated link."""
    if client.name == "coffea" and options.coffea is None:
        return {"error": "coffea is not installed"}
    call = command(client, far.url(f"{FILE}.root"), task, LIMIT, options)
    environment = {**os.environ, **far.variables, "SAPWOOD_BENCH_PROFILE": str(profile)}
    found = measured(call, environment, DEADLINE)
    if "error" in found:
        return found
    counted = far.counts()
    return {**scaled(found), **{name: counted[name] for name in ("round_trips", "bytes_sent")}}


def fastest(
    client: Client,
    server: Server,
    rtt_ms: float,
    task: dict[str, Any],
    profile: Path,
    options: argparse.Namespace,
) -> Record:
    """The fastest run."""
    again = rtt_ms > 0 and client.name.startswith(("sapwood", "ROOT"))
    runs: list[Record] = []
    for _ in range(options.runs if again else 1):
        # Each run starts with the same saved profile.
        copy = profile.with_name("copy.json")
        if profile.exists():
            copy.write_bytes(profile.read_bytes())
        with server.far(rtt_ms, 0) as far:
            runs.append(run(client, far, task, copy, options))
        if runs[-1].get("all_seconds", AGAIN) >= AGAIN:
            break
    return min(runs, key=lambda found: found.get("all_seconds", float("inf")))


def scaled(found: Record) -> Record:
    """A run with the seconds of a complete one, extrapolated if it was stopped."""
    first = found.get("first") or 0.0
    rest = (found["seconds"] - first) / max(found["share"], 1e-9)
    return {**found, "all_seconds": found["seconds"] if found["share"] >= 1 else first + rest}


def pattern(server: Server, task: dict[str, Any], options: argparse.Namespace) -> Iterator[Record]:
    """Runs a pattern at each round-trip time, with each reader."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile.json")
        with server.far(0, 0) as far:
            run(ALL, far, {**task, "learn": True}, profile, options)
        for rtt_ms in options.rtt:
            sums = []
            ends = rtt_ms in (min(options.rtt), max(options.rtt))
            for client in options.clients(CLIENTS[task["pattern"]]):
                # Slow readers, whose time is proportional to the latency, are measured only at both ends.
                if client in (NO_CACHE, ROOT_NONE) and not ends:
                    continue
                drawn = client is ALL and rtt_ms == max(options.rtt) and task["name"] == DRAWN
                plot = str(options.plot.resolve()) if drawn and options.plot else None
                found = fastest(client, server, rtt_ms, {**task, "plot": plot}, profile, options)
                sums += [found["sum"]] if found.get("share") == 1 else []
                where = {"pattern": task["name"], "rtt_ms": rtt_ms, "client": client.name}
                yield {**where, **found, "protocol": server.protocol}
            # Sums can differ slightly, because readers add in different orders.
            if sums and max(sums) - min(sums) > 1e-4 * abs(max(sums, key=abs)):
                raise RuntimeError(f"{task['name']}: the readers read different values: {sums}")


def local(path: Path, sometimes: list[str]) -> Iterator[Record]:
    """The cost of lazy readers on a local file: medians of three runs each, in turns."""
    seconds: dict[str, list[float]] = {way: [] for way in LOCAL_WAYS}
    task = json.dumps({"pattern": "local", "always": ALWAYS, "sometimes": sometimes})
    program = str(HERE / "readers" / "python_learned.py")
    for _ in range(3):
        for way in LOCAL_WAYS:
            call = [sys.executable, program, f"local:{way}", "0", str(path), TREE, task]
            done = subprocess.run(call, capture_output=True, text=True, check=True)
            seconds[way].append(json.loads(done.stdout)["seconds"])
    for way, taken in seconds.items():
        yield {"pattern": "local", "client": way, "seconds": sorted(taken)[len(taken) // 2]}


def measure(options: argparse.Namespace) -> Iterator[Record]:
    """All measurements, point by point."""
    many, sometimes = columns(options.data / f"{FILE}.root")
    none: dict[str, Any] = {"sometimes": [], "passing": (0, 1, 0)}
    tasks = [{"pattern": "startup", "name": "startup", "always": many, **none}]
    for name, passing in PASSING.items():
        task = {"always": ALWAYS, "sometimes": sometimes, "passing": passing}
        tasks.append({"pattern": "trigger", "name": f"trigger {name}", **task})
    tasks.append({"pattern": "random", "name": "random", "always": ALWAYS, **none})
    protocol = options.protocol or ("root" if missing("root") is None else "http")
    with serve(protocol, options.data) as server:
        load_file(options.data / f"{FILE}.root")
        for task in tasks:
            if task["pattern"] in options.only:
                yield from pattern(server, task, options)
    if "local" in options.only:
        yield from local(options.data / f"{FILE}.root", sometimes)


def coffea_python() -> Path | None:
    """A Python with coffea: the named one, this one, or that of build/bench/coffea."""
    named = os.environ.get("SAPWOOD_BENCH_COFFEA")
    candidates = [named, sys.executable, str(HERE.parent / "build" / "bench" / "coffea" / "bin" / "python")]
    for python in filter(None, candidates):
        code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('coffea') is None)"
        if Path(python).exists() and subprocess.run([python, "-c", code]).returncode == 0:
            return Path(python)
    print("skipped: coffea is not installed", file=sys.stderr)
    return None


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default="startup,trigger,random,local", help="parts")
    parser.add_argument(
        "--protocol", choices=["root", "http"], help="default: root, if there is a server for it"
    )
    parser.add_argument("--readers", help="readers whose names begin with one of these; default: all")
    parser.add_argument("--rtt", default=",".join(map(str, ROUND_TRIPS)), help="round trips in ms")
    parser.add_argument("--runs", type=int, default=2, help="most runs at high latency; the fastest counts")
    parser.add_argument("--coffea", type=Path, help="the Python with coffea")
    parser.add_argument(
        "--plot", type=Path, help="draw what sapwood fetched in the trigger pattern into this SVG"
    )
    options = parser.parse_args()
    options.only = options.only.split(",")
    options.rtt = [float(each) for each in options.rtt.split(",")]
    wanted = tuple(options.readers.split(",")) if options.readers else ("",)
    options.clients = lambda clients: [each for each in clients if each.name.startswith(wanted)]
    options.coffea = options.coffea or coffea_python()
    return options


def main() -> None:
    options = arguments()
    records = results.collect(measure(options), learned_report.line)
    results.report(options, records, learned_report.tables(records), learned_report.checks(records))


if __name__ == "__main__":
    main()
