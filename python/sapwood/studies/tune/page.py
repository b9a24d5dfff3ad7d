"""The report of a run: charts, a table and the recommendations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...display.markup import escape
from ...display.units import counted, human_bytes
from ..report import cells, html_page
from .figures import charts
from .points import ALL, LINKS

if TYPE_CHECKING:
    from .tuning import Tuning


def page(found: Tuning) -> str:
    """The HTML document."""
    body = [
        f"<h1>{escape(found.title)}</h1>",
        *_introduction(found),
        *_findings(found),
        *_goals(found),
        '<h2>Measurements</h2><div class="charts">',
        *(
            f'<figure><figcaption><b>{escape(title)}</b><span class="small">{escape(note)}</span>'
            f"</figcaption>{svg}</figure>"
            for title, note, svg in charts(found)
        ),
        "</div>",
        *_functions(found),
        "<h2>All layouts</h2>",
        *_table(found),
    ]
    return html_page(found.title, body)


def _introduction(found: Tuning) -> Iterator[str]:
    subject = found.subject
    yield (
        f"<p>A sample of {subject['entries']:,} of {subject['num_entries']:,} entries "
        f"({human_bytes(subject['uncompressed_bytes'])} uncompressed) was written in "
        f"{counted(len(found.points), 'layout')}. Each layout was read with several "
        f"workloads{_repeats(found.repeats)}. Every measurement is a separate process.</p>"
    )
    machine = found.machine
    yield (
        f'<p class="small">sapwood {escape(machine["sapwood"])}, {counted(machine["threads"], "thread")}, '
        f"{escape(machine['processor'])} ({machine['cores']} cores), {escape(found.date)}. Files are in the "
        "page cache when they are read, and times are CPU times, so that other processes do not affect "
        f"them. Disks and links are modeled: {escape(_links())}. Points are medians, bars show the "
        "range.</p>"
    )
    if not found.is_whole:
        yield "<p><b>The budget did not suffice for all measurements. To continue, run it again.</b></p>"


def _repeats(number: int) -> str:
    return f", up to {number} times" if number > 1 else ""


def _links() -> str:
    return ", ".join(
        f"{name}: {1000 * rtt:.0f} ms and {rate * 8 / 1e6:.0f} Mbit/s" for name, (rtt, rate) in LINKS.items()
    )


def _text(text: str) -> str:
    """HTML in which a number and its unit stay on one line."""
    return re.sub(r"(?<=\d) (?=%|[mµ]?s\b|[kMGT]?B\b|Mbit)", "&nbsp;", escape(text))


def _findings(found: Tuning) -> Iterator[str]:
    if not found.findings:
        return
    yield '<h2>Findings, then and now</h2><div class="wide"><table class="texts">'
    yield f"<tr>{cells(('then', 'now', 'holds', 'why'), 'th')}</tr>"
    for one in found.findings:
        texts = (one.then, one.now, one.holds, one.why)
        yield f"<tr>{''.join(f'<td>{_text(text)}</td>' for text in texts)}</tr>"
    yield "</table></div>"


def _goals(found: Tuning) -> Iterator[str]:
    if not found.recommendations:
        return
    yield '<h2>Recommendations</h2><div class="goals">'
    for one in found.recommendations:
        # Words must not break at hyphens, so that the command can be read and copied.
        words = " ".join(f"<span>{escape(word)}</span>" for word in one.command.split(" "))
        command = f"<code>{words}</code>" if one.command else ""
        yield (
            f'<div class="goal"><h3>{escape(one.goal.title)}</h3><b>{escape(one.best.point.label)}</b>'
            f"<p>{_text(one.reason)}</p>{command}"
            f'<p class="small">Goal: {_text(one.goal.rule)}.</p></div>'
        )
    yield "</div>"


def _functions(found: Tuning) -> Iterator[str]:
    """The CPU time by function."""
    for what, times in found.functions.items():
        yield f"<h2>CPU time of {escape(what)}, by function</h2>"
        yield '<p class="small">Of the whole process, at the current layout, as sampled by perf.</p>'
        yield f'<div class="wide"><table class="texts"><tr>{cells(("share", "function", "in"), "th")}</tr>'
        for one in times:
            yield f"<tr>{cells((f'{one.percent:.1f} %', one.function, one.library))}</tr>"
        yield "</table></div>"


def _table(found: Tuning) -> Iterator[str]:
    analysis = found.analysis
    titles = [
        "layout",
        "size",
        "vs. current",
        "write s",
        "compress s",
        "read all s",
        "decompress s",
        "decode s",
        f"{found.analysis_name} s",
        *(f"over {name} s" for name in LINKS),
        "writer MB",
        "reader MB",
        "baskets",
    ]
    yield f'<div class="wide"><table><tr>{cells(titles, "th")}</tr>'
    for one in found.points:
        if not one.is_whole:
            why = escape("; ".join(one.errors))
            yield f"<tr><td>{escape(one.point.label)}</td><td colspan=99>{why}</td></tr>"
            continue
        reads = [(name, ALL) for name in ("seconds", "decompress_seconds", "decode_seconds")]
        reads += [("seconds", replace(analysis, over=name)) for name in ("", *LINKS)]
        row = [
            one.point.label,
            human_bytes(one.size),
            f"{one.size / found.today.size:.1%}" if one.point.entries is None else "",
            _spread(one.write("seconds")),
            _spread(one.write("compress_seconds")),
            *(_spread(one.read(name, workload)) for name, workload in reads),
            f"{one.write('peak_bytes').median / 1e6:.0f}",
            f"{one.read('peak_bytes').median / 1e6:.0f}" if one.read("peak_bytes") else "",  # type: ignore[union-attr]
            f"{one.write('baskets').median:,.0f}",
        ]
        is_today = ' class="today"' if one.point == found.today.point else ""
        yield f"<tr{is_today}>{cells(row)}</tr>"
    yield "</table></div>"


def _spread(figure: tuple[float, float, float, int] | None) -> str:
    if figure is None:
        return ""
    least, median, most, number = figure
    text = f"{median:.3g}"
    return f"{text} ({least:.3g} … {most:.3g})" if number > 1 else text
