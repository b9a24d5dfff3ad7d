"""The servers of the network benchmarks, one for each protocol, behind emulated links."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "scripts"))
import nginx_server  # noqa: E402
import s3_server  # noqa: E402
import xrootd_server  # noqa: E402


@dataclass(frozen=True)
class Far:
    """A server behind an emulated link, from the point of view of a client."""

    protocol: str
    address: str
    control: str
    variables: dict[str, str]

    def url(self, name: str) -> str:
        """The URL of a file in the served folder."""
        places = {"root": f"{self.address}/", "s3": "data"}
        return f"{self.protocol}://{places.get(self.protocol, self.address)}/{name}"

    def counts(self) -> dict[str, Any]:
        """The counters of the emulated link."""
        with urlopen(f"{self.control}/__stats__", timeout=10) as answer:
            counted: dict[str, Any] = json.load(answer)
        return counted


@dataclass(frozen=True)
class Server:
    """A server on a local port; `variables` are for the environment of its clients."""

    protocol: str
    name: str
    port: int
    variables: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def far(self, rtt_ms: float, megabits: float, window: int = 0, loss: float = 0) -> Iterator[Far]:
        """The server with this round-trip time and bandwidth in 10⁶ bits per second, or 0 for no limit.

        Each connection has at most ``window`` bytes in flight (0: no limit), and loses this share of packets.
        """
        command = [str(testkit()), "proxy", "--server", f"127.0.0.1:{self.port}"]
        command += ["--rtt-ms", str(rtt_ms), "--mbit", str(megabits), "--loss", str(loss)]
        with running([*command, *(["--window", str(window)] if window else [])]) as proxy:
            variables = {**self.variables, "NO_PROXY": "127.0.0.1"}
            if self.protocol == "s3":
                variables["AWS_ENDPOINT_URL"] = f"http://{proxy['address']}"
            yield Far(self.protocol, proxy["address"], proxy["control"], variables)


def testkit() -> Path:
    """The program `sapwood-testkit`, in its newest build."""
    if named := os.environ.get("SAPWOOD_TESTKIT"):
        return Path(named)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    built = [path for mode in ("release", "debug") if (path := target / mode / "sapwood-testkit").exists()]
    if not built:
        raise SystemExit("sapwood-testkit is not built: cargo build --release -p sapwood-testkit")
    return max(built, key=lambda path: path.stat().st_mtime)


@contextmanager
def running(command: list[str]) -> Iterator[dict[str, str]]:
    """Runs a server that prints its addresses as a line of JSON, and stops when its standard input ends."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        yield json.loads(program.stdout.readline())
        program.communicate()


@contextmanager
def serve(protocol: str, data: Path) -> Iterator[Server]:
    """A server for the files in a folder."""
    if (lack := missing(protocol)) is not None:
        raise SystemExit(f"no server for {protocol}://: {lack}")
    servers = {"root": _xrootd, "http": _web, "s3": _versitygw}
    with servers[protocol](data) as server:
        yield server


@contextmanager
def serve_by_testkit(data: Path, *options: str) -> Iterator[Server]:
    """The web server of the testkit for the files in a folder."""
    with running([str(testkit()), "serve", "--root", str(data), *options]) as served:
        yield Server("http", "sapwood-testkit", int(served["url"].rstrip("/").rsplit(":", 1)[1]))


def missing(protocol: str) -> str | None:
    """The missing software of the server of a protocol; None if nothing is missing."""
    needs = {"root": xrootd_server.missing, "s3": s3_server.missing}
    return needs[protocol]() if protocol in needs else None


@contextmanager
def _xrootd(data: Path) -> Iterator[Server]:
    with xrootd_server.data_server(data) as server:
        yield Server("root", "xrootd", server.port)


@contextmanager
def _web(data: Path) -> Iterator[Server]:
    if (lack := nginx_server.missing()) is None:
        with nginx_server.web_server(data, settings="sendfile on;") as server:
            yield Server("http", "nginx", server.port)
        return
    print(f"http:// is served by sapwood-testkit: {lack}", file=sys.stderr)
    with serve_by_testkit(data) as server:
        yield server


@contextmanager
def _versitygw(data: Path) -> Iterator[Server]:
    with s3_server.s3_server(data) as server:
        yield Server("s3", "versitygw", server.port, server.variables)
