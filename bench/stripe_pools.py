"""Pools of a Ceph cluster for the objects of datasets: part of `make bench-stripe`.

    python bench/stripe_pools.py --data DIR [--repeats N] [--markdown FILE] [--json FILE]

A cluster of six disks in memory has pools with a 4 + 2 erasure code and with three copies, and buckets with
and without an index. A bucket without an index cannot be listed, so a dataset cannot begin there: its log
stays in a usual bucket, and its objects go to the pool as to any other location (`sapwood stripe base`).

written: the entries of 10 NanoAOD-like files are appended to a dataset, whose first file is already there.
read: all columns of the whole dataset, in steps of 5,000 entries, which are discarded. They are counted, and
one column is compared with the files.

Two threads; the cluster uses the same two cores. Pools take turns; figures are medians.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import awkward as ak
import results
from results import table

import sapwood
from sapwood import stripe

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts"))
import radosgw_server

FIRST, FILES, TREE, THREADS, STEP = "loops_00", [f"loops_{n:02}" for n in range(1, 11)], "Events", 2, 5000
COMPARED = "Jet_pt"
POOLS = {"coded 4 + 2": ":ec", "three copies": "", "three copies, no index": ":indexless"}
"""The name of each pool in the gateway's location constraints."""

Record = dict[str, Any]


def run(number: int, pool: str, data: Path, cluster: radosgw_server.Cluster) -> Record:
    """Writes and reads a dataset in a pool."""
    bucket = f"pool-{number}"
    cluster.gateways[0].make_bucket(bucket, POOLS[pool])
    url, first = f"s3://data/dataset-{number}", f"{data / FIRST}.root:{TREE}"
    others = [f"{data / name}.root:{TREE}" for name in FILES]
    dataset = stripe.create(url, first, threads=THREADS)
    location = f"s3://{bucket}/objects"
    dataset.add_base(location)
    begin = time.perf_counter()
    written = dataset.append(others, base=location)
    seconds = time.perf_counter() - begin
    with sapwood.open(url, threads=THREADS) as tree:
        begin, entries = time.perf_counter(), 0
        for step in tree.iterate(step_size=STEP, how=dict):
            entries += len(step[COMPARED])
        read = time.perf_counter() - begin
        values = tree[COMPARED].array()
    expected = ak.concatenate([sapwood.open(one)[COMPARED].array() for one in (first, *others)])
    if entries != len(expected) or not ak.array_equal(values, expected):
        raise RuntimeError(f"{pool}: the dataset has other values than the files")
    print(f"{pool}: {seconds:.1f} s written, {read:.1f} s read", file=sys.stderr)
    cluster.remove_bucket(bucket)
    return {"pool": pool, "entries": entries, "written": seconds, "read": read, "objects": written.objects}


def measure(data: Path, repeats: int) -> Iterator[Record]:
    with radosgw_server.cluster(erasure=(4, 2), copies=3) as cluster:
        os.environ.update(cluster.gateways[0].variables)
        pools = [pool for _ in range(repeats) for pool in POOLS]
        for number, pool in enumerate(pools):
            yield run(number, pool, data, cluster)


def tables(records: list[Record]) -> dict[str, str]:
    rows = []
    for pool in POOLS:
        own = [record for record in records if record["pool"] == pool]
        appended = own[0]["entries"] * len(FILES) / (len(FILES) + 1)
        rates = (
            appended / median(one["written"] for one in own),
            own[0]["entries"] / median(one["read"] for one in own),
        )
        rows.append([pool, *(f"{rate:,.0f}" for rate in rates), f"{own[0]['objects']:,}"])
    return {"Pools": table(["pool", "written, events/s", "read, events/s", "objects"], rows)}


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each pool")
    options = parser.parse_args()
    if lack := radosgw_server.missing():
        raise SystemExit(lack)
    records = list(measure(options.data, options.repeats))
    results.report(options, records, tables(records))


if __name__ == "__main__":
    main()
