"""Several readers at once, on one disk and one server: total throughput, and fairness.

    python bench/together.py --data DIR [--only disk,memory,http] [--runs N] [--markdown FILE] [--json FILE]

1, 2, 4 and 8 processes begin at the same time. Each opens its own copy of a NanoAOD-like file (1,491
branches, 100,000 events in 20 clusters), and reads 100 columns of all events: sapwood and uproot as arrays,
ROOT event by event in compiled code. Readers have their default settings.

disk: the files were dropped from the page cache before.
memory: the files are in the page cache.
http: from one server, over one emulated link of 1 Gbit/s with round trips of 22 ms, which all
    processes share.

The throughput is that of all processes until the last one is done. Fairness is the time of the slowest
process over that of the fastest. Figures are medians of runs in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import results
from loops import TREE, command
from loops_report import ROOT, UPROOT
from machine import load_file
from measured import what_failed
from mounts import FILE, forget
from remote_servers import serve
from results import Check, required, table

SAPWOOD = "sapwood, iterate()"
CLIENTS = [SAPWOOD, ROOT, UPROOT]
COUNTS = [1, 2, 4, 8]
MANY = 100
RTT_MS, MEGABITS = 22.0, 1000.0
PLACES = {
    "disk": "From the disk",
    "memory": "From the page cache",
    "http": f"Over http://, {RTT_MS:g} ms and {MEGABITS:g} Mbit/s",
}
DEADLINE = 180.0
# The most that the slowest of several processes takes longer than the fastest.
MOST_UNFAIR = 1.5

Record = dict[str, Any]


def inputs(data: Path) -> list[Path]:
    """A copy of the file for each process."""
    folder = data / "together"
    folder.mkdir(exist_ok=True)
    copies = [folder / f"{number}.root" for number in range(max(COUNTS))]
    for copy in copies:
        if not copy.exists():
            shutil.copy(data / FILE, copy.with_suffix(".part"))
            copy.with_suffix(".part").rename(copy)
    os.sync()
    return copies


def chosen(path: Path) -> tuple[list[str], Record]:
    """The columns that each process reads, and their decoded and compressed megabytes."""
    import sapwood

    with sapwood.open(f"{path}:{TREE}") as tree:
        floats = [name for name in tree if tree[name].typename == "float[]"]
        columns = ["nMuon", *floats[: MANY - 1]]
        branches = [tree[name] for name in columns]
        decoded = sum(one.uncompressed_bytes for one in branches)
        compressed = sum(one.compressed_bytes for one in branches)
        return columns, {"decoded_mb": decoded / 1e6, "file_mb": compressed / 1e6}


def together(commands: Sequence[Sequence[str]], variables: dict[str, str]) -> Record:
    """Runs readers that begin at the same time; the seconds of each."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ExitStack() as stack:
        started = [
            stack.enter_context(subprocess.Popen(one, **pipes, text=True, env={**os.environ, **variables}))
            for one in commands
        ]
        for one in started:
            assert one.stdout is not None
            one.stdout.readline()
        for one in started:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        said = [one.communicate(timeout=DEADLINE) for one in started]
    if any(one.returncode for one in started):
        return {"error": what_failed("\n".join(errors for _, errors in said))}
    found = [json.loads(printed.splitlines()[-1]) for printed, _ in said]
    if len({(one["entries"], one["sum"]) for one in found}) > 1:
        raise RuntimeError(f"the processes read different values: {found}")
    return {"times": [one["seconds"] for one in found], "read": (found[0]["entries"], found[0]["sum"])}


def measure(options: argparse.Namespace) -> Iterator[Record]:
    paths = inputs(options.data)
    columns, size = chosen(paths[0])
    task = {"tree": TREE, "always": columns, "sometimes": [], "every": 0, "offset": 0}
    with ExitStack() as stack:
        server = stack.enter_context(serve("http", paths[0].parent)) if "http" in options.only else None
        for place in options.only:
            for count in COUNTS:
                runs: dict[str, list[Record]] = {client: [] for client in CLIENTS}
                for _ in range(options.runs):
                    for client, found in runs.items():
                        for path in paths:
                            (load_file if place == "memory" else forget)(path)
                        with ExitStack() as link:
                            urls, variables = [str(path) for path in paths[:count]], {}
                            if place == "http" and server is not None:
                                far = link.enter_context(server.far(RTT_MS, MEGABITS))
                                urls, variables = (
                                    [far.url(path.name) for path in paths[:count]],
                                    far.variables,
                                )
                            found.append(
                                together([command(client, task, [url], options) for url in urls], variables)
                            )
                if len({one["read"] for found in runs.values() for one in found if "read" in one}) > 1:
                    raise RuntimeError(f"the readers read different values: {runs}")
                for client, found in runs.items():
                    yield {"place": place, "processes": count, "client": client, "runs": found, **size}


def figures(one: Record) -> tuple[float, float, float] | None:
    """Decoded MB/s and MB/s of the files of all processes, and the slowest time over the fastest."""
    times = [run["times"] for run in one["runs"] if "times" in run]
    if len(times) < len(one["runs"]):
        return None
    seconds = statistics.median(max(each) for each in times)
    fairness = statistics.median(max(each) / min(each) for each in times)
    count = one["processes"]
    return count * one["decoded_mb"] / seconds, count * one["file_mb"] / seconds, fairness


def line(one: Record) -> str:
    """A progress line for a record."""
    found = figures(one)
    shown = f"{found[0]:7.1f} MB/s, slowest / fastest {found[2]:.2f}" if found else f"failed: {one['runs']}"
    return f"{one['place']:<7} {one['processes']} x {one['client']:<20} {shown}"


def place_table(records: list[Record], place: str) -> str:
    """Throughput and fairness of each reader, by the number of processes."""
    here = [one for one in records if one["place"] == place]
    rows = []
    for client in CLIENTS:
        for what, index, shown in (
            ("decoded MB/s", 0, "{:,.0f}"),
            ("MB/s of the files", 1, "{:,.0f}"),
            ("slowest / fastest", 2, "{:.2f}"),
        ):
            found = [figures(one) for one in here if one["client"] == client]
            cells = ["failed" if one is None else shown.format(one[index]) for one in found]
            rows.append([f"{client}: {what}", *cells])
    return table(["reader", *(f"{count} at once" for count in COUNTS)], rows)


def checks(records: list[Record]) -> list[Check]:
    """Throughput against the better peer, and fairness."""
    asked: list[Check] = []
    at = {(one["place"], one["processes"], one["client"]): figures(one) for one in records}
    for (place, count, client), own in at.items():
        if client != SAPWOOD or own is None:
            continue
        peers = [found[0] for peer in CLIENTS[1:] if (found := at[place, count, peer])]
        where = f"{place}, {count} at once"
        if peers:
            ratio = own[0] / max(peers)
            asked.append(
                (f"{where}: throughput of sapwood / best peer", f"{ratio:.1f}", "at least 1", ratio >= 1)
            )
        if count > 1:
            holds = own[2] <= MOST_UNFAIR
            asked.append(
                (f"{where}: slowest / fastest, sapwood", f"{own[2]:.2f}", f"at most {MOST_UNFAIR}", holds)
            )
    return asked


def tables(records: list[Record]) -> dict[str, str]:
    places = dict.fromkeys(one["place"] for one in records)
    return {"Required": required(checks(records))} | {
        PLACES[place]: place_table(records, place) for place in places
    }


def main() -> None:
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default=",".join(PLACES), help="places")
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader")
    parser.add_argument(
        "--earlier", type=Path, nargs="*", default=[], help="files of --json whose records are published, too"
    )
    options = parser.parse_args()
    options.only = [place for place in options.only.split(",") if place]
    records = [one for path in options.earlier for one in json.loads(path.read_text())["records"]]
    records += results.collect(measure(options), line)
    results.report(options, records, tables(records), checks(records))


if __name__ == "__main__":
    main()
