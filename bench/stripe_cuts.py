"""A cut of 1 % of a dataset, with and without the statistics of stripes, at low and high latency.

    python bench/stripe_cuts.py --data DIR [--markdown FILE] [--json FILE]

The events are NanoAOD-like, in the order of their 400 luminosity blocks. The same cut is written twice: as a
comparison, which skips batches by their least and greatest values; and with arithmetic, for which statistics
do not help, so that the column is read first and selects the baskets. Each run is a separate process; readers
take turns; figures are medians. The store is versitygw, on the same machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import Any

import results
from remote_servers import Far
from results import median_of
from stripe import DATASET, NAME, TREE, Run, run, stripe_writer, through
from stripe_servers import object_store

FAR = "100 ms"
COLUMNS = ("Jet_pt", "Jet_eta", "Muon_pt", "MET_pt")
CUTS = {
    "statistics of stripes": "(luminosityBlock >= 200) & (luminosityBlock < 204)",
    "column, read first": "(luminosityBlock * 1 >= 200) & (luminosityBlock * 1 < 204)",
    "no cut": "",
}
PROGRAM = """
import json, resource, sys, time, awkward, numpy, sapwood
opening, (url, cut, *columns) = sapwood.open, sys.argv[1:]
begin = time.perf_counter()
tree = opening(url)
before = tree.file.report()
count = len(tree.arrays(columns, cut or None))
seconds = time.perf_counter() - begin
after = tree.file.report()
names = ("requests", "fetched_bytes", "excluded_entries", "excluded_clusters")
figures = {name: getattr(after, name) for name in names}
print(json.dumps({"seconds": seconds, "entries": count, **figures}), flush=True)
sys.stdin.read()
"""


def reader(cut: str, url: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, url, cut, *COLUMNS]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    with object_store("versitygw") as store:
        url, variables = f"s3://data/{DATASET}", store.server.variables
        run(stripe_writer("create", url, str(options.data / f"{NAME}.root"), TREE), variables)
        found: dict[str, dict[str, list[Run]]] = {name: {"near": [], "far": []} for name in CUTS}
        for _ in range(options.repeats):
            for name, cut in CUTS.items():
                found[name]["near"].append(run(reader(cut, url), variables))

                def far(far: Far, cut: str = cut) -> list[str]:
                    return reader(cut, far.url(DATASET))

                found[name]["far"].append(through(store.remote, FAR, far))
        return {"cpus": os.cpu_count(), "cuts": CUTS, "runs": found}


def table(measured: dict[str, Any]) -> str:
    lines = [
        f"| cut by | entries | skipped | requests | MB | seconds, low latency | at {FAR} |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, runs in measured["runs"].items():
        median = partial(median_of, runs["near"])
        batches = f"{int(median('excluded_clusters'))} batches"
        numbers = [f"{int(median('entries')):,}", batches, f"{int(median('requests')):,}"]
        numbers += [f"{median('fetched_bytes') / 1e6:.2f}", f"{median('seconds'):.3f}"]
        lines.append(f"| {name} | {' | '.join(numbers)} | {median_of(runs['far'], 'seconds'):.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each reader")
    options = parser.parse_args()
    measured = measure(options)
    text = table(measured)
    results.publish(options, {"A cut of 1 %": text}, measured)


if __name__ == "__main__":
    main()
