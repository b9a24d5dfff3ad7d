"""The cost of opening a dataset of 10 million events and 200 products: part of `make bench-stripe`.

    python bench/stripe_scale.py [--markdown FILE] [--json FILE]

The dataset is small, but has a segment whose lists describe stripes for 10 million events of 200 products
with 8 branches. It is opened from a local directory in separate processes: alone, with the baskets of one
product, and with those of all products. The stripes do not exist, and none is read.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import results
from results import table

import sapwood
from sapwood import stripe

PRODUCTS, BRANCHES, REPEATS = 200, 8, 5
EVENTS = {"4 kB per event": 4_000, "45 kB per event": 45_000}
REPOSITORY = Path(__file__).resolve().parent.parent
CARGO = ["cargo", "test", "--release", "--quiet", "-p", "sapwood-stripe", "--test", "format", "--"]
ASKED = {
    "opened": "0",
    "opened, and the baskets of the largest product": "1",
    "opened, and the baskets of all products": str(PRODUCTS),
}
READER = f"""
import json, resource, sys, time
import numpy, sapwood
opening = sapwood.open
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before, begin = resident(), time.perf_counter()
tree = opening(sys.argv[1])
assert tree.num_entries > 10_000_000
products = int(sys.argv[2])
names = [f"P{{product:03}}_{{branch}}" for product in range(products) for branch in range({BRANCHES})]
# num_baskets finds the baskets of all branches; baskets finds those of one product.
found = (len(tree[name].baskets) if products == 1 else tree[name].num_baskets for name in names)
baskets = sum(found)
seconds, report = time.perf_counter() - begin, tree.file.report()
figures = {{"seconds": seconds, "bytes": report.fetched_bytes, "requests": report.requests}}
print(json.dumps({{**figures, "memory": resident() - before, "baskets": baskets}}))
"""

Record = dict[str, Any]


def made(folder: Path, bytes_per_event: int) -> Path:
    """Writes a dataset of this size, without its stripes."""
    names = [f"P{product:03}_{branch}" for product in range(PRODUCTS) for branch in range(BRANCHES)]
    with sapwood.recreate(folder / "small.root") as file:
        file["Events"] = {name: np.zeros(2, "f4") for name in names}
    stripe.create(folder / "dataset", f"{folder / 'small.root'}:Events")
    asked = {"SAPWOOD_SCALE": str(folder / "dataset"), "SAPWOOD_SCALE_BYTES": str(bytes_per_event)}
    command = [*CARGO, "--ignored", "a_segment_without_stripes"]
    subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **asked}, check=True, stdout=sys.stderr)
    return folder / "dataset"


def measured(kind: str, dataset: Path) -> list[Record]:
    """Runs all readers several times."""
    records = []
    for name, products in ASKED.items():
        runs = []
        for _ in range(REPEATS):
            command = [sys.executable, "-c", READER, str(dataset), products]
            said = subprocess.run(command, check=True, capture_output=True, text=True)
            runs.append(json.loads(said.stdout))
        records.append({"kind": kind, "what": name, "runs": runs})
    return records


def row(record: Record) -> list[str]:
    """A row with medians."""
    found = {name: statistics.median(run[name] for run in record["runs"]) for name in record["runs"][0]}
    return [
        f"{record['kind']}: {record['what']}",
        f"{found['seconds']:.3f}",
        f"{found['requests']:.0f}",
        f"{found['bytes'] / 1e6:.2f}",
        f"{found['memory'] / 1e6:.0f}",
        f"{found['baskets']:,.0f}",
    ]


def main() -> None:
    parser = results.parser(__doc__, data=False)
    options = parser.parse_args()
    records = []
    for kind, size in EVENTS.items():
        with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
            records += measured(kind, made(Path(folder), size))
    headings = ["", "seconds", "requests", "MB", "memory, MB", "baskets"]
    text = table(headings, [row(record) for record in records])
    results.publish(options, {"Opening a large dataset": text}, records)


if __name__ == "__main__":
    main()
