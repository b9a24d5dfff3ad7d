"""How far ahead to decode: time saved against memory, as in the study of ROOT's cache of 2007.

    python bench/ahead.py --data DIR [--runs N] [--markdown FILE] [--json FILE] [--plot FILE]

Loops over a local NanoAOD-like file in clusters of 5,000 events, in the page cache, with nothing decoded
ahead, with a fixed number of windows of the columns in use, and with as many as sapwood chooses. Each run is
a process of its own, in turns; figures are the time of the fastest run and the median of the peaks of memory.
The gain is the share of the time with nothing ahead that is saved. sapwood's choice runs as often as all
fixed numbers but 0 together: the best of them is the fastest of that many runs.

Readers may keep 256 MB of windows, half of the default: what they keep of windows that were used would
otherwise hide what those ahead take. A cluster is then cut into three windows. sapwood decodes ahead in at
most an eighth of that.

8 columns: `sapwood.events()`, event by event.
200 columns: chunks of `sapwood.events()`, as arrays.

The loop has no work per event, or 10 µs of it on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import results
from loops import COLUMNS, TREE
from machine import load_file
from measured import must_be_measured
from overview import titled
from results import Check, required, table
from rootbuild import HERE

from sapwood.studies.charts import Axis, Mark, Series, chart

FILES = {"nano_zstd5": "ZSTD-5", "short_lzma9": "LZMA-9"}
# Seconds of work per event.
WORK = [0.0, 1e-5]
DEPTHS: list[int | None] = [0, 1, 2, 4, 8, None]
TURN: list[int | None] = [0, 1, None, 2, None, 4, None, 8, None]
MANY = 200
LARGE = f"{MANY} columns"
DEADLINE = 120.0
MEMORY = "256 MB"
# The time with sapwood's choice over that with the best fixed number, and its memory beyond one window ahead.
MOST_TIME, MOST_MB = 1.05, 16

Record = dict[str, Any]


def loops(path: Path) -> dict[str, tuple[str, list[str]]]:
    """The way to loop, and the columns, by title."""
    import sapwood

    with sapwood.open(f"{path}:{TREE}") as tree:
        names = [name for name in tree if tree[name].typename == "float[]"]
    return {"8 columns": ("events", COLUMNS), LARGE: ("chunks", ["nMuon", *names[: MANY - 1]])}


def run(way: str, columns: list[str], work: float, depth: int | None, path: Path) -> Record:
    """One loop, in a process of its own."""
    task = {"tree": TREE, "always": columns, "sometimes": [], "every": 0, "offset": 0}
    task |= {"work": work, "caching": {"ahead": depth, "memory": MEMORY}}
    program = HERE / "readers" / "python_loops.py"
    command = [sys.executable, str(program), way, json.dumps(task), str(path)]
    return must_be_measured(command, os.environ, DEADLINE)


def measure(options: argparse.Namespace) -> Iterator[Record]:
    for name in FILES:
        path = options.data / f"{name}.root"
        load_file(path)
        for loop, (way, columns) in loops(path).items():
            for work in WORK:
                runs: dict[int | None, list[Record]] = {depth: [] for depth in DEPTHS}
                for _ in range(options.runs):
                    for depth in TURN:
                        runs[depth].append(run(way, columns, work, depth, path))
                if len({one["sum"] for found in runs.values() for one in found}) > 1:
                    raise RuntimeError("the loops read different values")
                for depth, found in runs.items():
                    point = {"file": name, "loop": loop, "work": work, "ahead": depth}
                    seconds = min(one["seconds"] for one in found)
                    peak = statistics.median(one["peak_mb"] for one in found)
                    yield {**point, "seconds": seconds, "peak_mb": peak}


def line(one: Record) -> str:
    """A progress line for a record."""
    return f"{case(one):<40} {chosen(one):<16} {one['seconds']:6.2f} s {one['peak_mb']:6.0f} MB"


def chosen(one: Record) -> str:
    return "sapwood's choice" if one["ahead"] is None else str(one["ahead"])


def case(one: Record) -> str:
    """What is looped over, and how."""
    work = f"{one['work'] * 1e6:g} µs of work" if one["work"] else "no work"
    return f"{FILES[one['file']]}, {one['loop']}, {work}"


def cases(records: list[Record]) -> dict[str, dict[int | None, Record]]:
    """The records by case and depth, with the gain."""
    found: dict[str, dict[int | None, Record]] = {}
    for one in records:
        found.setdefault(case(one), {})[one["ahead"]] = one
    for members in found.values():
        for one in members.values():
            one["gain"] = 1 - one["seconds"] / members[0]["seconds"]
    return found


def checks(records: list[Record]) -> list[Check]:
    """The choice of sapwood against fixed numbers."""
    asked: list[Check] = []
    for what, members in cases(records).items():
        best = min(one["seconds"] for depth, one in members.items() if depth is not None)
        ratio = members[None]["seconds"] / best
        more = members[None]["peak_mb"] - members[1]["peak_mb"]
        time = f"{what}: time of sapwood's choice / best fixed number"
        asked.append((time, f"{ratio:.2f}", f"at most {MOST_TIME}", ratio <= MOST_TIME))
        memory = f"{what}: memory of sapwood's choice beyond one window ahead"
        asked.append((memory, f"{more:.0f} MB", f"at most {MOST_MB} MB", more <= MOST_MB))
    return asked


def tables(records: list[Record]) -> dict[str, str]:
    found = {"Required": required(checks(records))}
    for what, members in cases(records).items():
        rows = [
            [chosen(one), f"{one['seconds']:.3f}", f"{100 * one['gain']:.0f} %", f"{one['peak_mb']:.0f}"]
            for one in members.values()
        ]
        found[what] = table(["windows ahead", "s", "gain", "peak MB"], rows)
    return found


def drawn(records: list[Record]) -> str:
    """The gain against the peak of memory, of many columns: 8 take too little memory to show."""
    series: list[Series] = []
    choices: list[Mark] = []
    for what, members in cases([one for one in records if one["loop"] == LARGE]).items():
        marks: list[Mark] = []
        for depth, one in members.items():
            gain, title = 100 * one["gain"], f"{what}, {chosen(one)}: {one['seconds']:.3f} s"
            of = choices if depth is None else marks
            label = "" if depth is None else str(depth)
            of.append(Mark(one["peak_mb"], gain, gain, gain, title, label, depth is None))
        series.append(Series(what, marks, is_curve=True))
    series.append(Series("sapwood's choice", choices))
    svg = chart(Axis("peak memory of the process, MB"), Axis("time saved, %"), series)
    return titled(svg, "Decoding ahead: time saved against memory, by the number of windows ahead")


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--runs", type=int, default=5, help="runs with each number")
    parser.add_argument("--plot", type=Path, help="draw the gain against memory")
    parser.add_argument("--earlier", type=Path, help="a file of --json to publish, instead of measuring")
    options = parser.parse_args()
    if options.earlier:
        records = json.loads(options.earlier.read_text())["records"]
    else:
        records = results.collect(measure(options), line)
    results.report(options, records, tables(records), checks(records))
    if options.plot:
        options.plot.write_text(drawn(records))


if __name__ == "__main__":
    main()
