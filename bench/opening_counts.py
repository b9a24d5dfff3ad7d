"""Counts requests and round trips to open a file and to read 1, 3 and 12 columns, by protocol, cold and warm.

    python bench/opening_counts.py [--markdown FILE] [--json FILE]

*Cold* is the first contact of a new process with the server. *Warm* is a second file on the same
server, after the process has read another one. The files and servers are those of `request_counts.py`, plus
nginx with TLS. Login is counted on its own: over root://, the requests that identify the client,
each of which is waited for. Over https://, the emulated link cannot tell the handshakes of TLS from
requests: they are part of the round trips. Connecting (TCP) is one more round trip, which it does
not see. Over http:// and https://, no connections are made ahead of need.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import request_counts
import results
from remote_servers import HERE, Server, serve
from remote_servers import missing as remote_missing
from wire import relay

sys.path.append(str(HERE.parent / "scripts"))
import certificate
import nginx_server

PROTOCOLS = ("file", "http", "https", "s3", "root")
COLUMNS = (0, 1, 3, 12)
STATES = ("cold", "warm")
LOGIN = ("protocol", "login", "auth")
LOG_SECONDS = 0.2

# Nothing waits for connections that are made ahead, but the link would count their handshakes as round trips.
QUIET = {"SAPWOOD_CONNECTIONS_AHEAD": "0"}

# The report is imported first: meanwhile, connections that are made ahead would be counted as round trips.
PROGRAM = """
import sys
import sapwood
import sapwood.report.cost
names = [f"x{{n}}" for n in range({columns})]
def read(number):
    file = sapwood.open({url!r}.format(number) + ":t")
    file.num_entries
    if names:
        file.arrays(names, library="np")
    return file
kept = [read(1)] if {warm} else []
print("ready", flush=True); sys.stdin.readline()
file = read(0)
print(file.file.report().requests, flush=True); sys.stdin.readline()
"""


@dataclass(frozen=True)
class Row:
    """The counts of one read. `login` is part of `requests` over root://; it is not part of `round_trips`."""

    protocol: str
    state: str
    columns: int
    requests: int
    login: int
    round_trips: int


@dataclass(frozen=True)
class Counted:
    requests: dict[str, int]
    round_trips: int


class Reader:
    """A process that reads a file of a server when it is asked to."""

    def __init__(self, url: str, columns: int, state: str, variables: dict[str, str]) -> None:
        text = PROGRAM.format(columns=columns, url=url, warm=state == "warm")
        pipe, environment = subprocess.PIPE, {**os.environ, **variables}
        self._process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def line(self) -> str:
        """Waits for the next line."""
        out: IO[str] | None = self._process.stdout
        assert out is not None
        said = out.readline()
        if not said:
            raise RuntimeError("the reader failed; its error is above")
        return said.strip()

    def resume(self) -> None:
        """Lets it go on."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()


class Link:
    """The counters in front of a server: of the emulated link, and of the relay or the server's log."""

    def __init__(self, stack: ExitStack, server: Server, log: Path | None) -> None:
        self._log = log
        self._relay = None if log else stack.enter_context(relay(server.port))
        front = replace(server, port=self._relay.port) if self._relay else server
        self.far = stack.enter_context(front.far(request_counts.ROUND_TRIP_MS, 0))

    def counted(self) -> Counted:
        """The counts so far, without those that only open a connection or close a file."""
        trips = self.far.counts()["round_trips"]
        if self._relay:
            kinds = self._relay.counts()
            return Counted({k: n for k, n in kinds.items() if k not in ("ranges", "spare", "close")}, trips)
        assert self._log is not None
        time.sleep(LOG_SECONDS)
        lines = [line for line in self._log.read_text().splitlines() if not line.endswith("bytes=0-0")]
        return Counted({"GET": len(lines)}, trips)


@contextmanager
def served(folder: Path, protocol: str) -> Iterator[tuple[Server, Path | None]]:
    """A server for the folder, and its log where no relay can read the requests."""
    if protocol != "https":
        with serve(protocol, folder) as server:
            yield server, None
        return
    with TemporaryDirectory() as place:
        made = certificate.make(Path(place))
        with nginx_server.web_server(folder, made) as web:
            yield Server(protocol, "nginx", web.port, {"SSL_CERT_FILE": str(made.authority)}), web.log


def missing() -> str | None:
    """What is not installed of all that the table needs."""
    lacks = nginx_server.missing(), certificate.missing(), remote_missing("s3"), remote_missing("root")
    return next(filter(None, lacks), None)


def local(folder: Path, columns: int, state: str) -> Row:
    """The reads of a local file, which the report of the file counts."""
    reader = Reader(f"{folder}/{{}}.root", columns, state, {})
    try:
        reader.line()
        reader.resume()
        return Row("file", state, columns, int(reader.line()), 0, 0)
    finally:
        reader.end()


def distant(folder: Path, protocol: str) -> Iterator[Row]:
    """The rows of a protocol."""
    with served(folder, protocol) as (server, log):
        for state in STATES:
            for columns in COLUMNS:
                with ExitStack() as stack:
                    link = Link(stack, server, log)
                    variables = link.far.variables if protocol == "s3" else link.far.variables | QUIET
                    reader = Reader(link.far.url("{}.root"), columns, state, variables)
                    stack.callback(reader.end)
                    reader.line()
                    before = link.counted()
                    reader.resume()
                    reader.line()
                    after = link.counted()
                    kinds = {k: n - before.requests.get(k, 0) for k, n in after.requests.items()}
                    login = sum(kinds.get(kind, 0) for kind in LOGIN)
                    trips = after.round_trips - before.round_trips
                    yield Row(protocol, state, columns, sum(kinds.values()), login, trips - login)


def measure(protocols: Sequence[str] = PROTOCOLS) -> list[Row]:
    """The rows of some protocols."""
    with TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        request_counts.write_files(folder)
        rows: list[Row] = []
        for protocol in protocols:
            if protocol == "file":
                rows += [local(folder, columns, state) for state in STATES for columns in COLUMNS]
            else:
                rows += distant(folder, protocol)
    return rows


def label(protocol: str) -> str:
    """What the table calls a protocol."""
    return "local file" if protocol == "file" else f"`{protocol}://`"


def table(rows: list[Row]) -> str:
    """A row for each protocol and state: round trips and requests of each read, and of the login."""
    cells = []
    for protocol in dict.fromkeys(row.protocol for row in rows):
        for state in STATES:
            chosen = [row for row in rows if (row.protocol, row.state) == (protocol, state)]
            login = "in the counts" if protocol == "https" else str(chosen[0].login)
            each = [f"{row.round_trips} / {row.requests}" for row in chosen]
            cells.append([label(protocol), state, login, *each])
    head = ["", "", "login", "open", "open, 1 column", "open, 3 columns", "open, 12 columns"]
    return results.table(head, cells)


def main() -> None:
    options = results.parser(__doc__, data=False).parse_args()
    if (lack := missing()) is not None:
        raise SystemExit(f"opening_counts: {lack}")
    rows = measure()
    results.publish(options, {"Opening a file": table(rows)}, [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
