"""Replaying a recorded job: what its reads would cost over another link, or by another policy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors.core import core_errors
from .tracing import summary

PRESETS = ("default", "unmerged", "gap-64k", "gap-1M", "shallow", "blocks", "replicas")
"""The policies that have names."""


@dataclass(frozen=True)
class Line:
    """The way to a server; what is None is as the recording tells."""

    rtt: float | None = None
    """Seconds from a small request to its answer."""
    bandwidth: float | None = None
    """Bytes per second, of all requests together."""
    request_cost: float = 0.0
    """Seconds that the server takes for each request."""
    concurrency: int | None = None
    """Requests that the server answers at the same time; None for any number."""


@dataclass(frozen=True)
class Replay:
    """What a job costs by one policy."""

    policy: str
    seconds: float
    """From the begin of the first process to the end of the last."""
    waited: float
    """Seconds that threads waited for bytes, all of them together."""
    requests: int
    round_trips: int
    bytes: int
    """Bytes that were fetched."""
    wanted: int
    """Bytes that were asked for, without what opening brings."""
    overread: int
    """Bytes that were fetched to save requests, and not asked for."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        # As earlier versions pickled it.
        names = {"turnarounds": "round_trips"}
        self.__dict__.update((names.get(name, name), value) for name, value in state.items())

    @property
    def turnarounds(self) -> int:
        """The same as ``round_trips``, by the name that it had before."""
        return self.round_trips


def replay(
    path: str | os.PathLike[str],
    policies: Iterable[str] = ("default",),
    *,
    line: Line | None = None,
    servers: Mapping[str, Line] | None = None,
    replicas: Iterable[Line] = (),
    source: str | Mapping[str, str] | None = None,
) -> list[Replay]:
    """Replays a recorded job by each of some policies.

    Against a model of the links, unless ``source`` is given: no byte is transferred, and an hour passes in a
    moment. What decides which requests are made is the code that reads files.

    Args:
        path: a recording that :func:`sapwood.trace` made.
        policies: names (``default``, ``unmerged``, ``gap-64k``, ``gap-1M``, ``shallow``, ``blocks``,
            ``replicas``) or settings such as ``"gap=64k,ahead=4"``: ``gap``, ``request``, ``window``,
            ``block`` (bytes), ``ranges``, ``concurrency``, ``ahead`` and ``sources`` (numbers).
        line: the way to all servers; by default as the recording tells, where it tells it.
        servers: the way to some of them, by ``host:port``.
        replicas: the ways to further places of each file, for policies that read from several at once. By
            default there is one more place, as far as the first.
        source: the URL of the only file of the job, or new URLs by recorded ones: these are really read.

    Returns:
        The cost by each policy, in the order given.

    Raises:
        sapwood.errors.UsageError: for a policy or a line that makes no sense.
    """
    told = summary(path)
    lines = None if source is not None else _lines(told["links"], line or Line(), servers or {})
    urls = _urls(told, source)
    further = [_figures(own, Line(), {}) for own in replicas]
    with core_errors():
        costs = [_core.replay_job(os.fspath(path), policy, lines, urls, further) for policy in policies]
    return [_replay(json.loads(cost)) for cost in costs]


def _replay(cost: dict[str, Any]) -> Replay:
    return Replay(**cost)


def _lines(
    links: Mapping[str, Mapping[str, float]], line: Line, servers: Mapping[str, Line]
) -> dict[str, tuple[float, int, float, int | None]]:
    """The line of each server: as given, else as for all, else as recorded, else 100 ms and 1 Gbit/s."""

    return {
        server: _figures(servers.get(server, line), line, links.get(server, {}))
        for server in {"", *links, *servers}
    }


def _figures(own: Line, line: Line, link: Mapping[str, float]) -> tuple[float, int, float, int | None]:
    times = [one for one in (own.rtt, line.rtt, link.get("rtt"), 0.1) if one is not None]
    rates = [one for one in (own.bandwidth, line.bandwidth, link.get("bandwidth"), 125e6) if one is not None]
    return times[0], int(rates[0]), own.request_cost, own.concurrency


def _urls(told: Mapping[str, list[dict[str, list[dict[str, str]]]]], source: object) -> dict[str, str]:
    if isinstance(source, Mapping):
        return dict(source)
    recorded = {file["url"] for process in told["processes"] for file in process["files"]}
    return dict.fromkeys(recorded, source) if isinstance(source, str) else {}
