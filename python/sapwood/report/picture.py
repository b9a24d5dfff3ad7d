"""Draws a :class:`sapwood.layout.TreeLayout` as SVG, light enough for a tree of thousands of branches."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..display.markup import escape
from ..display.svg import px
from ..display.units import counted, human_bytes

if TYPE_CHECKING:
    from .layout import Basket, BranchLayout, TreeLayout

WIDTH, HEIGHT = 1160.0, 620.0
"""The drawing area of the baskets, in pixels."""
LEFT, RIGHT, BELOW = 84.0, 24.0, 78.0
THINNEST_READ = 2.0
"""Branches that were read are drawn at least this wide: they are what the picture is about."""
THIN = 0.4
"""Neighbours thinner than this are drawn as one strip."""
TOOLTIPS = 3000
"""Up to so many baskets, each has a tooltip of its own; above, only its branch has."""

STYLE = """
text{font-family:system-ui,sans-serif;font-size:12px;fill:#333}
.title{font-size:17px;font-weight:600}.small{font-size:11px;fill:#666}
.baskets rect{fill:#c8d2dd}.u{fill:#c8d2dd}
.baskets .r,.r{fill:#1f7a5c}.baskets .o,.o{fill:#eda63a}
.cluster{stroke:#8794a3;stroke-width:.6;stroke-dasharray:3 3;opacity:.7}
.axis{stroke:#555;stroke-width:1;fill:none}.lead{stroke:#1f7a5c;stroke-width:.8;fill:none}
.name{fill:#14533e}
"""

UNREAD, READ, OVERREAD = "u", "r", "o"


@dataclass
class _Strip:
    """One or several neighbouring branches drawn as one."""

    branches: list[BranchLayout]
    x: float
    width: float
    cells: dict[tuple[int, int], str] = field(default_factory=dict)


class _Fetched:
    """Asks whether a basket's bytes were fetched."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        for offset, nbytes in sorted(ranges):
            if self._stops and offset <= self._stops[-1]:
                self._stops[-1] = max(self._stops[-1], offset + nbytes)
            else:
                self._starts.append(offset)
                self._stops.append(offset + nbytes)

    def covers(self, basket: Basket) -> bool:
        index = bisect.bisect_right(self._starts, basket.offset) - 1
        return index >= 0 and basket.offset + basket.nbytes <= self._stops[index]


def document(layout: TreeLayout) -> str:
    """The picture as an SVG document."""
    branches = [branch for branch in layout.branches if branch.baskets]
    strips = _strips(layout, branches)
    labels = _labels(strips, layout.wanted)
    top = 74.0 + 15.0 * len(layout.notes) + _label_height(labels)
    total_width, total_height = LEFT + WIDTH + RIGHT, top + HEIGHT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{px(total_width)}" height="{px(total_height)}" '
        f'viewBox="0 0 {px(total_width)} {px(total_height)}" role="img">',
        f"<title>{escape(layout.title)}</title><style>{STYLE}</style>",
        f'<rect width="{px(total_width)}" height="{px(total_height)}" fill="#fff"/>',
        *_header(layout),
        f'<g transform="translate({px(LEFT)} {px(top)})"><g class="baskets">',
        *_columns(layout, strips, layout.num_baskets),
        "</g>",
        *_clusters(layout),
        *_entry_axis(layout.num_entries),
        *_groups(strips),
        *_label_texts(labels),
        *_legend(layout),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _widths(branches: Sequence[BranchLayout], wanted: frozenset[str]) -> list[float]:
    """Widths proportional to bytes that fill the area, except where a read branch needs its least width."""
    sizes = [float(max(branch.compressed_bytes, 1)) for branch in branches]
    floors = [min(THINNEST_READ, WIDTH / len(branches)) if b.name in wanted else 0.0 for b in branches]
    fixed = [False] * len(branches)
    while True:
        free = sum(size for size, is_fixed in zip(sizes, fixed, strict=True) if not is_fixed)
        room = WIDTH - sum(floor for floor, is_fixed in zip(floors, fixed, strict=True) if is_fixed)
        scale = room / free if free else 0.0
        below = [
            i for i, size in enumerate(sizes) if not fixed[i] and floors[i] > 0 and size * scale < floors[i]
        ]
        if not below:
            break
        for i in below:
            fixed[i] = True
    return [floors[i] if fixed[i] else size * scale for i, size in enumerate(sizes)]


def _strips(layout: TreeLayout, branches: Sequence[BranchLayout]) -> list[_Strip]:
    strips: list[_Strip] = []
    x = 0.0
    fetched = _Fetched(layout.fetched)
    for branch, width in zip(branches, _widths(branches, layout.wanted) if branches else [], strict=True):
        last = strips[-1] if strips else None
        joins = (
            last is not None
            and width < THIN
            and last.width < THIN
            and branch.name not in layout.wanted
            and last.branches[0].name not in layout.wanted
        )
        if last is not None and joins:
            last.branches.append(branch)
            last.width += width
        else:
            last = _Strip([branch], x, width)
            strips.append(last)
        x += width
        for basket in branch.baskets:
            state = UNREAD
            if layout.is_read(branch, basket):
                state = READ
            elif fetched.covers(basket):
                state = OVERREAD
            key = (basket.first_entry, basket.num_entries)
            if last.cells.get(key, UNREAD) == UNREAD:
                last.cells[key] = state
    return strips


def _header(layout: TreeLayout) -> Iterator[str]:
    yield f'<text class="title" x="{px(LEFT)}" y="32">{escape(layout.title)}</text>'
    for i, note in enumerate((_summary(layout), *layout.notes)):
        yield f'<text x="{px(LEFT)}" y="{52 + 15 * i}">{escape(note)}</text>'


def _summary(layout: TreeLayout) -> str:
    compressed = sum(branch.compressed_bytes for branch in layout.branches)
    uncompressed = sum(branch.uncompressed_bytes for branch in layout.branches)
    sizes = f"{human_bytes(compressed)} compressed, {human_bytes(uncompressed)} uncompressed"
    ratio = f" ({uncompressed / compressed:.2f}×)" if compressed else ""  # noqa: RUF001
    return " · ".join(
        (
            counted(layout.num_entries, "entry", "entries"),
            counted(len(layout.branches), "branch", "branches"),
            counted(layout.num_baskets, "basket"),
            counted(max(len(layout.cluster_starts) - 1, 0), "cluster"),
            sizes + ratio,
        )
    )


def _columns(layout: TreeLayout, strips: Sequence[_Strip], num_baskets: int) -> Iterator[str]:
    entries = max(layout.num_entries, 1)
    for strip in strips:
        # A hair of white sets neighbours apart where there is room for it.
        width = strip.width - 0.4 if strip.width > 2 else strip.width
        yield f'<g transform="translate({px(strip.x)} 0)"><title>{escape(_describe(strip))}</title>'
        tips: dict[tuple[int, int], Basket] = {}
        if len(strip.branches) == 1 and num_baskets <= TOOLTIPS:
            tips = {(b.first_entry, b.num_entries): b for b in strip.branches[0].baskets}
        for (first, count), state in strip.cells.items():
            y = HEIGHT * first / entries
            height = HEIGHT * count / entries
            height = height - min(1.0, height / 4)
            shown = "" if state == UNREAD else f' class="{state}"'
            rect = f'<rect{shown} y="{px(y)}" width="{px(width)}" height="{px(height)}"'
            tip = tips.get((first, count))
            yield (
                f"{rect}/>" if tip is None else f"{rect}><title>{escape(_tooltip(strip, tip))}</title></rect>"
            )
        yield "</g>"


def _describe(strip: _Strip) -> str:
    size = human_bytes(sum(branch.compressed_bytes for branch in strip.branches))
    if len(strip.branches) == 1:
        branch = strip.branches[0]
        return f"{branch.name}: {branch.typename}, {size} in {len(branch.baskets)} baskets"
    return f"{strip.branches[0].name} … {strip.branches[-1].name}: {len(strip.branches)} branches, {size}"


def _tooltip(strip: _Strip, basket: Basket) -> str:
    where = "in the tree's record" if basket.embedded else f"at byte {basket.offset:,}"
    return (
        f"{strip.branches[0].name}, entries {basket.first_entry:,} to "
        f"{basket.first_entry + basket.num_entries:,}: {human_bytes(basket.nbytes)} {where}"
    )


def _clusters(layout: TreeLayout) -> Iterator[str]:
    starts = [start for start in layout.cluster_starts if 0 < start < layout.num_entries]
    if not starts or len(starts) > HEIGHT / 4:
        return
    d = "".join(f"M0 {px(HEIGHT * start / layout.num_entries)}H{px(WIDTH)}" for start in starts)
    yield f'<path class="cluster" d="{d}"/>'


def _entry_axis(num_entries: int) -> Iterator[str]:
    ticks = list(_ticks(num_entries))
    d = f"M-6 0V{px(HEIGHT)}" + "".join(f"M-6 {px(HEIGHT * tick / max(num_entries, 1))}h-5" for tick in ticks)
    yield f'<path class="axis" d="{d}"/>'
    for tick in ticks:
        y = HEIGHT * tick / max(num_entries, 1) + 4
        yield f'<text class="small" x="-15" y="{px(y)}" text-anchor="end">{tick:,}</text>'
    yield '<text class="small" x="-6" y="-10" text-anchor="end">entry</text>'


def _ticks(num_entries: int) -> Iterator[int]:
    if num_entries <= 0:
        yield 0
        return
    power = 10 ** math.floor(math.log10(max(num_entries / 8, 1)))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 8 >= num_entries)
    yield from range(0, num_entries + 1, step)


def _groups(strips: Sequence[_Strip]) -> Iterator[str]:
    """Brackets under neighbours of a common family: Muon_pt, Muon_eta … are Muon."""
    spans: list[tuple[str, float, float]] = []
    for name, members in itertools.groupby(strips, key=lambda strip: family(strip.branches[0].name)):
        strips_of = list(members)
        spans.append((name, strips_of[0].x, strips_of[-1].x + strips_of[-1].width))
    for name, start, stop in spans:
        if stop - start < 7.0 * len(name) + 6:
            continue
        yield f'<path class="axis" d="M{px(start + 1)} {px(HEIGHT + 6)}v4H{px(stop - 1)}v-4"/>'
        place = f'x="{px((start + stop) / 2)}" y="{px(HEIGHT + 23)}" text-anchor="middle"'
        yield f'<text class="small" {place}>{escape(name)}</text>'


def family(name: str) -> str:
    """The collection that a branch belongs to, by its name.

    >>> family("Muon_pt"), family("nMuon"), family("Muon.fP"), family("run")
    ('Muon', 'Muon', 'Muon', 'run')
    """
    head = name.split("/")[0].split(".")[0].split("_")[0]
    return head[1:] if len(head) > 1 and head[0] == "n" and head[1].isupper() else head


def _labels(strips: Sequence[_Strip], wanted: frozenset[str]) -> list[tuple[str, float, float]]:
    """(name, x of the strip, x of its label) of the branches that were read, labels set apart."""
    named = [(s.branches[0].name, s.x + s.width / 2) for s in strips if s.branches[0].name in wanted]
    if not named or len(named) > WIDTH / 16:
        return []
    places: list[float] = []
    for _, x in named:
        places.append(max(x, places[-1] + 15) if places else x)
    overflow = max(places[-1] - WIDTH, 0.0)
    for i in range(len(places) - 1, -1, -1):
        limit = WIDTH if i == len(places) - 1 else places[i + 1] - 15
        places[i] = min(places[i], limit) if overflow else places[i]
    return [(name, x, place) for (name, x), place in zip(named, places, strict=True)]


def _label_height(labels: Sequence[tuple[str, float, float]]) -> float:
    return max((34.0 + 5.2 * len(name) for name, _, _ in labels), default=10.0)


def _label_texts(labels: Sequence[tuple[str, float, float]]) -> Iterator[str]:
    for name, x, place in labels:
        yield f'<path class="lead" d="M{px(x)} -2V-8L{px(place)} -20V-24"/>'
        yield (
            f'<text class="name" transform="translate({px(place + 4)} -28) rotate(-60)">{escape(name)}</text>'
        )


def _legend(layout: TreeLayout) -> Iterator[str]:
    items = [(UNREAD, "basket")]
    if layout.wanted:
        items = [(READ, "read"), (OVERREAD, "fetched on the way"), (UNREAD, "not read")]
    y = HEIGHT + 46
    x = 0.0
    for state, text in items:
        yield f'<rect class="{state}" x="{px(x)}" y="{px(y)}" width="14" height="12"/>'
        yield f'<text x="{px(x + 20)}" y="{px(y + 10)}">{text}</text>'
        x += 44 + 6.4 * len(text)
    yield f'<path class="cluster" d="M{px(x)} {px(y + 6)}h24"/>'
    yield f'<text x="{px(x + 30)}" y="{px(y + 10)}">border of a cluster</text>'
    note = "width = compressed bytes"
    if layout.wanted:
        note += f", read branches at least {THINNEST_READ:.0f} pixels"
    yield f'<text class="small" x="{px(WIDTH)}" y="{px(y + 10)}" text-anchor="end">{note}</text>'
