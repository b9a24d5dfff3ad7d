"""One file from several replicas: two against one, replicas that fail, lazy download: `make bench-sources`.

    python bench/sources.py --data DIR [--only pairs,faults,lapses,hidden,peers,lazy,recording]
        [--markdown FILE] [--json FILE]

pairs: a NanoAOD-like file of 450 MB from one replica, from two equally fast ones, and from a fast one and one
    that is ten times slower.
faults: the same file from three replicas, two at a time. In the middle, the replica that sends most dies,
    hangs, slows down to 1 kB/s, or sends fewer bytes than requested. Compared with an undisturbed read.
lapses: three replicas, of which the one that sends most is silent for six seconds, and then recovers. It is
    no longer needed by then, and only probed. The same with a replica that does not recover.
hidden: two slow replicas, which are named first, and a fast one.
peers: the same faults with ROOT and uproot, which know one replica or the redirector, and read half of the
    file. They are stopped when less than 30 MB arrive in a minute.
lazy: every tenth column, all columns, and small reads, at 100 ms; normally, in large blocks, and from a
    shared cache.
recording: every tenth column without added latency, recorded and unrecorded in turns.

The servers are real (xrootd behind a redirector, nginx, versitygw), each behind its own emulated link. A
replica dies when its emulated link is killed. It hangs or becomes slow when the link blocks or limits
existing connections. A relay in front of the server makes answers too short. Each run is a separate process.
Time starts after imports, before the file is opened, and ends with the last value in memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import Any

import results
import sources_report
from rootbuild import HERE, compiled, root_folder
from sources_run import Fault, Run, run
from sources_servers import Federation, Link, Servers, all_servers

FILE, TREE = "nano_zstd5.root", "Events"
# The entries that peers read, and the step between columns.
HALF, EVERY = 50_000, 10
LINK, SLOW, FAR, UNDELAYED = Link(20, 200), Link(20, 20), Link(100, 1000), Link(0, 0)
FAULTS = ["dies", "hangs", "1 kB/s", "wrong lengths"]
# The shares of the file after which a replica fails. Peers are slower, and several run at the same time.
MIDDLE, PEERS_MIDDLE, EARLY = 0.4, 0.15, 0.1
# Seconds after which a run is stopped, and after which a peer without progress is stopped.
LIMIT, PATIENCE = 90.0, 60.0
# Peers that read at the same time, not counting those that wait for a failed replica.
BUSY = 3
PROCESSES = 8
# Runs of each kind, in turns, after one that is not counted.
TURNS = 7
# Small reads, of one entry each, all over the file.
READS = 100
NOTHING_ASKED = sources_report.NOTHING_ASKED

Record = dict[str, Any]


def reader(client: str, **job: Any) -> tuple[list[str], Record]:
    """The command of the Python reader, and its job."""
    return [sys.executable, str(HERE / "readers" / "python_sources.py")], {
        "client": client,
        "tree": TREE,
        **job,
    }


class Setup:
    """The protocols and links of replicas."""

    def __init__(self, protocols: list[str], links: list[Link], redirected: bool = False) -> None:
        self.protocols, self.links, self.redirected = protocols, links, redirected

    @property
    def name(self) -> str:
        """The name in tables."""
        if self.redirected:
            return "root://, redirector"
        kinds = list(dict.fromkeys(self.protocols))
        names = " + ".join(f"{each}://" for each in kinds)
        if SLOW in self.links:
            return f"slow + {names}" if self.links[0] == SLOW else f"{names} + slow"
        return f"{len(self.protocols)} x {names}" if len(kinds) == 1 else names

    def possible(self, servers: Servers) -> bool:
        """Whether all its servers are available."""
        return set(self.protocols) <= set(servers.ports)


def three(*protocols: str, redirected: bool = False) -> Setup:
    """Replicas with equal links."""
    return Setup(list(protocols), [LINK] * len(protocols), redirected)


MIXED = three("http", "s3", "root")
REDIRECTED = three("root", "root", "root", redirected=True)
ONE = [three(each) for each in ("http", "root")]
TWO = [three("http", "http"), REDIRECTED, MIXED]
UNEQUAL = [Setup([each, each], [LINK, SLOW]) for each in ("http", "root")]
UNEQUAL.append(Setup(["http", "http"], [SLOW, LINK]))
FAILING = [three("http", "http", "http"), REDIRECTED, MIXED]


def pairs(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """Reads the file from one replica and from several; the setups take turns."""
    setups = [each for each in [*ONE, *TWO, *UNEQUAL] if each.possible(servers)]
    runs: dict[str, list[Run]] = {each.name: [] for each in setups}
    for _ in range(options.runs):
        for setup in setups:
            program, job = reader("sapwood")
            with servers.federation(setup.protocols, setup.links, redirected=setup.redirected) as places:
                job["urls"] = places.urls(FILE)
                runs[setup.name].append(run(program, job, places, LIMIT))
    for setup in setups:
        yield {"part": "pairs", "setup": setup.name, "links": setup.links, "runs": runs[setup.name]}


def faults(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """Reads the whole file, with and without a fault in the middle."""
    middle = int(MIDDLE * (options.data / FILE).stat().st_size)
    for setup in FAILING:
        if not setup.possible(servers):
            continue
        for kind in [None, *FAULTS]:
            program, job = reader("sapwood", check=True, trace=setup is MIXED and kind == "dies")
            edited = kind == "wrong lengths"
            with servers.federation(
                setup.protocols, setup.links, redirected=setup.redirected, edited=edited
            ) as places:
                job["urls"] = places.urls(FILE)
                found = run(program, job, places, LIMIT, Fault(kind, middle) if kind else None)
            record = {"part": "faults", "setup": setup.name, "protocols": setup.protocols, "fault": kind}
            yield {**record, "runs": [found]}


def lapses(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """Reads from more replicas than needed, while a dropped one recovers."""
    early = int(EARLY * (options.data / FILE).stat().st_size)
    setup = FAILING[0]
    for kind in ("lapses", "hangs"):
        program, job = reader("sapwood", check=True)
        with servers.federation(setup.protocols, setup.links) as places:
            job["urls"] = places.urls(FILE)
            found = run(program, job, places, LIMIT, Fault(kind, early))
        yield {"part": "lapses", "setup": f"{setup.name}, {kind}", "links": setup.links, "runs": [found]}


def hidden(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """Reads from two slow replicas, which are named first, and a fast one."""
    program, job = reader("sapwood", check=True)
    with servers.federation(["http"] * 3, links := [SLOW, SLOW, LINK]) as places:
        job["urls"] = places.urls(FILE)
        found = run(program, job, places, LIMIT)
    yield {"part": "hidden", "setup": "slow + slow + http://", "links": links, "runs": [found]}


def recording(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """The same read, recorded and unrecorded."""
    runs: dict[bool, list[Run]] = {False: [], True: []}
    with servers.federation(["http"], [UNDELAYED]) as places, tempfile.TemporaryDirectory() as folder:
        for turn in range(TURNS + 1):
            for recorded in (False, True):
                program, job = reader("sapwood", urls=places.urls(FILE), every=EVERY)
                if recorded:
                    job["record"] = f"{folder}/{turn}.swt"
                found = run(program, job, places, LIMIT)
                if turn:
                    runs[recorded].append(found)
    for recorded, several in runs.items():
        what = "recorded" if recorded else "not recorded"
        yield {"part": "recording", "what": what, "runs": several}


def peers(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """The same faults with ROOT and uproot."""
    middle = int(PEERS_MIDDLE * (options.data / FILE).stat().st_size)
    busy = Semaphore(BUSY)

    def one(client: str, setup: Setup, kind: str) -> Record:
        if client == "ROOT":
            program, job = (
                [str(compiled(HERE / "readers" / "root_sources.cpp", options.data / "build"))],
                {"tree": TREE, "stop": HALF},
            )
        else:
            program, job = reader("uproot", stop=HALF)
        edited, failing = kind == "wrong lengths", Fault(kind, middle)
        with servers.federation(
            setup.protocols, setup.links, redirected=setup.redirected, edited=edited
        ) as places:
            job["urls"] = places.urls(FILE)
            busy.acquire()
            # A reader that waits for a failed replica does not slow down the others.
            found = run(program, job, places, 3 * LIMIT, failing, PATIENCE, failed=busy.release)
        return {"part": "faults", "setup": setup.name, "client": client, "fault": kind, "runs": [found]}

    wanted = [("uproot", three("http")), ("uproot", REDIRECTED)]
    if root_folder() is not None:
        compiled(HERE / "readers" / "root_sources.cpp", options.data / "build")
        wanted += [("ROOT", three("root")), ("ROOT", REDIRECTED)]
    jobs = [(*each, kind) for each in wanted if each[1].possible(servers) for kind in FAULTS]
    with ThreadPoolExecutor(len(jobs)) as pool:
        yield from pool.map(lambda job: one(*job), jobs)


def lazy(servers: Servers, options: argparse.Namespace) -> Iterator[Record]:
    """Scattered reads and a complete one, normally and in blocks; a cache for one process and for several."""
    tenth = {"every": EVERY}
    with (
        servers.federation(["http"], [FAR]) as places,
        tempfile.TemporaryDirectory(prefix="sapwood-cache-") as first,
        tempfile.TemporaryDirectory(prefix="sapwood-cache-") as second,
    ):
        for what, job in (
            ("every tenth column", tenth),
            ("all", {}),
            (f"{READS} small reads", {"reads": READS}),
        ):
            yield blocks(places, f"{what}, as usual", job)
            yield blocks(places, f"{what}, `lazy_download=True`", job, lazy_download=True)
        yield blocks(places, "every tenth column, into a cache", tenth, cache=first)
        yield blocks(places, "the same once more, from the cache", tenth, cache=first)
        yield blocks(places, NOTHING_ASKED, tenth, cache=first, cache_max_age=3600)
        yield blocks(places, f"{PROCESSES} processes at once, one cache", tenth, PROCESSES, cache=second)


def blocks(places: Federation, what: str, job: Record, processes: int = 1, **chosen: Any) -> Record:
    """Several processes that read the same at the same time, over one link."""
    program, whole = reader("sapwood", check=True, options=chosen, urls=places.urls(FILE), **job)
    (proxy,) = (place.proxy for place in places.places)
    proxy.reset()
    with ThreadPoolExecutor(processes) as pool:
        runs = list(pool.map(lambda _: run(program, whole, places, LIMIT), range(processes)))
    return {"part": "lazy", "what": what, "processes": processes, "runs": runs, "through": proxy.counts()}


PARTS = {
    "pairs": pairs,
    "faults": faults,
    "lapses": lapses,
    "hidden": hidden,
    "peers": peers,
    "lazy": lazy,
    "recording": recording,
}


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default=",".join(PARTS), help="parts")
    parser.add_argument("--runs", type=int, default=2, help="runs of each of pairs")
    options = parser.parse_args()
    options.only = options.only.split(",")
    return options


def main() -> None:
    options = arguments()
    with all_servers(options.data) as servers:
        parts = (record for part in options.only for record in PARTS[part](servers, options))
        records = results.collect(parts, sources_report.line)
    results.report(options, records, sources_report.tables(records), sources_report.checks(records))


if __name__ == "__main__":
    main()
