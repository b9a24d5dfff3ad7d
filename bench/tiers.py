"""Reads, loops over and skims files like those of CMS's data tiers: part of `make bench-wide`.

    python bench/tiers.py --data DIR [--inputs raw_like,…] [--markdown FILE] [--json FILE]

read: all products; sapwood keeps them as arrays, ROOT reads them with TTree::GetEntry into one object each.
loop: over the events, counting the items of some products, sapwood in a loop of Python, ROOT in compiled code
    with a TTreeCache.
skim: writes the events that pass a cut, a tenth, compressed as the input. ROOT reads only the column of the
    cut for the others, and clones and fills the tree; sapwood copies all other trees, too.

ROOT has compiled dictionaries. Each run is a process of its own with a warm page cache, on one and on two
threads, with the readers in turns; figures are medians. Before that, all values of a small file of each kind
are compared; loops must find the same, and so must ROOT in the skims.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any

import objects_values
import results
from generate import TIERS
from machine import load_file, touch_memory
from measured import measured
from objects import Reader
from results import table
from rootbuild import HERE

TREE, HEADER = "Events", "tiers"
# Products of the loops.
LOOPS = {
    "raw_like": ["FEDRawDataCollection_strips__LHC.", "FEDRawDataCollection_hcal__LHC."],
    "gensim_like": [
        "SimTracks_g4SimHits__SIM.",
        "PSimHits_g4SimHits_TrackerHitsTIBLowTof_SIM.",
        "PCaloHits_g4SimHits_EcalHitsEB_SIM.",
        "recoGenParticles_genParticles__SIM.",
    ],
    "reco_like": [
        "recoTracks_generalTracks__RECO.",
        "recoVertexs_offlinePrimaryVertices__RECO.",
        "recoPFJets_ak4PFJetsCHS__RECO.",
        "recoMuons_muons__RECO.",
        "EcalRecHitsSorted_EcalRecHitsEB__RECO.",
    ],
    "aod_like": [
        "recoTracks_generalTracks__RECO.",
        "recoVertexs_offlinePrimaryVertices__RECO.",
        "recoPFJets_ak4PFJetsCHS__RECO.",
        "recoMuons_muons__RECO.",
        "recoPFCandidates_particleFlow__RECO.",
    ],
}
TITLES = {
    "raw_like": "RAW-like: 10 products of blobs, LZMA-4",
    "gensim_like": "GEN-SIM-like: 34 unsplit products, LZMA-1",
    "reco_like": "RECO-like: 264 products, split level 1, ZSTD-4",
    "aod_like": "AOD-like: 213 products, fully split, LZMA-4",
}
# Bunch crossings are evenly distributed from 0 to 3,563.
COLUMN, BOUND = "bunchCrossing_", 356
TASKS = ["read", "loop", "skim"]
SAPWOOD, ROOT = "sapwood", "ROOT"
LEAST = 1.0
RUN_SECONDS = 600.0

Record = dict[str, Any]


def command(client: str, task: str, name: str, threads: int, options: argparse.Namespace) -> list[str]:
    data, out = options.data / f"{name}.root", skimmed(client, name, options)
    reader = Reader(client, "total" if task == "read" else task, threads)
    if client == ROOT or task == "read":
        arguments = {"loop": LOOPS[name], "skim": [str(out), COLUMN, str(BOUND)]}.get(task, [])
        return [*reader.command(data, TREE, HEADER, options.data / "build"), *arguments]
    program = [sys.executable, str(HERE / "readers" / "python_tiers.py"), task]
    if task == "loop":
        return [*program, f"{data}:{TREE}", *LOOPS[name]]
    return [*program, str(data), str(out), f"{COLUMN} < {BOUND}"]


def skimmed(client: str, name: str, options: argparse.Namespace) -> Any:
    """The file that a reader writes."""
    return options.data / f"{name}_skimmed_{client}.root"


def measure(options: argparse.Namespace) -> Iterator[Record]:
    for name in options.inputs:
        yield {"input": name, "task": "values", "wrong": compared(name, options)}
        load_file(options.data / f"{name}.root")
        for task in TASKS:
            for threads in (1, 2):
                yield from runs(name, task, threads, options)
        yield {"input": name, "task": "skims", **same_skims(name, options)}


def runs(name: str, task: str, threads: int, options: argparse.Namespace) -> Iterator[Record]:
    """Runs of the two readers, in turns."""
    found: dict[str, list[Record]] = {SAPWOOD: [], ROOT: []}
    environment = {**os.environ, "SAPWOOD_THREADS": str(threads)}
    for _ in range(options.runs):
        touch_memory()
        for client, records in found.items():
            records.append(measured(command(client, task, name, threads, options), environment, RUN_SECONDS))
    if len({one.get("found") for records in found.values() for one in records if "error" not in one}) > 1:
        raise SystemExit(f"{name}, {task}: the readers found different numbers: {found}")
    for client, records in found.items():
        where = {"input": name, "task": task, "threads": threads, "client": client}
        failed = next((one for one in records if "error" in one), None)
        yield where | (failed or {clock: median(one[clock] for one in records) for clock in ("cpu", "wall")})


def compared(name: str, options: argparse.Namespace) -> dict[str, str]:
    """The products of the small file, each with what is wrong in sapwood."""
    small = options.data / f"{name}_small.root"
    expected = objects_values.of_root(small, TREE, HEADER, options.data / "build")
    return objects_values.compare(small, TREE, expected)


def same_skims(name: str, options: argparse.Namespace) -> Record:
    """Whether ROOT reads the same from both skims, and their sizes. Removes them."""
    values, sizes = [], []
    for client in (SAPWOOD, ROOT):
        file = skimmed(client, name, options)
        if file.exists():
            values.append(objects_values.of_root(file, TREE, HEADER, options.data / "build"))
            sizes.append(file.stat().st_size)
            file.unlink()
    return {"equal": len(values) == 2 and values[0] == values[1], "sizes": sizes}


def line(record: Record) -> str:
    shown = [str(record.get(key, "")) for key in ("input", "task", "threads", "client", "error", "equal")]
    if "wall" in record:
        shown.append(f"CPU {record['cpu']:.2f} s, wall {record['wall']:.2f} s")
    if "wrong" in record:
        shown.append(f"{sum(map(bool, record['wrong'].values()))} of {len(record['wrong'])} products differ")
    return "  ".join(filter(None, shown))


def rows(records: list[Record]) -> list[list[str]]:
    """The rows of an input: both readers, by CPU and by wall time, and whether sapwood is not behind."""
    shown = []
    for task in TASKS:
        for threads in (1, 2):
            here = [one for one in records if (one["task"], one.get("threads")) == (task, threads)]
            own, root = (next(one for one in here if one["client"] == who) for who in (SAPWOOD, ROOT))
            cells, factors = [task, str(threads)], []
            for clock in ("cpu", "wall"):
                cells += [f"{one[clock]:.2f}" if clock in one else "failed" for one in (own, root)]
                factors.append(root[clock] / own[clock] if clock in own and clock in root else 0.0)
                cells.append(f"{factors[-1]:.2f}" if factors[-1] else "")
            shown.append([*cells, results.VERDICTS[min(factors) >= LEAST]])
    return shown


def tables(records: list[Record]) -> tuple[dict[str, str], list[str]]:
    """A table of each input, and what is missed."""
    found, missed = {}, []
    head = ["task", "threads"]
    for clock in ("CPU", "wall"):
        head += [f"sapwood: {clock} s", f"ROOT: {clock} s", "ROOT / sapwood"]
    for name in dict.fromkeys(one["input"] for one in records):
        here = [one for one in records if one["input"] == name]
        said = ("wrong", "equal", "sizes")
        wrong, equal, sizes = (next(one[key] for one in here if key in one) for key in said)
        problems = [f"{one['client']}, {one['task']}: {one['error']}" for one in here if "error" in one]
        problems += [f"`{product}`: {what}" for product, what in wrong.items() if what]
        shown = rows(here)
        text = f"{len(wrong) - sum(map(bool, wrong.values()))} of {len(wrong)} products equal those of ROOT. "
        text += f"The skims are {'equal' if equal else 'not equal'}"
        text += f", and take {' and '.join(f'{size / 1e6:.1f}' for size in sizes)} MB."
        parts = [table([*head, f"both at least {LEAST:g}"], shown), text, *dict.fromkeys(problems)]
        found[TITLES[name]] = "\n\n".join(parts)
        missed += [f"{name}: {' '.join(row)}" for row in shown if row[-1] == results.VERDICTS[False]]
        missed += [f"{name}: {what}" for what in [*problems, *([] if equal else ["the skims differ"])]]
    return found, missed


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--inputs", default=",".join(TIERS), help="names of files, without .root")
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader")
    options = parser.parse_args()
    options.inputs = options.inputs.split(",")
    records = results.collect(measure(options), line)
    made, missed = tables(records)
    results.publish(options, made, results.document(records), missed)


if __name__ == "__main__":
    main()
