"""The results of a run: least, median and most of each figure, for each layout."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .journal import Record
from .points import ALL, Point, Workload


class Figure(NamedTuple):
    """A figure that was measured several times."""

    least: float
    median: float
    most: float
    number: int
    """The number of measurements."""


@dataclass(frozen=True)
class Measured:
    """A layout with all of its measurements.

    Attributes:
        point: the layout.
        writes: the results of writing it.
        reads: the results of reading it, by workload.
        errors: messages of failed measurements.
    """

    point: Point
    writes: tuple[Record, ...]
    reads: dict[Workload, tuple[Record, ...]]
    errors: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it was written, and read at least once."""
        return bool(self.writes) and ALL in self.reads

    @property
    def size(self) -> float:
        """Compressed bytes of the tree."""
        return float(self.writes[0]["compressed_bytes"])

    @property
    def cluster_entries(self) -> float:
        """Entries of a cluster, on average."""
        return float(self.writes[0]["entries"] / max(self.writes[0]["clusters"], 1))

    def write(self, name: str) -> Figure:
        """A figure of writing."""
        return figure(one[name] for one in self.writes)

    def read(self, name: str, workload: Workload = ALL) -> Figure | None:
        """A figure of reading with a workload; None if that was not measured."""
        found = self.reads.get(workload)
        return figure(one[name] for one in found) if found else None

    def rate(self, workload: Workload = ALL, clock: str = "seconds") -> Figure | None:
        """Uncompressed bytes read per second."""
        found = self.reads.get(workload)
        return figure(one["decompressed_bytes"] / one[clock] for one in found) if found else None

    def write_course(self) -> list[list[float]]:
        """Seconds, resident bytes and decompressed bytes of the first time it was written."""
        return _course(self.writes)

    def read_course(self, workload: Workload = ALL) -> list[list[float]]:
        """The same of the first time it was read with a workload; empty if that was not measured."""
        return _course(self.reads.get(workload, ()))

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: figures as [least, median, most, number]."""
        reads = [
            {"workload": workload.to_dict(), **_figures(results), "course": _course(results)}
            for workload, results in self.reads.items()
        ]
        return {
            "point": self.point.to_dict(),
            "label": self.point.label,
            "write": {**_figures(self.writes), "course": _course(self.writes)},
            "read": reads,
            "errors": list(self.errors),
        }


def measured_points(records: Iterable[Record]) -> dict[Point, Measured]:
    """The layouts of a run, in the order of their first measurements."""
    by_point: dict[Point, list[Record]] = {}
    for record in records:
        by_point.setdefault(Point(**record["point"]), []).append(record)
    return {point: _measured(point, found) for point, found in by_point.items()}


def _measured(point: Point, records: Sequence[Record]) -> Measured:
    writes: list[Record] = []
    reads: dict[Workload, list[Record]] = {}
    errors: list[str] = []
    for record in records:
        if "error" in record:
            errors.append(record["error"])
        elif record["workload"] is None:
            writes.append(record["result"])
        else:
            reads.setdefault(Workload.from_dict(record["workload"]), []).append(record["result"])
    frozen = {workload: tuple(results) for workload, results in reads.items()}
    return Measured(point, tuple(writes), frozen, tuple(dict.fromkeys(errors)))


def figure(values: Iterable[float]) -> Figure:
    """Least, median and most of some values.

    >>> figure([3.0, 1.0, 2.0])
    Figure(least=1.0, median=2.0, most=3.0, number=3)
    """
    found = [float(value) for value in values]
    return Figure(min(found), statistics.median(found), max(found), len(found))


def _course(results: Sequence[Record]) -> list[list[float]]:
    """The course of the first result. Journals of earlier versions have none."""
    return list(results[0].get("course", ())) if results else []


def _figures(results: Sequence[Record]) -> dict[str, list[float]]:
    names = [name for name in results[0] if name != "course"] if results else []
    return {name: list(figure(one[name] for one in results)) for name in names}


def front(points: Iterable[Measured], *costs: Callable[[Measured], float]) -> list[Measured]:
    """The Pareto front: layouts that no other one beats in all costs, in the order of the first cost."""
    rated = sorted((tuple(cost(one) for cost in costs), i, one) for i, one in enumerate(points))
    kept: list[tuple[tuple[float, ...], Measured]] = []
    for values, _, one in rated:
        beaten = any(all(a <= b for a, b in zip(other, values, strict=True)) for other, _ in kept)
        if not beaten:
            kept.append((values, one))
    return [one for _, one in kept]
