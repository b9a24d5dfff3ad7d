"""The processing chain over Ceph:  python bench/chain.py FILE:TREE build/bench/chain [--entries N] [--quick]

A cluster of Ceph is started, with a bucket in a pool of one copy and one over an erasure code of 4 + 2. The
folder gets the page, the figures as JSON, and `chain.md`, a table.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sapwood import chain
from sapwood.chain.page import COLUMNS, row

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "scripts"))
import radosgw_server  # noqa: E402


def main() -> None:
    """Measures, and writes what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="a ROOT file and its tree")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="few points, to see that it runs")
    asked = parser.parse_args()
    if lack := radosgw_server.missing():
        raise SystemExit(lack)
    asked.folder.mkdir(parents=True, exist_ok=True)
    flat = asked.folder / "events.pds"
    chain.run(asked.source, flat, entries=asked.entries)
    with radosgw_server.cluster(erasure=(4, 2)) as cluster:
        server = cluster.gateways[0]
        os.environ.update(server.variables)
        copied, coded = f"s3://{server.bucket}", "s3://coded"
        for bucket in (copied, coded):
            chain.run(asked.source, f"{bucket}/source", entries=asked.entries)
        quick = asked.quick
        found = chain.measure(
            [asked.source, f"{copied}/source", f"{coded}/source", str(flat)],
            ["none", "sink", copied, coded, str(asked.folder / "out.root")],
            batches=[144] if quick else [24, 144, 720],
            stripe_sizes=["512 kB"] if quick else ["128 kB", "512 kB", "1 MB"],
            group=[True] if quick else [True, False],
            lanes=[1] if quick else [1, 2, 4],
            threads=[1] if quick else [1, 2],
            entries=asked.entries,
            tell=lambda done, total: print(f"{done} of {total}", end="\r", file=sys.stderr),
        )
    for name in ("chain.html", "chain.json"):
        chain.save(found, asked.folder / name)
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(row(one) for one in found.measurements)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    (asked.folder / "chain.md").write_text(table, encoding="utf-8")
    flat.unlink()


if __name__ == "__main__":
    main()
