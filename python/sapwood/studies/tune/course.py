"""The course of a measurement: memory and bytes over time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

PERIOD = 0.05
"""Seconds between two samples. A sample takes some 20 microseconds."""
MOST = 60
"""Most samples to keep."""

Sample = list[float]
"""Seconds since the beginning, resident bytes, and decompressed bytes so far."""


def resident_bytes() -> int:
    """The resident memory of this process now; 0 where the operating system does not say."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


@contextmanager
def recorded(progress: Callable[[], int] = lambda: 0) -> Iterator[list[Sample]]:
    """Samples in the background while the block runs, and at both ends; the list is complete after it.

    Args:
        progress: returns the number of decompressed bytes so far.
    """
    samples: list[Sample] = []
    begin, ended = time.perf_counter(), threading.Event()

    def take() -> None:
        samples.append([round(time.perf_counter() - begin, 4), resident_bytes(), progress()])

    def follow() -> None:
        while not ended.wait(PERIOD):
            take()

    take()
    thread = threading.Thread(target=follow, name="sapwood-course", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()
        take()
        samples[:] = thinned(samples)


def thinned(samples: Sequence[Sample]) -> list[Sample]:
    """At most :data:`MOST` of the samples, the first and the last among them.

    >>> [first for first, *_ in thinned([[float(number), 0, 0] for number in range(1000)])][:3]
    [0.0, 17.0, 34.0]
    """
    if len(samples) <= MOST:
        return list(samples)
    step = (len(samples) - 1) / (MOST - 1)
    return [samples[round(number * step)] for number in range(MOST)]


def rates(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Bytes per second between consecutive samples, at the middle of each interval.

    >>> rates([[0.0, 0, 0], [0.5, 0, 100], [1.0, 0, 400]])
    [(0.25, 200.0), (0.75, 600.0)]
    """
    return [
        ((one[0] + other[0]) / 2, (other[2] - one[2]) / (other[0] - one[0]))
        for one, other in pairwise(samples)
        if other[0] > one[0]
    ]
