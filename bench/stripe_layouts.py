"""The size of datasets, with and without groups of small products: part of `make bench-stripe`.

    python bench/stripe_layouts.py --data DIR [--markdown FILE] [--json FILE]

Files like NanoAOD, MiniAOD and DAOD are written as datasets in a directory, with the default layout, and
their objects are measured. The allocation of Ceph is computed from the size of each object: with a 4 + 2
erasure code, an object of n bytes allocates ceil(n / 16 KiB) * 16 KiB * 6 / 4. Then the datasets are written
with and without statistics of stripes, in turns.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import results
from results import table
from stripe_report import allocated

from sapwood import stripe

FILES = {
    "NanoAOD-like": ("nano_zstd5", "Events"),
    "MiniAOD-like": ("edm_zlib5", "Events"),
    "DAOD-like": ("xaod_zlib5", "CollectionTree"),
}
STRIPES, LISTS = "d", ("list", "snap")
REPEATS = 3

Record = dict[str, Any]


def measured(kind: str, file: Path, tree: str, group: bool) -> Record:
    """Writes a file as a dataset, and measures its objects."""
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        place = Path(folder) / "data"
        dataset = stripe.create(place, f"{file}:{tree}", group=group)
        shown = dataset.describe()
        found = [path for path in place.rglob("*") if path.is_file()]
        objects = [(path.relative_to(place).parts[0], path.stat().st_size) for path in found]
    counts = {"entries": shown["entries"], "products": len(shown["products"])}
    return {"kind": kind, "group": group, "file": file.stat().st_size, "objects": objects, **counts}


def spent(kind: str, file: Path, tree: str) -> Record:
    """CPU seconds of writing a dataset with statistics and without, and bytes of its lists."""
    runs: dict[bool, list[tuple[float, int]]] = {True: [], False: []}
    for _ in range(REPEATS):
        for known, found in runs.items():
            with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
                before = resource.getrusage(resource.RUSAGE_SELF)
                stripe.create(Path(folder) / "data", f"{file}:{tree}", statistics=known)
                after = resource.getrusage(resource.RUSAGE_SELF)
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                lists = (Path(folder) / "data" / "list").iterdir()
                found.append((used, sum(path.stat().st_size for path in lists)))
    return {"kind": kind, "with": runs[True], "without": runs[False]}


def costs(records: list[Record]) -> Iterator[list[str]]:
    """A row for each file, with medians."""
    for record in records:
        cpu = [statistics.median(used for used, _ in record[name]) for name in ("with", "without")]
        ratio = statistics.median(
            one / other for (one, _), (other, _) in zip(record["with"], record["without"], strict=True)
        )
        sizes = [record[name][0][1] for name in ("with", "without")]
        cells = [f"{cpu[0]:.2f}", f"{cpu[1]:.2f}", f"{ratio:.3f}", f"{sizes[0]:,}", f"{sizes[1]:,}"]
        yield [record["kind"], *cells]


def rows(records: list[Record]) -> Iterator[list[str]]:
    """A row for each dataset."""
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
    parser = results.parser(__doc__)
    options = parser.parse_args()
    records = [
        measured(kind, options.data / f"{name}.root", tree, group)
        for kind, (name, tree) in FILES.items()
        for group in (True, False)
    ]
    headings = ["", "small products", "objects", "KiB of each", "bytes / file", "index, bytes per event"]
    headings += ["allocated / bytes on EC 4+2", "allocated / file"]
    text = table(headings, list(rows(records)))
    spendings = [spent(kind, options.data / f"{name}.root", tree) for kind, (name, tree) in FILES.items()]
    headings = ["", "CPU s with", "CPU s without", "ratio", "bytes of lists with", "without"]
    cost = table(headings, list(costs(spendings)))
    tables = {"Objects and bytes": text, "Cost of statistics": cost}
    results.publish(options, tables, {"layouts": records, "statistics": spendings})


if __name__ == "__main__":
    main()
