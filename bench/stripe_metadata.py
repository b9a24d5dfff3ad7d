"""How the metadata of a dataset grow, next to the law of the study: part of `make bench-stripe`.

    python bench/stripe_metadata.py [--events 10000 …] [--markdown FILE] [--json FILE]

The study of 2022 says that metadata grow as products plus events, N + M, although the number of stripes grows
as N × M. Datasets of 50 and 200 products and of 10⁴ to 10⁷ events are written to a local directory; all
objects but the stripes count. Values take few bytes, so that 10⁷ events fit; entries per batch and objects
per batch are those that the default layout, with batches of 32 MiB, chooses for 200 products of NanoAOD-like
events (4 kB each) and MiniAOD-like ones (45 kB). a + b·N + c·M + d·N·M is fitted to the bytes, with relative
errors; the law of the study is the sum of the first three terms.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import results
from measured import must_be_measured
from results import table
from rootbuild import HERE

sys.path.append(str(HERE.parent / "tests" / "python"))
import stripe_reader

PRODUCTS, MOST_PRODUCTS, EVENTS = (50, 200), 200, (10_000, 100_000, 1_000_000, 10_000_000)
LARGER = "MiniAOD-like, batches of 128 MiB"
LAYOUTS = {"NanoAOD-like": (8, 10_080, 40), "MiniAOD-like": (4, 840, 38), LARGER: (4, 3_360, 152)}
"""Branches per product, entries per batch, and objects per batch of 200 products."""
BOUND = 2.0
PARTS = ("other", "snapshot", "lists", "index of events")
CHECKSUMS = "baskets: checksums"
COLUMNS = (
    "objects: names and sizes",
    "stripes: entries, objects, offsets",
    "baskets: lengths",
    CHECKSUMS,
    "statistics",
)
OTHERS = ("as it is", "4 bytes of checksum", "one checksum per stripe", "checksums only in the stripes")
STRIPE, INDEX = 4, 5
WRITER, SECONDS = HERE / "writers" / "many_products.py", 900

Record = dict[str, Any]


def written(like: str, products: int, events: int) -> Record:
    """Writes a dataset, and measures its metadata."""
    branches, batch, objects = LAYOUTS[like]
    objects = max(objects * products // MOST_PRODUCTS, 1)
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        numbers = [products, branches, events, batch, objects]
        must_be_measured([sys.executable, str(WRITER), name, *map(str, numbers)], os.environ, SECONDS)
        found: Record = {"like": like, "products": products, "events": events}
        return (
            found | {"baskets": products * branches * -(-events // batch)} | counted(Path(name) / "dataset")
        )


def counted(dataset: Path) -> Record:
    """The bytes of each part of the metadata, of the columns of lists, and of the directories in stripes."""
    parts, columns, numbers = Counter[str](), Counter[str](), Counter[str]()
    for path in dataset.rglob("*"):
        if not path.is_file():
            continue
        size, folder = path.stat().st_size, path.relative_to(dataset).parts[0]
        with path.open("rb") as file:
            head = file.read(76)
        if folder == "d" and head[8] == STRIPE and head[:4] == b"\x89SAP":
            # A checksum, two lengths, and the compressed directory.
            numbers.update(objects=1, directories=16 + struct.unpack_from("<I", head, 72)[0])
        elif folder == "d":
            # The other files of this folder are the ROOT files of what came with the events.
            parts["index of events" if head[8] == INDEX else PARTS[0]] += size
        else:
            parts[{"list": "lists", "snap": "snapshot"}.get(folder, PARTS[0])] += size
    stored = stripe_reader.Dataset(dataset)
    for product in stored.description["products"]:
        for section in stored.sections(product):
            columns.update(of_list(section))
            numbers.update(stripes=stripe_reader.listed(section)[2]["count"])
    return {"parts": parts, "columns": columns, **numbers}


def of_list(section: bytes) -> dict[str, int]:
    """The bytes of the columns of a stripe list, each compressed alone."""
    reader, after, found = stripe_reader.listed(section)
    features = struct.unpack_from("<H", section, 6)[0]
    baskets = sum(map(len, found["spans"]))
    of_object, of_stripe = 24 if features & 2 else 16, 28 if features & 1 else 20
    lengths = (of_object * found["objects"], of_stripe * found["count"], 4 * baskets, 8 * baskets)
    reader.at, sizes = 0, {}
    for column, length in zip(COLUMNS, lengths, strict=False):
        content = reader.take(length)
        sizes[column] = min(length, len(cramjam.zstd.compress(content, level=5)))
    assert reader.at == len(reader.content)
    return sizes | {COLUMNS[-1]: len(section) - after.at}


def measure(options: argparse.Namespace) -> Iterator[Record]:
    for like in options.layouts:
        for events in options.events:
            for products in PRODUCTS:
                # 50 products are for the fit; those of 10⁷ events would take as long as all others.
                if products == MOST_PRODUCTS or events < EVENTS[-1]:
                    yield written(like, products, events)


def total(record: Record) -> int:
    """All bytes of metadata."""
    return sum(record["parts"].values())


def fitted(records: list[Record]) -> np.ndarray:
    """a, b, c, d of a + b·N + c·M + d·N·M, with least relative errors."""
    relative = np.array([terms(one) / total(one) for one in records])
    return np.asarray(np.linalg.lstsq(relative, np.ones(len(records)), rcond=None)[0])


def terms(record: Record) -> np.ndarray:
    """1, N, M, N·M."""
    products, events = record["products"], record["events"]
    return np.array([1.0, products, events, products * events])


def law(fit: np.ndarray, record: Record) -> float:
    """The bytes that the law of the study says."""
    return float(fit[:3] @ terms(record)[:3])


def by_layout(records: list[Record]) -> dict[str, list[Record]]:
    """The records of each layout of which there are enough for the fit, the largest dataset last."""
    found = {like: [one for one in records if one["like"] == like] for like in LAYOUTS}
    order = {like: sorted(some, key=total) for like, some in found.items()}
    return {like: some for like, some in order.items() if len(some) > len(terms(some[0]))}


def tables(records: list[Record]) -> tuple[dict[str, str], list[results.Check]]:
    """The tables, and the requirement."""
    rows, fits, lists, checks = [], [], [], list[results.Check]()
    for like, found in by_layout(records).items():
        branches, batch, _ = LAYOUTS[like]
        fit, last = fitted(found), found[-1]
        for one in found:
            sizes = [f"{one['parts'].get(part, 0):,}" for part in PARTS]
            where = f"{like}, {one['products']} products, {one['events']:,} events"
            cells = [f"{one['objects']:,}", f"{one['baskets']:,}", *sizes, f"{total(one):,}"]
            cells += [f"{total(one) / one['events']:.2f}", f"{total(one) / law(fit, one):.2f}"]
            rows.append([where, *cells])
        off = max(abs(fit @ terms(one) / total(one) - 1) for one in found)
        cells = [f"{fit[0]:,.0f}", f"{fit[1]:.0f}", f"{fit[2]:.2f}", f"{fit[3]:.5f}"]
        fits.append([like, *cells, f"{fit[3] * batch / branches:.1f}", f"{off:.1%}"])
        per_basket = [last["columns"][column] / last["baskets"] for column in COLUMNS]
        per_basket += [sum(per_basket), last["directories"] / last["baskets"]]
        lists.append([like, *(f"{one:.2f}" for one in per_basket)])
        ratio = total(last) / law(fit, last)
        what = f"{like}: metadata / law of N + M, {last['products']} products and {last['events']:,} events"
        checks.append((what, f"{ratio:.2f}", f"at most {BOUND:g}", ratio <= BOUND))
    head = ["", "objects", "baskets", *PARTS, "bytes", "per event", "/ (N + M)"]
    head_fits = ["", "bytes", "per product", "per event", "per product and event", "per basket"]
    return {
        "Required": results.required(checks),
        "Bytes of metadata": table(head, rows),
        "Fit": table([*head_fits, "furthest off"], fits),
        "Bytes per basket": table(["", *COLUMNS, "list", "directory in the stripe"], lists),
        "With other lists": table(["metadata / law of N + M", *OTHERS], list(others(records))),
    }, checks


def others(records: list[Record]) -> Iterator[list[str]]:
    """What the largest datasets would have with fewer checksums in their lists, at 8 bytes each."""
    for like, found in by_layout(records).items():
        fit, last = fitted(found), found[-1]
        bare = total(last) - last["columns"][CHECKSUMS]
        sizes = [total(last), bare + 4 * last["baskets"], bare + 8 * last["stripes"], bare]
        yield [like, *(f"{size / law(fit, last):.2f}" for size in sizes)]


def line(record: Record) -> str:
    """A line of progress."""
    return f"{record['like']}, {record['products']} × {record['events']:,}: {total(record):,} bytes"


def main() -> None:
    parser = results.parser(__doc__, data=False, check=True)
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS), choices=list(LAYOUTS))
    parser.add_argument("--events", type=int, nargs="*", default=EVENTS)
    parser.add_argument(
        "--earlier", type=Path, nargs="*", default=[], help="files of --json whose records are published, too"
    )
    options = parser.parse_args()
    records = [one for path in options.earlier for one in json.loads(path.read_text())["records"]]
    records += results.collect(measure(options), line)
    made, checks = tables(records)
    results.report(options, records, made, checks)


if __name__ == "__main__":
    main()
