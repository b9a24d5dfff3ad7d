"""Reads a container or a product with sapwood in one way, and prints a line of JSON; see ../access.py.

    python python_access.py WAY WHAT FILE TASK

WAY is arrays, events, lazy (which offers only the columns to read) or lazy_all (which offers all). WHAT is
everything (with arrays only), objects (the whole container or product), variables, or variable (the first).
TASK is JSON: "tree", "kind" (xaod or edm), "name" of the container, or of the branch of the product;
"variables"; and "start", "stop" and "step" of the entries, as for range().

All ways touch every column that they read, and add up the variables; events add up only the first one. Before
the clock starts, the same is read of the first entries, so that imports do not count; opening does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import awkward as ak
import numpy as np
from python_loops import peak_mb
from python_objects import Clock

import sapwood
from sapwood import edm, xaod

WARM_UP = 10
# The name of a variable, and its values in some entries.
Values = Iterator[tuple[str, Any]]


@dataclass
class Job:
    """What to read of a tree: `variables` maps the names of variables to those of columns."""

    tree: Any
    kind: str
    name: str
    variables: dict[str, str]
    entries: range

    @property
    def object_columns(self) -> list[str]:
        """The columns of the container, or the one of the product."""
        if self.kind == "edm":
            return [f"{self.name}obj"]
        return [branch.name for branch in xaod.container(self.tree, self.name).variables.values()]

    @property
    def lazy_columns(self) -> list[str]:
        """The same for lazy(), which offers the members of a split product, but not the product."""
        found = [self.tree[name] for name in self.object_columns]
        return [leaf.name for one in found for leaf in ([*one.itervalues()] if one.is_group else [one])]

    @property
    def bounds(self) -> dict[str, Any]:
        return {"entry_start": self.entries.start, "entry_stop": self.entries.stop}

    def arrays(self, columns: list[str]) -> dict[str, Any]:
        which = self.bounds if self.entries.step == 1 else {"entries": self.entries}
        return dict(self.tree.arrays(columns, how=dict, **which))

    def picked(self, objects: Any) -> Values:
        """The variables of an array of objects."""
        return ((name, objects[name]) for name in self.variables)


def everything(job: Job) -> Values:
    columns = job.arrays([branch.name for branch in job.tree.branches])
    if job.kind == "edm":
        return job.picked(columns[job.name].obj)
    return ((name, columns[column]) for name, column in job.variables.items())


def objects(job: Job) -> Values:
    """By the methods of containers and products. These have no `entries`: chosen entries are read by name."""
    if job.entries.step == 1:
        if job.kind == "edm":
            return job.picked(edm.Events(job.tree)[job.name].array(**job.bounds))
        return job.picked(xaod.container(job.tree, job.name).arrays(**job.bounds))
    columns = job.arrays(job.object_columns)
    if job.kind == "edm":
        return job.picked(columns[f"{job.name}obj"])
    variables = xaod.container(job.tree, job.name).variables
    return job.picked(ak.zip({name: columns[one.name] for name, one in variables.items()}, depth_limit=2))


def variables(job: Job) -> Values:
    columns = job.arrays([*job.variables.values()])
    return ((name, columns[column]) for name, column in job.variables.items())


def by_event(job: Job, columns: list[str]) -> Values:
    """The first variable of each event; the other columns are touched."""
    events = job.tree.events(columns, **job.bounds)[:: job.entries.step]
    variable, column = next(iter(job.variables.items()))
    for event in events:
        touched = {name: event[name] for name in columns}
        yield variable, touched[column] if column in touched else touched[columns[0]][variable]


def by_chunk(job: Job, columns: list[str], offered: list[str] | None) -> Values:
    """The variables of each chunk; the other columns are touched."""
    chunks = job.tree.lazy(columns, filter_name=offered, **job.bounds)
    names = {column: variable for variable, column in job.variables.items()}
    step = job.entries.step
    for (start, _), chunk in zip(chunks.entry_ranges, chunks, strict=True):
        part = chunk if step == 1 else chunk[(job.entries.start - start) % step :: step]
        for column in columns:
            values = ak.materialize(part[column])
            if column in names:
                yield names[column], values
            elif column == f"{job.name}obj":
                yield from job.picked(values)


def columns_of(job: Job, what: str, *, lazy: bool = False) -> list[str]:
    if what == "objects":
        return job.lazy_columns if lazy else job.object_columns
    return [*job.variables.values()]


def values(job: Job, way: str, what: str) -> Values:
    if way == "arrays":
        return {"everything": everything, "objects": objects}.get(what, variables)(job)
    if way == "events":
        return by_event(job, columns_of(job, what))
    columns = columns_of(job, what, lazy=True)
    return by_chunk(job, columns, columns if way == "lazy" else None)


def read(way: str, what: str, path: str, task: dict[str, Any], stop: int) -> dict[str, Any]:
    """Opens the file and reads; the items and the sum of each variable, and the cost."""
    found: dict[str, list[float]] = {}
    with sapwood.open(f"{path}:{task['tree']}") as tree:
        name, prefix = task["name"], "obj." if task["kind"] == "edm" else "AuxDyn."
        chosen = task["variables"][: 1 if what == "variable" else None]
        columns = {variable: f"{name}{prefix}{variable}" for variable in chosen}
        ends = range(tree.num_entries)[task["start"] : stop : task["step"]]
        for variable, part in values(Job(tree, task["kind"], name, columns, ends), way, what):
            flat = part if isinstance(part, np.ndarray) else ak.to_numpy(ak.flatten(part, axis=None))
            sums = found.setdefault(variable, [0, 0.0])
            sums[0] += flat.size
            sums[1] += float(flat.sum(dtype="f8"))
        report = tree.file.report()
    cost = {"fetched_mb": report.fetched_bytes / 1e6, "baskets": report.baskets}
    return {"sums": found, **cost, "decoded_mb": report.decompressed_bytes / 1e6}


def main() -> None:
    way, what, path, document = sys.argv[1:]
    task = json.loads(document)
    read(way, what, path, task, task["start"] + WARM_UP)
    before, clock = peak_mb(), Clock()
    found = read(way, what, path, task, task["stop"])
    print(json.dumps({**found, **clock.read(), "more_mb": peak_mb() - before}))


if __name__ == "__main__":
    main()
