"""The cost of reading a file (:class:`ReadReport`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..display.notebook import notebook_table
from ..display.printable import printable, shows_printable
from ..display.units import counted, human_bytes
from ..errors.log import SourceEvent, log_lines
from ..options.outputs import check_picture
from ..options.whole_file import write_whole
from .columns import ColumnCost, summed
from .columns import lines as column_lines
from .lazy_use import LazyUse
from .requests import FetchedRequest, requests_of
from .requests import as_json as request_as_json
from .sources import FAILURES, Messages, SourceUse, as_json, events_by_server, with_events, with_messages
from .timeline import document


class FetchedRange(NamedTuple):
    """A byte range that was fetched. Times are in seconds since opening began."""

    asked: float
    """When the request was sent."""
    answered: float
    """When the answer arrived."""
    offset: int
    """Offset in the file, in bytes."""
    nbytes: int
    """Length in bytes."""
    request: int
    """Number of the request; ranges of the same request have the same number."""
    server: str | None
    """``host:port``; None without a server."""


@dataclass(frozen=True, repr=False)
class ReadReport:
    """The cost of reading a file since it was opened. To combine the reports of several files, add them up
    with ``sum(reports)``.

    Attributes:
        file_path: path or URL, without passwords, tokens and query values; for several files, their number.
        requests: number of messages to all servers, also those of opening and those that were repeated; and
            of reads of local files. It is the sum over ``sources``.
        ranges: number of byte ranges in these requests.
        retries: number of times that a failed request was repeated.
        round_trips: number of waits for a server, one after the other: requests that were sent together wait
            once. 0 for local files.
        wanted_bytes: bytes of the baskets and records that were requested.
        fetched_bytes: bytes that were read.
        overread_bytes: bytes that were read but not needed: gaps between wanted ranges, which save
            requests, and the head and tail of the file that opening reads, except wanted baskets in them.
        duplicated_bytes: bytes that were requested from a second server because the first was slow.
        probe_bytes: bytes that were read only to test what a server supports.
        block_bytes: bytes that were read from blocks on the local disk: see ``lazy_download`` and ``cache``.
        cached_columns: number of columns, or of parts of them, that came decoded from a cache: see
            ``cache_form``.
        cached_column_bytes: their bytes.
        unplanned_reads: number of reads that bypassed the planner; always 0.
        skipped_bytes: bytes of baskets that were not read because a cut or an entry list selects none of
            their entries.
        excluded_entries: number of entries that were not read because the statistics of a dataset's stripes
            show that they cannot pass the cut.
        excluded_clusters: number of whole clusters of such entries (batches, in a dataset).
        baskets: number of baskets that were decoded.
        decompressed_bytes: bytes after decompression; without those of cached columns.
        wait_seconds: time that readers waited for data, summed over all readers.
        decompress_seconds: time spent in decompression, summed over all threads.
        decode_seconds: time spent in decoding decompressed bytes into values, summed over all threads.
        size: size of the file in bytes.
        opened: when opening began, in seconds on a clock that all reports of a process share.
        timeline: the ranges that were fetched; for several files, see ``files``.
        files: the reports that were added; empty for one file.
        columns: the cost of each column that was read, in the order of trees and names; of several files, the
            sums.
        lazy: statistics of each lazy reader: hits, misses, fetches and unused bytes.
        log: the events at the sources; of a long log, the first and last events. For several files, see
            ``files``.
        messages: the requests to each server and the ranges in them; the server is None for local files. For
            several files, see ``files``.
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
    cached_columns: int = 0
    cached_column_bytes: int = 0
    duplicated_bytes: int = 0
    probe_bytes: int = 0
    size: int = 0
    opened: float = 0.0
    retries: int = 0
    timeline: tuple[FetchedRange, ...] = ()
    files: tuple[ReadReport, ...] = ()
    columns: tuple[ColumnCost, ...] = ()
    lazy: tuple[LazyUse, ...] = ()
    log: tuple[SourceEvent, ...] = ()
    messages: tuple[Messages, ...] = ()

    @classmethod
    def from_counters(
        cls,
        file_path: str,
        counters: Mapping[str, int],
        *,
        size: int = 0,
        opened: float = 0.0,
        timeline: Iterable[tuple[float, float, int, int, int, str | None]] = (),
        columns: Iterable[tuple[str, str, Mapping[str, int]]] = (),
        lazy: Iterable[LazyUse] = (),
        log: Iterable[tuple[float, str | None, str, str, int]] = (),
        messages: Iterable[Messages] = (),
    ) -> ReadReport:
        """The report for the core's counters and trace."""
        fetched = tuple(FetchedRange(*one) for one in timeline)
        return cls(
            file_path=file_path,
            size=size,
            opened=opened,
            timeline=fetched,
            columns=summed(ColumnCost.from_core(*column) for column in columns),
            lazy=tuple(lazy),
            log=tuple(SourceEvent(*event) for event in log),
            messages=tuple(messages),
            **counter_values(counters),
        )

    def __add__(self, other: ReadReport) -> ReadReport:
        """The sum of both reports. Time that both waited counts twice."""
        if not isinstance(other, ReadReport):
            return NotImplemented
        files = (*self.by_file, *other.by_file)
        added = [*_WHOLE, *(f"{name}_seconds" for name in _TIMES), "size"]
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in added}
        return ReadReport(
            file_path=f"{len(files)} files",
            opened=min(self.opened, other.opened),
            files=files,
            columns=summed((*self.columns, *other.columns)),
            lazy=(*self.lazy, *other.lazy),
            **sums,
        )

    def __radd__(self, other: int) -> ReadReport:
        """``sum`` starts at 0."""
        return self if other == 0 else NotImplemented

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Earlier versions pickled some attributes under other names.
        self.__dict__.update((_FORMER_NAMES.get(name, name), value) for name, value in state.items())

    @property
    def turnarounds(self) -> int:
        """The former name of ``round_trips``."""
        return self.round_trips

    @property
    def story(self) -> tuple[SourceEvent, ...]:
        """The former name of ``log``."""
        return self.log

    @property
    def by_file(self) -> tuple[ReadReport, ...]:
        """One report per file."""
        return self.files or (self,)

    @property
    def sources(self) -> list[SourceUse]:
        """The traffic and events of each server, in order of first use; local files count as "local"."""
        servers: dict[str, list[FetchedRequest]] = {}
        for request in requests_of(self):
            servers.setdefault(request.server, []).append(request)
        messages = [sent for one in self.by_file for sent in one.messages]
        uses = with_messages((_use(name, requests) for name, requests in servers.items()), messages)
        events = events_by_server(event for one in self.by_file for event in one.log)
        return with_events({use.server: use for use in uses}, events)

    @property
    def by_server(self) -> dict[str, SourceUse]:
        """The ``sources`` that sent bytes, by name."""
        return {use.server: use for use in self.sources if use.reads}

    @property
    def elapsed_seconds(self) -> float:
        """Time from the opening of the first file to the last answer, in seconds."""
        return max((stop for _, stop in self._in_flight()), default=0.0)

    @property
    def idle_seconds(self) -> float:
        """The part of ``elapsed_seconds`` in which no request was in flight."""
        return max(0.0, self.elapsed_seconds - sum(stop - start for start, stop in self._in_flight()))

    def idle_spans(self) -> list[tuple[float, float]]:
        """The times (start, stop) without a request in flight, in seconds since the first file was opened."""
        edges = [0.0, *(edge for span in self._in_flight() for edge in span)]
        return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=False) if stop > start]

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name, fit for JSON; also by server and, for several files, by file."""
        numbers: dict[str, Any] = {"file_path": self.file_path, **self._numbers()}
        numbers["servers"] = {use.server: as_json(use) for use in self.sources}
        if self.log:
            numbers["log"] = [event.to_dict() for event in self.log]
        if self.columns:
            numbers["columns"] = [column.to_dict() for column in self.columns]
        if self.lazy:
            numbers["lazy"] = [use.to_dict() for use in self.lazy]
        if self.files:
            numbers["files"] = [report.to_dict() for report in self.files]
        return numbers

    def to_json(self, indent: int | None = None) -> str:
        """All numbers and the timeline as a JSON document."""
        document = {**self.to_dict(), "timeline": [request_as_json(one) for one in requests_of(self)]}
        return json.dumps(document, indent=indent, allow_nan=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Draws the requests over time as SVG: offsets on the vertical axis, and a color for each server.

        Args:
            path: a local path that ends with ".svg".
            overwrite: whether to replace an existing file.

        Raises:
            UsageError: if the name does not end with ".svg", or the file exists and ``overwrite`` is False.
        """
        target = check_picture(path, [one.file_path for one in self.by_file], overwrite)
        write_whole(target, document(self), overwrite=overwrite)

    def __str__(self) -> str:
        return "\n".join(map(printable, self._lines()))

    @shows_printable
    def __repr__(self) -> str:
        return (
            f"<ReadReport {self.file_path!r}: {counted(self.requests, 'request')}, "
            f"{counted(self.round_trips, 'round trip')}, {human_bytes(self.fetched_bytes)} read for "
            f"{human_bytes(self.wanted_bytes)}, {self.wait_seconds:.3g} s waiting>"
        )

    def _repr_html_(self) -> str:
        rows = [(name.replace("_", " "), _shown(value)) for name, value in self._numbers().items()]
        rest = [line.strip() for line in self._lines() if line.startswith(("  from ", "  in "))]
        return notebook_table(
            f"Cost of reading {self.file_path}", ["measure", "value"], rows, "; ".join(rest)
        )

    def _numbers(self) -> dict[str, int | float]:
        names = (*_WHOLE, *(f"{name}_seconds" for name in (*_TIMES, "idle", "elapsed")))
        return {name: getattr(self, name) for name in names}

    def _lines(self) -> Iterator[str]:
        yield self.file_path
        for name, value in self._numbers().items():
            yield f"  {name.replace('_', ' '):<19} {_shown(value):>15}"
        for use in self.sources:
            traffic = _traffic(use.requests, use.ranges, use.fetched_bytes)
            failures = "".join(
                f", {name} {counted(count, 'time')}" for name, count in use.events.items() if name in FAILURES
            )
            yield f"  from {use.server}: {traffic}{failures}"
        if any(event.event in FAILURES for event in self.log):
            yield from (f"  {line}" for line in log_lines(self.log))
        yield from (f"  {line}" for line in column_lines(self.columns))
        for reader in self.lazy:
            yield from (f"  {line}" for line in reader.lines())
        for report in self.files:
            yield f"  in {report.file_path}: {_traffic(report.requests, report.ranges, report.fetched_bytes)}"

    def _in_flight(self) -> list[tuple[float, float]]:
        return _union((one.asked, one.answered) for one in requests_of(self))


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{3 if value >= 1 else 6}f}"


def counter_values(counters: Mapping[str, int]) -> dict[str, Any]:
    """The values of the core's counters by their names in reports, with times in seconds."""
    times = {f"{name}_seconds": counters.get(f"{name}_ns", 0) / 1e9 for name in _TIMES}
    whole = {name: counters.get(name, 0) for name in _WHOLE}
    whole["overread_bytes"] = _overread(whole)
    return whole | {"round_trips": counters.get("round_trips", counters.get("turnarounds", 0))} | times


def _overread(counts: Mapping[str, int]) -> int:
    """The bytes that were not needed, of those that the source sent.

    The core counts only gaps, because it does not know at opening what will be wanted.
    """
    unused = counts["duplicated_bytes"] + counts["probe_bytes"]
    sent = counts["fetched_bytes"] + counts["block_bytes"] - unused
    return max(counts["overread_bytes"], sent - counts["wanted_bytes"])


def _use(server: str, requests: Sequence[FetchedRequest]) -> SourceUse:
    sizes = [[nbytes for _, nbytes in request.ranges] for request in requests]
    busy = _union((request.asked, request.answered) for request in requests)
    return SourceUse.of(server, sizes, sum(stop - start for start, stop in busy), {})


def _union(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans of time in order; overlapping spans are merged."""
    joined: list[tuple[float, float]] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _traffic(requests: int, ranges: int, nbytes: int) -> str:
    return f"{counted(requests, 'request')}, {counted(ranges, 'range')}, {human_bytes(nbytes)}"


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
    "cached_columns",
    "cached_column_bytes",
    "unplanned_reads",
    "skipped_bytes",
    "excluded_entries",
    "excluded_clusters",
    "baskets",
    "decompressed_bytes",
)
_TIMES = ("wait", "decompress", "decode")
_FORMER_NAMES = {"turnarounds": "round_trips", "story": "log"}
