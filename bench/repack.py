"""Repacks and merges NanoAOD-like files with sapwood and ROOT's hadd, in separate processes that take turns.

    python bench/repack.py --data DIR [--repeats 2] [--markdown FILE] [--json FILE]

Files are in the page cache. Reports medians of wall and CPU seconds, and peak memory; and compares the output
with the input. Runs that only copy are repeated more often. For comparisons with `cp` and with compression
libraries, the seconds of the call count, without the start of Python.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import results
from machine import touch_memory

COPIES = ("copy", "merge", "merge of 1,000")
MORE = 9
"""The additional repeats of runs that only copy, which are fast."""

SAPWOOD = """
import json, resource, sys, time, sapwood
work, target, sources, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
sapwood.repack

def used():
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime

begin, used_before = time.monotonic(), used()
if work.startswith("merge"):
    report = sapwood.merge(sources, target, overwrite=True, **options)
else:
    report = sapwood.repack(sources[0], target, overwrite=True, **options)
call, call_cpu = time.monotonic() - begin, used() - used_before
print(report.decompress_seconds + report.compress_seconds, call, call_cpu)
"""

Call = tuple[str, list[str], dict[str, Any]]
"""The program, its arguments, and for sapwood its options."""


def hadd() -> Path:
    """The program `hadd` in the package of ROOT."""
    found = importlib.util.find_spec("ROOT")
    if found is None or found.origin is None:
        raise SystemExit("ROOT is not installed: see bench/README.md")
    return Path(found.origin).parent / "bin" / "hadd"


def run(
    work: str, who: str, arguments: list[str], options: dict[str, Any], sources: list[str], target: Path
) -> dict[str, float]:
    """Seconds, bytes of memory, and for sapwood the seconds in compression libraries."""
    target.unlink(missing_ok=True)
    environment = dict(os.environ)
    if who == "hadd":
        library = hadd().parents[1] / "lib"
        environment["LD_LIBRARY_PATH"] = f"{library}:{environment.get('LD_LIBRARY_PATH', '')}"
        call = [str(hadd()), "-v", "0", *arguments, str(target), *sources]
    elif who == "cp":
        call = ["cp", *sources, str(target)]
    else:
        call = [sys.executable, "-c", SAPWOOD, work, str(target), json.dumps(sources), json.dumps(options)]
    os.sync()
    touch_memory()
    begin = time.monotonic()
    child = subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, text=True)
    printed = child.stdout.read() if child.stdout else ""
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    if status:
        raise SystemExit(f"{who} failed: {call}")
    result = {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024.0,
        "size": float(target.stat().st_size),
    }
    result["call"] = wall
    if who == "sapwood":
        result["libraries"], result["call"], result["call_cpu"] = map(float, printed.split())
    return result


def cases() -> list[tuple[str, str, dict[str, Call]]]:
    """The tasks, each with its inputs and the programs that do it."""
    found: list[tuple[str, str, dict[str, Call]]] = [
        (
            "copy",
            "one",
            {"cp": ("cp", [], {}), "sapwood": ("sapwood", [], {}), "hadd": ("hadd", ["-fk"], {})},
        ),
        ("merge", "four", {"sapwood": ("sapwood", [], {}), "hadd": ("hadd", ["-fk"], {})}),
        ("merge of 1,000", "many", {"sapwood": ("sapwood", [], {}), "hadd": ("hadd", ["-fk"], {})}),
    ]
    for name, number in (("zlib:1", 101), ("zstd:3", 303), ("lz4:4", 404)):
        options = {"compression": name}
        calls: dict[str, Call] = {
            "sapwood": ("sapwood", [], options),
            "sapwood, 1 thread": ("sapwood", [], options | {"threads": 1}),
            "hadd": ("hadd", [f"-f{number}"], {}),
        }
        found.append((f"recompress to {name}", "part", calls))
    options = {"basket_size": "256 KiB", "cluster_size": "20 MB"}
    found.append(("re-split", "part", {"sapwood": ("sapwood", [], options)}))
    return found


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function in a separate process, because a child's peak memory starts at that of its parent."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def parts(data: Path) -> list[str]:
    """The two halves of the input."""
    import sapwood

    found = []
    for number in range(2):
        path = data / f"nano_half{number}.root"
        if not path.exists():
            start = 50_000 * number
            sapwood.repack(data / "nano_zstd5.root", path, entry_start=start, entry_stop=start + 50_000)
        found.append(str(path))
    return found


def many(folder: Path) -> list[str]:
    """A thousand small files: 50 columns of 1,000 numbers each."""
    import numpy as np

    import sapwood

    folder.mkdir()
    first = folder / "0000.root"
    with sapwood.recreate(first) as file:
        file["Events"] = {f"x{number}": np.arange(1000.0) * number for number in range(50)}
    others = [folder / f"{number:04}.root" for number in range(1, 1000)]
    for path in others:
        os.link(first, path)
    return [str(first), *map(str, others)]


def compare(sources: list[str], target: Path) -> None:
    """Fails if the new file differs from the concatenated inputs."""
    import sapwood

    with sapwood.open(f"{target}:Events") as written:
        start = 0
        for source in sources:
            with sapwood.open(f"{source}:Events") as tree:
                stop = start + tree.num_entries
                for name in ("nMuon", "Jet_pt", "event", "MET_pt", "x7"):
                    if name not in tree:
                        continue
                    before, after = (
                        tree[name].array(),
                        written[name].array(entry_start=start, entry_stop=stop),
                    )
                    if before.tolist() != after.tolist():
                        raise SystemExit(f"the values of {name} differ")
                start = stop
        if written.num_entries != start:
            raise SystemExit(f"the file has {written.num_entries} entries, not {start}")


def markdown(runs: dict[tuple[str, str], list[dict[str, float]]]) -> str:
    """The tables: the requirements, and the cost of every program."""

    def value(work: str, who: str, quantity: str) -> float:
        return median(each[quantity] for each in runs[work, who])

    speed = value("copy", "cp", "call") / value("copy", "sapwood", "call")
    asked = [("cp / sapwood, wall of the call, one file copied", speed, "at least 0.80", speed >= 0.8)]
    for work, what in (("merge", "4 files merged"), ("merge of 1,000", "1,000 files merged")):
        for quantity, name in (("wall", "wall"), ("cpu", "CPU")):
            ratio = value(work, "hadd", quantity) / value(work, "sapwood", quantity)
            asked.append((f"hadd -fk / sapwood, {name}, {what}", ratio, "at least 1.00", ratio >= 1))
    memory = value("merge", "sapwood", "memory") / 1e6
    asked.append(("MB of memory, 4 files merged", memory, "at most 200", memory <= 200))
    for work, who in runs:
        if who != "sapwood, 1 thread":
            continue
        ratio = value(work, who, "call_cpu") / value(work, who, "libraries")
        name = f"CPU of the call / decompress + compress, {work}"
        asked.append((name, ratio, "at most 1.15", ratio <= 1.15))
        ratio = value(work, "hadd", "wall") / value(work, "sapwood", "wall")
        asked.append((f"hadd / sapwood, wall, {work}", ratio, "at least 1.50", ratio >= 1.5))
        ratio = value(work, "hadd", "cpu") / value(work, "sapwood", "cpu")
        asked.append((f"hadd / sapwood, CPU, {work}", ratio, "at least 1.50", ratio >= 1.5))
    checks = [(what, f"{x:.2f}", limit, holds) for what, x, limit, holds in asked]
    rows = []
    for (work, who), found in runs.items():
        call, wall, cpu, memory, size = (
            value(work, who, quantity) for quantity in ("call", "wall", "cpu", "memory", "size")
        )
        seconds = [f"{time:.2f}" for time in (call, wall, cpu)]
        cells = [*seconds, f"{memory / 1e6:.0f}", f"{size / 1e6:.1f}", str(len(found))]
        rows.append([work, who, *cells])
    head = ["work", "by", "call s", "wall s", "CPU s", "memory MB", "file MB", "runs"]
    return f"{results.required(checks)}\n\n{results.table(head, rows)}\n"


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    halves = apart(parts, options.data)
    sources = {"one": [str(options.data / "nano_zstd5.root")], "four": halves * 2, "part": halves[:1]}
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    chosen = [case for case in cases() if options.only in case[0]]
    with tempfile.TemporaryDirectory(dir=options.data) as scratch:
        target = Path(scratch) / "written.root"
        sources["many"] = apart(many, Path(scratch) / "many")
        quick = [case for case in chosen if case[0] in COPIES]
        for work, inputs, calls in quick * MORE + chosen * options.repeats:
            for name, (who, extra, chosen_options) in calls.items():
                result = run(work, who, extra, chosen_options, sources[inputs], target)
                found = runs.setdefault((work, name), [])
                found.append(result)
                rounded = {quantity: round(amount, 2) for quantity, amount in result.items()}
                print(f"{work}, {name}: {rounded}", file=sys.stderr, flush=True)
                if who == "sapwood" and len(found) == 1:
                    apart(compare, sources[inputs], target)
    records = [{"work": work, "by": who, "runs": found} for (work, who), found in runs.items()]
    tables = {} if options.only else {"Repacking and merging": markdown(runs)}
    results.report(options, records, tables)


if __name__ == "__main__":
    main()
