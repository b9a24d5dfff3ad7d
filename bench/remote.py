"""Reads over root://, http:// and s3:// with sapwood, uproot and ROOT: `make bench-remote`.

    python bench/remote.py --data DIR [--only columns,whole,files] [--markdown FILE] [--json FILE]

columns: three columns of an H1-like tree (283,000 entries, 6.6 MB of baskets in 260 to 290 MB), at seven
    round-trip times and two bandwidths: the table of 2007.
whole: all of a NanoAOD-like file of 450 MB at 100 ms and 1 Gbit/s, and the share of the link that is used.
files: three columns of each of 50 files at 100 ms.

The servers are real (xrootd, nginx, versitygw), behind an emulated link. Each run is a separate process with
its own emulated link, so that everything but the server's page cache is cold. Clients take turns; figures are
medians. Time starts after imports, before the file is opened, and ends with the values in memory. Round trips
are consecutive waits of one round-trip time, as the emulated link counts them, without the TCP handshake.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import remote_report
import results
from measured import what_failed
from remote_servers import Far, Server, missing, serve
from rootbuild import HERE, compiled

ROUND_TRIPS = [0, 0.3, 2, 11, 22, 72, 240]
MEGABITS = [0, 100]
FILES = ["h1_old", "h1_new"]
COLUMNS = ["trk_v0", "dst_v0", "f1"]
MANY = 50
# Seconds for all runs of a point, and for one run of ROOT with a small cache, which is extrapolated.
POINT_SECONDS, LOOP_SECONDS = 3.0, 2.5
# Seconds after which a stream ends early, and after which any run is stopped.
EARLY = {"whole": 25.0, "files": 25.0}
LIMITS = {"columns": 15.0, "whole": 50.0, "files": 50.0}
SAMPLE_SECONDS = 0.05
SMALL_CACHE = 64_000

Run = dict[str, Any]
Record = dict[str, Any]


@dataclass(frozen=True)
class Client:
    """A way to read: `cache` is the size of ROOT's TTreeCache in bytes, -1 for its default."""

    name: str
    cache: int | None = None

    @property
    def is_even(self) -> bool:
        """Whether it waits at a constant rate, so that the total time can be extrapolated from a part."""
        return self.cache in (0, SMALL_CACHE)

    def command(self, what: str, build: Path, arguments: list[str]) -> list[str]:
        """The command that reads."""
        seconds = LOOP_SECONDS if self.is_even else EARLY.get(what, 0)
        if self.cache is None:
            program = HERE / "readers" / "python_remote.py"
            return [sys.executable, str(program), self.name, str(seconds), what, *arguments]
        program = compiled(HERE / "readers" / "root_remote.cpp", build)
        return [str(program), str(self.cache), str(seconds), what, *arguments]


SAPWOOD, UPROOT = Client("sapwood"), Client("uproot")
ROOT = [Client("ROOT, 10 MB", 10_000_000), Client("ROOT, 64 kB", SMALL_CACHE), Client("ROOT, no cache", 0)]
ROOT_DEFAULT = Client("ROOT", -1)
CLIENTS = {
    "root": [SAPWOOD, UPROOT, Client("uproot-XRootDSource"), *ROOT],
    "http": [SAPWOOD, UPROOT, Client("uproot-HTTPSource"), *ROOT],
    "s3": [SAPWOOD, UPROOT],
}
FEW = {
    "root": [SAPWOOD, Client("uproot-XRootDSource"), ROOT_DEFAULT],
    "http": [SAPWOOD, UPROOT, ROOT_DEFAULT],
    "s3": [SAPWOOD, UPROOT],
}


class Link(NamedTuple):
    """Round-trip time in milliseconds, bandwidth in 10⁶ bits per second (0: no limit)."""

    rtt_ms: float
    megabits: float


def run(client: Client, far: Far, what: str, arguments: list[str], options: argparse.Namespace) -> Run:
    """One cold run: the measurements of the reader, and the counters of the emulated link at that time."""
    command = client.command(what, options.data / "build", arguments)
    pipe, environment = subprocess.PIPE, {**os.environ, **far.variables}
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=complaints, text=True, env=environment
        ) as process,
    ):
        assert process.stdout is not None
        stop = threading.Timer(LIMITS[what], process.kill)
        stop.start()
        # The reader keeps its files open until its input ends, so that closing them is not counted.
        said, counted = process.stdout.readline(), far.counts()
        process.communicate()
        stop.cancel()
        if stop.finished.is_set() and process.returncode == -signal.SIGKILL:
            return {"stopped": LIMITS[what], **counted}
        if not said.startswith("{"):
            complaints.seek(0)
            return {"error": what_failed(complaints.read())}
    return {**json.loads(said), **counted}


def columns(server: Server, name: str, megabits: float, options: argparse.Namespace) -> Iterator[Record]:
    """Runs the readers at each round-trip time. One that was stopped is not run again at higher latency."""
    stopped: dict[Client, Run] = {}
    round_trips: dict[Client, int] = {}
    for rtt_ms in options.rtt:
        clients = options.clients(CLIENTS[server.protocol])
        runs: dict[Client, list[Run]] = {
            client: [stopped[client]] if client in stopped else [] for client in clients
        }
        # A saturated link makes runs similar, so fewer suffice.
        for turn in range(min(options.runs, 2) if megabits else options.runs):
            for client in clients:
                taken = sum(each.get("seconds", POINT_SECONDS) for each in runs[client])
                if taken < POINT_SECONDS and not (turn and client.is_even):
                    with server.far(rtt_ms, megabits) as far:
                        arguments = [far.url(f"{name}.root"), "h42", *COLUMNS]
                        found = run(client, far, "columns", arguments, options)
                    runs[client].append(scaled(found, round_trips.get(client)))
                    if found.get("share") == 1:
                        round_trips[client] = found["round_trips"]
                    if "stopped" in found:
                        stopped[client] = found
        check_sums([each for client in clients for each in runs[client]])
        where = {"part": "columns", "file": name, "protocol": server.protocol}
        for client in clients:
            point = {"megabits": megabits, "rtt_ms": rtt_ms, "client": client.name, "runs": runs[client]}
            yield where | point


def scaled(found: Run, round_trips: int | None) -> Run:
    """A run with the seconds of a complete one, if it ended early.

    They are extrapolated from the round trips of a complete run at lower latency, or else from the share of
    entries.
    """
    if found.get("share", 1) == 1 or "stopped" in found:
        return found
    if round_trips:
        # Connecting is one more.
        return {**found, "scaled": found["seconds"] * (round_trips + 1) / (found["round_trips"] + 1)}
    first = found.get("first", 0)
    return {**found, "scaled": first + (found["seconds"] - first) / max(found["share"], 1e-9)}


def check_sums(runs: list[Run]) -> None:
    """Fails unless all complete runs have read the same values."""
    sums = [each["sums"] for each in runs if "sums" in each and each.get("share", 1) == 1]
    if any(found != sums[0] for found in sums):
        raise RuntimeError(f"the clients read different values: {sums}")


class Samples:
    """Samples of the bytes through the emulated link while a client runs."""

    def __init__(self, far: Far) -> None:
        self.far = far
        self.points: list[tuple[float, int]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Samples:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            counted = self.far.counts()
            if counted["connections"]:
                self.points.append((time.perf_counter(), counted["bytes_sent"]))


def whole(server: Server, link: Link, options: argparse.Namespace) -> Iterator[Record]:
    """Reads a whole file with each reader."""
    for client in options.clients(FEW[server.protocol]):
        runs = []
        for _ in range(options.runs if client == SAPWOOD else 1):
            with server.far(*link) as far, Samples(far) as samples:
                found = run(client, far, "whole", [far.url("nano_zstd5.root"), "Events"], options)
            use = remote_report.use_of_link(samples.points, link.megabits)
            runs.append({**scaled(found, None), **use})
        point = {**link._asdict(), "client": client.name, "runs": runs}
        yield {"part": "whole", "protocol": server.protocol, **point}


def files(server: Server, link: Link, names: list[str], options: argparse.Namespace) -> Iterator[Record]:
    """Reads some columns of many files with each reader."""
    for client in options.clients(FEW[server.protocol]):
        runs = []
        for _ in range(options.runs if client == SAPWOOD else 1):
            with server.far(*link) as far, tempfile.NamedTemporaryFile("w") as listed:
                listed.write("\n".join(map(far.url, names)) + "\n")
                listed.flush()
                found = run(client, far, "files", [listed.name, "h42", *COLUMNS], options)
            runs.append(scaled(found, None))
        point = {**link._asdict(), "client": client.name, "runs": runs}
        yield {"part": "files", "protocol": server.protocol, **point}


@contextmanager
def many_names(file: Path) -> Iterator[tuple[Path, list[str]]]:
    """A folder with many links to the file."""
    with tempfile.TemporaryDirectory(prefix="files-", dir=file.parent) as name:
        os.chmod(name, 0o755)
        names = [f"{number:03}.root" for number in range(MANY)]
        for each in names:
            Path(name, each).hardlink_to(file)
        yield Path(name), names


def link_rate(server: Server, name: str) -> float:
    """Bytes per second through an emulated link without limit, measured with a plain download."""
    rates = []
    for _ in range(3):
        with server.far(0, 0) as far:
            begin, size = time.perf_counter(), 0
            with urlopen(far.url(f"{name}.root"), timeout=60) as answer:
                while chunk := answer.read(1 << 20):
                    size += len(chunk)
            rates.append(size / (time.perf_counter() - begin))
    return max(rates)


def measure(options: argparse.Namespace) -> Iterator[Record]:
    """All measurements, point by point."""
    for protocol in options.protocols:
        if (lack := missing(protocol)) is not None:
            print(f"skipped, {protocol}://: {lack}", file=sys.stderr)
            continue
        if protocol == "s3":
            print("skipped, s3:// with ROOT: its wheel has no S3 client", file=sys.stderr)
        with serve(protocol, options.data) as server:
            if protocol == "http":
                yield {"part": "line", "bytes_per_second": link_rate(server, options.files[0])}
            if "columns" in options.only:
                for name in options.files:
                    for megabits in options.megabits:
                        yield from columns(server, name, megabits, options)
            if "whole" in options.only:
                yield from whole(server, Link(100, 1000), options)
        if "files" in options.only:
            with (
                many_names(options.data / "h1_new.root") as (folder, names),
                serve(protocol, folder) as server,
            ):
                yield from files(server, Link(100, 0), names, options)


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default="columns,whole,files", help="parts")
    parser.add_argument("--protocols", default="root,http,s3")
    parser.add_argument("--readers", help="readers whose names begin with one of these; default: all")
    parser.add_argument("--files", default=",".join(FILES), help="inputs of columns, without .root")
    parser.add_argument("--rtt", default=",".join(map(str, ROUND_TRIPS)), help="round trips in ms")
    parser.add_argument("--megabits", default=",".join(map(str, MEGABITS)), help="10^6 bit/s; 0: no limit")
    parser.add_argument("--runs", type=int, default=3, help="most runs of a point; slow ones have fewer")
    options = parser.parse_args()
    for name in ("only", "protocols", "files"):
        setattr(options, name, getattr(options, name).split(","))
    options.rtt = [float(each) for each in options.rtt.split(",")]
    options.megabits = [float(each) for each in options.megabits.split(",")]
    wanted = tuple(options.readers.split(",")) if options.readers else ("",)
    options.clients = lambda clients: [each for each in clients if each.name.startswith(wanted)]
    return options


def main() -> None:
    options = arguments()
    records = results.collect(measure(options), remote_report.line)
    results.report(options, records, remote_report.tables(records), remote_report.checks(records))


if __name__ == "__main__":
    main()
