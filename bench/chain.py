"""The processing chain: events per second against lanes and threads, from and to files, servers and stripes.

    python bench/chain.py --data DIR [--markdown FILE] [--json FILE] [--plot FILE] [--entries N]

`sapwood.chain` processes MiniAOD-like events. The output goes to a Ceph cluster of six disks in memory, with
buckets in a pool with three copies and in one with a 4 + 2 erasure code; XRootD serves the remote file.
Each run is a separate process. Chains that only read run three times, and the median counts. The output of a
series is removed at its end.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import results
from remote_servers import serve

from sapwood import chain

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts"))
import radosgw_server

NAME, TREE = "edm_zlib5", "Events"
LANES, THREADS, BATCHES, STRIPES = (1, 2, 4), (1, 2), (24, 144, 720), ("128 kB", "512 kB", "1 MB")
COPIES, CODED = "three copies", "coded 4 + 2"
POOLS = {COPIES: "", CODED: ":ec"}
"""The name of each pool in the gateway's location constraints."""
NOTHING = "nothing: events without columns"
"""The overhead of the chain itself, which is not drawn: it is much smaller than everything else."""
PANELS = {"read": "Reading events from", "full": "Reading, encoding and writing events to"}
"""What the two kinds of chains do, as the titles of their panels."""
FROM_DISK = "full, file on disk to: "
COLOURS = ("#1f6fb3", "#d1892a", "#2c7a3f", "#b3401f", "#6b4fa0", "#777777", "#1b9e9e", "#c2599a")
NUMBERS = itertools.count(1)

Record = dict[str, Any]


@contextmanager
def output_bucket(cluster: radosgw_server.Cluster, pool: str) -> Iterator[str]:
    """A bucket in a pool, which is removed at the end."""
    name = f"written-{next(NUMBERS)}"
    cluster.gateways[0].make_bucket(name, POOLS[pool])
    try:
        yield f"s3://{name}"
    finally:
        cluster.remove_bucket(name)


def run(name: str, source: str, output: str, **how: Any) -> list[Record]:
    """Measures the chain at several points."""
    found = chain.measure([source], [output], repeats=3 if output == "none" else 1, **how)
    print(name, *(f"{one.rate:.0f}" for one in found.measurements), file=sys.stderr)
    return [one.to_dict() | {"name": name} for one in found.measurements]


def measure(options: argparse.Namespace, folder: Path) -> Record:
    """Measures both series: sources and outputs, and sizes of batches and stripes."""
    local = f"{options.data / NAME}.root:{TREE}"
    with (
        serve("root", options.data) as server,
        radosgw_server.cluster(erasure=(4, 2), copies=3) as cluster,
    ):
        gateway = cluster.gateways[0]
        os.environ.update(gateway.variables)
        copied, coded, flat = f"s3://{gateway.bucket}/source", "s3://coded/source", str(folder / "events.pds")
        for output in (copied, coded, flat):
            chain.run(local, output, entries=options.entries)
        sources = {
            "file on disk": local,
            "file over root://": f"root://127.0.0.1:{server.port}//{NAME}.root:{TREE}",
            f"stripes, {COPIES}": copied,
            f"stripes, {CODED}": coded,
            "flat file": flat,
            NOTHING: f"empty:{options.entries}",
        }
        kept = {"ROOT file": str(folder / "out.root"), "flat file": str(folder / "out.pds")}
        how: dict[str, Any] = {"entries": options.entries, "lanes": LANES, "threads": THREADS}
        series = [run(f"read {name}", it, "none", chains=["read"], **how) for name, it in sources.items()]
        how["chains"] = ["full"]
        for name, output in {"nothing": "none", "stripes, discarded": "sink", **kept}.items():
            series.append(run(f"{FROM_DISK}{name}", local, output, **how))
        for pool in POOLS:
            with output_bucket(cluster, pool) as bucket:
                series.append(run(f"{FROM_DISK}stripes, {pool}", local, bucket, **how))
        with output_bucket(cluster, CODED) as bucket:
            series.append(run("full, stripes to stripes, coded", coded, bucket, **how))
        how |= {"lanes": [2], "threads": [2], "batches": BATCHES, "stripe_sizes": STRIPES}
        sizes = list[Record]()
        for pool, groups in ((CODED, [True, False]), (COPIES, [True])):
            with output_bucket(cluster, pool) as bucket:
                sizes += run(pool, local, bucket, group=groups, **how)
    return {"entries": options.entries, "series": series, "sizes": sizes}


def rate(one: Record) -> str:
    """Events per second, or the error."""
    return f"{events_per_second(one):,.0f}" if one["runs"] else f"failed: {one['error']}"


def events_per_second(one: Record) -> float:
    """The median of all runs; 0 if there is none."""
    return statistics.median(run["events_per_second"] for run in one["runs"]) if one["runs"] else 0.0


def tables(found: Record) -> dict[str, str]:
    """Markdown tables: events per second of each chain at all lanes and threads, and for each size."""
    pairs = [(lane, thread) for thread in THREADS for lane in LANES]
    titles = [f"{lanes} / {threads}" for lanes, threads in pairs]
    lines = [["events/s with lanes / threads", *titles, "MB written"], ["---", *["---:"] * (len(pairs) + 1)]]
    for members in found["series"]:
        at = {(one["point"]["lanes"], one["point"]["threads"]): one for one in members}
        last = at[pairs[-1]]["runs"]
        written = f"{last[0]['written_bytes'] / 1e6:.0f}" if last else ""
        lines.append([members[0]["name"], *(rate(at[pair]) for pair in pairs), written])
    sizes = [["pool", "batch", "stripes of", "small products", "events/s", "MB written", "objects"]]
    sizes.append(["---", "---:", "---:", "---", "---:", "---:", "---:"])
    for one in found["sizes"]:
        point, run = one["point"], (one["runs"] or [{"written_bytes": 0, "written_objects": 0}])[0]
        manner = "together" if point["group"] else "alone"
        size = f"{point['stripe_size'] / 1000:,.0f} kB"
        cells = [one["name"], str(point["batch"]), size, manner, rate(one)]
        sizes.append([*cells, f"{run['written_bytes'] / 1e6:.1f}", f"{run['written_objects']:,}"])
    both = {"Lanes and threads": lines, "Batches and stripes": sizes}
    return {title: "\n".join(f"| {' | '.join(row)} |" for row in rows) for title, rows in both.items()}


def draw(found: Record, path: Path) -> None:
    """Draws events per second against threads, with the best number of lanes, for both kinds of chains."""
    import figures
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
    for panel, (kind, title) in zip(panels, PANELS.items(), strict=True):
        chosen = [
            members
            for members in found["series"]
            if members[0]["name"].startswith(kind) and NOTHING not in members[0]["name"]
        ]
        for members, colour in zip(chosen, COLOURS, strict=False):
            best = [
                max(events_per_second(one) for one in members if one["point"]["threads"] == threads)
                for threads in THREADS
            ]
            label = members[0]["name"].removeprefix(FROM_DISK).removeprefix("read ").removeprefix("full, ")
            panel.plot(THREADS, best, marker="o", color=colour, label=label)
        panel.set(title=title, xlabel="threads", ylabel="events per second", xticks=THREADS)
        panel.set_ylim(bottom=0)
        panel.legend(fontsize=7, loc="best")
        figures.style(panel)
    figures.save(figure, path)


def main() -> None:
    """Measures, and writes the results."""
    parser = results.parser(__doc__)
    parser.add_argument("--plot", type=Path, help="draw events per second against threads")
    parser.add_argument("--entries", type=int, default=2880)
    options = parser.parse_args()
    if lack := radosgw_server.missing():
        raise SystemExit(lack)
    with tempfile.TemporaryDirectory(prefix="chain-") as folder:
        found = measure(options, Path(folder))
    texts = tables(found)
    results.publish(options, texts, found)
    if options.plot:
        draw(found, options.plot)


if __name__ == "__main__":
    main()
