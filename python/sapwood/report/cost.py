"""What reading a file cost (:class:`ReadReport`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..display.printable import printable, shows_printable
from ..display.units import human_bytes
from ..errors.log import SourceEvent, log_lines
from ..options.outputs import check_picture
from ..options.whole_file import write_whole
from .lazy_use import LazyUse
from .requests import FetchedRequest, requests_of
from .requests import as_json as request_as_json
from .sources import FAILURES, SourceUse, as_json, events_by_server
from .timeline import document


class FetchedRange(NamedTuple):
    """A byte range that was fetched. Times are seconds since opening began."""

    asked: float
    answered: float
    offset: int
    nbytes: int
    request: int
    """Ranges that were asked for together have the same number."""
    server: str | None
    """``host:port``; None if there is no server."""


@dataclass(frozen=True, repr=False)
class ReadReport:
    """What reading a file has cost since it was opened. Reports of several files add up: ``sum(reports)``.

    Attributes:
        file_path: path or URL, without secrets; of several files, how many they are.
        requests: messages to the server, or calls to the operating system.
        ranges: byte ranges asked for in them.
        retries: times that something failed and was asked for again.
        round_trips: times that a request had to wait for the answer to another.
        wanted_bytes: bytes that were needed.
        fetched_bytes: bytes that were read.
        overread_bytes: bytes that were read and not needed: the price of fewer requests.
        duplicated_bytes: bytes that were asked of one server because another was slow with them.
        probe_bytes: bytes that were read only to know what a server can do that is not used.
        block_bytes: bytes that were read from blocks on the local disk: see ``lazy_download`` and ``cache``.
        unplanned_reads: reads that went around the planner; always 0.
        skipped_bytes: bytes of baskets that a cut or an entry list saved: no wanted entry lies in them.
        excluded_entries: entries that were not read because, by what a dataset knows of its stripes, no value
            of theirs can pass the cut.
        excluded_clusters: whole clusters (of a dataset: batches) of such entries.
        baskets: baskets decoded.
        decompressed_bytes: bytes after decompression.
        wait_seconds: time that readers waited for data, all of them together.
        decompress_seconds: time in decompression, all threads together.
        decode_seconds: time in making values of what was decompressed, all threads together.
        size: bytes of the file.
        opened: when opening began, in seconds of a clock that all reports of a process share.
        timeline: the ranges that were fetched; of several files, see ``files``.
        files: the reports that were added; none for a report of one file.
        lazy: what each lazy reader did: what was asked for, what was there, what was fetched for nothing.
        log: what happened at the sources; of much, the first and the last events. Of several files, see
            ``files``.
    """

    file_path: str
    requests: int
    ranges: int
    round_trips: int
    wanted_bytes: int
    fetched_bytes: int
    overread_bytes: int
    unplanned_reads: int
    baskets: int
    decompressed_bytes: int
    wait_seconds: float
    decompress_seconds: float
    decode_seconds: float
    skipped_bytes: int = 0
    excluded_entries: int = 0
    excluded_clusters: int = 0
    block_bytes: int = 0
    duplicated_bytes: int = 0
    probe_bytes: int = 0
    size: int = 0
    opened: float = 0.0
    retries: int = 0
    timeline: tuple[FetchedRange, ...] = ()
    files: tuple[ReadReport, ...] = ()
    lazy: tuple[LazyUse, ...] = ()
    log: tuple[SourceEvent, ...] = ()

    @classmethod
    def from_counters(
        cls,
        file_path: str,
        counters: Mapping[str, int],
        *,
        size: int = 0,
        opened: float = 0.0,
        timeline: Iterable[tuple[float, float, int, int, int, str | None]] = (),
        lazy: Iterable[LazyUse] = (),
        log: Iterable[tuple[float, str | None, str, str, int]] = (),
    ) -> ReadReport:
        """The report of the core's counters, and of its trace."""
        fetched = tuple(FetchedRange(*one) for one in timeline)
        return cls(
            file_path=file_path,
            size=size,
            opened=opened,
            timeline=fetched,
            lazy=tuple(lazy),
            log=tuple(SourceEvent(*event) for event in log),
            **counted(counters),
        )

    def __add__(self, other: ReadReport) -> ReadReport:
        """Both files as one. Time that they waited at once counts for each."""
        if not isinstance(other, ReadReport):
            return NotImplemented
        files = (*self.by_file, *other.by_file)
        added = [*_WHOLE, *(f"{name}_seconds" for name in _TIMES), "size"]
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in added}
        return ReadReport(
            file_path=f"{len(files)} files",
            opened=min(self.opened, other.opened),
            files=files,
            lazy=(*self.lazy, *other.lazy),
            **sums,
        )

    def __radd__(self, other: int) -> ReadReport:
        """``sum`` begins at 0."""
        return self if other == 0 else NotImplemented

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Reports that were pickled by earlier versions have other names for some numbers.
        self.__dict__.update((_NAMES_BEFORE.get(name, name), value) for name, value in state.items())

    @property
    def turnarounds(self) -> int:
        """The same as ``round_trips``, by the name that it had before."""
        return self.round_trips

    @property
    def story(self) -> tuple[SourceEvent, ...]:
        """The same as ``log``, by the name that it had before."""
        return self.log

    @property
    def by_file(self) -> tuple[ReadReport, ...]:
        """The reports of the single files."""
        return self.files or (self,)

    @property
    def sources(self) -> list[SourceUse]:
        """What each server sent and did, in the order in which they were met.

        What came from no server is told of as that of ``local``.
        """
        servers: dict[str, list[FetchedRequest]] = {}
        for request in requests_of(self):
            servers.setdefault(request.server, []).append(request)
        happened = events_by_server(event for one in self.by_file for event in one.log)
        names = [*servers, *(name for name in happened if name not in servers)]
        return [_use(name, servers.get(name, ()), happened.get(name, {})) for name in names]

    @property
    def by_server(self) -> dict[str, SourceUse]:
        """Those of the ``sources`` that sent something, by their names."""
        return {use.server: use for use in self.sources if use.requests}

    @property
    def elapsed_seconds(self) -> float:
        """Time from the opening of the first file to the last answer."""
        return max((stop for _, stop in self._in_flight()), default=0.0)

    @property
    def idle_seconds(self) -> float:
        """The part of ``elapsed_seconds`` in which no request was in flight."""
        return max(0.0, self.elapsed_seconds - sum(stop - start for start, stop in self._in_flight()))

    def idle_spans(self) -> list[tuple[float, float]]:
        """From when to when no request was in flight, in seconds since the first file was opened."""
        edges = [0.0, *(edge for span in self._in_flight() for edge in span)]
        return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=False) if stop > start]

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, fit for JSON; also by server and, if there are several, by file."""
        numbers: dict[str, Any] = {"file_path": self.file_path, **self._numbers()}
        numbers["servers"] = {use.server: as_json(use) for use in self.sources}
        if self.log:
            numbers["log"] = [event.to_dict() for event in self.log]
        if self.lazy:
            numbers["lazy"] = [use.to_dict() for use in self.lazy]
        if self.files:
            numbers["files"] = [report.to_dict() for report in self.files]
        return numbers

    def to_json(self, indent: int | None = None) -> str:
        """The numbers and the timeline as a JSON document."""
        document = {**self.to_dict(), "timeline": [request_as_json(one) for one in requests_of(self)]}
        return json.dumps(document, indent=indent, allow_nan=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Draws the requests over time as SVG: offset in the file upwards, a colour for each server.

        Args:
            path: a local path that ends with ".svg".
            overwrite: whether an existing file is replaced.

        Raises:
            UsageError: if the name does not end with ".svg", or the file exists without ``overwrite``.
        """
        place = check_picture(path, [one.file_path for one in self.by_file], overwrite)
        write_whole(place, document(self), overwrite=overwrite)

    def __str__(self) -> str:
        return "\n".join(map(printable, self._lines()))

    @shows_printable
    def __repr__(self) -> str:
        return (
            f"<ReadReport {self.file_path!r}: {_count(self.requests, 'request')}, "
            f"{_count(self.round_trips, 'round trip')}, {human_bytes(self.fetched_bytes)} read for "
            f"{human_bytes(self.wanted_bytes)}, {self.wait_seconds:.3g} s waiting>"
        )

    def _numbers(self) -> dict[str, int | float]:
        names = (*_WHOLE, *(f"{name}_seconds" for name in (*_TIMES, "idle", "elapsed")))
        return {name: getattr(self, name) for name in names}

    def _lines(self) -> Iterator[str]:
        yield self.file_path
        for name, value in self._numbers().items():
            number = f"{value:,}" if isinstance(value, int) else f"{value:,.{3 if value >= 1 else 6}f}"
            yield f"  {name.replace('_', ' '):<19} {number:>15}"
        for use in self.sources:
            sent = _sent(use.requests, use.ranges, use.fetched_bytes)
            happened = "".join(
                f", {name} {count} times" for name, count in use.events.items() if name in FAILURES
            )
            yield f"  from {use.server}: {sent}{happened}"
        if any(event.event in FAILURES for event in self.log):
            yield from (f"  {line}" for line in log_lines(self.log))
        for reader in self.lazy:
            yield from (f"  {line}" for line in reader.lines())
        for report in self.files:
            yield f"  of {report.file_path}: {_sent(report.requests, report.ranges, report.fetched_bytes)}"

    def _in_flight(self) -> list[tuple[float, float]]:
        return _union((one.asked, one.answered) for one in requests_of(self))


def counted(counters: Mapping[str, int]) -> dict[str, Any]:
    """The numbers of the core's counters, by the names that they have in reports; times in seconds."""
    times = {f"{name}_seconds": counters.get(f"{name}_ns", 0) / 1e9 for name in _TIMES}
    whole = {name: counters.get(name, 0) for name in _WHOLE}
    return whole | {"round_trips": counters.get("round_trips", counters.get("turnarounds", 0))} | times


def _use(server: str, requests: Sequence[FetchedRequest], events: dict[str, int]) -> SourceUse:
    sizes = [[nbytes for _, nbytes in request.ranges] for request in requests]
    busy = _union((request.asked, request.answered) for request in requests)
    return SourceUse.of(server, sizes, sum(stop - start for start, stop in busy), events)


def _union(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans of time, those that overlap as one."""
    joined: list[tuple[float, float]] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _sent(requests: int, ranges: int, nbytes: int) -> str:
    return f"{_count(requests, 'request')}, {_count(ranges, 'range')}, {human_bytes(nbytes)}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


_WHOLE = (
    "requests",
    "ranges",
    "retries",
    "round_trips",
    "wanted_bytes",
    "fetched_bytes",
    "overread_bytes",
    "duplicated_bytes",
    "probe_bytes",
    "block_bytes",
    "unplanned_reads",
    "skipped_bytes",
    "excluded_entries",
    "excluded_clusters",
    "baskets",
    "decompressed_bytes",
)
_TIMES = ("wait", "decompress", "decode")
_NAMES_BEFORE = {"turnarounds": "round_trips", "story": "log"}
