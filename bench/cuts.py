"""The cost and gain of cuts in two stages: seconds and bytes, locally and over HTTP behind an emulated link.

    python bench/cuts.py FILE.root:Events --sorted event --spread MET_pt --columns 'Muon_*' 'Jet_*'

Each cut selects a share of the entries, which are adjacent (``--sorted``) or scattered (``--spread``). The
columns are read in one stage and in two, in turns; the fastest of several runs counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from remote_servers import running, testkit

import sapwood
from sapwood.query import reading as _reading
from sapwood.query.stages import stages

SHARES = (0.001, 0.01, 0.1, 1.0)


class Cost(NamedTuple):
    """The cost of one read."""

    seconds: float
    fetched: int
    round_trips: int


@contextmanager
def served(folder: Path, round_trip: int, megabits: int) -> Iterator[str]:
    """The URL of a folder behind an emulated link."""
    options = ["--rtt-ms", str(round_trip), "--mbit", str(megabits)]
    with running([str(testkit()), "serve", "--root", str(folder), *options]) as server:
        yield server["url"]


def read(path: str, columns: list[str], cut: str, two: bool) -> Cost:
    """Opens the file, and reads the columns with a cut."""
    vars(_reading)["stages"] = stages if two else lambda *_: None
    with sapwood.open(path) as tree:
        before, start = tree.file.report(), time.perf_counter()
        tree.arrays(columns, cut)
        seconds, after = time.perf_counter() - start, tree.file.report()
    fetched = after.fetched_bytes - before.fetched_bytes
    return Cost(seconds, fetched, after.round_trips - before.round_trips)


def table(path: str, cuts: dict[str, str], columns: list[str], repeat: int) -> None:
    """Prints a line for each cut."""
    print("| passes | one stage | two stages |\n|---|---|---|")
    for name, cut in cuts.items():
        costs = [[read(path, columns, cut, two) for two in (False, True)] for _ in range(repeat)]
        best = [min(way) for way in zip(*costs, strict=True)]
        cells = [
            f"{one.seconds:.3f} s, {one.fetched / 1e6:.1f} MB, {one.round_trips} round trips" for one in best
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Measures, and prints tables in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree")
    parser.add_argument("--sorted", required=True)
    parser.add_argument("--spread", required=True)
    parser.add_argument("--columns", nargs="+", required=True)
    parser.add_argument("--most", type=int, default=40, help="columns")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    place, name = given.tree.rsplit(":", 1)
    with sapwood.open(given.tree) as tree:
        columns = tree.keys(filter_name=given.columns)[: given.most]
        cuts = {}
        for how in ("sorted", "spread"):
            branch = getattr(given, how)
            values = np.sort(tree[branch].array(library="np"))
            for share in SHARES:
                limit = values[min(int(share * len(values)), len(values) - 1)]
                cuts[f"{share:.1%}, {how}"] = f"{branch} {'<=' if share == 1 else '<'} {limit}"
    print(f"{len(columns)} columns, locally\n")
    table(given.tree, cuts, columns, given.repeat)
    for round_trip in (22, 100):
        for megabits in (1000, 100):
            print(f"\n{round_trip} ms, {megabits} Mbit/s\n")
            with served(Path(place).parent, round_trip, megabits) as url:
                table(f"{url}/{Path(place).name}:{name}", cuts, columns, max(1, given.repeat // 2))


if __name__ == "__main__":
    main()
