"""Draws a :class:`sapwood.layout.TreeLayout` as SVG, small enough for trees with thousands of branches."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..display.markup import escape
from ..display.svg import legend_entry, px, round_ticks, small_text, svg_document
from ..display.units import counted, human_bytes, human_compression

if TYPE_CHECKING:
    from .layout import Basket, BranchLayout, TreeLayout

WIDTH, HEIGHT = 1160.0, 620.0
"""The drawing area of the baskets, in pixels."""
LEFT, RIGHT, BELOW = 84.0, 24.0, 78.0
MIN_READ_WIDTH = 2.0
"""Branches that were read are drawn at least this wide, so that they are visible."""
MERGED_WIDTH = 0.4
"""Neighboring branches thinner than this are drawn as one strip."""
MAX_TOOLTIPS = 3000
"""With more baskets than this, only branches have tooltips."""

STYLE = """
.baskets rect{fill:#c8d2dd}.u{fill:#c8d2dd}
.baskets .r,.r{fill:#1f7a5c}.baskets .o,.o{fill:#eda63a}
.cluster{stroke:#8794a3;stroke-width:.6;stroke-dasharray:3 3;opacity:.7}
.lead{stroke:#1f7a5c;stroke-width:.8;fill:none}.name{fill:#14533e}
"""

UNREAD, READ, OVERREAD = "u", "r", "o"


@dataclass
class _Strip:
    """One branch, or several neighboring branches that are drawn as one."""

    branches: list[BranchLayout]
    x: float
    width: float
    cells: dict[tuple[int, int], str] = field(default_factory=dict)


class _FetchedBytes:
    """The byte ranges that were fetched."""

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
    """The drawing as a complete SVG document."""
    branches = [branch for branch in layout.branches if branch.baskets]
    strips = _strips(layout, branches)
    labels = _labels(strips, layout.wanted)
    top = 74.0 + 15.0 * len(layout.notes) + _label_height(labels)
    body = [
        *_header(layout),
        f'<g transform="translate({px(LEFT)} {px(top)})"><g class="baskets">',
        *_columns(layout, strips, layout.num_baskets),
        "</g>",
        *_clusters(layout),
        *_entry_axis(layout.num_entries),
        *_groups(strips),
        *_label_texts(labels),
        *_legend(layout),
        "</g>",
    ]
    return svg_document(layout.title, LEFT + WIDTH + RIGHT, top + HEIGHT + BELOW, STYLE, body, title_x=LEFT)


def _widths(branches: Sequence[BranchLayout], wanted: frozenset[str]) -> list[float]:
    """Widths that fill the area in proportion to bytes; branches that were read have a minimum width."""
    sizes = [float(max(branch.compressed_bytes, 1)) for branch in branches]
    floors = [min(MIN_READ_WIDTH, WIDTH / len(branches)) if b.name in wanted else 0.0 for b in branches]
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
    fetched = _FetchedBytes(layout.fetched)
    for branch, width in zip(branches, _widths(branches, layout.wanted) if branches else [], strict=True):
        last = strips[-1] if strips else None
        joins = (
            last is not None
            and width < MERGED_WIDTH
            and last.width < MERGED_WIDTH
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
    for i, note in enumerate((_summary(layout), *layout.notes)):
        yield f'<text x="{px(LEFT)}" y="{52 + 15 * i}">{escape(note)}</text>'


def _summary(layout: TreeLayout) -> str:
    compressed = sum(branch.compressed_bytes for branch in layout.branches)
    uncompressed = sum(branch.uncompressed_bytes for branch in layout.branches)
    counts = (
        counted(layout.num_entries, "entry", "entries"),
        layout.counted_columns(len(layout.branches)),
        counted(layout.num_baskets, layout.piece),
        counted(max(len(layout.cluster_starts) - 1, 0), "cluster"),
    )
    return " · ".join([*counts, human_compression(compressed, uncompressed)])


def _columns(layout: TreeLayout, strips: Sequence[_Strip], num_baskets: int) -> Iterator[str]:
    entries = max(layout.num_entries, 1)
    for strip in strips:
        # A thin gap separates neighbors where there is room for it.
        width = strip.width - 0.4 if strip.width > 2 else strip.width
        yield f'<g transform="translate({px(strip.x)} 0)"><title>{escape(_describe(layout, strip))}</title>'
        tips: dict[tuple[int, int], Basket] = {}
        if len(strip.branches) == 1 and num_baskets <= MAX_TOOLTIPS:
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


def _describe(layout: TreeLayout, strip: _Strip) -> str:
    size = human_bytes(sum(branch.compressed_bytes for branch in strip.branches))
    if len(strip.branches) == 1:
        branch = strip.branches[0]
        return f"{branch.name}: {branch.typename}, {size} in {counted(len(branch.baskets), layout.piece)}"
    columns = layout.counted_columns(len(strip.branches))
    return f"{strip.branches[0].name} … {strip.branches[-1].name}: {columns}, {size}"


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
    ticks = [int(tick) for tick in round_ticks(num_entries, count=8, least_step=1)]
    d = f"M-6 0V{px(HEIGHT)}" + "".join(f"M-6 {px(HEIGHT * tick / max(num_entries, 1))}h-5" for tick in ticks)
    yield f'<path class="axis" d="{d}"/>'
    for tick in ticks:
        y = HEIGHT * tick / max(num_entries, 1) + 4
        yield small_text(-15, y, f"{tick:,}", "end")
    yield small_text(-6, -10, "entry", "end")


def _groups(strips: Sequence[_Strip]) -> Iterator[str]:
    """Brackets under neighboring branches of one family: "Muon" for Muon_pt, Muon_eta, …."""
    spans: list[tuple[str, float, float]] = []
    for name, members in itertools.groupby(strips, key=lambda strip: family(strip.branches[0].name)):
        group = list(members)
        spans.append((name, group[0].x, group[-1].x + group[-1].width))
    for name, start, stop in spans:
        if stop - start < 7.0 * len(name) + 6:
            continue
        yield f'<path class="axis" d="M{px(start + 1)} {px(HEIGHT + 6)}v4H{px(stop - 1)}v-4"/>'
        yield small_text((start + stop) / 2, HEIGHT + 23, name, "middle")


def family(name: str) -> str:
    """The collection that a branch belongs to, judged by its name.

    >>> family("Muon_pt"), family("nMuon"), family("Muon.fP"), family("run")
    ('Muon', 'Muon', 'Muon', 'run')
    """
    head = name.split("/")[0].split(".")[0].split("_")[0]
    return head[1:] if len(head) > 1 and head[0] == "n" and head[1].isupper() else head


def _labels(strips: Sequence[_Strip], wanted: frozenset[str]) -> list[tuple[str, float, float]]:
    """(name, x of the strip, x of its label) of each branch that was read, without overlaps of labels."""
    named = [(s.branches[0].name, s.x + s.width / 2) for s in strips if s.branches[0].name in wanted]
    if not named or len(named) > WIDTH / 16:
        return []
    positions: list[float] = []
    for _, x in named:
        positions.append(max(x, positions[-1] + 15) if positions else x)
    if positions[-1] > WIDTH:
        limit = WIDTH
        for i in range(len(positions) - 1, -1, -1):
            positions[i] = min(positions[i], limit)
            limit = positions[i] - 15
    return [(name, x, position) for (name, x), position in zip(named, positions, strict=True)]


def _label_height(labels: Sequence[tuple[str, float, float]]) -> float:
    return max((34.0 + 5.2 * len(name) for name, _, _ in labels), default=10.0)


def _label_texts(labels: Sequence[tuple[str, float, float]]) -> Iterator[str]:
    for name, x, label_x in labels:
        yield f'<path class="lead" d="M{px(x)} -2V-8L{px(label_x)} -20V-24"/>'
        turned = f"translate({px(label_x + 4)} -28) rotate(-60)"
        yield f'<text class="name" transform="{turned}">{escape(name)}</text>'


def _legend(layout: TreeLayout) -> Iterator[str]:
    items = [(UNREAD, layout.piece)]
    if layout.wanted:
        items = [(READ, "read"), (OVERREAD, "over-read"), (UNREAD, "not read")]
    y = HEIGHT + 46
    x = 0.0
    for state, text in items:
        yield legend_entry(f'class="{state}"', x, y, text)
        x += 44 + 6.4 * len(text)
    yield f'<path class="cluster" d="M{px(x)} {px(y + 6)}h24"/>'
    yield f'<text x="{px(x + 30)}" y="{px(y + 10)}">cluster boundary</text>'
    note = "width = compressed bytes"
    if layout.wanted:
        columns = "fields" if layout.is_rntuple else "branches"
        note += f"; {columns} that were read: at least {MIN_READ_WIDTH:.0f} pixels"
    yield small_text(WIDTH, y + 10, note, "end")
