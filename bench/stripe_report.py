"""Tables of the measurements of `stripe.py`, and the requirements."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from results import Check, required, table

Record = dict[str, Any]

HEADINGS = {"columns": "3 columns", "whole": "all columns"}
ASKED = {
    "open": "open",
    "batch": "open, 1 column of the first entries",
    "columns": "open, 1 column, all entries",
}
KINDS = {"d": "stripes", "list": "lists of stripes", "snap": "versions", "log": "log", "": "other"}
STRIPES = "stripes, sapwood"
OVER_ROOT = "file over root://, sapwood"
# Ceph codes an object over k + m disks in pieces of this size, and rounds up to whole pieces.
CODED, PARITY, PIECE = 4, 2, 4096
# The required share of the best possible rate, or the most CPU time relative to reading from disk.
SHARE, OVERHEAD = 0.9, 1.25


def of_part(records: list[Record], part: str) -> Iterator[Record]:
    return (record for record in records if record["part"] == part)


def line(record: Record) -> str:
    """A progress line for a record."""
    return " ".join(str(record[key]) for key in ("store", "part", "mode", "reader") if key in record)


def value(record: Record, quantity: str) -> float:
    """The median of a quantity."""
    return float(median(run[quantity] for run in record["runs"]))


def allocated(size: int) -> int:
    """Bytes that an erasure-coded object allocates."""
    stripe = CODED * PIECE
    return -(-size // stripe) * stripe * (CODED + PARITY) // CODED


def reading(records: list[Record]) -> str:
    """Reading everything at low latency."""
    rows = []
    for best in of_part(records, "best"):
        size, seconds = best["bytes"], best["seconds"]
        rate = f"{size / seconds / 1e6:.0f}"
        rows.append(
            [f"{best['store']}: objects, discarded", f"{seconds:.2f}", f"{best['cpu']:.2f}", "", rate]
        )
        for record in of_part(records, "reading"):
            if record["store"] == best["store"]:
                took, inflating = value(record, "seconds"), ""
                if "decompress" in record["runs"][0]:
                    inflating = f"{value(record, 'decompress'):.2f}"
                row = [
                    f"{best['store']}: {record['reader']}",
                    f"{took:.2f}",
                    f"{value(record, 'cpu'):.2f}",
                    inflating,
                ]
                rows.append([*row, f"{size / took / 1e6:.0f}"])
    return table(["", "wall s", "CPU s", "of which decompression", "MB/s"], rows)


def far(records: list[Record]) -> str:
    """Reading over slower links."""
    rows = []
    for record in of_part(records, "far"):
        cells = [f"{value(record, 'seconds'):.2f}", f"{value(record, 'round_trips'):.0f}"]
        rows.append([f"{over(record)}: {record['reader']}", *cells])
    return table(["", "wall s", "round trips"], rows)


def over(record: Record) -> str:
    """The store, the link, and the columns of a record."""
    return f"{record['store']}, {record['link']}, {HEADINGS[record['mode']]}"


def requests(records: list[Record]) -> str:
    """The numbers of requests."""
    rows = []
    for record in of_part(records, "requests"):
        cells = [f"{value(record, name):.0f}" for name in ("requests", "round_trips", "fetched_bytes")]
        rows.append([f"{record['store']}: {ASKED[record['mode']]}", *cells])
    return table(["", "requests", "round trips", "bytes"], rows)


def sizes(records: list[Record]) -> str:
    """Objects and bytes, by kind."""
    rows = []
    for record in list(of_part(records, "sizes"))[:1]:
        kinds: dict[str, list[int]] = {}
        for key, size in record["objects"].items():
            kind = key.split("/")[0]
            kinds.setdefault(kind if kind in KINDS else "", []).append(size)
        whole, coded = record["file_bytes"], 0
        for kind, name in KINDS.items():
            found = kinds.get(kind, [])
            taken = sum(map(allocated, found))
            coded += taken
            per_event = f"{sum(found) / record['entries']:.2f}"
            rows.append(
                [name, str(len(found)), f"{sum(found):,}", per_event, f"{taken / max(sum(found), 1):.3f}"]
            )
        total = sum(record["objects"].values())
        rows.append(
            [
                "all",
                str(len(record["objects"])),
                f"{total:,}",
                f"{total / record['entries']:.2f}",
                f"{coded / total:.3f}",
            ]
        )
        rows.append(["the ROOT file", "1", f"{whole:,}", f"{whole / record['entries']:.2f}", "1.500"])
        rows.append(["objects / file", "", f"{total / whole:.4f}", "", ""])
    return table(["", "objects", "bytes", "bytes per event", "allocated / bytes on EC 4+2"], rows)


def changes(records: list[Record]) -> str:
    """Replacing one product."""
    rows = []
    for record in of_part(records, "changes"):
        written = sum(record["new"].values())
        cells = [f"{written:,}", str(len(record["new"])), f"{record['seconds']:.2f}", f"{record['cpu']:.2f}"]
        rows.append([f"{record['store']}: {record['what']} replaced", *cells])
    for record in of_part(records, "rewritten"):
        cells = [f"{record['bytes']:,}", "1", f"{record['seconds']:.2f}", f"{record['cpu']:.2f}"]
        rows.append(["the whole file rewritten (sapwood repack, baskets copied)", *cells])
    return table(["", "bytes written", "objects", "wall s", "CPU s"], rows)


def writers(records: list[Record]) -> str:
    """Eight writers, concurrently and one after the other."""
    rows = []
    for record in of_part(records, "writers"):
        rate = f"{record['entries'] / record['seconds']:,.0f}"
        lost = "yes" if record["lost"] else "nothing"
        rows.append([f"{record['store']}: {record['manner']}", f"{record['seconds']:.2f}", rate, lost])
    return table(["8 writers append", "wall s", "events/s", "lost data or missing versions"], rows)


def checks(records: list[Record]) -> str:
    """The requirements."""
    checks: list[Check] = []

    def check(what: str, found: float, limit: str, holds: bool) -> None:
        checks.append((what, f"{found:.2f}", limit, holds))

    for best in of_part(records, "best"):
        near = {r["reader"]: r for r in of_part(records, "reading") if r["store"] == best["store"]}
        stripes, name = near[STRIPES], best["store"]
        share = best["seconds"] / value(stripes, "seconds")
        used = value(stripes, "cpu") / value(near["file on disk, sapwood"], "cpu")
        check(f"{name}: time at best / time", share, f"at least {SHARE}", share >= SHARE)
        what = f"{name}: CPU / CPU of reading the file from disk"
        check(what, used, f"at most {OVERHEAD}", used <= OVERHEAD)
        for other in (OVER_ROOT, "file over root://, ROOT"):
            ratio = value(near[other], "seconds") / value(stripes, "seconds")
            check(f"{name}: {other} / stripes, wall", ratio, "at least 1", ratio >= 1)
    found = {(over(r), r["reader"]): value(r, "seconds") for r in of_part(records, "far")}
    for what, reader in found:
        if reader != STRIPES:
            ratio = found[what, reader] / found[what, STRIPES]
            check(f"{what}: {reader} / stripes, wall", ratio, "at least 1", ratio >= 1)
    counts = {(one["store"], one["mode"]): value(one, "requests") for one in of_part(records, "requests")}
    for (name, mode), count in counts.items():
        if mode == "open":
            check(f"{name}: requests of open", count, "at most 3", count <= 3)
        if mode == "batch":
            # The first time, the list of its stripes is one more request.
            alone = count - counts[name, "open"] - 1
            check(f"{name}: requests for one column of a batch, without its list", alone, "1", alone == 1)
    for record in of_part(records, "changes"):
        beside = [key for key in record["new"] if key.split("/")[0] in ("snap", "log")]
        what = f"{record['store']}: objects of a commit other than stripes and their list"
        check(what, len(beside), "2", len(beside) == 2)
        # Every change overwrites the hint.
        changed = [key for key in record["changed"] if key != "hint"]
        check(f"{record['store']}: existing objects rewritten", len(changed), "0", not changed)
    return required(checks)


def tables(records: list[Record]) -> dict[str, str]:
    """All tables, by title."""
    made = {
        "Required": checks,
        "Reading everything at low latency": reading,
        "Reading over a slower link": far,
        "Requests": requests,
        "Objects and bytes": sizes,
        "Replacing a product": changes,
        "Eight writers": writers,
    }
    return {title: make(records) for title, make in made.items()}
