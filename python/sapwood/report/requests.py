"""The requests in a report: their byte ranges, servers and times."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from .sources import LOCAL

if TYPE_CHECKING:
    from .cost import ReadReport


class FetchedRequest(NamedTuple):
    """A request for ranges of one file. Times are in seconds since the first file was opened."""

    file: int
    """Index of the file in :attr:`ReadReport.by_file`."""
    server: str
    asked: float
    answered: float
    ranges: list[tuple[int, int]]
    """The (offset, length) of each range, in bytes."""


def requests_of(report: ReadReport) -> list[FetchedRequest]:
    """The requests in the timelines of all files, in the order in which they were sent."""
    found: list[FetchedRequest] = []
    for index, one in enumerate(report.by_file):
        shift = one.opened - report.opened
        for _, group in itertools.groupby(one.timeline, key=lambda fetched: fetched.request):
            ranges = list(group)
            asked, answered, *_, server = ranges[0]
            spans = [(fetched.offset, fetched.nbytes) for fetched in ranges]
            found.append(FetchedRequest(index, server or LOCAL, asked + shift, answered + shift, spans))
    return sorted(found, key=lambda request: request.asked)


def as_json(request: FetchedRequest) -> dict[str, Any]:
    """The request, fit for JSON."""
    return {**request._asdict(), "ranges": [list(one) for one in request.ranges]}
