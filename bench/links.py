"""Reads a large file over links with windows and losses, over few and many connections: `make bench-links`.

    python bench/links.py [--only links,losses] [--protocols root,http,s3] [--markdown FILE] [--json FILE]

links: 8 Mbit/s to 10 Gbit/s, round trips of 22 to 240 ms, and windows of 64 kB, 1 MB and 10 MB, which are
    what one connection may have in flight. sapwood by itself, and with 1, 2, 4, 8 and 15 connections.
losses: 1 Gbit/s at 100 ms, where one packet of 10⁵, 10⁴ and 10³ is lost.

The servers are real (xrootd, nginx, versitygw), behind an emulated link that models windows and losses: see
`sapwood-testkit`. Each run is a separate process with its own emulated link. A file is as long as the link
carries in about four seconds over 16 connections, and at most 128 MB. Times are from before opening to the
last array: medians of --repeats runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import results
from remote_servers import Server, missing, serve

VARIABLES = {
    "root": ["SAPWOOD_ROOT_CONNECTIONS"],
    "http": ["SAPWOOD_REQUESTS_IN_FLIGHT", "SAPWOOD_CONNECTIONS_AHEAD"],
    "s3": ["SAPWOOD_REQUESTS_IN_FLIGHT", "SAPWOOD_CONNECTIONS_AHEAD"],
}
"""The variables that fix the number of connections: over HTTP, each request in flight has one."""
MOST = 16
FIXED = [1, 2, 4, 8, 15]
SECONDS, LARGEST, SMALLEST = 4.0, 128e6, 1e6
LIMIT = 12.0
# The processors of a small machine do not carry more through servers, emulated link and reader.
MACHINE = 400e6

Record = dict[str, Any]


class Link(NamedTuple):
    """Bandwidth in 10⁶ bits per second, round trip in ms, window in bytes, share of lost packets."""

    megabits: float
    rtt_ms: float
    window: int
    loss: float = 0.0

    @property
    def one(self) -> float:
        """Bytes per second of one connection."""
        window = float(self.window)
        if self.loss:
            window = min(window, 1.22 * 1460 / self.loss**0.5)
        return min(window / (self.rtt_ms / 1e3), self.megabits * 125e3)

    def carries(self, connections: int) -> float:
        """Bytes per second of this many connections."""
        return min(connections * self.one, self.megabits * 125e3)

    @property
    def file_bytes(self) -> int:
        """The length of the file to read."""
        return int(min(LARGEST, max(SMALLEST, SECONDS * min(self.carries(MOST), MACHINE))))


LINKS = [
    Link(8, 100, 64_000),
    Link(10, 240, 1_000_000),
    *(Link(100, rtt, 64_000) for rtt in (22, 100)),
    Link(1000, 22, 64_000),
    *(Link(1000, 100, window) for window in (64_000, 1_000_000, 10_000_000)),
    Link(1000, 240, 10_000_000),
    Link(10_000, 100, 10_000_000),
]
LOSSES = [Link(1000, 100, 10_000_000, loss) for loss in (1e-5, 1e-4, 1e-3)]


def write(path: Path, size: int) -> None:
    """A tree with a column of incompressible numbers, in clusters of 1 MB."""
    import sapwood

    numbers = np.random.default_rng(5)
    with sapwood.recreate(path, compression=None) as file:
        tree = file.mktree("t", {"x": "f8"})
        for first in range(0, size // 8, 1 << 17):
            tree.extend({"x": numbers.random(min(1 << 17, size // 8 - first))})


def read(server: Server, link: Link, connections: int | None, name: str) -> Record:
    """One cold run."""
    code = (
        "import sys, time, sapwood, numpy\n"
        "begin = time.perf_counter()\n"
        "with sapwood.open(sys.argv[1] + ':t') as tree:\n"
        "    steps = tree.iterate(['x'], step_size='32 MB', library='np')\n"
        "    entries = sum(len(step['x']) for step in steps)\n"
        "    print(time.perf_counter() - begin, entries)\n"
    )
    environment = {**os.environ, **server.variables}
    if connections is not None:
        environment |= {variable: str(connections) for variable in VARIABLES[server.protocol]}
    with server.far(link.rtt_ms, link.megabits, link.window, link.loss) as far:
        command = [sys.executable, "-c", code, far.url(name)]
        done = subprocess.run(
            command,
            env={**environment, **far.variables},
            capture_output=True,
            text=True,
            timeout=10 * LIMIT,
        )
        if done.returncode:
            raise SystemExit(f"{server.protocol}, {link}: {done.stderr[-2000:]}")
        seconds, entries = done.stdout.split()
        assert int(entries) == link.file_bytes // 8
        return {"seconds": float(seconds), "connections": far.counts()["connections"]}


def measure(
    server: Server, link: Link, counts: list[int | None], repeats: int, data: Path
) -> Iterator[Record]:
    """The runs of one link, in turns."""
    name = f"links_{link.file_bytes}.root"
    if not (data / name).exists():
        write(data / name, link.file_bytes)
    # What would take too long with few connections is computed.
    slow = [count for count in counts if count and link.file_bytes / link.carries(count) > LIMIT]
    runs: dict[int | None, list[Record]] = {count: [] for count in counts if count not in slow}
    for _ in range(repeats):
        for count, list_of_runs in runs.items():
            list_of_runs.append(read(server, link, count, name))
    for count in counts:
        common = {
            "protocol": server.protocol,
            "line": link._asdict(),
            "count": count,
            "bytes": link.file_bytes,
        }
        if count in slow:
            yield {**common, "computed": link.file_bytes / link.carries(count or 1)}
        else:
            yield {**common, "runs": runs[count]}


def seconds(record: Record) -> float:
    return float(record.get("computed") or median(run["seconds"] for run in record["runs"]))


def named(link: Record) -> list[str]:
    """The first cells of a row."""
    rate = (
        f"{link['megabits']:g} Mbit/s" if link["megabits"] < 1000 else f"{link['megabits'] / 1000:g} Gbit/s"
    )
    window = f"{link['window'] / 1e6:g} MB" if link["window"] >= 1e6 else f"{link['window'] / 1e3:g} kB"
    return [rate, f"{link['rtt_ms']:g}", f"{link['loss']:g}" if link["loss"] else window]


def tables(records: list[Record]) -> dict[str, str]:
    """One table for each protocol and kind of link."""
    found: dict[str, str] = {}
    for protocol in dict.fromkeys(record["protocol"] for record in records):
        for kind, lossy in (("windows", False), ("losses", True)):
            chosen = [r for r in records if r["protocol"] == protocol and bool(r["line"]["loss"]) == lossy]
            if chosen:
                found[f"{protocol}, {kind}"] = _table(chosen, lossy)
    return found


def _table(records: list[Record], lossy: bool) -> str:
    counts = [count for count in dict.fromkeys(record["count"] for record in records) if count]
    limit = "loss" if lossy else "window"
    head = ["link", "ms", limit, "MB", *(f"{count}, s" for count in counts), "by need, s", "connections"]
    rows = []
    links = list(dict.fromkeys(json.dumps(record["line"]) for record in records))
    for key in links:
        of_link = {record["count"]: record for record in records if json.dumps(record["line"]) == key}
        auto = of_link[None]
        connections = max(run["connections"] for run in auto["runs"])
        times = [f"{'~ ' if 'computed' in of_link[c] else ''}{seconds(of_link[c]):.2f}" for c in counts]
        ideal = auto["bytes"] / Link(**auto["line"]).carries(MOST)
        cells = [*named(auto["line"]), f"{auto['bytes'] / 1e6:.0f}", *times, f"{seconds(auto):.2f}"]
        rows.append([*cells, str(connections), f"{seconds(auto) / ideal:.2f}"])
        if counts:
            rows[-1].append(f"{seconds(auto) / min(seconds(of_link[count]) for count in counts):.2f}")
    head += ["x 16 ideal ones", *(["x best fixed"] if counts else [])]
    return results.table(head, rows)


def checks(records: list[Record]) -> list[results.Check]:
    """By need, never worse than the best fixed number by more than 10 %."""
    found: list[results.Check] = []
    for auto in (record for record in records if record["count"] is None):
        fixed = [
            r
            for r in records
            if r["count"] and r["line"] == auto["line"] and r["protocol"] == auto["protocol"]
        ]
        if fixed:
            ratio = seconds(auto) / min(map(seconds, fixed))
            what = f"{auto['protocol']}, {', '.join(named(auto['line']))}: by need / best fixed number"
            found.append((what, f"{ratio:.2f}", "at most 1.1", ratio <= 1.1))
    return found


def main() -> None:
    parser = results.parser(__doc__, data=False, check=True)
    parser.add_argument("--only", default="links,losses")
    parser.add_argument("--protocols", default="root,http,s3")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    parts = {"links": LINKS, "losses": LOSSES}
    links = [link for part in options.only.split(",") for link in parts[part]]
    records: list[Record] = []
    with tempfile.TemporaryDirectory(prefix="sapwood-links-") as folder:
        data = Path(folder)
        data.chmod(0o755)
        for protocol in options.protocols.split(","):
            if (lack := missing(protocol)) is not None:
                print(f"skipped: {protocol}: {lack}", file=sys.stderr)
                continue
            with serve(protocol, data) as server:
                for link in links:
                    begin = time.monotonic()
                    counts = [*FIXED, None]
                    records += measure(server, link, counts, options.repeats, data)
                    print(
                        f"{protocol}, {link}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True
                    )
    found = checks(records)
    shown = tables(records) | ({"Required": results.required(found)} if found else {})
    results.report(options, records, shown, found)


if __name__ == "__main__":
    main()
