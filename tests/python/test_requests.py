"""Requests, ranges and round trips of access patterns, counted in front of real servers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
import request_counts
from request_counts import CLUSTERS, COLUMNS, Bench, Counts

FIVE, TWENTY = 5 * CLUSTERS, 20 * CLUSTERS
"""The numbers of baskets of five and of twenty columns."""

# Most requests, ranges and round trips by pattern, for each protocol in the order of PROTOCOLS. Three of the
# round trips over root:// are protocol, login and open; connecting (TCP) is one more everywhere.
MOST = {
    "open": [(6, 2, 4), (4, 6, 1), (4, 6, 1), (2, 2, 1)],
    "5 columns, arrays()": [
        (8, 2 + FIVE, 5),
        (5, 6 + FIVE, 2),
        (4 + FIVE, 6 + FIVE, 2),
        (2 + FIVE, 2 + FIVE, 2),
    ],
    "5 columns, one array() each": [
        (16, 2 + FIVE, 9),
        (9, 6 + FIVE, 6),
        (4 + FIVE, 6 + FIVE, 6),
        (2 + FIVE, 2 + FIVE, 6),
    ],
    "5 columns, iterate in 10 steps": [
        (26, 2 + FIVE, 10),
        (14, 6 + FIVE, 7),
        (4 + FIVE, 6 + FIVE, 7),
        (2 + FIVE, 2 + FIVE, 7),
    ],
    "20 columns x 4 chunks, one array() each": [
        (166, 2 + TWENTY, 84),
        (84, 6 + TWENTY, 81),
        (4 + TWENTY, 6 + TWENTY, 81),
        (2 + TWENTY, 2 + TWENTY, 81),
    ],
    "5 columns of 4 files, concatenate()": [
        (29, 4 * (2 + FIVE), 8),
        (20, 4 * (6 + FIVE), 5),
        (4 * (4 + FIVE), 4 * (6 + FIVE), 5),
        (4 * (2 + FIVE), 4 * (2 + FIVE), 5),
    ],
}
# Requests that only make a connection; more for an object store that is far away, which is many machines.
SPARES = {"root": 0, "http, several ranges": 16, "http, one range": 16, "s3": 80}
CASES = [
    (pattern, protocol, most)
    for pattern, all_most in MOST.items()
    for protocol, most in zip(request_counts.PROTOCOLS, all_most, strict=True)
]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    pytest.importorskip("uproot")
    with contextlib.ExitStack() as stack:
        yield Bench(stack)


def counts(bench: Bench, protocol: str, pattern: str) -> Counts:
    if (lack := request_counts.missing(protocol)) is not None:
        pytest.skip(f"{protocol} is not counted: {lack}")
    return bench.counts(protocol, pattern)


def test_all_patterns_are_counted() -> None:
    assert list(MOST) == list(request_counts.PATTERNS)
    assert COLUMNS > 20


@pytest.mark.parametrize(("pattern", "protocol", "most"), CASES, ids=[f"{c[1]}: {c[0]}" for c in CASES])
def test_no_pattern_asks_for_more(
    bench: Bench, pattern: str, protocol: str, most: tuple[int, int, int]
) -> None:
    counted = counts(bench, protocol, pattern)
    requests, ranges, round_trips = most
    assert counted.round_trips <= round_trips, counted
    assert counted.requests <= requests, counted
    assert counted.ranges <= ranges, counted
    # However many files there are: connections are made ahead once a minute.
    assert counted.spares <= SPARES[protocol], counted


def test_over_root_nothing_is_asked_twice(bench: Bench) -> None:
    kinds = counts(bench, "root", "5 columns, arrays()").kinds
    # With each vector read the server is asked whether the file is still the same, at no round trip.
    assert kinds == {"protocol": 1, "login": 1, "open": 1, "query": 1, "readv": 2, "stat": 2}
    assert counts(bench, "root", "5 columns of 4 files, concatenate()").kinds["open"] == 4


def test_from_nothing_to_arrays_over_root_takes_six_round_trips(bench: Bench) -> None:
    counted = counts(bench, "root", "5 columns, arrays()")
    assert counted.connections == 1
    assert counted.round_trips + counted.connections == 6
