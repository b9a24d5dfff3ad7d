"""Goals: the costs of layouts for named purposes, and the layouts that they recommend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...display.units import counted, human_bytes, human_seconds
from .points import ALL, Point, Workload
from .results import Measured

SHARED_DISK = 50e6
"""Bytes per second that a job gets from a storage system that it shares with others."""
MORE_MEMORY = 500e6
"""The most additional memory of a recommended layout, compared with the one that needs least."""
TIE = 0.01
"""Costs that differ by at most this share count as equal; then the goal's second cost decides."""


@dataclass(frozen=True)
class Goal:
    """A purpose of a file. The best layout has the lowest cost.

    Attributes:
        name: for the command line.
        title: for the report.
        rule: a description of the cost.
        cost: the cost of a layout; None if a required measurement is missing.
        second: the cost that decides among layouts with nearly the lowest cost.
        unit: of the cost, ``"bytes"`` or ``"seconds"``.
    """

    name: str
    title: str
    rule: str
    cost: Callable[[Measured, Workload], float | None]
    second: Callable[[Measured, Workload], float | None]
    unit: str = "seconds"

    def with_unit(self, cost: float) -> str:
        """A cost with its unit."""
        return human_bytes(cost) if self.unit == "bytes" else human_seconds(cost)


@dataclass(frozen=True)
class Recommendation:
    """The layout for a goal.

    Attributes:
        goal: the goal.
        best: the recommended layout, with its measurements.
        today: the current layout of the file.
        reason: an explanation with figures.
        command: the command that writes the file with this layout; empty if it already has it.
    """

    goal: Goal
    best: Measured
    today: Measured
    reason: str
    command: str

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {
            "goal": self.goal.name,
            "title": self.goal.title,
            "rule": self.goal.rule,
            "layout": self.best.point.to_dict(),
            "label": self.best.point.label,
            "reason": self.reason,
            "command": self.command,
        }


def _size(one: Measured, _: Workload) -> float:
    return one.size


def _both(one: Measured, _: Workload) -> float | None:
    read = one.read("seconds")
    return None if read is None else one.write("seconds").median + read.median


def _derivation(one: Measured, analysis: Workload) -> float | None:
    both = _both(one, analysis)
    return None if both is None else both + 2 * one.size / SHARED_DISK


def _disk(one: Measured, analysis: Workload) -> float | None:
    seconds, fetched = one.read("seconds", analysis), one.read("fetched_bytes", analysis)
    return None if seconds is None or fetched is None else seconds.median + fetched.median / SHARED_DISK


def _wan(one: Measured, analysis: Workload) -> float | None:
    seconds = one.read("seconds", replace(analysis, over="WAN"))
    return None if seconds is None else seconds.median


GOALS = (
    Goal(
        "archive",
        "Archive",
        "smallest size; among layouts within 1 %, the fastest to write and read",
        _size,
        _both,
        "bytes",
    ),
    Goal(
        "derivation",
        "Derivation",
        "shortest time to write and read everything, with both transfers at 50 MB/s",
        _derivation,
        _size,
    ),
    Goal(
        "disk",
        "Analysis on disk",
        "shortest time to read the columns of an analysis, with their transfer at 50 MB/s",
        _disk,
        _size,
    ),
    Goal(
        "wan",
        "Analysis over WAN",
        "shortest time to read the columns of an analysis over 100 ms and 100 Mbit/s",
        _wan,
        _size,
    ),
)
"""All goals."""


def recommend(
    goal: Goal, points: Iterable[Measured], today: Measured, analysis: Workload, source: str
) -> Recommendation | None:
    """The layout with the lowest cost; None if no layout has the measurements that the goal needs.

    Only layouts of the whole sample and without failures are considered.
    """
    rated = _rated(goal, lean(points), analysis)
    if not rated:
        return None
    least = min(cost for cost, _ in rated)
    near = [one for cost, one in rated if cost <= least * (1 + TIE)]
    best = min(near, key=lambda one: goal.second(one, analysis) or 0.0)
    is_new = best.point != today.point
    command = best.point.command(source, "out.root") if is_new else ""
    return Recommendation(goal, best, today, _reason(goal, best, today, analysis, len(rated)), command)


def combined(goal: Goal, sweeps: Sequence[Sequence[Measured]], today: Measured, analysis: Workload) -> Point:
    """The combination of the best layouts of all sweeps. It is worth measuring, because gains add up."""
    point = today.point
    for sweep in sweeps:
        rated = _rated(goal, lean([*sweep, today]), analysis)
        if not rated:
            continue
        best = min(rated, key=lambda each: each[0])[1].point
        changed = {
            name: value for name, value in best.to_dict().items() if value != today.point.to_dict()[name]
        }
        point = replace(point, **changed)
    return point


def lean(points: Iterable[Measured]) -> list[Measured]:
    """The layouts that may be recommended: those of the whole sample that do not need much more memory."""
    whole = [one for one in points if _is_eligible(one)]
    if not whole:
        return []
    most = min(_memory(one) for one in whole) + MORE_MEMORY
    return [one for one in whole if _memory(one) <= most]


def _is_eligible(one: Measured) -> bool:
    return one.is_whole and not one.errors and one.point.entries is None and not one.point.variant


def _memory(one: Measured) -> float:
    read = one.read("peak_bytes", ALL)
    return max(one.write("peak_bytes").median, read.median if read else 0.0)


def _rated(goal: Goal, points: Iterable[Measured], analysis: Workload) -> list[tuple[float, Measured]]:
    costs = [(goal.cost(one, analysis), one) for one in points]
    return [(cost, one) for cost, one in costs if cost is not None]


def _reason(goal: Goal, best: Measured, today: Measured, analysis: Workload, number: int) -> str:
    """The number of compared layouts, and the effects of the best one."""
    cost, now = goal.cost(best, analysis), goal.cost(today, analysis)
    assert cost is not None
    if best.point == today.point:
        return f"None of the {counted(number, 'measured layout')} is better than the current one."
    text = f"Best of {counted(number, 'measured layout')}: {goal.with_unit(cost)}"
    if now is not None and now > 0:
        text += f", compared with {goal.with_unit(now)} for the current layout ({change(cost, now)})"
    return f"{text}. {_consequences(best, today, analysis)}"


def _consequences(best: Measured, today: Measured, analysis: Workload) -> str:
    compared = [
        ("size", best.size, today.size),
        ("writing", best.write("seconds").median, today.write("seconds").median),
    ]
    for name, workload in (("reading all", ALL), ("reading for analysis", analysis)):
        new, old = best.read("seconds", workload), today.read("seconds", workload)
        if new is not None and old is not None:
            compared.append((name, new.median, old.median))
    changes = ", ".join(f"{name} {change(new, old)}" for name, new, old in compared)
    return f"Changes: {changes}."


def change(new: float, old: float) -> str:
    """A relative change, as a percentage or, for large increases, as a factor.

    >>> change(92, 100), change(100.2, 100), change(1200, 100)
    ('-8 %', '±0 %', '12 times')
    """
    if not old:
        return "-"
    if new > 3 * old:
        return f"{new / old:.0f} times"
    percent = round(100 * (new / old - 1))
    return f"{percent:+d} %" if percent else "±0 %"
