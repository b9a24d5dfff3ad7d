"""Replays a recorded job: the cost of its reads over another link, or with another policy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors.core import core_errors
from ..options.reading import open_options
from .tracing import summary

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import ReplayKeywords

PRESETS = ("default", "unmerged", "gap-64k", "gap-1M", "shallow", "blocks", "replicas")
"""The policies that have names."""


@dataclass(frozen=True)
class Link:
    """A model of the link to a server. Values that are None come from the recording."""

    rtt: float | None = None
    """The round-trip time of a small request, in seconds."""
    bandwidth: float | None = None
    """Bytes per second, for all requests together."""
    request_cost: float = 0.0
    """Seconds that the server takes for each request."""
    concurrency: int | None = None
    """Number of requests that the server answers at the same time; None for any number."""


Line = Link
"""The former name of :class:`Link`."""


@dataclass(frozen=True)
class Replay:
    """The cost of a job with one policy."""

    policy: str
    seconds: float
    """Time from the start of the first process to the end of the last."""
    waited: float
    """Seconds that threads waited for bytes, summed over all threads."""
    requests: int
    round_trips: int
    bytes: int
    """Bytes that were fetched."""
    wanted: int
    """Bytes that were requested, without those needed for opening files."""
    overread: int
    """Bytes that were fetched but not requested, in order to send fewer requests."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Earlier versions pickled an attribute under another name.
        former_names = {"turnarounds": "round_trips"}
        self.__dict__.update((former_names.get(name, name), value) for name, value in state.items())

    @property
    def turnarounds(self) -> int:
        """The former name of ``round_trips``."""
        return self.round_trips


def replay(
    path: str | os.PathLike[str],
    policies: Iterable[str] = ("default",),
    *,
    link: Link | None = None,
    servers: Mapping[str, Link] | None = None,
    replicas: Iterable[Link] = (),
    source: str | Mapping[str, str] | None = None,
    line: Link | None = None,
    deadline: float | None = None,
    **options: Unpack[ReplayKeywords],
) -> list[Replay]:
    """Replays a recorded job with each of some policies.

    Without ``source``, it computes the times from a model of the links, and transfers nothing: an hour is
    replayed in a moment. The code that reads files decides which requests to send, as in a real job.

    >>> from sapwood.replaying import Link
    >>> sapwood.replay("job.swt", ["default"], link=Link(rtt=0.15, bandwidth=100e6))     # doctest: +SKIP

    Args:
        path: a recording made by :func:`sapwood.trace`.
        policies: names (``default``, ``unmerged``, ``gap-64k``, ``gap-1M``, ``shallow``, ``blocks``,
            ``replicas``) or settings such as ``"gap=64k,ahead=4"``: ``gap``, ``request``, ``window``,
            ``block`` (bytes), ``ranges``, ``concurrency``, ``ahead`` and ``sources`` (numbers).
        link: the link to all servers. Default: values from the recording, or else 100 ms and 1 Gbit/s.
        servers: the links to single servers, by ``host:port``.
        replicas: the links to additional replicas of each file, for policies that read from several replicas
            at once. Default: one additional replica, with the same link as the first.
        source: the URL of the job's only file, or a mapping from recorded URLs to new URLs. These files are
            really read.
        line: the former name of ``link``.
        deadline: seconds that opening the source, or one step of reading it, may take. Default: an hour.
        options: those of :func:`sapwood.open` that say how to reach the source: ``headers``, ``endpoint``,
            ``profile``, ``read_timeout`` and others. Policies decide about replicas and blocks.

    Returns:
        The cost with each policy, in the given order.

    Raises:
        UsageError: if a policy, a link or an option is invalid.
    """
    recording = summary(path)
    default = link or line or Link()
    links = None if source is not None else _links(recording["links"], default, servers or {})
    urls = _urls(recording, source)
    replica_links = [_figures(replica, Link(), {}) for replica in replicas]
    opened = open_options(deadline, None, options, replay)
    reached = opened.for_core()
    with core_errors():
        costs = [
            _core.replay_job(
                os.fspath(path), policy, links, urls, replica_links, deadline=opened.deadline, options=reached
            )
            for policy in policies
        ]
    return [Replay(**json.loads(cost)) for cost in costs]


def _links(
    recorded: Mapping[str, Mapping[str, float]], default: Link, servers: Mapping[str, Link]
) -> dict[str, tuple[float, int, float, int | None]]:
    """The link to each server; the empty name stands for servers that are not listed."""
    return {
        server: _figures(servers.get(server, default), default, recorded.get(server, {}))
        for server in {"", *recorded, *servers}
    }


def _figures(
    link: Link, default: Link, recorded: Mapping[str, float]
) -> tuple[float, int, float, int | None]:
    """The figures of a link, else of the default, else of the recording, else 100 ms and 1 Gbit/s."""
    times = (link.rtt, default.rtt, recorded.get("rtt"), 0.1)
    rates = (link.bandwidth, default.bandwidth, recorded.get("bandwidth"), 125e6)
    rtt, bandwidth = (next(value for value in values if value is not None) for values in (times, rates))
    return rtt, int(bandwidth), link.request_cost, link.concurrency


def _urls(recording: Mapping[str, list[dict[str, list[dict[str, str]]]]], source: object) -> dict[str, str]:
    if isinstance(source, Mapping):
        return dict(source)
    recorded = {file["url"] for process in recording["processes"] for file in process["files"]}
    return dict.fromkeys(recorded, source) if isinstance(source, str) else {}
