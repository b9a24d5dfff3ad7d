"""Draws the requests of a :class:`sapwood.ReadReport` over time, as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..display.markup import escape
from ..display.svg import legend_entry, px, round_ticks, small_text, svg_document, time_axis
from ..display.units import counted, human_bytes, human_seconds
from .requests import FetchedRequest, requests_of

if TYPE_CHECKING:
    from .cost import ReadReport

WIDTH, HEIGHT = 1080.0, 480.0
"""The drawing area, in pixels."""
LEFT, RIGHT, TOP, BELOW = 104.0, 28.0, 84.0, 96.0
NAMES = 240.0
"""The left margin if it shows the names of files."""
MIN_BAND = 16.0
"""The minimum height of each of several files."""
MIN_SIZE = 1.6
"""The minimum width and height of requests, so that they are visible."""
COLOURS = ("#1f7a5c", "#d1602a", "#3566a8", "#b3418f", "#8a6d00", "#2a9db0", "#7a5bc4", "#6b6b6b")

STYLE = """
.border{stroke:#8794a3;stroke-width:.8;fill:none}.idle{fill:#f1eee6}.requests rect{opacity:.85}
"""


def document(report: ReadReport) -> str:
    """The drawing as a complete SVG document.

    Time is on the horizontal axis, and the offset in the file on the vertical axis. Several files are
    stacked, with the first on top. A rectangle is a range from request to answer, or several ranges that are
    too close to be drawn separately.
    """
    files = len(report.by_file)
    height = max(HEIGHT, MIN_BAND * files)
    left = LEFT if files == 1 else NAMES
    requests = requests_of(report)
    servers = list(dict.fromkeys(request.server for request in requests))
    # A file that was closed before anything was read has a drawing, too.
    span = report.elapsed_seconds or 1e-3
    total_height = TOP + height + BELOW + 20.0 * (len(servers) // 4)
    body = [
        *(f'<text x="24" y="{52 + 15 * i}">{escape(line)}</text>' for i, line in enumerate(_summary(report))),
        f'<g transform="translate({px(left)} {px(TOP)})">',
        *_idle(report, span, height),
        *time_axis("time since opening began", span, WIDTH, height),
        *(_offset_axis(report.size, height) if files == 1 else _names(report, height)),
        '<g class="requests">',
        *_requests(report, requests, servers, span, height),
        "</g>",
        *_legend(servers, bool(report.idle_spans()), height),
        "</g>",
    ]
    return svg_document(_title(report), left + WIDTH + RIGHT, total_height, STYLE, body)


def _title(report: ReadReport) -> str:
    return report.file_path.rpartition("/")[2] if not report.files else report.file_path


def _summary(report: ReadReport) -> Iterator[str]:
    yield (
        f"{counted(report.requests, 'request')} · {counted(report.ranges, 'range')} · "
        f"{counted(report.round_trips, 'round trip')} · {human_bytes(report.fetched_bytes)} read for "
        f"{human_bytes(report.wanted_bytes)} wanted"
    )
    yield (
        f"waiting {human_seconds(report.wait_seconds)} · "
        f"nothing in flight {human_seconds(report.idle_seconds)} · "
        f"decompressing {human_seconds(report.decompress_seconds)}, decoding "
        f"{human_seconds(report.decode_seconds)} (sum of all threads)"
    )


def _idle(report: ReadReport, span: float, height: float) -> Iterator[str]:
    for start, stop in report.idle_spans():
        x, width = WIDTH * start / span, WIDTH * (stop - start) / span
        if width >= 0.5:
            tip = f"<title>nothing in flight for {human_seconds(stop - start)}</title>"
            rect = f'<rect class="idle" x="{px(x)}" width="{px(width)}" height="{px(height)}"'
            yield f"{rect}>{tip}</rect>"


def _requests(
    report: ReadReport, requests: list[FetchedRequest], servers: list[str], span: float, height: float
) -> Iterator[str]:
    colours = {server: COLOURS[i % len(COLOURS)] for i, server in enumerate(servers)}
    band = height / len(report.by_file)
    for request in requests:
        x = WIDTH * request.asked / span
        width = max(MIN_SIZE, WIDTH * (request.answered - request.asked) / span)
        size = max(report.by_file[request.file].size, 1)
        bottom = band * (request.file + 1)
        yield f'<g fill="{colours[request.server]}"><title>{escape(_tooltip(request))}</title>'
        for low, high in _strips(request.ranges, band / size):
            y = bottom - high
            yield (
                f'<rect x="{px(min(x, WIDTH - MIN_SIZE))}" y="{px(y)}" width="{px(width)}" '
                f'height="{px(max(MIN_SIZE, high - low))}"/>'
            )
        yield "</g>"


def _strips(ranges: list[tuple[int, int]], scale: float) -> list[tuple[float, float]]:
    """Ranges in pixels from the beginning of the file; ranges that would touch are merged."""
    strips: list[tuple[float, float]] = []
    for offset, nbytes in sorted(ranges):
        low, high = offset * scale, (offset + nbytes) * scale
        if strips and low < strips[-1][1] + 0.7:
            strips[-1] = (strips[-1][0], max(high, strips[-1][1]))
        else:
            strips.append((low, max(high, low + MIN_SIZE)))
    return strips


def _tooltip(request: FetchedRequest) -> str:
    size = human_bytes(sum(nbytes for _, nbytes in request.ranges))
    first = min(offset for offset, _ in request.ranges)
    return (
        f"{request.server}: {size} in {counted(len(request.ranges), 'range')} from byte {first:,}, "
        f"sent at {human_seconds(request.asked)}, "
        f"answered after {human_seconds(request.answered - request.asked)}"
    )


def _offset_axis(size: int, height: float) -> Iterator[str]:
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    unit, scale = next(((unit, scale) for unit, scale in units if size >= scale), ("B", 1.0))
    positions = [(tick, height - height * tick * scale / max(size, 1)) for tick in round_ticks(size / scale)]
    marks = "".join(f"M0 {px(y)}h-5" for _, y in positions)
    yield f'<path class="axis" d="M0 0V{px(height)}{marks}"/>'
    yield from (small_text(-10, y + 4, f"{tick:,.6g}", "end") for tick, y in positions)
    yield (
        f'<text transform="translate(-62 {px(height / 2)}) rotate(-90)" text-anchor="middle">'
        f"offset in the file ({unit})</text>"
    )


def _names(report: ReadReport, height: float) -> Iterator[str]:
    """The names of several files, and lines between them."""
    band = height / len(report.by_file)
    borders = "".join(f"M-6 {px(band * i)}H{px(WIDTH)}" for i in range(len(report.by_file) + 1))
    yield f'<path class="border" d="{borders}"/>'
    for i, one in enumerate(report.by_file):
        name = one.file_path.rpartition("/")[2]
        name = name if len(name) <= 30 else "…" + name[-29:]
        position = f'x="-12" y="{px(band * (i + 0.5) + 4)}" text-anchor="end"'
        text = f"{escape(name)}<title>{escape(one.file_path)}</title>"
        yield f'<text class="small" {position}>{text}</text>'
    yield (
        f'<text transform="translate(-222 {px(height / 2)}) rotate(-90)" text-anchor="middle">'
        "offset in each file (0 to its size)</text>"
    )


def _legend(servers: list[str], idle: bool, height: float) -> Iterator[str]:
    items = [(f'fill="{COLOURS[i % len(COLOURS)]}"', server) for i, server in enumerate(servers)]
    if idle:
        items.append(('class="idle" stroke="#8794a3" stroke-width=".6"', "nothing in flight"))
    x, y = 0.0, height + 60
    for paint, text in items:
        width = 44 + 6.8 * len(text)
        if x and x + width > WIDTH:
            x, y = 0.0, y + 20
        yield legend_entry(paint, x, y, text)
        x += width
