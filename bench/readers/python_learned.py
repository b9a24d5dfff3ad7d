"""Reads undeclared columns with sapwood, uproot or coffea, and prints JSON.

    python python_learned.py CLIENT SECONDS URL TREE TASK

CLIENT: sapwood:VARIANT (see VARIANTS; "saved profile" uses the file in SAPWOOD_BENCH_PROFILE), uproot,
coffea.
TASK is JSON: pattern, columns, entries. The clock starts after imports, before opening. After SECONDS (0: no
limit), the reader stops, and the result contains the completed share.

startup: all columns of the first 100 entries, entry by entry.
trigger: some columns of all entries, others of every n-th entry only.
random: three columns of 1,000 entries in random order.

uproot and coffea have no events: they have virtual arrays for chunks of entries, whose columns are touched in
the same way.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import awkward as ak
import numpy as np

FIRST = 100
RANDOM = 1000
# uproot's chunks are clusters; those of coffea are larger, because each costs a second to set up.
COFFEA_CHUNK = 20_000
VARIANTS: dict[str, dict[str, bool]] = {
    "no cache": {"startup": False, "learn": False, "trigger": False},
    "trained": {"startup": False, "learn": True, "trigger": False},
    "trained, startup": {"startup": True, "learn": True, "trigger": False},
    "trained, startup, trigger": {"startup": True, "learn": True, "trigger": True},
    "no startup": {"startup": False, "learn": True, "trigger": True},
    "no trigger": {"startup": True, "learn": True, "trigger": False},
    "declared": {"startup": False, "learn": False, "trigger": False},
    "saved profile": {"startup": True, "learn": True, "trigger": True},
}

Task = dict[str, Any]
Result = dict[str, Any]


def random_entries(entries: int) -> list[int]:
    """Entries in random order, the same for all readers; 61,837 is prime."""
    return [(number * 61_837 + 12_345) % entries for number in range(RANDOM)]


class Clock:
    """The start time, and the limit."""

    def __init__(self, limit: float) -> None:
        self.begin = time.perf_counter()
        self.limit = limit or float("inf")
        self.opened = 0.0

    def is_open(self) -> None:
        """Records that opening is complete; the limit starts here."""
        self.opened = self.seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    @property
    def is_over(self) -> bool:
        return self.seconds - self.opened > self.limit


def passes(entries: Any, task: Task) -> Any:
    """Whether an entry, or each of several, is one whose other columns are read."""
    start, every, offset = task["passing"]
    return (entries >= start) & (entries % every == offset)


def value(found: Any) -> float:
    """The sum of all numbers of an entry. Python is faster than NumPy for the few that there are."""
    return float(sum(found.tolist())) if found.ndim else float(found)


def loop(events: Any, task: Task, clock: Clock) -> tuple[float, float, float]:
    """The sum of the values that a task reads, the time of the first entry, and the completed share."""
    total, first, always = 0.0, 0.0, task["always"]
    for done, event in enumerate(events, 1):
        for number, name in enumerate(always, 1):
            total += value(event[name])
            # The first entry dominates the cost, so its completed share is that of the task.
            if done == 1 and clock.is_over and task["pattern"] == "startup":
                return total, clock.opened, number / len(always)
        if task["sometimes"] and passes(event.entry, task):
            for name in task["sometimes"]:
                total += value(event[name])
        first = first or clock.seconds
        if done % 50 == 0 and clock.is_over:
            return total, first, done / len(events)
    return total, first, 1.0


def by_sapwood(variant: str, url: str, tree_name: str, task: Task, clock: Clock) -> Result:
    import sapwood

    profile = os.environ.get("SAPWOOD_BENCH_PROFILE")
    options: dict[str, Any] = {"caching": sapwood.Caching(**VARIANTS[variant])}
    if variant == "declared":
        options["columns"] = [*task["always"], *task["sometimes"]]
    if variant == "saved profile" or task.get("learn"):
        options["profile"] = profile
    tree: Any = sapwood.open(f"{url}:{tree_name}")
    before = tree.file.report().round_trips
    clock.is_open()
    events = tree.events(**options)
    if task["pattern"] == "startup":
        events = events[:FIRST]
    elif task["pattern"] == "random":
        events = events[random_entries(len(events))]
    total, first, share = loop(events, task, clock)
    seconds = clock.seconds
    report = tree.file.report()
    [use] = report.lazy
    if task.get("plot"):
        use.save(task["plot"], overwrite=True)
    late = [fetch for fetch in use.fetches if fetch.window >= 2]
    later = max((fetch.window for fetch in late), default=1) - 1
    wasted = use.wasted_bytes / use.fetched_bytes if use.fetched_bytes else 0.0
    return {
        "seconds": seconds,
        "opened": clock.opened,
        "first": first,
        "share": share,
        "sum": total,
        "round_trips_after_opening": report.round_trips - before,
        "fetches": use.total_fetches,
        "fetches_per_later_window": len(late) / later if later else None,
        "windows": use.windows_seen,
        "wasted": wasted,
        "fetched_bytes": use.fetched_bytes,
    }


def touch(chunk: Any, first: int, task: Task) -> float:
    """The sum of the values that a task reads in a chunk of virtual arrays."""

    def total(name: str, where: Any = slice(None)) -> float:
        return float(ak.sum(ak.values_astype(chunk[name][where], np.float64), axis=None))

    result = sum(total(name) for name in task["always"])
    if task["pattern"] == "trigger":
        passing = passes(np.arange(first, first + len(chunk)), task)
        result += sum(total(name, passing) for name in task["sometimes"])
    return result


def by_chunks(chunks: Iterator[tuple[int, Any]], entries: int, task: Task, clock: Clock) -> Result:
    """Reads chunk after chunk; for the startup pattern, column after column of the first chunk."""
    total, done = 0.0, 0
    if task["pattern"] == "startup":
        _, chunk = next(chunks)
        clock.is_open()
        for name in task["always"]:
            total += float(ak.sum(ak.values_astype(chunk[name], np.float64), axis=None))
            done += 1
            if clock.is_over:
                break
        share = done / len(task["always"])
        return {"seconds": clock.seconds, "first": clock.opened, "share": share, "sum": total}
    clock.is_open()
    for start, chunk in chunks:
        if task["pattern"] == "random":
            chosen = random_entries(entries)
            total = sum(
                float(ak.sum(ak.values_astype(chunk[n][chosen], np.float64), axis=None))
                for n in task["always"]
            )
            return {"seconds": clock.seconds, "share": 1.0, "sum": total}
        total += touch(chunk, start, task)
        done = start + len(chunk)
        if clock.is_over:
            break
    return {"seconds": clock.seconds, "first": clock.opened, "share": done / entries, "sum": total}


def ranges(task: Task, entries: int, starts: list[int]) -> list[tuple[int, int]]:
    """The entries of the chunks of a task."""
    if task["pattern"] == "startup":
        return [(0, FIRST)]
    if task["pattern"] == "random":
        return [(0, entries)]
    return list(zip(starts, [*starts[1:], entries], strict=True))


def by_uproot(url: str, tree_name: str, task: Task, clock: Clock) -> Result:
    import uproot

    tree = uproot.open(f"{url}:{tree_name}")
    entries = tree.num_entries
    starts = [start for start in tree.common_entry_offsets() if start < entries]
    wanted = {*task["always"], *task["sometimes"]}

    def chunks() -> Iterator[tuple[int, Any]]:
        for start, stop in ranges(task, entries, starts):
            # Only the columns of the task: setting up all 1,491 columns takes uproot seconds for each chunk.
            yield (
                start,
                tree.arrays(
                    virtual=True, filter_name=lambda n: n in wanted, entry_start=start, entry_stop=stop
                ),
            )

    return by_chunks(chunks(), entries, task, clock)


def by_coffea(url: str, tree_name: str, task: Task, clock: Clock) -> Result:
    import uproot
    from coffea.nanoevents import BaseSchema, NanoEventsFactory

    directory = uproot.open(url)
    entries = directory[tree_name].num_entries
    wanted = {*task["always"], *task["sometimes"]}
    options = {"filter_name": lambda name: name in wanted}

    def chunks() -> Iterator[tuple[int, Any]]:
        for start, stop in ranges(task, entries, list(range(0, entries, COFFEA_CHUNK))):
            factory = NanoEventsFactory.from_root(
                directory,
                treepath=tree_name,
                schemaclass=BaseSchema,
                mode="virtual",
                entry_start=start,
                entry_stop=stop,
                iteritems_options=options,
            )
            yield start, factory.events()

    return by_chunks(chunks(), entries, task, clock)


def by_way(way: str, path: str, tree_name: str, task: Task, clock: Clock) -> Result:
    """Reads columns of a local file in one of several ways; the clock starts when it is open."""
    import sapwood

    tree: Any = sapwood.open(f"{path}:{tree_name}")
    names = [*task["always"], *task["sometimes"]]
    clock.is_open()
    if way == "arrays()":
        tree.arrays(names, how=dict)
    elif way.startswith("lazy()"):
        for chunk in tree.lazy(filter_name=None if "all" in way else names):
            for name in names:
                ak.materialize(chunk[name])
    else:
        for event in tree.events():
            for name in task["always"]:
                _ = event[name]
    return {"seconds": clock.seconds - clock.opened}


def imported(client: str) -> None:
    """What is imported before the clock starts."""
    if client.startswith(("sapwood", "local")):
        import sapwood.lazy.chunks
        import sapwood.lazy.events  # noqa: F401
    else:
        import uproot  # noqa: F401
    if client == "coffea":
        import coffea.nanoevents  # noqa: F401


def main() -> None:
    client, limit, url, tree, document = sys.argv[1:]
    task = json.loads(document)
    imported(client)
    readers: dict[str, Callable[[str, str, Task, Clock], Result]] = {"uproot": by_uproot, "coffea": by_coffea}
    clock = Clock(float(limit))
    if client in readers:
        result = readers[client](url, tree, task, clock)
    elif client.startswith("local:"):
        result = by_way(client.partition(":")[2], url, tree, task, clock)
    else:
        result = by_sapwood(client.partition(":")[2], url, tree, task, clock)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
