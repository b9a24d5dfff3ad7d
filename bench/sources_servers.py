"""The replicas of one file: real servers, each behind an emulated link that can simulate faults."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import sources_relay
from remote_servers import HERE, missing, serve, testkit

sys.path.append(str(HERE.parent / "scripts"))
import xrootd_server

# Data servers behind the redirector.
DATA_SERVERS = 3
# The silence of a lapse: longer than it takes sapwood to drop the replica.
LAPSE_SECONDS = 6.0
NOTHING = {"connections": 0, "round_trips": 0, "bytes_sent": 0}


class Link(NamedTuple):
    """Round-trip time in milliseconds, bandwidth in 10⁶ bits per second (0: no limit)."""

    rtt_ms: float
    megabits: float


class Proxy:
    """An emulated link in front of a server: a separate process, so that it can be killed."""

    def __init__(self, server: int, link: Link) -> None:
        command = [str(testkit()), "proxy", "--server", f"127.0.0.1:{server}"]
        command += ["--rtt-ms", str(link.rtt_ms), "--mbit", str(link.megabits)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        self.address: str = ready["address"]
        self.port = int(self.address.rpartition(":")[2])
        self._control: str = ready["control"]
        self._last: dict[str, Any] = dict(NOTHING)

    def counts(self) -> dict[str, Any]:
        """The counters; after its end, the last known ones."""
        with suppress(URLError, OSError):
            self._last = self._ask("__stats__")
        return self._last

    def reset(self) -> None:
        """Resets the counters."""
        self._ask("__reset__")

    def throttle(self, bytes_per_second: int) -> None:
        """Limits the rate to clients from now on, also on existing connections."""
        self._ask(f"__throttle__/{bytes_per_second}")

    def recover(self) -> None:
        """Removes the limit."""
        with suppress(URLError, OSError):
            self._ask("__throttle__/off")

    def kill(self) -> None:
        """Kills the process, like the crash of a server: connections break, and new ones are refused."""
        self.counts()
        self._process.kill()

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, path: str) -> dict[str, Any]:
        with urlopen(f"{self._control}/{path}", timeout=10) as answer:
            counted: dict[str, Any] = json.load(answer)
        return counted


@dataclass(frozen=True)
class Place:
    """A replica of the file; the `relay` behind the proxy can edit answers."""

    protocol: str
    proxy: Proxy
    relay: sources_relay.Relay | None = None

    def url(self, name: str) -> str:
        """The URL of a file in the served folder."""
        path = {"root": f"{self.proxy.address}//{name}", "http": f"{self.proxy.address}/{name}"}
        return f"{self.protocol}://{path.get(self.protocol, f'data/{name}')}"

    def suffer(self, fault: str) -> None:
        """Simulates a fault from now on."""
        if fault == "dies":
            self.proxy.kill()
        elif fault == "hangs":
            self.proxy.throttle(0)
        elif fault == "lapses":
            self.proxy.throttle(0)
            threading.Timer(LAPSE_SECONDS, self.proxy.recover).start()
        elif fault == "1 kB/s":
            self.proxy.throttle(1000)
        elif self.relay is not None:
            self.relay.cuts = True


@dataclass(frozen=True)
class Federation:
    """The replicas of one file, possibly behind a redirector, from the point of view of a client."""

    places: list[Place]
    variables: dict[str, str]
    head: Proxy | None = None

    def urls(self, name: str) -> list[str]:
        """The URLs for a client: that of the redirector, or those of all replicas."""
        if self.head is not None:
            return [f"root://{self.head.address}//{name}"]
        return [place.url(name) for place in self.places]

    def counts(self) -> list[dict[str, Any]]:
        """The counters of each proxy."""
        return [place.proxy.counts() for place in self.places]


@dataclass
class Servers:
    """The ports of the real servers, by protocol; `head` is the redirector of those for root://."""

    ports: dict[str, list[int]] = field(default_factory=dict)
    head: int | None = None
    s3: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def federation(
        self, protocols: list[str], links: list[Link], *, redirected: bool = False, edited: bool = False
    ) -> Iterator[Federation]:
        """Replicas behind links. Those for root:// are different servers."""
        with ExitStack() as stack:
            used = dict.fromkeys(self.ports, 0)
            places, named = [], {}
            for protocol, link in zip(protocols, links, strict=True):
                ports = self.ports[protocol]
                server = ports[used[protocol] % len(ports)]
                used[protocol] += 1
                relay = stack.enter_context(sources_relay.relay(server, protocol)) if edited else None
                proxy = _proxy(stack, relay.port if relay else server, link)
                places.append(Place(protocol, proxy, relay))
                named[server] = proxy.port
            variables = {"NO_PROXY": "127.0.0.1,localhost"}
            for place in places:
                if place.protocol == "s3":
                    variables |= {**self.s3, "AWS_ENDPOINT_URL": f"http://{place.proxy.address}"}
            head = None
            if redirected and self.head is not None:
                # Redirect clients to the emulated links, not to the servers.
                leader = stack.enter_context(sources_relay.relay(self.head, "root", named))
                head = _proxy(stack, leader.port, links[0])
            yield Federation(places, variables, head)


def _proxy(stack: ExitStack, server: int, link: Link) -> Proxy:
    proxy = Proxy(server, link)
    stack.callback(proxy.close)
    return proxy


@contextmanager
def all_servers(data: Path) -> Iterator[Servers]:
    """A server of a folder for each available protocol, and several for root://."""
    with ExitStack() as stack:
        servers = Servers()
        for protocol in ("http", "s3", "root"):
            if (lack := missing(protocol)) is not None:
                print(f"skipped, {protocol}://: {lack}", file=sys.stderr)
            elif protocol == "root":
                head = stack.enter_context(xrootd_server.redirector([data] * DATA_SERVERS))
                servers.head, servers.ports["root"] = head.port, [one.port for one in head.servers]
            else:
                server = stack.enter_context(serve(protocol, data))
                servers.ports[protocol] = [server.port]
                servers.s3 |= server.variables
        yield servers
