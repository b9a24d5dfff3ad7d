"""What datasets of stripes take, with small products in groups and without: part of `make bench-stripe`.

    python bench/stripe_layouts.py --data DIR [--markdown FILE] [--json FILE]

Files like NanoAOD, MiniAOD and DAOD become datasets in a directory, with the layout that is chosen if
nothing is said, and their objects are measured. What Ceph allocates is computed from the size of each object:
where data are coded as 4 + 2, an object of n bytes takes ceil(n / 16 KiB) * 16 KiB * 6 / 4.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from report import table
from stripe_report import allocated

from sapwood import stripe

FILES = {
    "NanoAOD-like": ("nano_zstd5", "Events"),
    "MiniAOD-like": ("edm_zlib5", "Events"),
    "DAOD-like": ("xaod_zlib5", "CollectionTree"),
}
STRIPES, LISTS = "d", ("list", "snap")

Record = dict[str, Any]


def measured(kind: str, file: Path, tree: str, group: bool) -> Record:
    """The objects of a dataset of a file."""
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        place = Path(folder) / "data"
        dataset = stripe.create(place, f"{file}:{tree}", group=group)
        shown = dataset.describe()
        found = [path for path in place.rglob("*") if path.is_file()]
        objects = [(path.relative_to(place).parts[0], path.stat().st_size) for path in found]
    counts = {"entries": shown["entries"], "products": len(shown["products"])}
    return {"kind": kind, "group": group, "file": file.stat().st_size, "objects": objects, **counts}


def rows(records: list[Record]) -> Iterator[list[str]]:
    """A line for each dataset."""
    for record in records:
        sizes = [size for _, size in record["objects"]]
        stripes = [size for kind, size in record["objects"] if kind == STRIPES]
        index = sum(size for kind, size in record["objects"] if kind in LISTS)
        total, file, taken = sum(sizes), record["file"], sum(map(allocated, sizes))
        yield [
            f"{record['kind']}, {record['products']} products",
            "in groups" if record["group"] else "each alone",
            f"{len(stripes):,}",
            f"{sum(stripes) / len(stripes) / 1024:.0f}",
            f"{total / file:.3f}",
            f"{index / record['entries']:.1f}",
            f"{taken / total:.3f}",
            f"{taken / file:.3f}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("SAPWOOD_BENCH_DATA")
    parser.add_argument("--data", type=Path, default=default, required=not default, help="folder of inputs")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    parser.add_argument("--json", type=Path, help="write all sizes to this file")
    options = parser.parse_args()
    records = [
        measured(kind, options.data / f"{name}.root", tree, group)
        for kind, (name, tree) in FILES.items()
        for group in (True, False)
    ]
    headings = ["", "small products", "objects", "KiB of each", "bytes / file", "index, bytes per event"]
    headings += ["allocated / bytes on EC 4+2", "allocated / file"]
    text = "\n".join(table(headings, list(rows(records))))
    print(text)
    if options.json:
        options.json.write_text(json.dumps(records) + "\n")
    if options.markdown:
        options.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
