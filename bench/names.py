"""Programs of uproot, with and without sapwood under uproot's names, and the same by sapwood's own functions.

    python bench/names.py --data DIR [--only local,remote] [--markdown FILE] [--json FILE]

Reads all columns and 12 columns of the NanoAOD-like files, from disk with a warm page cache, and 12 columns
of the first one from an HTTP server that is 100 ms away. Every run is a process of its own, in turns. Times
are from before opening until the arrays are complete, without the imports of Python.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import results

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.append(str(REPOSITORY / "tests" / "python"))

FILES = {"ZSTD": "nano_zstd5.root", "LZ4": "nano_lz4.root"}
WAYS = ("uproot", "names", "sapwood")
COLUMNS = [
    *("run", "event", "MET_pt", "PV_npvs"),
    *(f"{name}_{member}" for name in ("Muon", "Jet") for member in ("pt", "eta", "phi", "mass")),
]
ROUNDS, ROUND_TRIP = 5, 100
LIMITS = {"all": 5.0, "12": 8.0, "remote": 2.5}

Record = dict[str, Any]


def run(way: str, place: str, columns: str) -> Record:
    """One run in this process."""
    library = importlib.import_module({"names": "sapwood.uproot"}.get(way, way))
    wanted = COLUMNS if columns == "12" else None
    # Imports what is needed.
    warm = REPOSITORY / "tests" / "data" / "trees" / "main.root"
    library.open(warm)["main"].arrays()
    begin = time.perf_counter()
    tree = library.open(place)["Events"]
    names = [name for name in wanted if name in tree] if wanted else None
    arrays = tree.arrays(names)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "columns": len(arrays.fields), "entries": len(arrays)}


def measure(options: Any) -> Iterator[Record]:
    """All ways in turns."""
    if "local" in options.only:
        for kind, name in FILES.items():
            for columns in ("all", "12"):
                for _ in range(ROUNDS):
                    for way in WAYS:
                        yield {"kind": kind, **child(way, str(options.data / name), columns)}
    if "remote" in options.only:
        import testkit

        with testkit.serving(options.data, "--rtt-ms", str(ROUND_TRIP)) as server:
            for _ in range(ROUNDS):
                for way in WAYS:
                    server.counts_since()
                    record = child(way, f"{server.url}/{FILES['ZSTD']}", "12")
                    counts = server.counts_since()
                    trips = {name: counts[name] for name in ("round_trips", "requests")}
                    yield {"kind": "remote", **record, **trips}


def child(way: str, place: str, columns: str) -> Record:
    command = [sys.executable, __file__, "--run", way, place, columns]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {"way": way, "asked": columns, **json.loads(done.stdout)}


def line(record: Record) -> str:
    return f"{record['kind']}, {record['asked']} columns, {record['way']}: {record['seconds']:.3f} s"


def group(records: list[Record], kind: str, asked: str, way: str) -> list[Record]:
    return [one for one in records if (one["kind"], one["asked"], one["way"]) == (kind, asked, way)]


def seconds(records: list[Record], kind: str, asked: str, way: str) -> float:
    """The median."""
    return float(statistics.median(one["seconds"] for one in group(records, kind, asked, way)))


def measured(records: list[Record]) -> list[tuple[str, str]]:
    """The pairs of file and columns that were measured."""
    return list(dict.fromkeys((one["kind"], one["asked"]) for one in records))


def checks(records: list[Record]) -> list[results.Check]:
    found: list[results.Check] = []
    for kind, asked in measured(records):
        uproot, names, own = (seconds(records, kind, asked, way) for way in WAYS)
        least = LIMITS["remote" if kind == "remote" else asked]
        what, gain = f"{kind}, {asked} columns", uproot / names
        found.append(
            (f"{what}: uproot / under its names", f"{gain:.1f}", f"at least {least:g}", gain >= least)
        )
        if kind != "remote":
            share = names / own
            found.append(
                (f"{what}: under its names / sapwood", f"{share:.2f}", "at most 1.25", share <= 1.25)
            )
        else:
            trips = max(one["round_trips"] for one in group(records, kind, asked, "names"))
            found.append((f"{what}: round trips", str(trips), "at most 4", trips <= 4))
    return found


def tables(records: list[Record]) -> dict[str, str]:
    rows = []
    for kind, asked in measured(records):
        uproot, names, own = (seconds(records, kind, asked, way) for way in WAYS)
        trips = [
            str(max(one["round_trips"] for one in group(records, kind, asked, way)))
            if kind == "remote"
            else "-"
            for way in WAYS[:2]
        ]
        place = f"ZSTD over HTTP, {ROUND_TRIP} ms" if kind == "remote" else f"{kind}, disk"
        times = [f"{value:.3f}" for value in (uproot, names, own)]
        times += [f"{uproot / names:.1f}", f"{names / own:.2f}"]
        rows.append([f"{asked} columns, {place}", *times, *trips])
    head = ["read", "uproot: s", "under its names: s", "sapwood: s", "uproot / under its names"]
    head += ["under its names / sapwood", "round trips: uproot", "under its names"]
    return {
        "Required": results.required(checks(records)),
        "Times": results.table(head, rows),
    }


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run(*sys.argv[2:])))
        return
    parser = results.parser(__doc__, check=True)
    parser.add_argument("--only", default="local,remote", help="local, remote, or both")
    options = parser.parse_args()
    records = results.collect(measure(options), line)
    results.report(options, records, tables(records), checks(records))


if __name__ == "__main__":
    main()
