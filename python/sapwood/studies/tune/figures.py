"""The charts of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...display.units import human_bytes, human_seconds
from ...options.memory import memory_size
from ..charts import Axis, Mark, Series, bars, chart
from .course import rates
from .points import ALL, LINKS, STEPS, Workload, binary_size
from .results import Measured, front

if TYPE_CHECKING:
    from .tuning import Tuning

MOST_CURVES = 7
"""As many as there are colors."""
PARTS = ("wait for bytes", "decompress", "decode", "rest")
"""The parts of the time of a reader."""


class Drawn(NamedTuple):
    """A chart with its title and an explanation."""

    title: str
    note: str
    svg: str


def charts(found: Tuning) -> list[Drawn]:
    """The charts of a run, without empty ones."""
    clusters, baskets = found.sweep("cluster size"), found.sweep("basket size")
    drawn = [
        Drawn(
            "Size and time to read all",
            "Each point is a compression, with its level; the ring is the current layout. No compression "
            "is both smaller and faster than those on the gray line.",
            _size_and_time(found),
        ),
        Drawn(
            "Breakdown of the reading time",
            "All columns, for the current layout and the recommended ones. Waiting is copying bytes from the "
            "file; decoding includes copies that decompression cannot avoid; the rest is opening, planning "
            "and Python.",
            _profile(found),
        ),
        Drawn(
            "Reading rate and cluster size",
            "Uncompressed bytes per second. Small clusters have many small baskets.",
            _flush(found),
        ),
        Drawn(
            "Memory of reader and writer, by cluster size",
            "Peak memory of the whole process, including libraries.",
            _memory(found, clusters, lambda one: one.cluster_entries, "entries per cluster"),
        ),
        Drawn(
            "Baskets: size and time to read all",
            "Compared with the current layout. The last baskets of a cluster can be smaller than this size.",
            _baskets(found),
        ),
        Drawn(
            "Baskets: memory",
            "Peak memory of the whole process, including libraries.",
            _memory(found, baskets, lambda one: one.point.basket_size or 0),
        ),
        Drawn(
            "Reading some of the branches",
            "Branches are drawn at random each time. Skipped ones are neither fetched nor decompressed.",
            _skipping(found, _with_algorithms(found, [found.today]), lambda w: w.branches, "branches read"),
        ),
        Drawn(
            "Reading some of the events",
            "A basket is decompressed if any of its events is read, so skipping pays only below one event "
            "per cluster.",
            _skipping(
                found, _with_algorithms(found, _skippers(found)), lambda w: w.events, "events read, at random"
            ),
        ),
        Drawn(
            "Reading over a link, by compression",
            "The columns of an analysis, compared with the current layout on the same link.",
            _links(found),
        ),
        Drawn(
            "Memory over time",
            "Resident memory of the whole process while the current layout and the recommended ones are read "
            "and written.",
            _memory_over_time(found),
        ),
        Drawn(
            "Reading rate over time",
            "Uncompressed bytes/s while all columns of the smallest layout of each algorithm are read.",
            _rate_over_time(found),
        ),
        Drawn("Memory by step size", "Labels show the time to read all columns.", _steps(found)),
    ]
    return [one for one in drawn if one.svg]


def _skippers(found: Tuning) -> list[Measured]:
    """The layouts for which skipping of events was measured, each once."""
    others = (one for one in found.sweep("event skipping") if one is not found.today)
    return [found.today, *others]


def _with_algorithms(found: Tuning, layouts: list[Measured]) -> list[Measured]:
    """The layouts, and those with other algorithms for which skipping was measured."""
    return [*layouts, *found.sweep("algorithm and skipping")]


def _mark(
    one: Measured, x: float, name: str, workload: Workload, found: Tuning, label: str = ""
) -> Mark | None:
    """The mark of a layout in a chart, with its reading time as the height."""
    y = one.read(name, workload)
    if y is None:
        return None
    title = f"{one.point.label}\n{human_bytes(one.size)}, {human_seconds(y.median)}"
    return Mark(x, y.median, y.least, y.most, title, label, one.point == found.today.point)


def _size_and_time(found: Tuning) -> str:
    """The layouts of the compression sweep. Other baskets and clusters have charts of their own."""
    compressions = found.sweep_points("compression")
    layouts = [one for one in found.points if one.is_whole and one.point in compressions]
    by_algorithm: dict[str, list[Mark]] = {}
    for one in layouts:
        label = str(one.point.level) if one.point.level else ""
        mark = _mark(one, one.size, found.clock, ALL, found, label)
        if mark is not None:
            by_algorithm.setdefault(one.point.algorithm, []).append(mark)
    costs = [(one, figure) for one in layouts if (figure := one.read(found.clock))]
    medians = {id(one): figure.median for one, figure in costs}
    best = front((one for one, _ in costs), lambda one: one.size, lambda one: medians[id(one)])
    edge = [Mark(one.size, medians[id(one)], 0, 0, "") for one in best]
    series = [Series(name, marks) for name, marks in by_algorithm.items()]
    return chart(Axis("compressed size", human_bytes), Axis(_clock_title(found)), series, edge)


def _clock_title(found: Tuning) -> str:
    return "CPU seconds to read all" if found.clock == "cpu_seconds" else "seconds to read all"


def _flush(found: Tuning) -> str:
    kinds = [("all columns", ALL), (found.analysis_name, found.analysis)]
    kinds += [
        (f"all columns, {step} per step", replace(ALL, step=step)) for step in STEPS if step != ALL.step
    ]
    curves = [(name, found.sweep("cluster size"), workload) for name, workload in kinds]
    others = found.sweep("algorithm and cluster size")
    for algorithm in dict.fromkeys(one.point.compression for one in others):
        chosen = [one for one in others if one.point.compression == algorithm]
        curves.append((f"all columns, {algorithm}", chosen, ALL))
    series = []
    for name, layouts, workload in curves:
        marks = []
        for one in layouts:
            rate = one.rate(workload, found.clock)
            if rate is not None:
                title = f"{one.point.label}\n{human_bytes(rate.median)}/s"
                marks.append(Mark(one.cluster_entries, rate.median, rate.least, rate.most, title))
        if len(marks) > 1:
            series.append(Series(name, sorted(marks), is_curve=True))
    x = Axis("entries per cluster", is_log=True)
    return chart(x, Axis(_rate_title(found), human_bytes, from_zero=True), series)


def _rate_title(found: Tuning) -> str:
    return "read per CPU second" if found.clock == "cpu_seconds" else "read per second"


def _baskets(found: Tuning) -> str:
    layouts = found.sweep("basket size")
    today = found.today.size
    size, time = [], []
    base = found.today.read(found.clock)
    for one in layouts:
        x = float(one.point.basket_size or 0)
        seconds = one.read(found.clock)
        size.append(Mark(x, one.size / today, one.size / today, one.size / today, one.point.label))
        if seconds is not None and base is not None:
            ratio = [value / base.median for value in (seconds.median, seconds.least, seconds.most)]
            time.append(Mark(x, ratio[0], ratio[1], ratio[2], one.point.label))
    series = [Series("size", size, is_curve=True), Series("time to read all", time, is_curve=True)]
    return chart(_basket_axis(found), Axis("relative to current layout", lambda v: f"{v:.0%}"), series)


def _basket_axis(found: Tuning) -> Axis:
    sizes = [float(point.basket_size or 0) for point in found.sweep_points("basket size")]
    return Axis("basket size", lambda value: binary_size(round(value)), is_log=True, at=sizes)


def _memory(
    found: Tuning,
    layouts: Sequence[Measured],
    x: Callable[[Measured], float],
    title: str = "basket size",
) -> str:
    reader, writer = [], []
    for one in layouts:
        wrote, read = one.write("peak_bytes"), one.read("peak_bytes")
        writer.append(Mark(x(one), wrote.median, wrote.least, wrote.most, one.point.label))
        if read is not None:
            reader.append(Mark(x(one), read.median, read.least, read.most, one.point.label))
    series = [Series("reader, all columns", sorted(reader), True), Series("writer", sorted(writer), True)]
    axis = _basket_axis(found) if title == "basket size" else Axis(title, is_log=True)
    return chart(axis, Axis("peak memory", human_bytes, from_zero=True), series)


def _skipping(
    found: Tuning, layouts: Sequence[Measured], share: Callable[[Workload], float], title: str
) -> str:
    """The time to read part of a file, relative to the time for all of it."""
    series = []
    for one in layouts:
        base = one.read(found.clock)
        if base is None:
            continue
        marks = []
        for workload in one.reads:
            seconds = one.read(found.clock, workload)
            if seconds is None or replace(workload, branches=1.0, events=1.0) != ALL:
                continue
            value = share(workload)
            if workload.branches * workload.events == value:
                least, middle, most = (each / base.median for each in seconds[:3])
                tip = f"{value:.0%}: {middle:.0%} of the time"
                marks.append(Mark(100 * value, middle, least, most, tip))
        if one is found.today:
            name = "as it is"
        elif one.point.compression != found.today.point.compression:
            name = one.point.compression
        else:
            name = f"clusters of {one.cluster_entries:,.0f}"
        if len(marks) > 1:
            series.append(Series(name, sorted(marks), is_curve=True))
    x = Axis(title, lambda value: f"{value:g} %", is_log=True)
    return chart(x, Axis("relative to time for all", lambda v: f"{v:.0%}", from_zero=True), series)


def _steps(found: Tuning) -> str:
    marks = []
    for workload in found.today.reads:
        peak, seconds = found.today.read("peak_bytes", workload), found.today.read(found.clock, workload)
        if peak is None or seconds is None or replace(workload, step=ALL.step) != ALL:
            continue
        label = human_seconds(seconds.median)
        size = float(memory_size(workload.step))
        marks.append(Mark(size, peak.median, peak.least, peak.most, f"{workload.step}: {label}", label))
    if len(marks) < 2:
        return ""
    x = Axis("step size", human_bytes, is_log=True)
    return chart(x, Axis("peak memory", human_bytes, from_zero=True), [Series("", sorted(marks), True)])


def _memory_over_time(found: Tuning) -> str:
    series = []
    layouts = [found.today, *(one.best for one in found.recommendations)]
    for one in {layout.point: layout for layout in layouts}.values():
        for what, course in (("reader", one.read_course()), ("writer", one.write_course())):
            marks = [Mark(seconds, memory, memory, memory, "") for seconds, memory, _ in course if memory]
            if len(marks) > 1:
                series.append(Series(f"{what}, {one.point.label}", marks, is_curve=True))
    return chart(
        Axis("seconds", from_zero=True),
        Axis("resident memory", human_bytes, from_zero=True),
        series[:MOST_CURVES],
    )


def _rate_over_time(found: Tuning) -> str:
    smallest: dict[str, Measured] = {}
    for one in sorted(found.sweep("compression"), key=lambda one: one.size):
        smallest.setdefault(one.point.algorithm, one)
    series = []
    for one in smallest.values():
        marks = [Mark(at, rate, rate, rate, "") for at, rate in rates(one.read_course())]
        if marks:
            series.append(Series(one.point.label, marks, is_curve=True))
    y = Axis("read per second", human_bytes, from_zero=True)
    return chart(Axis("seconds", from_zero=True), y, series[:MOST_CURVES])


def _links(found: Tuning) -> str:
    """The time of an analysis over each link, relative to that of the current layout on the same link."""
    series = []
    for over in LINKS:
        workload = replace(found.analysis, over=over)
        base = found.today.read(found.clock, workload)
        marks = []
        for one in found.sweep("compression"):
            seconds = one.read(found.clock, workload)
            if seconds is None or base is None:
                continue
            least, middle, most = (each / base.median for each in seconds[:3])
            title = f"{one.point.label} over {over}: {human_seconds(seconds.median)}"
            label = one.point.label if over == next(iter(LINKS)) else ""
            marks.append(Mark(one.size, middle, least, most, title, label))
        series.append(Series(over, sorted(marks)))
    y = Axis(f"{found.analysis_name}, relative to current", lambda v: f"{v:.0%}")
    return chart(Axis("compressed size", human_bytes), y, series)


def _profile(found: Tuning) -> str:
    layouts = [found.today, *(one.best for one in found.recommendations)]
    threads = int(found.machine["threads"])
    rows = {one.point.label: profile(one, threads) for one in layouts}
    return bars(PARTS, [(name, values) for name, values in rows.items() if values], human_seconds)


def profile(one: Measured, threads: int = 1) -> list[float]:
    """Seconds that reading a whole layout spends in each of :data:`PARTS`; empty if it was not read.

    Waiting is for the operating system, which copies the bytes of the file; decoding is byte swapping and
    copying into the arrays; the rest is opening, planning, merging and Python.
    """
    total, wall = one.read("seconds"), one.read("wall_seconds")
    if total is None or wall is None:
        return []
    figures = [one.read(f"{name}_seconds") for name in ("wait", "decompress", "decode")]
    wait, *computed = [each.median for each in figures if each is not None]
    # The parts are wall times, which include the time of other processes.
    share = total.median / wall.median if wall.median else 1.0
    named = [share * seconds for seconds in (wait, *(each / threads for each in computed))]
    return [*named, max(0.0, total.median - sum(named))]
