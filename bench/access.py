"""Class access and variable access to objects, which the ATLAS study of 2018 leaves as an open question.

    python bench/access.py --data DIR [--inputs xaod_zlib5,…] [--repeats N] [--markdown FILE] [--json FILE]

Class access reads whole objects: a container of xAOD with all its variables, or a product of CMS with all
members. Variable access reads only some of the variables. Here, an analysis needs three variables of the jets
of an xAOD-like file (60 variables of jets, a branch for each), and of MiniAOD-like files whose jets are one
branch (unsplit), or one branch per member (split):

all: all containers or products of the file. one container, one product: the jets. three variables, one
variable: members of the jets. In an unsplit product, these are picked out of the one branch that has them.

arrays: `xaod.container(…).arrays()`, `product.array()`, and `tree.arrays` for the rest.
events(): a loop in Python that touches these columns of each event.
lazy(): chunks of virtual arrays whose columns are touched. By default, they offer all columns of the tree;
    with `filter_name`, only those that are read. For a split product, they have the members, not the objects.
ROOT: `TBranch::GetEntry` of each branch of the tree in turn, with dictionaries; keeps nothing.

They read every event, every tenth event, and a tenth of the events in a row. All ways add up variables, and
must find the same sums. Each run is a process of its own with a warm page cache and one thread, in turns;
opening the file counts, imports do not. Figures are medians: CPU and wall seconds; MB fetched from the file,
including those for opening it; baskets decoded; and by how much the peak of memory rose.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import results
from machine import load_file
from measured import must_be_measured
from objects import Reader
from objects_report import number, over
from results import table
from rootbuild import HERE

JETS = {"tree": "Events", "kind": "edm", "name": "patJets_slimmedJetsPuppi__PAT."}
JETS_MEMBERS = ["pt_", "eta_", "phi_"]
ANALYSIS_JETS = {"tree": "CollectionTree", "kind": "xaod", "name": "AnalysisJets"}
# Input: its title, and what to read.
INPUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "xaod_zlib5": ("xAOD-like", {**ANALYSIS_JETS, "variables": ["pt", "eta", "phi"]}),
    "edm_zlib5": ("MiniAOD-like, unsplit", {**JETS, "variables": JETS_MEMBERS}),
    "edm_split": ("MiniAOD-like, split", {**JETS, "variables": JETS_MEMBERS}),
}
NOUNS = {"xaod": "container", "edm": "product"}
EVERY, TENTH, ROW = "every event", "every tenth event", "a tenth in a row"
SELECTIONS = [EVERY, TENTH, ROW]
WAYS = {"arrays": "arrays", "events": "events()", "lazy": "lazy(filter_name=…)", "lazy_all": "lazy()"}
ALL, OBJECTS, VARIABLES, VARIABLE = "everything", "objects", "variables", "variable"
READ = {way: [OBJECTS, VARIABLES, VARIABLE] for way in WAYS}
READ["arrays"] = [ALL, *READ["arrays"]]
FIGURES = ["cpu", "wall", "fetched_mb", "baskets", "more_mb"]
HEAD = ["CPU s", "wall s", "MB fetched", "baskets", "peak MB"]
DIGITS = [3, 3, 1, 0, 0]
# What is compared: the selection of events and the figure.
COMPARED = [*((one, "cpu") for one in SELECTIONS), *((EVERY, figure) for figure in FIGURES[1:])]
DEADLINE = 300.0

Record = dict[str, Any]
# By input, way, what is read, and selection.
Costs = dict[tuple[str, str, str, str], Record]


def entries(selection: str, count: int) -> dict[str, int]:
    """The arguments of range() for a selection."""
    if selection == ROW:
        return {"start": count // 2, "stop": count // 2 + count // 10, "step": 1}
    return {"start": 0, "stop": count, "step": 10 if selection == TENTH else 1}


def run(way: str, what: str, path: str, task: Record) -> Record:
    """What one run of sapwood reports."""
    program = HERE / "readers" / "python_access.py"
    command = [sys.executable, str(program), way, what, path, json.dumps(task)]
    return must_be_measured(command, {**os.environ, "SAPWOOD_THREADS": "1"}, DEADLINE)


def by_root(name: str, task: Record, options: argparse.Namespace) -> dict[str, Record]:
    """The seconds that ROOT takes for the branches of the tree, of the objects, and of the variables."""
    reader = Reader("ROOT", "products", 1)
    path = options.data / f"{name}.root"
    taken = reader.run(reader.command(path, task["tree"], task["kind"], options.data / "build"))
    chosen = {ALL: list(taken), OBJECTS: [one for one in taken if one.startswith(task["name"])]}
    if task["kind"] == "xaod":
        chosen[OBJECTS] = [one for one in taken if one.startswith(f"{task['name']}AuxDyn.")]
        chosen[VARIABLES] = [f"{task['name']}AuxDyn.{variable}" for variable in task["variables"]]
        chosen[VARIABLE] = chosen[VARIABLES][:1]
    clocks = ("cpu", "wall")
    return {
        what: {clock: sum(taken[one][clock] for one in of) for clock in clocks} for what, of in chosen.items()
    }


def measure(options: argparse.Namespace) -> Iterator[Record]:
    import sapwood

    for name in options.inputs:
        _, task = INPUTS[name]
        path = options.data / f"{name}.root"
        load_file(path)
        with sapwood.open(f"{path}:{task['tree']}") as tree:
            count = tree.num_entries
        cases = [(way, what) for way, read in READ.items() for what in read]
        for selection in SELECTIONS:
            chosen = {**task, **entries(selection, count)}
            runs: dict[tuple[str, str], list[Record]] = {case: [] for case in cases}
            for turn in range(options.repeats):
                for case in cases if turn % 2 == 0 else reversed(cases):
                    runs[case].append(run(*case, str(path), chosen))
            compare(name, selection, [one for found in runs.values() for one in found])
            for (way, what), found in runs.items():
                yield record(name, selection, way, what, found)
        root = [by_root(name, task, options) for _ in range(options.repeats)]
        for what in root[0]:
            yield record(name, EVERY, "ROOT", what, [one[what] for one in root])


def record(name: str, selection: str, way: str, what: str, runs: Sequence[Record]) -> Record:
    """The medians of some runs."""
    figures = {figure: median(one[figure] for one in runs) for figure in FIGURES if figure in runs[0]}
    return {"input": name, "selection": selection, "way": way, "what": what, **figures, "runs": runs}


def compare(name: str, selection: str, runs: Sequence[Record]) -> None:
    """Fails unless all runs found as many values of each variable, and the same sum of them."""
    expected: dict[str, tuple[int, float]] = {}
    for variable, (items, total) in (pair for one in runs for pair in one["sums"].items()):
        first = expected.setdefault(variable, (items, total))
        if not items or items != first[0] or not math.isclose(total, first[1], rel_tol=1e-9):
            raise RuntimeError(f"{name}, {selection}: {variable} is {items}, {total}, and was {first}")


def line(one: Record) -> str:
    """A progress line for a record."""
    return f"{one['input']:<10} {one['selection']:<17} {label(one):<38} CPU {one['cpu']:.3f} s"


def label(one: Record) -> str:
    """What is read, and how."""
    noun = NOUNS[INPUTS[one["input"]][1]["kind"]]
    titles = {ALL: f"all {noun}s", OBJECTS: f"one {noun}", VARIABLES: "three variables"}
    return f"{WAYS.get(one['way'], one['way'])}: {titles.get(one['what'], 'one variable')}"


def case(one: Record) -> str:
    return f"{INPUTS[one['input']][0]}, {label(one)}"


def ratios(costs: Costs, name: str, way: str, what: str) -> list[str]:
    """The cost of what is read over that of three variables, in all figures."""
    cells = []
    for selection, figure in COMPARED:
        pair = (costs.get((name, way, one, selection), {}) for one in (what, VARIABLES))
        ratio = over(*(one.get(figure) for one in pair))
        cells.append("-" if ratio is None else f"{ratio:.3g}")
    return cells


def shares(costs: Costs, every: Record) -> list[str]:
    """The percentages of the cost of every event that fewer events cost."""
    parts = [costs[every["input"], every["way"], every["what"], selection] for selection in SELECTIONS[1:]]
    figures = ("cpu", "fetched_mb", "more_mb")
    return [number(100 * part[figure] / every[figure], 0) for part in parts for figure in figures]


def tables(records: list[Record]) -> dict[str, str]:
    costs = {(one["input"], one["way"], one["what"], one["selection"]): one for one in records}
    every = [one for one in records if one["selection"] == EVERY]
    rows = [
        [case(one), *ratios(costs, one["input"], one["way"], one["what"])]
        for one in every
        if one["what"] in (ALL, OBJECTS) and (one["input"], one["way"], VARIABLES, EVERY) in costs
    ]
    head = [
        "class access",
        *(f"{HEAD[FIGURES.index(figure)]}, {selection}" for selection, figure in COMPARED),
    ]
    found = {"Class access / three variables": table(head, rows)}
    rows = [[case(one), *shares(costs, one)] for one in every if one["way"] != "ROOT"]
    head = [f"{figure}, {one}" for one in SELECTIONS[1:] for figure in ("CPU %", "MB %", "memory %")]
    found["Fewer events / every event"] = table(["access", *head], rows)
    for one in records:
        title = f"{INPUTS[one['input']][0]}, {one['selection']}"
        if title not in found:
            keys = ("input", "selection")
            here = [other for other in records if all(other[key] == one[key] for key in keys)]
            rows = [[label(other), *map(number, map(other.get, FIGURES), DIGITS)] for other in here]
            found[title] = table(["access", *HEAD], rows)
    return found


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--inputs", default=",".join(INPUTS), help="names of files, without .root")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each way")
    options = parser.parse_args()
    options.inputs = options.inputs.split(",")
    if unknown := set(options.inputs) - set(INPUTS):
        parser.error(f"unknown inputs: {', '.join(sorted(unknown))}")
    records = results.collect(measure(options), line)
    results.report(options, records, tables(records))


if __name__ == "__main__":
    main()
