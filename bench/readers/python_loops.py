"""Loops over many files with sapwood or uproot, and prints a line of JSON; see ../loops.py.

    python_loops.py WAY TASK URL...

WAY is events, chunks, lazy, iterate, scalars, uproot, uproot_events or root_entries; the last two go event by
event, and root_entries reads the RNTuple of one file. TASK is JSON: "tree", "always" and "sometimes", the
columns, and "every" and "offset": in which entries the latter are read; for events and chunks, optionally
"work": seconds that the loop computes per event, and "caching": options of sapwood.Caching. All touch the
same columns of the same entries; the sum of the first column shows it.

When everything is imported, it says so on a line, and begins after a line, or the end, of its input.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
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
    total, entries, work = 0, 0, task.get("work", 0.0)
    loop = sapwood.events(urls, caching=sapwood.Caching(**task.get("caching", {})))
    for event in loop:
        total += int(always(event)[0])
        entries += 1
        if work:
            compute(work)
        if every and event.entry % every == offset:
            others(event)
    return {"entries": entries, "sum": total, **reported(loop)}


def compute(seconds: float) -> None:
    """Keeps the processor busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def by_chunks(task: Task, urls: list[str]) -> Result:
    import sapwood

    total, entries, work = 0, 0, task.get("work", 0.0)
    loop = sapwood.events(urls, caching=sapwood.Caching(**task.get("caching", {})))
    for chunk in loop.chunks():
        columns = [chunk[name] for name in (*task["always"], *task["sometimes"])]
        total += int(np.sum(columns[0]))
        entries += len(chunk)
        if work:
            compute(work * len(chunk))
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


def by_uproot_events(task: Task, urls: list[str]) -> Result:
    """The values of each step as lists of Python, which a loop gets through sooner than through arrays."""
    import uproot

    total, entries = 0, 0
    names = [*task["always"], *task["sometimes"]]
    for step in uproot.iterate(urls, names):
        for values in zip(*(step[name].to_list() for name in names), strict=True):
            total += int(values[0])
            entries += 1
    return {"entries": entries, "sum": total}


def by_root_entries(task: Task, urls: list[str]) -> Result:
    """The loop of ROOT's manual for Python; the values are taken from the entry once, and change with it."""
    import ROOT

    path, ntuple = urls[0].rsplit(":", 1)
    names = [*task["always"], *task["sometimes"]]
    described = ROOT.RNTupleReader.Open(ntuple, path).GetDescriptor()
    model = ROOT.RNTupleModel.Create()
    for name in names:
        field = described.GetFieldDescriptor(described.FindFieldId(name))
        model.MakeField[str(field.GetTypeName())](name)
    reader = ROOT.RNTupleReader.Open(model, ntuple, path)
    entry = reader.CreateEntry()
    values = [entry[name] for name in names]
    total, entries = 0, reader.GetNEntries()
    for number in range(entries):
        reader.LoadEntry(number, entry)
        total += int(values[0])
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
    "uproot_events": by_uproot_events,
    "root_entries": by_root_entries,
}
LIBRARIES = {"uproot": "uproot", "uproot_events": "uproot", "root_entries": "ROOT"}


def main() -> None:
    way, document, *urls = sys.argv[1:]
    task = json.loads(document)
    importlib.import_module(LIBRARIES.get(way, "sapwood.opening.touched"))
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    found = WAYS[way](task, [f"{url}:{task['tree']}" for url in urls])
    print(json.dumps({"seconds": time.perf_counter() - begin, **found, "peak_mb": peak_mb()}), flush=True)


def peak_mb() -> float:
    """The most memory that this process has had resident."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0]) / 1e6


if __name__ == "__main__":
    main()
