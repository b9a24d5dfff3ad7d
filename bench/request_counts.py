"""Counts requests, ranges and round trips of access patterns, over every protocol.

    python bench/request_counts.py [--markdown FILE] [--json FILE] [--client uproot [--python OTHER]]

Each run is a new process without knowledge of the server. An emulated link counts round trips, and a relay
counts requests and ranges. The servers are real: XRootD, nginx and versitygw, as far as they are installed,
and that of the testkit, which answers only single ranges. Requests that close files are not counted, because
no client waits for them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import remote_servers
import results
from remote_servers import Server, serve, serve_by_testkit, testkit
from wire import relay

ROUND_TRIP_MS = 40
FILES, COLUMNS, CLUSTERS, CLUSTER = 4, 24, 20, 1_200
CHUNK = 5 * CLUSTER
LIMIT_SECONDS = 60

PATTERNS = {
    "open": "t.num_entries",
    "5 columns, arrays()": "t.arrays(five, library='np')",
    "5 columns, one array() each": "for name in five: t[name].array(library='np')",
    "5 columns, iterate in 10 steps": f"list(t.iterate(five, step_size={2 * CLUSTER}, library='np'))",
    "20 columns x 4 chunks, one array() each": (
        f"[t[name].array(entry_start=start, entry_stop=start + {CHUNK}, library='np')\n"
        f" for name in twenty for start in range(0, {4 * CHUNK}, {CHUNK})]"
    ),
    "5 columns of 4 files, concatenate()": (
        "reader.concatenate([{url(n): 't'} for n in range(4)], five, library='np')"
    ),
}
MANY_FILES = "5 columns of 4 files, concatenate()"

PROGRAM = """
import warnings; warnings.simplefilter("ignore")
from urllib.request import urlopen
import {reader} as reader
five = [f"x{{4 * n}}" for n in range(5)]
twenty = [f"x{{n}}" for n in range(20)]
url = lambda n: f"{url}"
{body}
"""
TOLD = "print(urlopen({control!r} + '/__stats__').read().decode())"


@dataclass(frozen=True)
class Counts:
    """The counts of one run."""

    requests: int
    """Requests, without those that only open a connection."""
    ranges: int
    round_trips: int
    """Consecutive waits of one round trip, without the TCP handshake."""
    connections: int
    spares: int = 0
    """Requests that only open a connection."""
    kinds: dict[str, int] = field(default_factory=dict)


def write_files(folder: Path) -> None:
    """Writes files of 24 columns in 20 clusters, 4 MB each, so that opening reads only a small part."""
    import numpy as np
    import uproot

    types = {f"x{n}": "f4" for n in range(COLUMNS)}
    for number in range(FILES):
        with uproot.recreate(folder / f"{number}.root", compression=None) as file:
            # uproot rewrites the record of the tree before the last cluster: near the end, like ROOT.
            tree = file.mktree("t", types, initial_basket_capacity=CLUSTERS)
            for cluster in range(CLUSTERS):
                values = np.arange(CLUSTER, dtype="f4") + cluster * CLUSTER
                tree.extend({name: values + n for n, name in enumerate(types)})
            # This moves the descriptions of classes to the end, too.
            file["histogram"] = np.histogram(np.arange(10))


PROTOCOLS = {"root": "root", "http, several ranges": "http", "http, one range": "http", "s3": "s3"}


def served(protocol: str, folder: Path) -> AbstractContextManager[Server]:
    """A server for the files."""
    if protocol == "http, one range":
        return serve_by_testkit(folder, "--behaviour", "single")
    return serve(PROTOCOLS[protocol], folder)


def missing(protocol: str) -> str | None:
    """Why a protocol cannot be measured here; None if it can."""
    try:
        testkit()
    except SystemExit as lack:
        return str(lack)
    return remote_servers.missing(PROTOCOLS[protocol])


class Bench:
    """The servers for the files, each started at first use."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._servers: dict[str, Server] = {}
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sapwood-")))
        self._folder.chmod(0o755)
        write_files(self._folder)

    def counts(self, protocol: str, pattern: str, client: str = "sapwood", python: str = "") -> Counts:
        """The counts of a pattern, in a new process."""
        if protocol not in self._servers:
            self._servers[protocol] = self._stack.enter_context(served(protocol, self._folder))
        server = self._servers[protocol]
        with (
            relay(server.port) as counting,
            replace(server, port=counting.port).far(ROUND_TRIP_MS, 0) as far,
        ):
            body = PATTERNS[pattern] + "\n" + TOLD.format(control=far.control)
            if pattern != MANY_FILES:
                body = "with reader.open({url(0): 't'}) as t:\n" + textwrap.indent(body, "    ")
            program = PROGRAM.format(reader=client, url=far.url("{n}.root"), body=body)
            done = subprocess.run(
                [python or sys.executable, "-c", program],
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
                env={**os.environ, **far.variables},
            )
            if done.returncode:
                raise RuntimeError(done.stderr[-2000:])
            kinds = counting.counts()
        stats = json.loads(done.stdout.splitlines()[-1])
        ranges, spares, _ = kinds.pop("ranges"), kinds.pop("spare", 0), kinds.pop("close", 0)
        requests, round_trips, connections = sum(kinds.values()), stats["round_trips"], stats["connections"]
        return Counts(requests, ranges, round_trips, connections, spares, kinds)


def table(rows: list[tuple[str, str, Counts]]) -> str:
    """The rows as a Markdown table."""
    cells = []
    for pattern, protocol, counts in rows:
        figures = [counts.requests, counts.ranges, counts.round_trips, counts.connections, counts.spares]
        cells.append([pattern, protocol, *map(str, figures)])
    head = ["pattern", "protocol", "requests", "ranges", "round trips", "connections", "opened ahead"]
    return results.table(head, cells)


def main() -> None:
    parser = results.parser(__doc__, data=False)
    parser.add_argument("--client", default="sapwood", help="sapwood or uproot")
    parser.add_argument("--python", default="", help="the Python interpreter with the client")
    parser.add_argument("--protocols", default=";".join(PROTOCOLS), help="protocols, separated by ;")
    options = parser.parse_args()
    rows = []
    with ExitStack() as stack:
        bench = Bench(stack)
        for pattern in PATTERNS:
            for protocol in options.protocols.split(";"):
                if (lack := missing(protocol)) is not None:
                    print(f"skipped, {protocol}: {lack}", file=sys.stderr)
                    continue
                counts = bench.counts(protocol, pattern, options.client, options.python)
                print(pattern, protocol, counts, flush=True)
                rows.append((pattern, protocol, counts))
    found = [
        {"pattern": pattern, "protocol": protocol, **asdict(counts)} for pattern, protocol, counts in rows
    ]
    results.publish(options, {options.client: table(rows)}, found)


if __name__ == "__main__":
    main()
