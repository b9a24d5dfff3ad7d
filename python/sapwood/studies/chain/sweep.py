"""Chains at many points, each run in a process of its own."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ...errors import UsageError
from ...options.memory import memory_size
from ...options.outputs import REPORT, check_output
from ...options.paths import is_url
from ...options.whole_file import write_whole
from ..tune.tuning import machine
from .page import page
from .running import EMPTY, Chain, ChainReport, check_place

_DEADLINE = 3600.0


@dataclass(frozen=True)
class ChainPoint:
    """What is measured: a source and an output, and how the chain runs."""

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
    """A point with all that was measured of it, or why that was not possible."""

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
        """As JSON has it."""
        runs = [asdict(one) | {"events_per_second": one.events_per_second} for one in self.runs]
        return {"point": asdict(self.point), "runs": runs, "error": self.error}


@dataclass(frozen=True)
class Sweep:
    """All measurements of a run, the machine, and when it was."""

    measurements: tuple[Measurement, ...]
    machine: dict[str, Any] = field(default_factory=dict)
    date: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told = {"machine": self.machine, "date": self.date}
        return told | {"measurements": [one.to_dict() for one in self.measurements]}

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
) -> Sweep:
    """Runs the chain at all points, each in a process of its own; in rounds, so that what else the machine
    does meets all of them.

    A chain that only reads has no output, and is measured once for each source. Datasets are written below
    the output, each at a place of its own, ``0001`` and so on, in a store with a word before it that no
    other sweep has, and stay there. A file holds what the last run wrote.

    The points are all combinations of sources, outputs, chains, batches, sizes of stripes, groups, lanes and
    threads.

    Args:
        sources: as of :func:`sapwood.chain.run`.
        outputs: the same.
        chains: ``"read"``, ``"full"``, or both.
        batches: events of a batch.
        stripe_sizes: of datasets.
        group: whether small products share objects, in datasets.
        lanes: batches that are worked on at the same time.
        threads: that the lanes share.
        entries: events that are taken at most.
        compression: as of :func:`sapwood.chain.run`.
        repeats: runs of each point.
        overwrite: whether a file that exists before the first run is replaced.
        tell: called with the number of runs that are done, and of all.

    Returns:
        A measurement for each point; one that failed says why.

    Raises:
        UsageError: an output is a source, or an existing file without ``overwrite``.
    """
    points = _points(sources, outputs, chains, batches, stripe_sizes, group, lanes, threads)
    for output in dict.fromkeys(point.output for point in points):
        check_place(output, sources, overwrite, None)
    if repeats < 1:
        raise UsageError("each point is measured at least once")
    runs: dict[ChainPoint, list[ChainReport]] = {point: [] for point in points}
    errors: dict[ChainPoint, str] = {}
    names = _names()
    for done, (_, point) in enumerate(itertools.product(range(repeats), points), 1):
        if point not in errors:
            place = _place(point.output, names)
            # What exists by now is of this sweep, or may be replaced.
            told = {"entries": entries, "compression": compression, "overwrite": True}
            result = _measured({**asdict(point), **told, "output": place})
            if isinstance(result, str):
                errors[point] = result
            else:
                runs[point].append(result)
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
    points = [one.point for one in found.measurements]
    inputs = [place for point in points for place in (point.source, point.output)]
    place = check_output(path, REPORT, inputs=inputs, overwrite=overwrite)
    is_json = place.lower().endswith(".json")
    text = json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n" if is_json else found.to_html()
    write_whole(place, text, overwrite=overwrite)


def _points(
    sources: Sequence[str],
    outputs: Sequence[str],
    chains: Sequence[Chain],
    batches: Sequence[int],
    stripe_sizes: Sequence[int | str],
    group: Sequence[bool],
    lanes: Sequence[int],
    threads: Sequence[int],
) -> list[ChainPoint]:
    """All combinations that differ."""
    every = (
        sources,
        outputs,
        chains,
        batches,
        [memory_size(size) for size in stripe_sizes],
        group,
        lanes,
        threads,
    )
    if not all(every):
        raise UsageError("there is nothing to measure: name at least one of each")
    points: dict[ChainPoint, None] = {}
    for source, output, chain, batch, size, grouped, lane, thread in itertools.product(*every):
        to = "none" if chain == "read" or source.startswith(EMPTY) else output
        striped = to == "sink" or is_dataset_output(to)
        first = (every[4][0], group[0])
        size, grouped = (size, grouped) if striped else first
        points[ChainPoint(source, to, chain, batch, size, grouped, lane, thread)] = None
    return list(points)


def is_dataset_output(output: str) -> bool:
    """Whether an output is where a dataset is to be."""
    return output not in ("none", "sink") and not output.endswith((".root", ".pds"))


def _names() -> Iterator[tuple[str, str]]:
    """Names of datasets in a directory; and in a store, where nobody else may use them, whatever is there."""
    sweep = secrets.token_hex(4)
    for number in itertools.count(1):
        yield f"{number:04}", f"{sweep}-{number:04}"


def _place(output: str, names: Iterator[tuple[str, str]]) -> str:
    """Where a run writes: datasets below the output, at a name that is free there."""
    if not is_dataset_output(output):
        return output
    folder = output.rstrip("/")
    for here, afar in names:
        place = f"{folder}/{afar if is_url(output) else here}"
        if is_url(output) or not os.path.exists(place):
            return place
    raise AssertionError("numbers do not end")


def _measured(task: dict[str, Any]) -> ChainReport | str:
    """Runs a chain in a process of its own; what it did, or why it failed."""
    environment = {**os.environ, "SAPWOOD_THREADS": str(task["threads"])}
    command = [sys.executable, "-m", "sapwood.studies.chain.child"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task),
            capture_output=True,
            text=True,
            env=environment,
            timeout=_DEADLINE,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {_DEADLINE:.0f} s"
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else f"ended with status {done.returncode}"
    return ChainReport(**json.loads(done.stdout.splitlines()[-1]))
