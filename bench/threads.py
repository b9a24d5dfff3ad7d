"""How reading and writing scale with threads, next to a bare loop: `make bench-threads`.

    python bench/threads.py --data DIR [--threads 1,2,4] [--inputs …] [--markdown FILE] [--json FILE]

All columns of NanoAOD-like files in the page cache are read, rewritten and written with 1, 2, 4… threads, up
to the number of processors. The bare loop (bench/limit) reads, decompresses and decodes the same baskets or
pages into fresh arrays, column by column, on as many threads: it shows what the machine can gain. Each run is
a process of its own; readers take turns; figures are medians. uproot gets an executor with as many threads.

The first input is also read from an object store (versitygw), as a dataset of stripes, in steps of about
10,000 entries. The bound is the slower of two rates: that of a client that gets and discards the same
objects, and that of decompression alone, whose seconds in the run with one thread are divided by the threads.
With four processors or more, the store has one half of them, and its clients the other.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import basketlist
import local
import pagelist
import results
import stripe
import uproot
from machine import load_file, touch_memory
from measured import must_be_measured
from results import table
from rootbuild import HERE
from stripe_servers import object_store

TREE = local.TREE
INPUTS = ["nano_zstd5", "nano_lz4", "rntuple_zstd5", "rntuple_lz4"]
BARE, SAPWOOD, UPROOT = "bare loop", "sapwood", "uproot"
READERS = {BARE: "limit", SAPWOOD: "sapwood", UPROOT: "uproot"}
LOOPS = {"iterate": "iterate, 10,000 entries", "chunks": "100 columns of events, by chunks"}
WRITING = {"recompress": "ZSTD to LZ4", "write": "tree, ZSTD-5", "write_rntuple": "RNTuple, ZSTD-5"}
WORK = {**LOOPS, **WRITING}
"""What python_threads.py does, with its name in tables."""

STORED, GETS = "stripes in an object store", "objects, discarded"

Record = dict[str, Any]


def powers(most: int) -> list[int]:
    """1, 2, 4 and so on, up to a number."""
    return [1 << power for power in range(most.bit_length()) if 1 << power <= most]


def run(command: list[str], threads: int) -> Record:
    """A run of a process with that number of threads."""
    environment = {**os.environ, "SAPWOOD_THREADS": str(threads)}
    return must_be_measured(command, environment, local.RUN_SECONDS)


def reading(options: argparse.Namespace, folder: Path) -> Iterator[Record]:
    """Reads all columns of each input as arrays."""
    with uproot.open(f"{options.data / options.inputs[0]}.root:{TREE}") as tree:
        fields = tree.keys()
    for name in options.inputs:
        data = options.data / f"{name}.root"
        load_file(data)
        columns, chunks = folder / "columns", folder / "chunks"
        with uproot.open(f"{data}:{TREE}") as tree:
            is_tree = tree.classname.startswith("TTree")
        columns.write_text("\n".join(fields) + "\n")
        (basketlist if is_tree else pagelist).write_list(data, TREE, fields, chunks)
        runs: dict[tuple[str, int], list[Record]] = {}
        for repeat in range(options.repeats):
            touch_memory()
            for reader, kind in READERS.items():
                if reader == UPROOT and (repeat or not options.uproot):
                    continue
                for threads in options.threads:
                    one = local.Reader(reader, kind, "", threads)
                    command = one.command(data, columns, chunks, options.build)
                    if reader == BARE and not is_tree:
                        command[0] = str(local.limit_program(options.build, "pages"))
                    runs.setdefault((reader, threads), []).append(run(command, threads))
        for (reader, threads), found in runs.items():
            yield {"part": "read", "work": name, "reader": reader, "threads": threads, "runs": found}


def halves() -> tuple[set[int], set[int]]:
    """The processors of readers and of servers: all of them for both, if there are fewer than four."""
    every = sorted(os.sched_getaffinity(0))
    half = len(every) // 2
    return (set(every[:half]), set(every[half:])) if half > 1 else (set(every), set(every))


def store(options: argparse.Namespace) -> Iterator[Record]:
    """Reads all columns of the first input from an object store at low latency."""
    data, every = options.data / f"{options.inputs[0]}.root", os.sched_getaffinity(0)
    for_readers, for_servers = halves()
    os.sched_setaffinity(0, for_servers)
    with object_store("versitygw") as served:
        os.sched_setaffinity(0, for_readers)
        url, variables = f"s3://data/{stripe.DATASET}", served.server.variables
        stripe.run(stripe.stripe_writer("create", url, str(data), TREE), variables)
        paths = [f"{stripe.DATASET}/{key}" for key in served.objects(stripe.DATASET) if key.startswith("d/")]
        best = served.best(paths, stripe.CONNECTIONS, options.build)
        yield {"part": "store", "work": STORED, "reader": GETS, "threads": 0, "runs": [best]}
        runs: dict[int, list[Record]] = {}
        for _ in range(options.repeats):
            touch_memory()
            for threads in [count for count in options.threads if count <= len(for_readers)]:
                command = stripe.sapwood_reader(url, "whole")
                found = stripe.run(command, {**variables, "SAPWOOD_THREADS": str(threads)})
                runs.setdefault(threads, []).append(found)
    os.sched_setaffinity(0, every)
    for threads, each in runs.items():
        yield {"part": "store", "work": STORED, "reader": SAPWOOD, "threads": threads, "runs": each}


def working(options: argparse.Namespace, folder: Path) -> Iterator[Record]:
    """Loops over the first input, and writes it."""
    data, target = options.data / f"{options.inputs[0]}.root", folder / "target.root"
    load_file(data)
    program = str(HERE / "readers" / "python_threads.py")
    runs: dict[tuple[str, int], list[Record]] = {}
    for repeat in range(options.repeats):
        touch_memory()
        for work in WORK:
            for threads in options.threads:
                if repeat and work in WRITING:
                    continue
                command = [sys.executable, program, work, str(data), TREE, str(target)]
                runs.setdefault((work, threads), []).append(run(command, threads))
                target.unlink(missing_ok=True)
    for (work, threads), found in runs.items():
        yield {"part": "work", "work": WORK[work], "reader": SAPWOOD, "threads": threads, "runs": found}


def wall(record: Record) -> float:
    """The median of its wall seconds."""
    found: float = statistics.median(
        run["wall"] if "wall" in run else run["seconds"] for run in record["runs"]
    )
    return found


def tables(records: list[Record]) -> dict[str, str]:
    """Wall seconds by threads, the gain over one thread, and both next to the bare loop."""
    counts = sorted({record["threads"] for record in records} - {0})
    walls = {(one["work"], one["reader"], one["threads"]): wall(one) for one in records}
    alone = [one["runs"] for one in records if one["work"] == STORED and one["threads"] == counts[0]]
    decompressing = statistics.median(run["decompress"] for runs in alone for run in runs) if alone else 0
    rows = dict.fromkeys(key[:2] for key in walls if key[1] != GETS)
    head = ["", *(f"{count} thread{'s' if count > 1 else ''}" for count in counts)]

    def lines(cell: Callable[[str, str, int], float | None], rows: Iterable[tuple[str, str]]) -> str:
        found = [[cell(*row, count) for count in counts] for row in rows]
        shown = [["-" if value is None else f"{value:.2f}" for value in values] for values in found]
        return table(head, [[f"{row[0]}: {row[1]}", *cells] for row, cells in zip(rows, shown, strict=True)])

    def gain(work: str, reader: str, threads: int) -> float | None:
        one, several = walls.get((work, reader, counts[0])), walls.get((work, reader, threads))
        return one / several if one and several else None

    def share(work: str, reader: str, threads: int) -> float | None:
        bare, own = walls.get((work, BARE, threads)), walls.get((work, reader, threads))
        if work == STORED:
            bare = max(walls[STORED, GETS, 0], decompressing / threads)
        return bare / own if bare and own else None

    of_sapwood = [row for row in rows if row[1] == SAPWOOD and ((row[0], BARE) in rows or row[0] == STORED)]
    found = {
        "Wall seconds": lines(lambda *row: walls.get(row), rows),
        "Times as fast as one thread": lines(gain, rows),
        "Share of the bare loop's rate": lines(share, of_sapwood),
    }
    gets = [one for one in records if one["reader"] == GETS]
    for each in gets:
        size, seconds = each["runs"][0]["bytes"], wall(each)
        rates = [
            f"{size / 1e6:.0f}",
            f"{seconds:.2f}",
            f"{size / seconds / 1e6:,.0f}",
            f"{decompressing:.2f}",
        ]
        head = ["MB", "wall s, objects discarded", "MB/s", "s of decompression, 1 thread"]
        found["Bounds of the object store"] = table(head, [rates])
    return found


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__)
    count = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", default=",".join(map(str, powers(count))), help="numbers of threads")
    parser.add_argument("--inputs", default=",".join(INPUTS), help="names of files, without .root")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--parts", default="read,work,store", help="some of read, work, store")
    earlier = "files of --json to publish, instead of measuring"
    parser.add_argument("--earlier", type=Path, nargs="*", default=[], help=earlier)
    parser.add_argument("--no-uproot", dest="uproot", action="store_false", help="only sapwood")
    parser.add_argument("--build", type=Path, help="folder for compiled programs; default: build in the data")
    options = parser.parse_args()
    options.build = options.build or options.data / "build"
    options.inputs = options.inputs.split(",")
    options.threads = [int(count) for count in options.threads.split(",")]
    return options


def measured(options: argparse.Namespace) -> list[Record]:
    """The records of all parts."""
    with tempfile.TemporaryDirectory(dir=options.data) as folder:
        parts = {
            "read": lambda: reading(options, Path(folder)),
            "work": lambda: working(options, Path(folder)),
            "store": lambda: store(options),
        }
        records = itertools.chain.from_iterable(parts[part]() for part in options.parts.split(","))
        return results.collect(records, lambda one: f"{one['work']}: {one['reader']}, {one['threads']}")


def main() -> None:
    options = arguments()
    documents = [json.loads(path.read_text()) for path in options.earlier]
    found = [one for each in documents for one in each["records"]] if documents else measured(options)
    results.report(options, found, tables(found))


if __name__ == "__main__":
    main()
