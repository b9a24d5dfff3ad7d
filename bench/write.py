"""Writes 100,000 NanoAOD-like events with sapwood, ROOT and uproot, in separate processes that take turns.

    python bench/write.py --data DIR [--repeats 3] [--entries 100000] [--markdown FILE] [--json FILE]

The clock starts with the columns of nano_zstd5 in memory, and stops when the file is closed. Reports medians
of CPU and wall seconds, the memory of writing in addition to the columns, and the size of the file; and
compares the written file with the columns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import results
import uproot
from machine import touch_memory
from measured import must_be_measured
from results import table
from rootbuild import HERE, compiled

sys.path.insert(0, str(HERE / "writers"))
from python_write import DTYPES
from python_write import columns as columns

CLUSTER = 5000
COMPRESSION = 505
RUN_SECONDS = 900
LETTERS = {dtype.lstrip("|"): letter for letter, dtype in DTYPES.items()}
# ROOT doubles its level for the library, uproot does not: uproot's level 10 is ROOT's level 5.
UPROOT_SAME = "uproot at level 10"
WRITERS = [
    ("sapwood", 1),
    ("sapwood", 2),
    ("ROOT TTree", 1),
    ("ROOT TTree", 2),
    (UPROOT_SAME, 1),
    ("uproot", 1),
]
BASKET_MEMORY = 100e6
ENCODED = 20_000_000
CODEC_AT_MOST = 1.05


def dump(data: Path, folder: Path, entries: int) -> None:
    """Writes the columns of the input as they are in memory, counters before their lists."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "list").exists():
        return
    lines, place = [], 0
    with uproot.open(data) as file, (folder / "data").open("wb") as out:
        tree = file["Events"]
        for branch in sorted(tree.branches, key=lambda branch: branch.count_branch is not None):
            array = branch.array(entry_stop=entries)
            counter = branch.count_branch.name if branch.count_branch is not None else "-"
            flat = np.ascontiguousarray(array.layout.content.data if counter != "-" else array.layout.data)
            if counter != "-":
                offsets = array.layout.offsets.data
                flat = flat[offsets[0] : offsets[-1]]
            # Each column is aligned for numbers of any size.
            out.write(bytes(-place % 8))
            place += -place % 8
            kind = LETTERS[flat.dtype.str.lstrip("<|=").replace("b1", "?")]
            lines.append(f"{branch.name} {kind} {counter} {place} {flat.nbytes}")
            out.write(flat.tobytes())
            place += flat.nbytes
    (folder / "list").write_text("\n".join(lines) + "\n")


def command(writer: str, threads: int, folder: Path, target: Path, build: Path) -> list[str]:
    """The command that writes."""
    setting = COMPRESSION + 5 if writer == UPROOT_SAME else COMPRESSION
    options = [str(folder), str(target), str(threads), str(CLUSTER), str(setting)]
    if writer == "ROOT TTree":
        return [str(compiled(HERE / "writers" / "root_write.cpp", build)), *options]
    return [sys.executable, str(HERE / "writers" / "python_write.py"), writer.split()[0], *options]


def run(writer: str, threads: int, folder: Path, scratch: Path, build: Path) -> dict[str, float]:
    """The measurements that one run reports, and the size of its file."""
    target = scratch / "written.root"
    return timed(writer, command(writer, threads, folder, target, build), threads, target)


def timed(writer: str, call: list[str], threads: int, target: Path) -> dict[str, float]:
    """The measurements of a command that writes `target`, and its size."""
    environment = {**os.environ, "SAPWOOD_THREADS": str(threads)}
    touch_memory()
    result = must_be_measured(call, environment, RUN_SECONDS)
    os.sync()
    return {**result, "size": target.stat().st_size}


def compare(folder: Path, target: Path) -> None:
    """Fails if a file that sapwood wrote differs from the columns."""
    arrays, counters = columns(folder)
    with uproot.open(target) as file:
        tree = file["Events"]
        for name, array in arrays.items():
            found = tree[name].array()
            if name in counters:
                same = np.array_equal(found.layout.offsets.data, array.layout.offsets.data)
                found, array = found.layout.content.data, array.layout.content.data
            else:
                same, found = True, found.layout.data
            if not same or found.tobytes() != np.asarray(array).tobytes():
                raise SystemExit(f"the written values of {name} differ")
        if set(tree.keys()) != set(arrays):
            raise SystemExit("the written branches differ")


def in_words(threads: int) -> str:
    """A number of threads in words."""
    return "1 thread" if threads == 1 else f"{threads} threads"


def markdown(runs: dict[tuple[str, int], list[dict[str, float]]], cluster_bytes: float) -> str:
    """The tables: the requirements, and the cost of every writer."""

    def value(writer: str, threads: int, quantity: str) -> float:
        return median(each[quantity] for each in runs[writer, threads])

    asked: list[tuple[str, float, str, bool]] = []
    # uproot compresses with only one thread.
    pairs = [("ROOT TTree", 1, 1, 2.0), ("ROOT TTree", 2, 2, 2.0)]
    pairs += [(peer, 1, own, 3.0) for peer in (UPROOT_SAME, "uproot") for own in (1, 2)]
    for peer, threads, own, least in pairs:
        for quantity in ("wall", "cpu") if threads == own else ("wall",):
            gain = value(peer, threads, quantity) / value("sapwood", own, quantity)
            where = in_words(own) if threads == own else f"{in_words(own)} of sapwood"
            asked.append(
                (
                    f"{peer} / sapwood, {quantity} seconds, {where}",
                    gain,
                    f"at least {least:.2f}",
                    gain >= least,
                )
            )
    for threads in (1, 2):
        most = (2 * cluster_bytes + BASKET_MEMORY) / 1e6
        memory = value("sapwood", threads, "memory") / 1e6
        asked.append(
            (
                f"MB of memory, {in_words(threads)}",
                memory,
                f"at most {most:.0f}",
                memory <= most,
            )
        )
    size = value("sapwood", 1, "size") / value("ROOT TTree", 1, "size")
    asked.append(("size of the file / ROOT's", size, "at most 1.01", size <= 1.01))
    checks = [(what, f"{x:.3f}", limit, holds) for what, x, limit, holds in asked]
    rows = []
    for (writer, threads), found in runs.items():
        cpu, wall, memory, size = (value(writer, threads, q) for q in ("cpu", "wall", "memory", "size"))
        name = f"{writer}, {in_words(threads)}"
        cells = [f"{cpu:.2f}", f"{wall:.2f}", f"{memory / 1e6:.0f}", f"{size / 1e6:.1f}", str(len(found))]
        rows.append([name, *cells])
    head = ["writer", "CPU s", "wall s", "memory MB", "file MB", "runs"]
    return f"{results.required(checks)}\n\n{table(head, rows)}\n"


def encoders(folder: Path, build: Path) -> str:
    """The cost of the codec compared with the bare libraries, for the first bytes of the columns."""
    target = (build / "encoders").resolve()
    cargo = ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(target)]
    subprocess.run([*cargo, "-p", "sapwood-codec", "--example", "encoders"], check=True, cwd=HERE.parent)
    call = [str(target / "release" / "examples" / "encoders"), str(folder / "data"), str(ENCODED)]
    printed = subprocess.run(call, check=True, capture_output=True, text=True, timeout=RUN_SECONDS).stdout
    rows = []
    for line in printed.splitlines():
        setting, codec, library, size, _ = line.split()
        ratio = float(codec) / float(library)
        holds = "yes" if ratio <= CODEC_AT_MOST else "no"
        rows.append([setting, codec, library, f"{ratio:.3f}", f"{ENCODED / int(size):.2f}", holds])
    head = [
        "compression",
        "codec, CPU s",
        "bare library, CPU s",
        "ratio",
        "bytes before / after",
        "at most 1.05",
    ]
    return table(head, rows) + "\n"


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--writers", default="", help="only those whose name contains one of these words")
    parser.add_argument("--build", type=Path, help="folder for compiled programs; default: build in the data")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    build = options.build or options.data / "build"
    folder = options.data / f"columns-{options.entries}"
    dump(options.data / "nano_zstd5.root", folder, options.entries)
    words = options.writers.lower().split(",")
    chosen = [each for each in WRITERS if any(word in each[0].lower() for word in words)]
    runs: dict[tuple[str, int], list[dict[str, float]]] = {each: [] for each in chosen}
    with tempfile.TemporaryDirectory(dir=options.data) as scratch:
        for repeat in range(options.repeats):
            for writer, threads in chosen:
                begin = time.monotonic()
                result = run(writer, threads, folder, Path(scratch), build)
                runs[writer, threads].append(result)
                rounded = {quantity: round(amount, 2) for quantity, amount in result.items()}
                print(
                    f"{writer}, {threads}: {time.monotonic() - begin:.0f} s {rounded}",
                    file=sys.stderr,
                    flush=True,
                )
                if writer == "sapwood" and repeat == 0:
                    compare(folder, Path(scratch) / "written.root")
    records: list[dict[str, Any]] = [
        {"writer": writer, "threads": threads, "runs": found} for (writer, threads), found in runs.items()
    ]
    tables = {}
    if len(chosen) == len(WRITERS):
        clusters = options.entries / CLUSTER
        text = markdown(runs, runs["sapwood", 1][0]["size"] / clusters) + "\n" + encoders(folder, build)
        tables = {"Writing": text}
    results.report(options, records, tables)


if __name__ == "__main__":
    main()
