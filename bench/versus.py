"""Compares two builds of sapwood in processes that take turns: reading, iterating, writing, repacking.

    python bench/versus.py --old FOLDER [--new FOLDER] [--data DIR] [--only local,remote] [--markdown FILE]

The folders are those of Python packages, for example `python` of another checkout after its `make build`.
Seconds are those of the processor on one thread, else those of the wall; they, the round trips, the requests
and the bytes of the new build are divided by those of the old one. A row does not hold if the new build needs
more round trips or requests (the fewest of its runs), or if medians and minima of its seconds are 3 % higher.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import local
import memory
import objects
import remote
import repack
import results
import uproot
import write
from machine import load_file, touch_memory
from measured import must_be_measured
from remote_servers import Server, missing, serve
from rootbuild import HERE

PARTS = ["local", "memory", "objects", "write", "repack", "remote"]
QUANTITIES = ["seconds", "round_trips", "requests", "bytes_sent"]
SLOWER = 1.03
RUN_SECONDS = 900
WHOLE = remote.Link(100, 1000)
FAR = [remote.Link(*pair) for pair in ((0, 0), (11, 0), (100, 1000))]

Run = dict[str, Any]
Case = tuple[str, Callable[[], Run]]
"""What is done, and the function that does it with the package that PYTHONPATH names."""


def cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """All cases, in the order of their parts."""
    made: dict[str, Callable[[argparse.Namespace, Path], Iterator[Case]]] = {
        "local": local_cases,
        "memory": memory_cases,
        "objects": object_cases,
        "write": write_cases,
        "repack": repack_cases,
        "remote": remote_cases,
    }
    for part in options.only:
        yield from made[part](options, scratch)


def run_once(command: list[str], threads: int) -> Run:
    """A run of a reader or writer; on one thread, its seconds are those of the processor."""
    touch_memory()
    variables = {**os.environ, "SAPWOOD_THREADS": str(threads)}
    found = must_be_measured(command, variables, RUN_SECONDS)
    return {"seconds": found["cpu"] if threads == 1 and "cpu" in found else found["wall"]}


def local_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """One, ten and all columns of local files."""
    for name in options.inputs:
        data = options.data / f"{name}.root"
        load_file(data)
        with uproot.open(f"{data}:{local.TREE}") as tree:
            every = tree.keys()
        for selection, columns in local.SELECTIONS.items():
            names = scratch / f"{name}-{selection}"
            names.write_text("\n".join(columns or every))
            for threads in (1, 2):
                reader = local.Reader("sapwood", "sapwood", "", threads)
                command = reader.command(data, names, scratch, options.data / "build")
                what = f"{name}, {selection}, {write.in_words(threads)}"
                yield what, partial(run_once, command, threads)


def memory_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """Iteration over a large file."""
    path = options.data / "memory.root"
    yield "iterate", partial(memory.measure, "sapwood", path)


def object_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """All products of files of objects."""
    for name in ("edm_zlib5", "xaod_zlib5"):
        for threads in (1, 2):
            reader = objects.Reader("sapwood", "total", threads)
            tree, header = objects.INPUTS[name]
            command = reader.command(options.data / f"{name}.root", tree, header, options.data / "build")
            what = f"objects of {name}, {write.in_words(threads)}"
            yield what, partial(run_once, command, threads)


def write_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """Writing columns from memory."""
    folder = options.data / "columns-100000"
    write.dump(options.data / "nano_zstd5.root", folder, 100_000)
    for threads in (1, 2):
        command = write.command("sapwood", threads, folder, scratch / "written.root", scratch)
        what = f"write, {write.in_words(threads)}"
        yield what, partial(run_once, command, threads)


def repack_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """Copying, recompressing, splitting again and merging files."""
    halves = repack.apart(repack.parts, options.data)
    sources = {"one": [str(options.data / "nano_zstd5.root")], "four": halves * 2, "part": halves[:1]}
    target = scratch / "repacked.root"
    for work, inputs, calls in repack.cases():
        for name, (who, extra, chosen) in calls.items():
            if who == "sapwood" and inputs in sources:
                arguments = (work, who, extra, chosen, sources[inputs], target)
                one_thread = name.endswith("1 thread")

                def run(arguments: Any = arguments, one_thread: bool = one_thread) -> Run:
                    found = repack.run(*arguments)
                    return {"seconds": found["call_cpu" if one_thread else "call"]}

                yield work + name.removeprefix("sapwood"), run


def remote_cases(options: argparse.Namespace, scratch: Path) -> Iterator[Case]:
    """Three columns from servers, and a whole file."""
    for protocol in ("root", "http", "s3"):
        if (lack := missing(protocol)) is not None:
            print(f"skipped, {protocol}://: {lack}", file=sys.stderr)
            continue
        with serve(protocol, options.data) as server:
            for link in FAR:
                for name in remote.FILES:
                    what = f"{protocol}://, {name}, 3 columns, {link.rtt_ms:g} ms"
                    arguments = [f"{name}.root", "h42", *remote.COLUMNS]
                    yield (
                        what,
                        partial(read_far, server, link, "columns", arguments, options),
                    )
            yield (
                f"{protocol}://, whole file, 100 ms, 1 Gbit/s",
                partial(read_far, server, WHOLE, "whole", ["nano_zstd5.root", "Events"], options),
            )


def read_far(
    server: Server, link: remote.Link, what: str, arguments: list[str], options: argparse.Namespace
) -> Run:
    """A run against a server behind an emulated link."""
    with server.far(*link) as far:
        found = remote.run(remote.SAPWOOD, far, what, [far.url(arguments[0]), *arguments[1:]], options)
    if "error" in found or "stopped" in found:
        raise SystemExit(f"{arguments[0]}, {link}: {found}")
    if not link.rtt_ms:
        # Without latency, what the link counts as a wait is chance.
        del found["round_trips"]
    return found


@contextmanager
def package(folder: Path) -> Iterator[None]:
    """Makes processes that start now import sapwood from a folder."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every case with both builds, first the one, then the other."""
    folders = {"old": options.old, "new": options.new}
    with tempfile.TemporaryDirectory(dir=options.data) as scratch:
        for what, run in cases(options, Path(scratch)):
            runs: dict[str, list[Run]] = {"old": [], "new": []}
            for turn in range(options.repeats):
                for which in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                    with package(folders[which]):
                        runs[which].append(run())
            yield {"what": what, **runs}


def ratio(
    record: dict[str, Any], quantity: str, which: Callable[[list[float]], float] = median
) -> float | None:
    """A quantity of the new build divided by that of the old one; None if it is not counted or is zero."""
    old, new = ([run.get(quantity) for run in record[name]] for name in ("old", "new"))
    if None in old or None in new or not which(old):
        return None
    return which(new) / which(old)


def is_slower(record: dict[str, Any]) -> bool:
    """Whether the new build takes longer, or more round trips or requests."""
    seconds = [ratio(record, "seconds", which) for which in (median, min)]
    counts = [ratio(record, quantity, min) for quantity in ("round_trips", "requests")]
    return all(one is not None and one > SLOWER for one in seconds) or any(
        one is not None and one > 1 for one in counts
    )


def row(record: dict[str, Any]) -> list[str]:
    """The cells of a case."""
    ratios = [ratio(record, quantity) for quantity in QUANTITIES]
    seconds = [f"{median(run['seconds'] for run in record[which]):.3f}" for which in ("old", "new")]
    cells = ["-" if one is None else f"{one:.2f}" for one in ratios]
    return [record["what"], *seconds, *cells, results.VERDICTS[not is_slower(record)]]


HEAD = ["case", "old s", "new s", "new / old", "round trips", "requests", "bytes", "holds"]


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--old", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--new", type=lambda text: Path(text).resolve(), default=HERE.parent / "python")
    parser.add_argument("--only", default=",".join(PARTS), help="parts")
    parser.add_argument("--inputs", default=",".join(local.INPUTS), help="files of the part local")
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args()
    options.only, options.inputs = options.only.split(","), options.inputs.split(",")
    records = results.collect(measure(options), lambda record: json.dumps(row(record)))
    slower = [record["what"] for record in records if is_slower(record)]
    results.publish(
        options,
        {"Two builds": results.table(HEAD, [row(record) for record in records])},
        results.document(records),
        slower,
    )


if __name__ == "__main__":
    main()
