"""The traffic and events of each source of a file (:class:`SourceUse`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from ..errors.log import SourceEvent

if TYPE_CHECKING:
    from .. import _core

LOCAL = "local"
"""The name of the source where there is no server."""


@dataclass(frozen=True)
class SourceUse:
    """The traffic and events of one server, for one file or several.

    Attributes:
        server: ``host:port``; "local" without a server.
        requests: number of messages to it, also those that brought no bytes of the file: opening, probes,
            redirects, failures. Over all sources, they add up to the requests of the report.
        ranges: number of byte ranges in these requests.
        fetched_bytes: bytes of the file that it sent, without what separates several ranges in one answer.
        busy_seconds: time with at least one request to it in flight, in seconds.
        single_reads: number of reads of one range that it answered; opening counts as one read, and one read
            may take several requests.
        single_bytes: bytes of these reads.
        single_squares: sum of the squares of their bytes.
        vector_reads: number of reads of several ranges.
        vector_bytes: bytes of these reads.
        vector_squares: sum of the squares of their bytes.
        vector_ranges: number of ranges in these reads.
        vector_range_squares: sum of the squares of their numbers of ranges.
        events: number of events by kind: see :class:`~sapwood.report.SourceEvent`.
    """

    server: str
    requests: int = 0
    ranges: int = 0
    fetched_bytes: int = 0
    busy_seconds: float = 0.0
    single_reads: int = 0
    single_bytes: int = 0
    single_squares: int = 0
    vector_reads: int = 0
    vector_bytes: int = 0
    vector_squares: int = 0
    vector_ranges: int = 0
    vector_range_squares: int = 0
    events: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, server: str, requests: Sequence[Sequence[int]], busy_seconds: float, events: dict[str, int]
    ) -> SourceUse:
        """The sums over reads, each by one request; a read is given by the lengths of its ranges in bytes."""
        single = [sum(request) for request in requests if len(request) == 1]
        several = [request for request in requests if len(request) != 1]
        vector = [sum(request) for request in several]
        return cls(
            server=server,
            requests=len(requests),
            ranges=sum(map(len, requests)),
            fetched_bytes=sum(single) + sum(vector),
            busy_seconds=busy_seconds,
            single_reads=len(single),
            single_bytes=sum(single),
            single_squares=_squares(single),
            vector_reads=len(vector),
            vector_bytes=sum(vector),
            vector_squares=_squares(vector),
            vector_ranges=sum(map(len, several)),
            vector_range_squares=_squares(map(len, several)),
            events=events,
        )

    @property
    def reads(self) -> int:
        """Number of reads that it answered."""
        return self.single_reads + self.vector_reads

    @property
    def failures(self) -> int:
        """Number of events that are failures: see ``FAILURES``."""
        return sum(self.events.get(name, 0) for name in FAILURES)

    def since(self, before: SourceUse | None) -> SourceUse:
        """The difference to ``before``, an earlier state of the same source."""
        if before is None:
            return self
        sums = {name: getattr(self, name) - getattr(before, name) for name in _SUMS}
        events = {name: count - before.events.get(name, 0) for name, count in self.events.items()}
        added = {name: count for name, count in events.items() if count}
        return SourceUse(self.server, **sums, events=added)

    def __add__(self, other: SourceUse) -> SourceUse:
        """The sum of both. Time in which both were busy counts twice."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        events = {
            name: self.events.get(name, 0) + other.events.get(name, 0) for name in self.events | other.events
        }
        return SourceUse(self.server, **sums, events=events)


FAILURES = ("failed", "retried", "left", "refused")
"""The kinds of events that are failures."""

_SUMS = tuple(one.name for one in fields(SourceUse) if one.name not in ("server", "events"))


Messages = tuple[str | None, int, int]
"""The messages to a server, which is None for local files, and the byte ranges in them."""


def with_messages(uses: Iterable[SourceUse], messages: Iterable[Messages]) -> list[SourceUse]:
    """The sources with the messages that were sent to each; servers that answered no read come last."""
    found = {use.server: use for use in uses}
    sums: dict[str, tuple[int, int]] = {}
    for server, requests, ranges in messages:
        name = LOCAL if server is None else server
        before = sums.get(name, (0, 0))
        sums[name] = before[0] + requests, before[1] + ranges
    for name, (requests, ranges) in sums.items():
        found[name] = replace(found.get(name, SourceUse(name)), requests=requests, ranges=ranges)
    return list(found.values())


def events_by_server(log: Iterable[SourceEvent]) -> dict[str, dict[str, int]]:
    """The number of events by server and kind, for events with a known server."""
    counts: dict[str, dict[str, int]] = {}
    for event in log:
        if event.server is not None:
            server = counts.setdefault(event.server, {})
            server[event.event] = server.get(event.event, 0) + event.times
    return counts


def with_events(uses: dict[str, SourceUse], events: dict[str, dict[str, int]]) -> list[SourceUse]:
    """The sources with the number of events at each; servers with nothing but events come last."""
    named = uses | {name: SourceUse(name) for name in events if name not in uses}
    return [replace(use, events=events.get(name, {})) for name, use in named.items()]


def sources_of(core: _core.File, log: Iterable[SourceEvent]) -> list[SourceUse]:
    """The traffic and events of each source of a file, without going through each range as a report does."""
    events = events_by_server(log)
    found: dict[str, SourceUse] = {}
    for name, single, vector, busy_seconds in core.uses():
        server = LOCAL if name is None else name
        found[server] = SourceUse(
            server=server,
            requests=single[0] + vector[0],
            ranges=single[3] + vector[3],
            fetched_bytes=single[1] + vector[1],
            busy_seconds=busy_seconds,
            single_reads=single[0],
            single_bytes=single[1],
            single_squares=single[2],
            vector_reads=vector[0],
            vector_bytes=vector[1],
            vector_squares=vector[2],
            vector_ranges=vector[3],
            vector_range_squares=vector[4],
        )
    uses = {use.server: use for use in with_messages(found.values(), core.messages())}
    return with_events(uses, events)


def _squares(numbers: Iterable[int]) -> int:
    return sum(number * number for number in numbers)


def as_json(use: SourceUse) -> dict[str, Any]:
    """The numbers by name, fit for JSON, without the server."""
    return {name: getattr(use, name) for name in _SUMS} | {"events": dict(use.events)}
