"""Draws the fetches of a lazy reader and their causes as SVG: by column and entry, and over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..display.markup import escape
from ..display.svg import legend_entry, px, round_ticks, small_text, svg_document, time_axis
from ..display.units import counted, human_bytes, human_seconds

if TYPE_CHECKING:
    from .lazy_use import LazyFetch, LazyUse

WIDTH = 760.0
"""The width of the drawing area in pixels."""
USED, UNUSED, TIME = 400.0, 130.0, 170.0
"""The maximum heights of the used columns and of the unused ones, and the height of the time chart."""
LEFT, RIGHT, TOP, BETWEEN, BELOW = 230.0, 40.0, 96.0, 64.0, 60.0
MAX_ROW_HEIGHT = 14.0
MIN_NAME_HEIGHT = 8.0
"""Rows of at least this height show the name of their column."""
COLOURS = {
    "startup": "#3566a8",
    "trained": "#1f7a5c",
    "trigger": "#d1602a",
    "declared": "#7a5bc4",
    "touched": "#6b6b6b",
}
TITLES = {
    "startup": "startup: no usage known yet",
    "trained": "trained: used in most windows",
    "trigger": "trigger: used occasionally",
    "declared": "declared in advance",
    "touched": "touched: fetched on demand",
}

STYLE = """
.name{font-size:10px;fill:#444}.ground{fill:#f4f6f8}
.unused{opacity:.28}.window{stroke:#fff;stroke-width:.8;fill:none}
"""


@dataclass(frozen=True)
class _Row:
    """A used column, or several unused columns that were fetched in the same windows."""

    names: list[str]
    used: bool
    y: float
    height: float

    @property
    def name(self) -> str:
        return self.names[0] if len(self.names) == 1 else f"{len(self.names):,} columns, {self.names[0]}, …"


@dataclass(frozen=True)
class _Map:
    """The rows from top to bottom, and the kind of the first fetch for each column and window."""

    use: LazyUse
    rows: list[_Row]
    kinds: dict[tuple[str, int], str]

    @property
    def height(self) -> float:
        return self.rows[-1].y + self.rows[-1].height if self.rows else MAX_ROW_HEIGHT

    @property
    def entries(self) -> tuple[int, int]:
        windows = self.use.windows
        return (windows[0][0], windows[-1][1]) if windows else (0, 1)

    def across(self, entry: int) -> float:
        start, stop = self.entries
        return WIDTH * (entry - start) / max(stop - start, 1)


def document(use: LazyUse) -> str:
    """The drawing as a complete SVG document."""
    plan = _plan(use)
    below = TOP + plan.height + BETWEEN
    body = [
        f'<text x="24" y="52">{escape(use.summary() + _omitted(use))}</text>',
        *_legend(use),
        f'<g transform="translate({px(LEFT)} {px(TOP)})">',
        *_cells(plan),
        *_names(plan),
        *_entry_axis(plan),
        f'</g><g transform="translate({px(LEFT)} {px(below)})">',
        *_over_time(plan),
        "</g>",
    ]
    title = f"{use.kind} of {use.tree}: fetches and their causes"
    return svg_document(title, LEFT + WIDTH + RIGHT, below + TIME + BELOW, STYLE, body)


def _omitted(use: LazyUse) -> str:
    """What the drawing leaves out, if there are more fetches than are listed."""
    drawn, total = len(use.fetches), use.total_fetches
    return f"; the first {drawn:,} of {total:,} fetches" if drawn < total else ""


def _plan(use: LazyUse) -> _Map:
    kinds: dict[tuple[str, int], str] = {}
    for fetch in use.fetches:
        for column in fetch.columns:
            kinds.setdefault((column, fetch.window), fetch.kind)
    touched = {column for column, _ in use.touched}
    names = sorted(touched, key=lambda name: (-use.columns[name].windows_touched, name))
    height = min(MAX_ROW_HEIGHT, USED / max(len(names), 1))
    rows = [_Row([name], True, height * number, height) for number, name in enumerate(names)]
    y = height * len(names)
    groups = _fetched_alike({key: kind for key, kind in kinds.items() if key[0] not in touched})
    num_unused = sum(map(len, groups))
    for group in groups:
        share = min(UNUSED, MAX_ROW_HEIGHT * num_unused) * len(group) / num_unused
        rows.append(_Row(group, False, y, share))
        y += share
    return _Map(use, rows, kinds)


def _fetched_alike(kinds: dict[tuple[str, int], str]) -> list[list[str]]:
    """Groups of columns whose windows and kinds of fetches are the same, the largest group first."""
    fetched: dict[str, list[tuple[int, str]]] = {}
    for (column, window), kind in kinds.items():
        fetched.setdefault(column, []).append((window, kind))
    groups: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for column, windows in sorted(fetched.items()):
        groups.setdefault(tuple(sorted(windows)), []).append(column)
    return sorted(groups.values(), key=lambda group: -len(group))


def _cells(plan: _Map) -> Iterator[str]:
    yield f'<rect class="ground" width="{px(WIDTH)}" height="{px(plan.height)}"/>'
    for row in plan.rows:
        for kind, used, start, stop in _runs(plan, row.names[0]):
            x, end = plan.across(start), plan.across(stop)
            shade = "" if used else ' class="unused"'
            tip = f"{row.name}, entries {start:,} to {stop:,}: {kind}{'' if used else ', unused'}"
            yield (
                f'<rect{shade} fill="{COLOURS[kind]}" x="{px(x)}" y="{px(row.y)}" '
                f'width="{px(max(end - x, 0.5))}" height="{px(max(row.height - 0.6, row.height * 0.8))}">'
                f"<title>{escape(tip)}</title></rect>"
            )
    edges = "".join(f"M{px(plan.across(start))} 0V{px(plan.height)}" for start, _ in plan.use.windows[1:])
    if edges:
        yield f'<path class="window" d="{edges}"/>'


def _runs(plan: _Map, column: str) -> Iterator[tuple[str, bool, int, int]]:
    """(kind, whether it was used, first entry, end) of runs of equal neighboring windows of a column."""
    last: tuple[str, bool, int, int] | None = None
    for window, (start, stop) in enumerate(plan.use.windows):
        kind = plan.kinds.get((column, window))
        if kind is None:
            continue
        used = (column, window) in plan.use.touched
        if last is not None and last[:2] == (kind, used) and last[3] == start:
            last = (kind, used, last[2], stop)
            continue
        if last is not None:
            yield last
        last = (kind, used, start, stop)
    if last is not None:
        yield last


def _names(plan: _Map) -> Iterator[str]:
    used = [row for row in plan.rows if row.used]
    others = [row for row in plan.rows if not row.used]
    for row in used:
        if row.height >= MIN_NAME_HEIGHT:
            name = row.name if len(row.name) <= 36 else "…" + row.name[-35:]
            y = row.y + row.height / 2 + 3.5
            yield f'<text class="name" x="-8" y="{px(y)}" text-anchor="end">{escape(name)}</text>'
    if used and used[0].height < MIN_NAME_HEIGHT:
        yield small_text(-8, used[-1].y / 2, counted(len(used), "used column"), "end")
    if others:
        middle = (others[0].y + plan.height) / 2
        number = sum(len(row.names) for row in others)
        yield small_text(-8, middle, counted(number, "unused column"), "end")


def _entry_axis(plan: _Map) -> Iterator[str]:
    start, stop = plan.entries
    ticks = [int(tick) for tick in round_ticks(stop, least_step=1)]
    positions = [(tick, plan.across(tick)) for tick in ticks if start <= tick <= stop]
    marks = "".join(f"M{px(x)} {px(plan.height)}v5" for _, x in positions)
    yield f'<path class="axis" d="M0 {px(plan.height)}H{px(WIDTH)}{marks}"/>'
    yield from (small_text(x, plan.height + 18, f"{tick:,}", "middle") for tick, x in positions)
    label = "entry; pale: fetched but not used"
    yield f'<text x="{px(WIDTH / 2)}" y="{px(plan.height + 36)}" text-anchor="middle">{label}</text>'


def _over_time(plan: _Map) -> Iterator[str]:
    """The fetches, with time on the horizontal axis and their entries on the vertical axis."""
    fetches = plan.use.fetches
    begin = min((fetch.asked for fetch in fetches), default=0.0)
    end = max((fetch.answered or fetch.asked for fetch in fetches), default=0.0)
    span = max(end - begin, 1e-6)
    yield f'<rect class="ground" width="{px(WIDTH)}" height="{px(TIME)}"/>'
    yield from time_axis("time since the first fetch", span, WIDTH, TIME)
    yield f'<path class="axis" d="M0 0V{px(TIME)}"/>'
    for fetch in fetches:
        yield from _bar(plan, fetch, begin, span)
    start, stop = plan.entries
    yield small_text(-8, TIME, f"{start:,}", "end")
    yield small_text(-8, 10, f"{stop:,}", "end")
    middle = px(TIME / 2)
    yield f'<text transform="translate(-62 {middle}) rotate(-90)" text-anchor="middle">entries</text>'


def _bar(plan: _Map, fetch: LazyFetch, begin: float, span: float) -> Iterator[str]:
    start, stop = plan.use.windows[fetch.window]
    low, high = (TIME * plan.across(entry) / WIDTH for entry in (start, stop))
    x = WIDTH * (fetch.asked - begin) / span
    answered = fetch.asked if fetch.answered is None else fetch.answered
    width = max(1.5, WIDTH * (answered - fetch.asked) / span)
    tip = (
        f"{fetch.kind}: {counted(len(fetch.columns), 'column')}, {human_bytes(fetch.nbytes)}, "
        f"entries {start:,} to {stop:,}, answered after {human_seconds(answered - fetch.asked)}"
    )
    yield (
        f'<rect fill="{COLOURS[fetch.kind]}" opacity=".85" x="{px(min(x, WIDTH - 1.5))}" '
        f'y="{px(TIME - high)}" width="{px(width)}" height="{px(max(high - low, 1.5))}">'
        f"<title>{escape(tip)}</title></rect>"
    )


def _legend(use: LazyUse) -> Iterator[str]:
    x = 24.0
    for kind in _present(use):
        yield legend_entry(f'fill="{COLOURS[kind]}"', x, 66, TITLES[kind])
        x += 46 + 6.6 * len(TITLES[kind])


def _present(use: LazyUse) -> Sequence[str]:
    kinds = {fetch.kind for fetch in use.fetches}
    return [kind for kind in COLOURS if kind in kinds]
