"""Loops over many files with sapwood or uproot, and prints a line of JSON; see ../loops.py.

    python_loops.py WAY TASK URL...

WAY is events, chunks, lazy, iterate, scalars or uproot. TASK is JSON: "tree", "always" and "sometimes", the
columns, and "every" and "offset": in which entries the latter are read. All touch the same columns of the
same entries; the sum of the first column shows it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import awkward as ak
import numpy as np

Task = dict[str, Any]
Result = dict[str, Any]


def by_events(task: Task, urls: list[str]) -> Result:
    import sapwood

    # One call per event touches each column as code would that names it: event.nMuon, event.Muon_pt, …
    always, others = attrgetter(*task["always"]), attrgetter(*(task["sometimes"] or ["entry", "entry"]))
    every, offset = task["every"], task["offset"]
    total, entries = 0, 0
    loop = sapwood.events(urls)
    for event in loop:
        total += int(always(event)[0])
        entries += 1
        if every and event.entry % every == offset:
            others(event)
    return {"entries": entries, "sum": total, **reported(loop)}


def by_chunks(task: Task, urls: list[str]) -> Result:
    import sapwood

    total, entries = 0, 0
    loop = sapwood.events(urls)
    for chunk in loop.chunks():
        columns = [chunk[name] for name in (*task["always"], *task["sometimes"])]
        total += int(np.sum(columns[0]))
        entries += len(chunk)
    return {"entries": entries, "sum": total, **reported(loop)}


def by_lazy(task: Task, urls: list[str]) -> Result:
    import sapwood

    names = [*task["always"], *task["sometimes"]]
    total, entries = 0, 0
    loop = sapwood.lazy(urls, filter_name=names)
    for chunk in loop:
        columns = [ak.materialize(chunk[name]) for name in names]
        total += int(np.sum(columns[0]))
        entries += len(chunk)
    return {"entries": entries, "sum": total, **reported(loop)}


def by_iterate(task: Task, urls: list[str]) -> Result:
    import sapwood

    total, entries = 0, 0
    loop = sapwood.iterate(urls, [*task["always"], *task["sometimes"]])
    for step in loop:
        total += int(np.sum(step[task["always"][0]]))
        entries += len(step)
    return {"entries": entries, "sum": total, **reported(loop)}


def by_uproot(task: Task, urls: list[str]) -> Result:
    import uproot

    total, entries = 0, 0
    for step in uproot.iterate(urls, [*task["always"], *task["sometimes"]]):
        total += int(np.sum(step[task["always"][0]]))
        entries += len(step)
    return {"entries": entries, "sum": total}


def by_scalars(task: Task, urls: list[str]) -> Result:
    """Seconds of one loop over the events of a file that touches nothing, and of one that touches scalars."""
    import sapwood

    tree: Any = sapwood.open(urls[0])
    names = task["always"]
    tree.arrays(names)
    touch, entries = attrgetter(*names), tree.num_entries

    def bare() -> None:
        for _ in range(entries):
            pass

    def touched() -> None:
        for event in tree.events(filter_name=names):
            touch(event)

    seconds = []
    for loop in (bare, touched):
        times = []
        for _ in range(7):
            begin = time.perf_counter()
            loop()
            times.append(time.perf_counter() - begin)
        seconds.append(min(times))
    each = (seconds[1] - seconds[0]) / entries / len(names)
    return {"entries": entries, "sum": 0, "seconds_per_scalar": each}


def reported(loop: Any) -> Result:
    report = loop.report()
    return {"waited": report.wait_seconds, "bytes": report.fetched_bytes}


WAYS: dict[str, Callable[[Task, list[str]], Result]] = {
    "events": by_events,
    "chunks": by_chunks,
    "lazy": by_lazy,
    "iterate": by_iterate,
    "scalars": by_scalars,
    "uproot": by_uproot,
}


def main() -> None:
    way, document, *urls = sys.argv[1:]
    task = json.loads(document)
    if way == "uproot":
        import uproot  # noqa: F401
    else:
        import sapwood.opening.touched  # noqa: F401
    begin = time.perf_counter()
    found = WAYS[way](task, [f"{url}:{task['tree']}" for url in urls])
    print(json.dumps({"seconds": time.perf_counter() - begin, **found}), flush=True)


if __name__ == "__main__":
    main()
