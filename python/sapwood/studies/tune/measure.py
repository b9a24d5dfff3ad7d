"""One measurement, in a separate process, so that its peak of memory is that of the measurement alone."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UsageError
from ...lazy.reader import Caching
from ...opening.single import open as open_object
from ...query.filters import Filters
from ...query.reading import read_and_drop, read_chosen_and_drop
from ...query.select import select
from ...query.steps import entry_steps
from ...report.replaying import Link, replay
from ...report.tracing import trace
from ...writing.repacking import repack
from ..process import serve
from .course import recorded
from .points import LINKS, Workload

if TYPE_CHECKING:
    from ...model.branch import Branch
    from ...model.tree import Tree

Result = dict[str, Any]


def peak_bytes() -> int:
    """The peak resident memory of this process."""
    try:
        # Unlike this, getrusage starts from the peak of the parent process.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def write(task: Result) -> Result:
    """Writes the sample with a layout; returns the cost and the resulting sizes."""
    source, target, tree = task["source"], Path(task["target"]), task["tree"]
    before = peak_bytes()
    clock, processor = time.perf_counter(), time.process_time()
    with recorded() as course:
        report = repack(source, target, tree=tree, threads=task["threads"], **task["options"])
    seconds, used = time.perf_counter() - clock, time.process_time() - processor
    memory = peak_bytes()
    with open_object(f"{target}:{tree}") as written:
        sizes = {
            "compressed_bytes": written.compressed_bytes,
            "uncompressed_bytes": written.uncompressed_bytes,
        }
        shape = {"entries": written.num_entries, "clusters": max(len(written.cluster_starts) - 1, 0)}
        baskets = sum(branch.num_baskets for branch in written.tree.branches)
    return {
        "seconds": min(seconds, used),
        "wall_seconds": seconds,
        "cpu_seconds": used,
        "compress_seconds": report.compress_seconds,
        "decompress_seconds": report.decompress_seconds,
        "file_bytes": target.stat().st_size,
        "peak_bytes": memory,
        "peak_bytes_before": before,
        "baskets": baskets,
        "course": course,
        **sizes,
        **shape,
    }


def read(task: Result) -> Result:
    """Reads a file with a workload, and discards the values."""
    workload = Workload.from_dict(task["workload"])
    _warm_up(task, workload)
    return read_once(task, workload)


def read_once(task: Result, workload: Workload) -> Result:
    """The cost of reading, including opening.

    For a local file, ``seconds`` is the smaller of CPU time and wall time, because the time of other
    processes does not depend on the layout.
    """
    before = peak_bytes()
    clock, processor = time.perf_counter(), time.process_time()
    with open_object(f"{task['url']}:{task['tree']}", threads=task["threads"]) as tree:
        opened = time.perf_counter() - clock
        branches = chosen_branches(tree, workload, task["seed"])
        with recorded(lambda: tree.file.decompressed_bytes) as course:
            entries = read_entries(tree, branches, workload, task["seed"])
        seconds, used = time.perf_counter() - clock, time.process_time() - processor
        cost = tree.file.report()
    return {
        "seconds": seconds if "://" in task["url"] else min(seconds, used),
        "wall_seconds": seconds,
        "cpu_seconds": used,
        "open_seconds": opened,
        "wait_seconds": cost.wait_seconds,
        "decompress_seconds": cost.decompress_seconds,
        "decode_seconds": cost.decode_seconds,
        "fetched_bytes": cost.fetched_bytes,
        "decompressed_bytes": cost.decompressed_bytes,
        "requests": cost.requests,
        "round_trips": cost.round_trips,
        "baskets": cost.baskets,
        "branches": len(branches),
        "entries": entries,
        "peak_bytes": peak_bytes(),
        "peak_bytes_before": before,
        "course": course,
    }


def _warm_up(task: Result, workload: Workload) -> None:
    """Imports everything that reading needs, because import time does not depend on the layout."""
    with open_object(f"{task['url']}:{task['tree']}") as tree:
        chosen_branches(tree, workload, task["seed"])


def over_link(task: Result) -> Result:
    """Records the reading of a file, and replays it over the modeled link of the workload."""
    workload = Workload.from_dict(task["workload"])
    rtt, bandwidth = LINKS[workload.over]
    _warm_up(task, workload)
    with tempfile.TemporaryDirectory() as folder:
        with trace(Path(folder, "job.swt")) as recording:
            result = read_once(task, workload)
        cost = replay(recording, link=Link(rtt, bandwidth))[0]
    seconds = min(cost.seconds, cost.waited + result["cpu_seconds"])
    modelled = {
        "seconds": seconds,
        "wall_seconds": cost.seconds,
        "wait_seconds": cost.waited,
        "fetched_bytes": cost.bytes,
    }
    return result | modelled | {"requests": cost.requests, "round_trips": cost.round_trips}


def chosen_columns(tree: Tree, columns: Iterable[str]) -> list[Branch]:
    """The branches that names and globs select, or all; a name without a match is an error."""
    names = list(columns)
    for name in names:
        if not any(character in name for character in "*?["):
            select(tree, [name])
        elif not tree.keys(filter_name=name):
            raise UsageError(f"no column of the tree matches {name!r}")
    return list(select(tree, filters=Filters(names or None)).leaf_branches)


def chosen_branches(tree: Tree, workload: Workload, seed: int) -> list[Branch]:
    """The branches of a workload, in the order of the file; at least one."""
    found = chosen_columns(tree, workload.columns)
    if workload.branches >= 1:
        return found
    count = max(1, round(workload.branches * len(found)))
    drawn = np.random.default_rng(seed).choice(len(found), count, replace=False)
    return [found[i] for i in sorted(drawn)]


def read_entries(tree: Tree, branches: list[Branch], workload: Workload, seed: int) -> int:
    """Reads entries step by step, or in an event loop; returns their number."""
    if workload.cache:
        events = tree.events(caching=Caching(memory=workload.cache))
        for chunk in events.chunks():
            for branch in branches:
                chunk[branch.name]
        return tree.num_entries
    if workload.events >= 1:
        read_and_drop(tree, branches, None, None, step_size=workload.step)
        return tree.num_entries
    passing = np.flatnonzero(np.random.default_rng(seed).random(tree.num_entries) < workload.events)
    for start, stop in entry_steps(tree, branches, 0, tree.num_entries, workload.step):
        inside = passing[(passing >= start) & (passing < stop)]
        if len(inside):
            read_chosen_and_drop(tree, branches, inside, start, stop)
    return len(passing)


KINDS = {"write": write, "read": read, "link": over_link}


if __name__ == "__main__":
    serve(lambda task: KINDS[task["kind"]](task))
