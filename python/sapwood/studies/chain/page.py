"""The report of a sweep: events per second against threads, as charts and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...display.markup import escape
from ...display.units import counted
from ..charts import Axis, Mark, Series, chart
from ..report import cells, html_page
from .running import ChainReport

if TYPE_CHECKING:
    from .sweep import ChainPoint, Measurement, Sweep

TITLE = "Processing chain"
COLUMNS = (
    *("source", "output", "chain", "batch", "stripe", "groups", "lanes", "threads", "events/s", "MB/s"),
    *("CPU: decompress", "deserialize", "serialize", "compress", "read", "written", "objects"),
)


def page(found: Sweep) -> str:
    """The HTML document."""
    body = [
        f"<h1>{TITLE}: events per second</h1>",
        *_introduction(found),
        '<div class="charts">',
        *(
            f"<figure><figcaption><b>{escape(title)}</b></figcaption>{svg}</figure>"
            for title, svg in charts(found.measurements)
        ),
        "</div><h2>All points</h2>",
        *_table(found.measurements),
    ]
    return html_page(TITLE, body)


def _introduction(found: Sweep) -> Iterator[str]:
    machine = found.machine
    yield (
        "<p>Each lane processes one batch of events at a time; all lanes share the threads. <i>read</i>: "
        "read, decompress, deserialize; <i>full</i>: also serialize, compress, write. Every run is a "
        "separate process.</p>"
    )
    if machine:
        yield (
            f'<p class="small">sapwood {escape(machine["sapwood"])}, {escape(machine["processor"])} '
            f"({machine['cores']} cores), {escape(found.date)}. Points are medians, bars show the range; "
            "MB/s refer to serialized events; CPU time is the sum over all threads, per 1000 events.</p>"
        )


def charts(measurements: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    """A chart for each chain and source: events per second against threads, one curve per setting."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for one in measurements:
        if one.runs:
            groups.setdefault((one.point.chain, one.point.source), []).append(one)
    for (chain, source), members in groups.items():
        varied = _varied([one.point for one in members])
        curves: dict[str, list[Mark]] = {}
        for one in sorted(members, key=lambda each: each.point.threads):
            title = f"{one.rate:,.0f} events/s with {counted(one.point.threads, 'thread')}"
            mark = Mark(one.point.threads, one.rate, min(one.rates), max(one.rates), title)
            curves.setdefault(_label(one.point, varied), []).append(mark)
        threads = Axis("threads", at=sorted({one.point.threads for one in members}))
        series = [Series(name, marks, is_curve=True) for name, marks in curves.items()]
        yield f"{chain}: {_short(source)}", chart(threads, Axis("events per second", from_zero=True), series)


def _varied(points: Sequence[ChainPoint]) -> list[str]:
    """The settings, other than threads, in which the points differ."""
    names = ("output", "batch", "stripe_size", "group", "lanes")
    return [name for name in names if len({getattr(point, name) for point in points}) > 1]


def _label(point: ChainPoint, varied: Sequence[str]) -> str:
    """The settings of a curve that distinguish it from its neighbors."""
    texts = {
        "output": f"to {_short(point.output)}",
        "batch": f"batch {point.batch}",
        "stripe_size": f"stripes {_kilobytes(point.stripe_size)}",
        "group": "groups" if point.group else "no groups",
        "lanes": counted(point.lanes, "lane"),
    }
    return ", ".join(texts[name] for name in varied)


def _short(place: str) -> str:
    """The place, or its end if it is long."""
    return place if len(place) <= 40 else f"…{place[-39:]}"


def _kilobytes(size: int) -> str:
    return f"{size / 1024:,g} KiB" if size % 1024 == 0 else f"{size / 1000:,g} kB"


def row(one: Measurement) -> list[str]:
    """The cells of a measurement, in the order of the columns."""
    point = one.point
    texts = [_short(point.source), _short(point.output), point.chain, str(point.batch)]
    texts += [
        _kilobytes(point.stripe_size),
        "yes" if point.group else "no",
        str(point.lanes),
        str(point.threads),
    ]
    if not one.runs:
        return [*texts, f"failed: {one.error}", *[""] * (len(COLUMNS) - len(texts) - 1)]
    run = sorted(one.runs, key=lambda each: each.events_per_second)[len(one.runs) // 2]
    rate = run.entry_bytes / run.seconds / 1e6 if run.seconds else 0.0
    stages = (run.decompress_seconds, run.deserialise_seconds, run.serialise_seconds, run.compress_seconds)
    return [
        *texts,
        f"{one.rate:,.0f}",
        f"{rate:,.1f}",
        *(_per_thousand(seconds, run) for seconds in stages),
        f"{run.read_bytes / 1e6:,.1f} MB",
        f"{run.written_bytes / 1e6:,.1f} MB",
        f"{run.written_objects:,}",
    ]


def _per_thousand(seconds: float, run: ChainReport) -> str:
    return f"{1e6 * seconds / max(run.events, 1):,.1f} ms"


def _table(measurements: Sequence[Measurement]) -> Iterator[str]:
    yield '<div class="wide"><table>'
    yield f"<tr>{cells(COLUMNS, 'th')}</tr>"
    for one in measurements:
        yield f"<tr>{cells(row(one))}</tr>"
    yield "</table></div>"
