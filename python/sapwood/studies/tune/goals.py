"""What a layout is good for: costs of named goals, and the layouts that they recommend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...display.units import human_bytes, human_seconds
from .points import ALL, Point, Workload
from .results import Measured

SHARED_DISK = 50e6
"""Bytes per second that a job gets of a storage that it shares with others."""
MORE_MEMORY = 500e6
"""A layout that takes so much more memory than the leanest one, to write or to read, is not recommended."""
TIE = 0.01
"""Costs that differ by this share are the same: then what the goal names second decides."""


@dataclass(frozen=True)
class Goal:
    """What a file is for. The cost of a layout is what is to be least.

    Attributes:
        name: for the command line.
        title: in words.
        rule: what the cost is, in words.
        cost: of a layout; None if what it needs was not measured.
        second: decides among the layouts whose cost is nearly the least.
        unit: of the cost, ``"bytes"`` or ``"seconds"``.
    """

    name: str
    title: str
    rule: str
    cost: Callable[[Measured, Workload], float | None]
    second: Callable[[Measured, Workload], float | None]
    unit: str = "seconds"

    def said(self, cost: float) -> str:
        """A cost with its unit."""
        return human_bytes(cost) if self.unit == "bytes" else human_seconds(cost)


@dataclass(frozen=True)
class Recommendation:
    """The layout for a goal.

    Attributes:
        goal: what it is for.
        best: the layout, with what was measured.
        today: the layout that the file has.
        reason: why, in words and figures.
        command: the command that gives the file this layout; empty, if it has it.
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
        "least size; of layouts within 1 %, the one that is written and read fastest",
        _size,
        _both,
        "bytes",
    ),
    Goal(
        "derivation",
        "Derivation",
        "least time to write all and to read all, with both transfers at 50 MB/s",
        _derivation,
        _size,
    ),
    Goal(
        "disk",
        "Analysis on disk",
        "least time to read the columns of an analysis, with their transfer at 50 MB/s",
        _disk,
        _size,
    ),
    Goal(
        "wan",
        "Analysis over WAN",
        "least time to read the columns of an analysis over 100 ms and 100 Mbit/s",
        _wan,
        _size,
    ),
)
"""The goals that have names."""


def recommend(
    goal: Goal, points: Iterable[Measured], today: Measured, analysis: Workload, source: str
) -> Recommendation | None:
    """The layout that costs least; None where nothing was measured that the goal needs.

    Only layouts of the whole sample are looked at, and such as have no failures.
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
    """The layout that has of each sweep what costs least in it: worth measuring, for dimensions add up."""
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
    """The layouts that may be recommended: those of the whole sample that do not take much more memory."""
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
    """What was compared, and what it changes."""
    cost, now = goal.cost(best, analysis), goal.cost(today, analysis)
    assert cost is not None
    if best.point == today.point:
        return f"None of the {number} layouts that were measured is better than what the file has."
    text = f"Best of {number} layouts that were measured: {goal.said(cost)}"
    if now is not None and now > 0:
        text += f", where the layout of today takes {goal.said(now)} ({change(cost, now)})"
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
    return f"Compared with today: {changes}."


def change(new: float, old: float) -> str:
    """By how much something changed; as a factor where that is more telling.

    >>> change(92, 100), change(100.2, 100), change(1200, 100)
    ('-8 %', '±0 %', '12 times')
    """
    if not old:
        return "-"
    if new > 3 * old:
        return f"{new / old:.0f} times"
    percent = round(100 * (new / old - 1))
    return f"{percent:+d} %" if percent else "±0 %"
