"""Draws the plots of docs/benchmarks/index.md and rntuple.md from the result files, and pastes tables.

    python bench/overview.py

Seconds are those of the result files; nothing is measured here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import paste
import study_items

from sapwood.display.markup import escape
from sapwood.studies.charts import WIDTH, Axis, Mark, Series, bars, chart, standalone

DOCS = Path(__file__).resolve().parent.parent / "docs"
RESULTS = DOCS / "benchmarks" / "results"
LOCAL = ["sapwood", "sapwood, 2 threads", "ROOT bulk I/O", "ROOT branch loop", "uproot", "uproot, 2 threads"]
FAR = ["sapwood", "uproot", "ROOT, 10 MB"]
NTUPLE = ["sapwood", "sapwood, 2 threads", "sapwood, tree", "ROOT bulk", "RDataFrame", "uproot"]
NTUPLE_FAR = ["sapwood", "uproot", "ROOT"]
WRITING = ["sapwood, 1 thread", "sapwood, 2 threads", "ROOT TTree, 1 thread", "ROOT TTree, 2 threads"]
WRITING += ["uproot at level 10, 1 thread", "uproot, 1 thread"]
LADDER = [
    "ROOT, no cache",
    "ROOT",
    "sapwood, no cache",
    "sapwood, trained only",
    "sapwood, + startup",
    "sapwood",
]
PATTERNS = {
    "startup": "## Startup",
    "1 %, from 7,500 on": "### Trigger 1 %, from 7,500 on",
    "random access": "## Random access",
}
TRIPS = {f"{trip} ms: s": f"{trip} ms" for trip in (0, 22, 100)}
"""The columns with seconds in the results of lazy reading, and how pages call them."""

UNDECLARED = {
    "startup": ("## Startup", ["sapwood", "sapwood, no cache", "ROOT", "uproot", "coffea"]),
    "random": ("## Random access", ["sapwood", "ROOT", "uproot", "coffea"]),
}
TRIGGERS = {
    "1 %": "### Trigger 1 %\n",
    "10 %": "### Trigger 10 %",
    "1 %, from 7,500 on": "### Trigger 1 %, from 7,500 on",
}
TRIGGERED = ["sapwood", "sapwood, declared columns", "sapwood, saved profile", "ROOT", "uproot", "coffea"]
SPLIT = {"CMS 2015": "MiniAOD-like, LZMA-4", "ATLAS 2018": "xAOD-like, ZLIB-5"}
"""What the studies compress, by their names in the results."""

PAGES = (
    "benchmarks/local.md",
    "benchmarks/remote.md",
    "benchmarks/learned.md",
    "benchmarks/links.md",
    "benchmarks/loops.md",
    "benchmarks/mixing.md",
    "benchmarks/rntuple.md",
    "benchmarks/sources.md",
    "benchmarks/write.md",
    "concepts/which-layout.md",
    "guides/remote.md",
    "guides/uproot-programs.md",
    "guides/rntuple-or-tree.md",
    "studies.md",
)
TITLE_HEIGHT = 28.0


def part(folder: Path, name: str, *headings: str) -> list[list[str]]:
    """The rows of the first table below headings of a result file, or of the table with that first cell."""
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    begin = 0
    for heading in headings:
        begin = text.index(heading, begin)
    found = re.search(r"(?:^\|.*\|\n?)+", text[begin:], flags=re.MULTILINE)
    assert found is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[0].splitlines()]


def seconds(rows: list[list[str]], column: str) -> dict[str, float]:
    """The numbers of a column by the first cell."""
    at = rows[0].index(column)
    return {row[0]: float(row[at]) for row in rows[2:]}


def titled(svg: str, title: str) -> str:
    """A chart with its title above it."""
    whole = standalone(svg, title)
    size = re.search(r'width="[\d.]+" height="([\d.]+)" viewBox="[^"]*"', whole)
    assert size is not None
    height = float(size[1]) + TITLE_HEIGHT
    box = f'width="{WIDTH:g}" height="{height:g}" viewBox="0 {-TITLE_HEIGHT:g} {WIDTH:g} {height:g}"'
    text = f'<text x="12" y="{-TITLE_HEIGHT / 3:.0f}" font-weight="bold">{escape(title)}</text>'
    page = whole.replace(size[0], box)
    page = page.replace('<rect class="page"', f'<rect class="page" y="{-TITLE_HEIGHT:g}"')
    return page.replace("</svg>", f"{text}\n</svg>")


def local_plot(folder: Path) -> str:
    """Reading all columns of a local file."""
    found = seconds(part(folder, "local", "### nano_zstd5, all columns"), "wall s")
    rows = [(reader, [found[reader]]) for reader in LOCAL]
    title = "Local file: seconds to read 1,491 columns, ZSTD-5 (lower is better)"
    return titled(bars(["wall seconds"], rows, "{:.2f} s".format), title)


def far_plot(folder: Path) -> str:
    """Reading three columns over root://, by the round trip."""
    rows = part(folder, "remote", "### root://, h1_new, no limit")
    title = "High latency: seconds to read three columns over root:// (lower is better)"
    return titled(by_round_trip(rows, FAR), title)


def by_round_trip(rows: list[list[str]], readers: list[str]) -> str:
    """The seconds of some readers by the round trip."""
    head, cells_of = rows[0], {row[0]: row for row in rows[2:]}
    series, trips = [], []
    for reader in readers:
        marks = []
        for name, cell in zip(head, cells_of[reader], strict=True):
            if name.endswith(" ms") and name != "0 ms" and cell != "fails":
                value = float(cell)
                trips.append(float(name[:-3]))
                marks.append(Mark(trips[-1], value, value, value, f"{reader}, {name}: {cell} s"))
        series.append(Series(reader, marks, is_curve=True))
    x = Axis("round trip in milliseconds", is_log=True, at=sorted(set(trips)))
    return chart(x, Axis("wall seconds", is_log=True, at=[0.1, 0.2, 0.5, 1, 2, 5]), series)


def ntuple_plot(folder: Path) -> str:
    """Reading all columns of an RNTuple."""
    found = seconds(part(folder, "rntuple", "### rntuple_zstd5, all columns"), "wall s")
    rows = [(reader, [found[reader]]) for reader in NTUPLE]
    title = "RNTuple: seconds to read 1,491 columns, ZSTD-5 (lower is better)"
    return titled(bars(["wall seconds"], rows, "{:.2f} s".format), title)


def ntuple_far_plot(folder: Path) -> str:
    """Reading three columns of an RNTuple over http://, by the round trip."""
    rows = part(folder, "rntuple", "### http://")
    title = "RNTuple: seconds to read three columns over http:// (lower is better)"
    return titled(by_round_trip(rows, NTUPLE_FAR), title)


def writing_plot(folder: Path) -> str:
    """Writing a NanoAOD-like file."""
    found = seconds(part(folder, "write", "| writer |"), "wall s")
    rows = [(writer, [found[writer]]) for writer in WRITING]
    title = "Writing: seconds for 100,000 events, 1,491 columns, ZSTD (lower is better)"
    return titled(bars(["wall seconds"], rows, "{:.2f} s".format), title)


PLOTS: dict[str, Callable[[Path], str]] = {
    "benchmark-local": local_plot,
    "benchmark-far": far_plot,
    "benchmark-writing": writing_plot,
    "benchmark-rntuple": ntuple_plot,
    "benchmark-rntuple-far": ntuple_far_plot,
}


def markdown(rows: list[list[str]]) -> str:
    """The rows as they were."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def ladder(folder: Path) -> list[list[str]]:
    """Seconds at 100 ms as a multiple of those of sapwood without latency, by reader and pattern."""
    found = {name: part(folder, "learned", heading) for name, heading in PATTERNS.items()}
    rows = [["reader, at 100 ms", *found], ["---", *["---:"] * len(found)]]
    for reader in LADDER:
        cells = []
        for pattern in found.values():
            near, far = (pattern[0].index(f"{trip} ms: s") for trip in (0, 100))
            best = next(float(row[near]) for row in pattern if row[0] == "sapwood")
            cell = next((row[far] for row in pattern if row[0] == reader), "")
            mark = "~" * cell.startswith("~")
            times = float(cell.strip("~")) / best if cell else 0.0
            cells.append(f"{mark}{times:,.{1 if times < 10 else 0}f}" if cell else "")
        rows.append([reader, *cells])
    return rows


def chosen(rows: list[list[str]], columns: Mapping[str, str], names: Sequence[str]) -> list[list[str]]:
    """The first cells of some rows, and some columns under other titles."""
    at = [rows[0].index(column) for column in columns]
    cells_of = {row[0]: [row[0], *(row[index] for index in at)] for row in rows[2:]}
    return [
        [rows[0][0], *columns.values()],
        ["---", *["---:"] * len(at)],
        *(cells_of[name] for name in names),
    ]


def triggers(folder: Path) -> list[list[str]]:
    """Seconds at 100 ms by reader and trigger pattern."""
    parts = [
        chosen(part(folder, "learned", heading), {"100 ms: s": pattern}, TRIGGERED)
        for pattern, heading in TRIGGERS.items()
    ]
    return [[rows[0][0], *(row[1] for row in rows)] for rows in zip(*parts, strict=True)]


def far_loops(folder: Path) -> list[list[str]]:
    """Seconds of event loops, and what a file costs beyond one long file, by protocol and pattern."""
    trips = ("22 ms", "100 ms")
    row = [f"{trip}: {what}" for trip in trips for what in ("events(), s", "ROOT, s", "beyond one file")]
    rows = [["protocol, columns", *row], ["---", *["---:"] * len(row)]]
    for protocol in ("http", "root", "s3"):
        for pattern, heading in (("8 columns", "### 8 columns"), ("trigger", "### 3 columns")):
            head, _, *readers = part(folder, "loops", f"## Over {protocol}://", heading)
            of_reader = {cells[0]: dict(zip(head, cells, strict=True)) for cells in readers}
            own, root = of_reader["sapwood, events()"], of_reader.get("ROOT, GetEntry", {})
            cells = [
                cell
                for trip in trips
                for cell in (own[f"{trip}: s"], root.get(f"{trip}: s", "-"), own[f"{trip}: beyond one file"])
            ]
            rows.append([f"`{protocol}://`, {pattern}", *cells])
    return rows


def tables(folder: Path) -> dict[str, str]:
    """The tables of the pages, by the name of their place."""
    return {
        "local": markdown(part(folder, "local", "### nano_zstd5, all columns")),
        "far": markdown(part(folder, "remote", "### root://, h1_new, no limit")),
        "writing": markdown(part(folder, "write", "| writer |")),
        "links": markdown(part(folder, "links", "## root, windows")),
        "losses": markdown(part(folder, "links", "## root, losses")),
        "ladder": markdown(ladder(folder)),
        "loops": markdown(part(folder, "loops", "## Local files")),
        "far_loops": markdown(far_loops(folder)),
        "triggers": markdown(triggers(folder)),
        **{
            name: markdown(chosen(part(folder, "learned", heading), TRIPS, readers))
            for name, (heading, readers) in UNDECLARED.items()
        },
        "pairs": markdown(part(folder, "sources", "## Two replicas")),
        "faults": markdown(part(folder, "sources", "## Replicas that fail")),
        "memory": markdown(part(folder, "memory")),
        "threads": markdown(part(folder, "threads", "## Share of the bare loop")),
        "mix40": markdown(part(folder, "mix", "| signal + 40 |")),
        "mix200": markdown(part(folder, "mix", "| signal + 200 |")),
        "use40": markdown(part(folder, "mix", "| 2,000 x 40 |")),
        "use200": markdown(part(folder, "mix", "| 2,000 x 200 |")),
        "opening": markdown(part(folder, "opening")),
        "names": markdown(part(folder, "names", "## Times")),
        "rntuple_near": markdown(part(folder, "rntuple", "### rntuple_zstd5, all columns")),
        "rntuple_loops": markdown(part(folder, "rntuple", "| reader | seconds |")),
        "rntuple_far": markdown(part(folder, "rntuple", "### http://")),
        "rntuple_write": markdown(part(folder, "rntuple", "| writer |")),
        "rntuple_merge": markdown(part(folder, "rntuple", "| work |")),
        "formats": markdown(part(folder, "formats")),
        "cms2015": findings(folder, "CMS 2015"),
        "atlas2018": findings(folder, "ATLAS 2018"),
        "splits": markdown(splits(folder)),
        **dict(study_items.tables(lambda name, heading: rows_of(folder, name, heading))),
    }


def splits(folder: Path) -> list[list[str]]:
    """The layouts of the two studies that differ in the split level: size and times of reading."""
    rows = [["", "size", "read all, CPU s", "a tenth of the branches, CPU s"], ["---", *["---:"] * 3]]
    for study, sample in SPLIT.items():
        head, _, *layouts = part(folder, "studies", f"## {study}: layouts")
        columns = [head.index(name) for name in ("size", "read all, CPU s", "10% of the branches, CPU s")]
        for cells in layouts:
            if level := re.search(r", split (\d+)$", cells[0]):
                rows.append([f"{sample}, level {level[1]}", *[cells[at] for at in columns]])
    return rows


def findings(folder: Path, study: str) -> str:
    """How and when a study was repeated, and its findings."""
    text = (folder / "studies.md").read_text(encoding="utf-8")
    sample = text.partition(f"## {study}: sample\n\n")[2].partition("\n")[0]
    return f"{sample}\n\n{markdown(part(folder, 'studies', f'## {study}: findings'))}"


def rows_of(folder: Path, name: str, heading: str) -> list[list[str]]:
    """The rows of a table in a result file, or of the ladder."""
    return ladder(folder) if name == "ladder" else part(folder, name, heading)


def main() -> None:
    for name, plot in PLOTS.items():
        (DOCS / "images" / f"{name}.svg").write_text(plot(RESULTS), encoding="utf-8")
    for page in PAGES:
        path = DOCS / page
        path.write_text(paste.paste(path.read_text(encoding="utf-8"), tables(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
