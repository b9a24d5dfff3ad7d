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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import results
from remote_servers import running, testkit
from wire import relay

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.append(str(REPOSITORY / "scripts"))
import nginx_server  # noqa: E402
import s3_server  # noqa: E402
import xrootd_server  # noqa: E402

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
url = lambda n: f"{url}/{{n}}.root"
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


@dataclass(frozen=True)
class Server:
    """A local server for the files."""

    port: int
    url: Callable[[str], str]
    """Maps the address of the link to the URL of the folder."""
    variables: Callable[[str], dict[str, str]] = lambda _: {}


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


def _kit(*arguments: str) -> AbstractContextManager[dict[str, str]]:
    return running([str(testkit()), *arguments])


@contextmanager
def _http(folder: Path) -> Iterator[Server]:
    if nginx_server.missing() is None:
        with nginx_server.web_server(folder) as server:
            yield Server(server.port, lambda address: f"http://{address}")
    else:
        with _kit("serve", "--root", str(folder)) as kit:
            yield Server(_port(kit["url"]), lambda address: f"http://{address}")


@contextmanager
def _http_single(folder: Path) -> Iterator[Server]:
    with _kit("serve", "--root", str(folder), "--behaviour", "single") as kit:
        yield Server(_port(kit["url"]), lambda address: f"http://{address}")


@contextmanager
def _root(folder: Path) -> Iterator[Server]:
    with xrootd_server.data_server(folder) as server:
        yield Server(server.port, lambda address: f"root://{address}/")


@contextmanager
def _s3(folder: Path) -> Iterator[Server]:
    with s3_server.s3_server() as server:
        for number in range(FILES):
            server.put(f"{number}.root", (folder / f"{number}.root").read_bytes())
        yield Server(
            server.port,
            lambda _: "s3://data",
            lambda address: {**server.variables, "AWS_ENDPOINT_URL": f"http://{address}"},
        )


PROTOCOLS = {
    "root": (_root, xrootd_server.missing),
    "http, several ranges": (_http, lambda: None),
    "http, one range": (_http_single, lambda: None),
    "s3": (_s3, s3_server.missing),
}


def missing(protocol: str) -> str | None:
    """Why a protocol cannot be measured here; None if it can."""
    try:
        testkit()
    except SystemExit as lack:
        return str(lack)
    return PROTOCOLS[protocol][1]()


def _port(url: str) -> int:
    return int(url.rsplit(":", 1)[1].strip("/"))


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
            self._servers[protocol] = self._stack.enter_context(PROTOCOLS[protocol][0](self._folder))
        server = self._servers[protocol]
        with (
            relay(server.port) as counting,
            _kit("proxy", "--server", f"127.0.0.1:{counting.port}", "--rtt-ms", str(ROUND_TRIP_MS)) as link,
        ):
            body = PATTERNS[pattern] + "\n" + TOLD.format(control=link["control"])
            if pattern != MANY_FILES:
                body = "with reader.open({url(0): 't'}) as t:\n" + textwrap.indent(body, "    ")
            program = PROGRAM.format(reader=client, url=server.url(link["address"]), body=body)
            environment = {**os.environ, "NO_PROXY": "127.0.0.1", **server.variables(link["address"])}
            done = subprocess.run(
                [python or sys.executable, "-c", program],
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
                env=environment,
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
