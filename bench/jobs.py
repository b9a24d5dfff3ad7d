"""Jobs with a computation per event: what reading and writing add to them, by compression, as in the study of
ATLAS of 2018; part of `make bench-studies`.

    python bench/jobs.py --data DIR [--work MS,…] [--compressions A,…] [--markdown FILE] [--json FILE]

A job reads all columns of xAOD-like events, up to 500 at a time, computes for a stated CPU time per event,
and writes columns to a new tree, with sapwood on one thread. The computation is a stand-in: a loop that keeps
the processor busy. Input and output have clusters of 100 events, and are in the page cache.

all columns: all are written; only the compression of the output varies.
a tenth: every tenth column is written; the compression of the output varies, then that of the input.

1,000 ms per event stand for reconstruction, which writes all columns, with the two compressions of the study.
Jobs with a long computation read fewer events, but at least a cluster, and run fewer times. Each run is a
process of its own, with all variants in turns; the clock starts after imports.

The shares come from `sapwood.trace`, which also turns off decoding in the background. They add up to 100 %:

reading: opening, and waiting for bytes.
decompressing, decoding: the codec, and all other work of reads in the core.
compressing, writing: the codec, and all other work of writers in the core.
arrays: everything in Python but the computation, above all making arrays of columns, and taking them apart.

A tenth of the written columns is read again in each run, and compared with the input.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import results
from machine import load_file, touch_memory
from measured import must_be_measured
from rootbuild import HERE

INPUT, TREE = "xaod_study", "CollectionTree"
CLUSTER, STEP = 100, 500
BASE, SLOW = "zlib:5", "lzma:1"
COMPRESSIONS = f"{BASE},{SLOW},lzma:5,lz4:4,zstd:5"
# Milliseconds of computation per event.
WORK, RECONSTRUCTION = "0,1,10,100,1000", 1000.0
ALL, OUTPUT, SOURCE = "output: all columns", "output: a tenth of the columns", "input: a tenth of the columns"
EVERY = {ALL: 1, OUTPUT: 10, SOURCE: 10}
# Most seconds of computation in a run, unless a cluster takes more.
RUN_SECONDS = 2.0
DEADLINE = 900.0
CLOCKS = ("wall", "cpu")
PARTS = ("reading", "decompressing", "decoding", "compressing", "writing", "arrays", "computing")
# What the study says: the shares of writing, the size with LZMA, and how much longer derivations take.
STUDY, SIZE, FACTORS = {BASE: "0.3 %", SLOW: "1.6 %"}, 7.791 / 8.606, (1.1, 2.0)

Record = dict[str, Any]
Variant = tuple[str, float, str]
"""What varies, milliseconds of computation per event, and the compression."""


def variants(options: argparse.Namespace) -> Iterator[Variant]:
    for work in options.work:
        for compression in options.compressions:
            if work < RECONSTRUCTION:
                yield from ((what, work, compression) for what in (ALL, OUTPUT, SOURCE))
            elif compression in STUDY:
                yield ALL, work, compression


def entries_of(work: float, most: int) -> int:
    """How many events a job reads: whole clusters."""
    events = min(most, int(RUN_SECONDS * 1000 / work)) if work else most
    return max(events // CLUSTER, 1) * CLUSTER


def runs_of(work: float, options: argparse.Namespace) -> int:
    """How often a job runs."""
    computed = work / 1000 * entries_of(work, options.events)
    return max(min(options.repeats, int(options.seconds / computed)), 1) if work else int(options.repeats)


def inputs(folder: Path, options: argparse.Namespace) -> dict[str, Path]:
    """The first events of the input with each compression."""
    import sapwood

    found = {one: folder / f"{one.replace(':', '')}.root" for one in options.compressions}
    for compression, path in found.items():
        how: dict[str, Any] = {"compression": compression, "cluster_entries": CLUSTER}
        source = options.data / f"{INPUT}.root"
        sapwood.repack(source, path, trees=[TREE], entry_stop=options.events, **how)
    return found


def run(variant: Variant, sources: dict[str, Path], options: argparse.Namespace) -> Record:
    """One job, in a process of its own."""
    what, work, compression = variant
    source, folder = sources[compression if what == SOURCE else BASE], sources[BASE].parent
    task: Record = {"source": str(source), "tree": TREE, "step": STEP, "cluster": CLUSTER}
    task |= {"entries": entries_of(work, options.events), "work": work / 1000}
    task |= {"compression": BASE if what == SOURCE else compression, "every": EVERY[what]}
    task |= {"target": str(folder / "written.root"), "recording": str(folder / "job.swt")}
    load_file(source)
    command = [sys.executable, str(HERE / "readers" / "python_jobs.py"), json.dumps(task)]
    return must_be_measured(command, os.environ, DEADLINE)


def measure(options: argparse.Namespace) -> Iterator[Record]:
    with tempfile.TemporaryDirectory(dir=options.data, prefix="jobs-") as name:
        sources = inputs(Path(name), options)
        touch_memory()
        found: dict[Variant, list[Record]] = {one: [] for one in variants(options)}
        for repeat in range(options.repeats):
            for variant, runs in found.items():
                what, work, compression = variant
                if repeat >= runs_of(work, options):
                    continue
                if what == SOURCE and compression == BASE:
                    # The same job as with this compression of the output.
                    runs.append(found[OUTPUT, work, BASE][-1])
                else:
                    runs.append(run(variant, sources, options))
        kb = {one: path.stat().st_size / options.events / 1000 for one, path in sources.items()}
    for (what, work, compression), runs in found.items():
        events = entries_of(work, options.events)
        size = kb[compression] if what == SOURCE else runs[0]["size"] / events / 1000
        job = {"varies": what, "work_ms": work, "compression": compression, "events": events}
        yield {**job, "input_kb": kb[BASE], "kb": size, "runs": runs}


def shares(one: Record) -> dict[str, float]:
    """The parts of the time of a run. The recording has the time of the codecs below "cpu"."""
    wall, cpu, computed = one["wall"], one["cpu"], one["computed"]
    parts = {
        "reading": wall["opening"] + wall["waiting"],
        "decompressing": cpu["decompressing"],
        "decoding": wall["decoding"] - cpu["decompressing"],
        "compressing": cpu["compressing"],
        "writing": wall["writing"] - cpu["compressing"],
        "arrays": wall["other"] - computed,
        "computing": computed,
    }
    return {part: seconds / wall["seconds"] for part, seconds in parts.items()}


def percent(record: Record, *parts: str) -> str:
    """The median of the share of some parts."""
    return f"{100 * median(sum(shares(one)[part] for part in parts) for one in record['runs']):.2f}"


def seconds(record: Record, clock: str) -> float:
    return float(median(one[clock]["seconds"] for one in record["runs"]))


def compared(one: Record, base: Record) -> list[str]:
    """The time and the CPU time over those of another job."""
    return [f"{seconds(one, clock) / seconds(base, clock):.3f}" for clock in CLOCKS]


def label(one: Record) -> str:
    return f"{one['work_ms']:,g} ms, {one['compression']}"


def line(one: Record) -> str:
    """A progress line for a record."""
    text = f"{one['varies']:<30} {label(one):<17} {seconds(one, 'wall'):7.2f} s"
    return text + "".join(f"  {part} {percent(one, part)} %" for part in PARTS[:-1])


def costs(jobs: dict[Variant, Record], what: str) -> str:
    """A row for each job: times, shares, and size."""
    rows = []
    for one in (one for (varies, _, _), one in jobs.items() if varies == what):
        base, walls = jobs[what, one["work_ms"], BASE], [run["wall"]["seconds"] for run in one["runs"]]
        times = [f"{each:.3f}" for each in (min(walls), median(walls), max(walls), seconds(one, "cpu"))]
        parts = [percent(one, part) for part in PARTS]
        ratios = [f"{one['kb']:.2f}", *compared(one, base), f"{one['kb'] / base['kb']:.3f}"]
        rows.append([label(one), str(one["events"]), str(len(walls)), *times, *parts, *ratios])
    head = ["computation per event, compression", "events", "runs", "min s", "median s", "max s", "CPU s"]
    ratios = [f"{part} / {BASE}" for part in ("time", "CPU time", "size")]
    return results.table([*head, *(f"{part} %" for part in PARTS), "kB per event", *ratios], rows)


def study(jobs: dict[Variant, Record]) -> str:
    """The figures of the study, and of these jobs."""
    rows: list[list[str]] = []
    if {(ALL, RECONSTRUCTION, one) for one in STUDY} <= jobs.keys():
        old, new = (jobs[ALL, RECONSTRUCTION, one] for one in STUDY)
        for compression, there in STUDY.items():
            written = percent(jobs[ALL, RECONSTRUCTION, compression], "compressing", "writing")
            what = f"reconstruction: compressing and writing {compression}, of the time"
            rows.append([what, there, f"{written} %", "-"])
        rows.append([f"reconstruction: output {SLOW} / {BASE}", "-", *compared(new, old)])
        rows.append([f"size: output {SLOW} / {BASE}", f"{SIZE:.3f}", f"{new['kb'] / old['kb']:.3f}", "-"])
    for new in (one for (what, _, slow), one in jobs.items() if (what, slow) == (SOURCE, SLOW)):
        old, work = jobs[SOURCE, new["work_ms"], BASE], new["work_ms"]
        what = f"derivation, {work:g} ms per event: input {SLOW} / {BASE}"
        rows.append([what, "1.1 (large) to 2 (simple)", *compared(new, old)])
        # Both jobs compute for w: new + w = factor * (old + w).
        for factor in () if work else FACTORS:
            cells = [f"computation per event with which input {SLOW} takes {factor:g} times as long", "-"]
            for clock in CLOCKS:
                more = seconds(new, clock) - factor * seconds(old, clock)
                each = 1000 * more / (factor - 1) / old["events"]
                cells.append(f"{each:.1f} ms" if each > 0 else "none: always less")
            rows.append(cells)
    return results.table(["figure", "study", "here", "here, by CPU time"], rows)


def tables(records: list[Record]) -> dict[str, str]:
    jobs = {(one["varies"], one["work_ms"], one["compression"]): one for one in records}
    text = f"An event of the input takes {records[0]['input_kb']:.1f} kB with {BASE}. The study does not say "
    made = {"Figures of the study": f"{text}how much its events take.\n\n{study(jobs)}"}
    kinds = dict.fromkeys(what for what, _, _ in jobs)
    return made | {f"Compression of the {what}": costs(jobs, what) for what in kinds}


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--work", default=WORK, help="milliseconds of computation per event")
    parser.add_argument("--compressions", default=COMPRESSIONS, help=f"of outputs and inputs; with {BASE}")
    parser.add_argument("--events", type=int, default=500, help="most events of a job")
    parser.add_argument("--repeats", type=int, default=3, help="most runs of a job")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="most seconds of computation of a job's runs"
    )
    options = parser.parse_args()
    options.work = [float(one) for one in options.work.split(",")]
    options.compressions = options.compressions.split(",")
    if BASE not in options.compressions:
        parser.error(f"--compressions must include {BASE}")
    records = results.collect(measure(options), line)
    results.report(options, records, tables(records))


if __name__ == "__main__":
    main()
