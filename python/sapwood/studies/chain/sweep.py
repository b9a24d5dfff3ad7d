"""Chains at many points, each run in a separate process."""

from __future__ import annotations

import itertools
import os
import secrets
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ...errors import UsageError
from ...options.memory import memory_size
from ...options.paths import is_url
from ...options.reading import open_options
from ..process import MeasurementError, run_module
from ..report import machine, save_report
from .page import page
from .running import EMPTY, Chain, ChainReport, check_place

_DEADLINE = 3600.0
"""Seconds that one run may take."""


@dataclass(frozen=True)
class ChainPoint:
    """One setting of a sweep: a source, an output, and how the chain runs."""

    source: str
    output: str
    chain: Chain
    batch: int
    stripe_size: int
    group: bool
    lanes: int
    threads: int


@dataclass(frozen=True)
class Measurement:
    """A point with its runs, or with the error that prevented them."""

    point: ChainPoint
    runs: tuple[ChainReport, ...] = ()
    error: str = ""

    @property
    def rates(self) -> tuple[float, ...]:
        """Events per second of each run."""
        return tuple(one.events_per_second for one in self.runs)

    @property
    def rate(self) -> float:
        """Events per second: the median of all runs; 0 if there is none."""
        return statistics.median(self.rates) if self.runs else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The measurement, fit for JSON."""
        runs = [asdict(one) | {"events_per_second": one.events_per_second} for one in self.runs]
        return {"point": asdict(self.point), "runs": runs, "error": self.error}


@dataclass(frozen=True)
class Sweep:
    """All measurements of a sweep, with the machine and the date."""

    measurements: tuple[Measurement, ...]
    machine: dict[str, Any] = field(default_factory=dict)
    date: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The sweep, fit for JSON."""
        measurements = [one.to_dict() for one in self.measurements]
        return {"machine": self.machine, "date": self.date, "measurements": measurements}

    def to_html(self) -> str:
        """A page with charts and a table, which needs no network."""
        return page(self)


def measure(
    sources: Sequence[str],
    outputs: Sequence[str] = ("none",),
    *,
    chains: Sequence[Chain] = ("read", "full"),
    batches: Sequence[int] = (144,),
    stripe_sizes: Sequence[int | str] = ("1 MiB",),
    group: Sequence[bool] = (True,),
    lanes: Sequence[int] = (1,),
    threads: Sequence[int] = (1,),
    entries: int | None = None,
    compression: str | None = None,
    repeats: int = 1,
    overwrite: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
    deadline: float | None = None,
    **options: Any,
) -> Sweep:
    """Runs the chain at all points, each run in a separate process.

    The runs are made in rounds, so that other load on the machine affects all points alike. A chain that only
    reads has no output, and is measured once for each source. Datasets are written below the output and stay
    there, each in its own directory: ``0001`` and so on, in a store with a unique prefix. A file contains the
    output of the last run.

    The points are all combinations of sources, outputs, chains, batches, stripe sizes, groups, lanes and
    threads.

    Args:
        sources: as in :func:`sapwood.chain.run`.
        outputs: as in :func:`sapwood.chain.run`.
        chains: ``"read"``, ``"full"``, or both.
        batches: events per batch.
        stripe_sizes: sizes of datasets' objects, in bytes of the source.
        group: whether small products share objects, in datasets.
        lanes: batches that are processed at the same time.
        threads: numbers of threads, which the lanes share.
        entries: the most events to process; by default all.
        compression: as in :func:`sapwood.chain.run`.
        repeats: runs of each point.
        overwrite: whether a file that exists before the first run is replaced.
        tell: called with the number of finished runs and the number of all runs.
        deadline: seconds that one run may take; at most, and by default, an hour.
        options: those of :func:`sapwood.open` that JSON can hold, for sources and outputs.

    Returns:
        A measurement for each point; a failed one contains the error.

    Raises:
        UsageError: an output is a source, or an existing file without ``overwrite``; an option is invalid.
    """
    sizes = [memory_size(size) for size in stripe_sizes]
    every = itertools.product(sources, outputs, chains, batches, sizes, group, lanes, threads)
    points = _distinct(itertools.starmap(ChainPoint, every))
    if not points:
        raise UsageError("there is nothing to measure: give at least one value of each setting")
    open_options(deadline, None, options, measure)
    for output in dict.fromkeys(point.output for point in points):
        check_place(output, [*sources, options.get("replicas")], overwrite, deadline)
    if repeats < 1:
        raise UsageError(f"repeats must be at least 1, not {repeats}")
    runs: dict[ChainPoint, list[ChainReport]] = {point: [] for point in points}
    errors: dict[ChainPoint, str] = {}
    names = _names()
    for done, (_, point) in enumerate(itertools.product(range(repeats), points), 1):
        if point not in errors:
            place = _place(point.output, names)
            # Any existing output was written by this sweep, or may be replaced.
            shared = {"entries": entries, "compression": compression, "overwrite": True, "deadline": deadline}
            task = {**options, **asdict(point), **shared, "output": place}
            try:
                result = run_module("sapwood.studies.chain.child", task, _DEADLINE)
                runs[point].append(ChainReport(**result))
            except MeasurementError as error:
                errors[point] = str(error)
        tell(done, repeats * len(points))
    found = (Measurement(point, tuple(runs[point]), errors.get(point, "")) for point in points)
    return Sweep(tuple(found), machine(max(threads)), time.strftime("%Y-%m-%d %H:%M"))


def save(found: Sweep, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Writes the page, or JSON if the name ends with ".json".

    Args:
        path: a local path.
        overwrite: whether an existing file is replaced.

    Raises:
        UsageError: if the file exists without ``overwrite``, was measured, or has the suffix of another
            format.
    """
    inputs = [place for one in found.measurements for place in (one.point.source, one.point.output)]
    save_report(found, path, inputs, overwrite=overwrite)


def _distinct(points: Iterable[ChainPoint]) -> list[ChainPoint]:
    """The points that differ: outputs and stripe sizes matter only to chains that write them."""
    found: dict[ChainPoint, None] = {}
    first: ChainPoint | None = None
    for point in points:
        first = first or point
        if point.chain == "read" or point.source.startswith(EMPTY):
            point = replace(point, output="none")
        if point.output != "sink" and not is_dataset_output(point.output):
            point = replace(point, stripe_size=first.stripe_size, group=first.group)
        found[point] = None
    return list(found)


def is_dataset_output(output: str) -> bool:
    """Whether an output is the location of a dataset."""
    return output not in ("none", "sink") and not output.endswith((".root", ".pds"))


def _names() -> Iterator[tuple[str, str]]:
    """Names of datasets: in a local directory, and in a store, where no other sweep may use the same."""
    sweep = secrets.token_hex(4)
    for number in itertools.count(1):
        yield f"{number:04}", f"{sweep}-{number:04}"


def _place(output: str, names: Iterator[tuple[str, str]]) -> str:
    """The output of a run; for a dataset, a free name below the output."""
    if not is_dataset_output(output):
        return output
    folder = output.rstrip("/")
    for local, remote in names:
        place = f"{folder}/{remote if is_url(output) else local}"
        if is_url(output) or not os.path.exists(place):
            return place
    raise AssertionError("the names are infinite")
