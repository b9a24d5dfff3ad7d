"""The report of a run: one HTML file that needs no network, with charts, a table and the recommendations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...display.markup import escape
from ...display.units import human_bytes
from .charts import DARK_STYLE
from .charts import STYLE as CHART_STYLE
from .figures import charts
from .points import ALL, LINES

if TYPE_CHECKING:
    from .tuning import Tuning

STYLE = """
:root{color-scheme:light dark;--ink:#222;--faint:#666;--line:#d8dde2;--page:#fff;--shade:#f2f4f6}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1320px;
margin:2rem auto;padding:0 1.2rem}
h1{font-size:1.5rem;margin-bottom:.2rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
p{margin:.3rem 0;max-width:75ch}.small{color:var(--faint);font-size:.86rem}
.goals{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,290px),1fr));gap:1rem}
.goal{border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem}.goal h3{margin:0;font-size:1rem}
.goal b{display:block;margin:.2rem 0}
code{background:var(--shade);border-radius:4px;padding:.1rem .3rem;font-size:.85rem}
.goal code{display:block;padding:.5rem;margin:.5rem 0}
.goal code span{display:inline-block;overflow-wrap:anywhere;max-width:100%}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:1.6rem 2rem}
figure{margin:0;overflow-x:auto}figcaption{margin-bottom:.4rem}figcaption b{display:block}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums}
td,th{padding:.22rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{white-space:normal;vertical-align:bottom}
td:first-child,th:first-child{text-align:left;position:sticky;left:0;background:var(--page)}
table.texts td,table.texts th{text-align:left;white-space:normal;vertical-align:top;min-width:3rem}
tr.today td{font-weight:600}.wide{overflow-x:auto}
@media(max-width:560px){figure svg{max-width:none;width:540px}figcaption{position:sticky;left:0}}
"""
DARK = ":root{--ink:#d5d9de;--faint:#9aa1a9;--line:#363c43;--page:#16191d;--shade:#23282e}"


def page(found: Tuning) -> str:
    """The document."""
    title = found.title
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_style()}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *_introduction(found),
            *_findings(found),
            *_goals(found),
            '<h2>Measurements</h2><div class="charts">',
            *(
                f'<figure><figcaption><b>{escape(title)}</b><span class="small">{escape(note)}</span>'
                f"</figcaption>{svg}</figure>"
                for title, note, svg in charts(found)
            ),
            "</div><h2>All layouts</h2>",
            *_table(found),
            "</body></html>\n",
        ]
    )


def _style() -> str:
    return f"{CHART_STYLE}{STYLE}@media(prefers-color-scheme:dark){{{DARK}{DARK_STYLE}}}"


def _introduction(found: Tuning) -> Iterator[str]:
    told = found.subject
    yield (
        f"<p>A sample of {told['entries']:,} of {told['num_entries']:,} entries "
        f"({human_bytes(told['uncompressed_bytes'])} before compression) was written in "
        f"{len(found.points)} layouts; each was read by several workloads{_repeats(found.repeats)}. "
        "Every measurement is a process of its own.</p>"
    )
    machine = found.machine
    yield (
        f'<p class="small">sapwood {escape(machine["sapwood"])}, {machine["threads"]} thread'
        f"{'s' if machine['threads'] != 1 else ''}, {escape(machine['processor'])} "
        f"({machine['cores']} cores), {escape(found.date)}. Files lie in the memory of the machine when they "
        "are read, and what other processes take is left out: times are those of processors; disks and "
        "links are modelled, "
        f"{escape(_lines())}. Points are medians, bars reach from the least to the most.</p>"
    )
    if not found.is_whole:
        yield "<p><b>The time did not suffice for all measurements: run it again to go on.</b></p>"


def _repeats(number: int) -> str:
    return f", {number} times where time sufficed" if number > 1 else ""


def _lines() -> str:
    return ", ".join(
        f"{name}: {1000 * rtt:.0f} ms and {rate * 8 / 1e6:.0f} Mbit/s" for name, (rtt, rate) in LINES.items()
    )


def _text(text: str) -> str:
    """For HTML; a number and its unit stay in one line."""
    return re.sub(r"(?<=\d) (?=%|[mµ]?s\b|[kMGT]?B\b|Mbit)", "&nbsp;", escape(text))


def _findings(found: Tuning) -> Iterator[str]:
    if not found.findings:
        return
    yield '<h2>Findings, then and now</h2><div class="wide"><table class="texts">'
    yield f"<tr>{_cells(('then', 'now', 'holds', 'why'), 'th')}</tr>"
    for one in found.findings:
        cells = (one.then, one.now, "yes" if one.agrees else "no", one.why)
        yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"
    yield "</table></div>"


def _goals(found: Tuning) -> Iterator[str]:
    if not found.recommendations:
        return
    yield '<h2>Recommendations</h2><div class="goals">'
    for one in found.recommendations:
        # Words are not broken at their hyphens: what is copied can be run, and is read as it is typed.
        words = " ".join(f"<span>{escape(word)}</span>" for word in one.command.split(" "))
        command = f"<code>{words}</code>" if one.command else ""
        yield (
            f'<div class="goal"><h3>{escape(one.goal.title)}</h3><b>{escape(one.best.point.label)}</b>'
            f"<p>{_text(one.reason)}</p>{command}"
            f'<p class="small">Goal: {_text(one.goal.rule)}.</p></div>'
        )
    yield "</div>"


def _table(found: Tuning) -> Iterator[str]:
    analysis = found.analysis
    titles = [
        "layout",
        "size",
        "of today",
        "write s",
        "compress s",
        "read all s",
        "decompress s",
        "decode s",
        f"{found.analysis_name} s",
        *(f"over {name} s" for name in LINES),
        "writer MB",
        "reader MB",
        "baskets",
    ]
    yield f'<div class="wide"><table><tr>{_cells(titles, "th")}</tr>'
    for one in found.points:
        if not one.is_whole:
            why = escape("; ".join(one.errors))
            yield f"<tr><td>{escape(one.point.label)}</td><td colspan=99>{why}</td></tr>"
            continue
        reads = [(name, ALL) for name in ("seconds", "decompress_seconds", "decode_seconds")]
        reads += [("seconds", replace(analysis, over=name)) for name in ("", *LINES)]
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
        yield f"<tr{is_today}>{_cells(row, 'td')}</tr>"
    yield "</table></div>"


def _spread(figure: tuple[float, float, float, int] | None) -> str:
    if figure is None:
        return ""
    least, median, most, number = figure
    text = f"{median:.3g}"
    return f"{text} ({least:.3g} … {most:.3g})" if number > 1 else text


def _cells(texts: Iterable[str], kind: str) -> str:
    return "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts)
