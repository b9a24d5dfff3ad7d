"""Does one job with sapwood on one thread, and prints a line of JSON; see ../jobs.py.

    python_jobs.py TASK

TASK is JSON: "source", "tree", "entries" and "step", what is read, and in how many entries at a time;
"target", "compression", "cluster" and "every", what is written, the entries of a cluster, and that every n-th
column is written; "work", seconds of CPU time per event; and "recording", a file. The job is recorded with
`sapwood.trace`, whose figures are printed with the seconds of computation and the size of the output. After
that, a sample of the written columns is read again, and compared with the input.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import awkward as ak

import sapwood
from sapwood.report.tracing import summary

# One in this many of the written columns is compared.
SAMPLED = 10

Task = dict[str, Any]


def job(task: Task) -> tuple[float, list[str]]:
    """Reads, computes and writes; the seconds of computation, and the written columns."""
    computed, written, source = 0.0, None, f"{task['source']}:{task['tree']}"
    columns: dict[str, ak.Array] = {}
    with (
        sapwood.open(source, threads=1) as tree,
        sapwood.recreate(task["target"], compression=task["compression"], threads=1) as file,
    ):
        for step in tree.iterate(step_size=task["step"], entry_stop=task["entries"], how=dict):
            columns = dict(islice(step.items(), 0, None, task["every"]))
            begin = time.perf_counter()
            compute(task["work"] * len(next(iter(columns.values()))))
            computed += time.perf_counter() - begin
            if written is None:
                types = {name: declared(array) for name, array in columns.items()}
                written = file.mktree(task["tree"], types, cluster_entries=task["cluster"])
            written.extend(columns)
    return computed, list(columns)


def compute(seconds: float) -> None:
    """Keeps the processor busy for so much CPU time, whatever else the machine does."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def declared(array: ak.Array) -> Any:
    """The type of a column: vectors stay vectors, instead of arrays that each have a counter."""
    if array.ndim == 2 and not array.fields:
        return f"vector<{array.type.content.content}>"
    return array.type.content


def compare(task: Task, names: list[str]) -> int:
    """Compares a sample of the written columns with the input; how many."""
    stop, sample = task["entries"], names[::SAMPLED]
    with (
        sapwood.open(f"{task['source']}:{task['tree']}") as tree,
        sapwood.open(f"{task['target']}:{task['tree']}") as written,
    ):
        if written.num_entries != stop:
            raise SystemExit(f"{written.num_entries} entries were written, not {stop}")
        for name, array in tree.arrays(sample, entry_stop=stop, how=dict).items():
            # A list of records becomes a branch for each member.
            parts = {f"{name}_{member}": array[member] for member in array.fields} or {name: array}
            for branch, expected in parts.items():
                if not ak.array_equal(written[branch].array(), expected, equal_nan=True):
                    raise SystemExit(f"the written values of {branch} differ")
    return len(sample)


def main() -> None:
    task: Task = json.loads(sys.argv[1])
    # So that the imports behind these do not count.
    sapwood.recreate, sapwood.trace  # noqa: B018
    with sapwood.trace(task["recording"]):
        computed, names = job(task)
    (process,) = summary(task["recording"])["processes"]
    found = {"wall": process["wall"], "cpu": process["cpu"], "computed": computed}
    found |= {"size": Path(task["target"]).stat().st_size, "compared": compare(task, names)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
