"""Reads signal events with background events of a pool with sapwood, and prints a line of JSON.

    python python_mix.py ORDER SECONDS SIGNALS NUMBER SEED TREE SIGNAL POOL...

ORDER: sequential, random-clusters (sapwood.Background with numbered events), or random (entries drawn one by
one, read step by step with arrays(entries=…)). The clock starts after imports, before the first file is
opened. After SECONDS, the reader stops at the end of a step, and the result contains the share that it did.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import awkward as ak
import numpy as np

import sapwood
from sapwood.query.batch import Report

STEP = 100


class Entries:
    """Entries of a pool, each drawn by itself."""

    def __init__(self, pool: list[str], seed: int) -> None:
        self.trees = [sapwood.open(url) for url in pool]
        self.random = np.random.RandomState(seed)

    def overlay(self, primaries: range, number: int, report: bool) -> tuple[Any, list[Any]]:
        """Lists of events and where they come from, as of :meth:`sapwood.Background.overlay`."""
        drawn = len(primaries) * number
        files = self.random.randint(len(self.trees), size=drawn)
        parts, places = [], []
        for place, tree in enumerate(self.trees):
            here = np.flatnonzero(files == place)
            entries, back = np.unique(
                self.random.randint(tree.num_entries, size=len(here)), return_inverse=True
            )
            parts.append(tree.arrays(entries=entries)[back])
            places.append(here)
        events = ak.concatenate(parts)[np.argsort(np.concatenate(places))]
        return ak.unflatten(events, number), [Report(tree, 0, tree.num_entries) for tree in self.trees]

    def close(self) -> None:
        """Closes the files."""
        for tree in self.trees:
            tree.file.close()


def main() -> None:
    order, limit, signals, number, seed, tree, signal, *urls = sys.argv[1:]
    pool = [f"{url}:{tree}" for url in urls]
    begin = time.perf_counter()
    supply: Any = (
        Entries(pool, int(seed))
        if order == "random"
        else sapwood.Background(pool, seed=int(seed), mode=order)
    )
    first, done, events = 0.0, 0, 0
    files: set[Any] = set()
    for primaries, report in sapwood.iterate(f"{signal}:{tree}", step_size=STEP, report=True):
        numbers = range(report.start, min(report.stop, int(signals)))
        lists, origin = supply.overlay(numbers, number=int(number), report=True)
        files |= {one.file for one in (report, *origin)}
        events += int(ak.sum(ak.num(lists)))
        done += min(len(primaries), len(numbers))
        first = first or time.perf_counter() - begin
        if done == int(signals) or time.perf_counter() - begin > float(limit):
            break
    seconds = time.perf_counter() - begin
    requests = sum(file.report().requests for file in files)
    supply.close()
    assert events == done * int(number)
    print(
        json.dumps({"seconds": seconds, "first": first, "share": done / int(signals), "requests": requests})
    )


if __name__ == "__main__":
    main()
