"""Tables of the measurements of `rntuple.py`, and the requirements."""

from __future__ import annotations

from statistics import median
from typing import Any

import report
from results import Check, required, table

Record = dict[str, Any]

OF_TREE = "sapwood, tree"
ROOT_READERS = [("ROOT bulk", 0), ("RDataFrame", 0), ("RDataFrame", 2)]
LOOPS = {
    "sapwood iterate": "iterate",
    "sapwood chunks()": "chunks",
    "sapwood events()": "events",
    "ROOT views, compiled": "root",
    "ROOT entries, Python": "root_entries",
    "uproot iterate": "uproot",
    "uproot, Python": "uproot_events",
}
# Loops over arrays, or in compiled code; and loops of Python over events.
OF_ARRAYS = ("ROOT views, compiled", "uproot iterate")
OF_EVENTS = ("ROOT entries, Python", "uproot, Python")
LOOP_PEERS = {"sapwood iterate": OF_ARRAYS, "sapwood chunks()": OF_ARRAYS, "sapwood events()": OF_EVENTS}
NTUPLE_WRITERS = [("sapwood", 1), ("sapwood", 2), ("ROOT", 1), ("ROOT", 2)]
HEADINGS = {"one": "1 column", "ten": "10 columns", "hundred": "100 columns", "all": "all columns"}
TITLES = {
    "read": "Reading",
    "loops": "Loops",
    "write": "Writing",
    "merge": "Merging",
    "remote": "Far away",
}
# Round trips before the first byte can be requested: login, and opening the file (see opening.md).
CONNECTING = {"http": 0, "s3": 0, "root": 3}
MOST_ROUND_TRIPS, AHEAD_FROM_MS = 2, 2
OPEN_MS = 15


def line(record: Record) -> str:
    """A line of progress."""
    names = (
        "part",
        "input",
        "columns",
        "work",
        "protocol",
        "rtt_ms",
        "reader",
        "writer",
        "by",
        "client",
        "threads",
    )
    words = [str(record[name]) for name in names if name in record]
    runs = record["runs"]
    if failed := next((run for run in runs if "error" in run or "stopped" in run), None):
        return f"{' '.join(words)}: {failed.get('error', 'stopped')}"
    wall = median(run.get("wall", run.get("seconds")) for run in runs)
    return f"{' '.join(words)}: {wall:.3f} s"


def compared(
    what: str, value: float | None, other: float | None, bound: float, *, least: bool
) -> list[Check]:
    """The criterion that value / other is at least, or at most, `bound`; none if one was not measured."""
    if value is None or not other:
        return []
    ratio = value / other
    words, holds = ("at least", ratio >= bound) if least else ("at most", ratio <= bound)
    return [(what, f"{ratio:.2f}", f"{words} {bound:.2f}", holds)]


def smallest(*values: float | None) -> float | None:
    """The smallest of those that were measured."""
    return min((value for value in values if value is not None), default=None)


def reading_checks(records: list[Record]) -> list[Check]:
    found: list[Check] = []
    for (name, columns), group in report.grouped(records).items():
        where = f"{name}, {HEADINGS[columns]}"
        one, two = group.value("sapwood", 1, "wall"), group.value("sapwood", 2, "wall")
        bulk, *frames = (group.value(*reader, "wall") for reader in ROOT_READERS)
        uproot, tree = group.value("uproot", 0, "wall"), group.value(OF_TREE, 1, "wall")
        if columns == "all":
            cpu, limit = (group.value(reader, 1, "cpu") for reader in ("sapwood", "limit"))
            found += compared(f"{where}: CPU / limit, 1 thread", cpu, limit, 1.25, least=False)
            found += compared(f"{where}: wall on 2 threads / on 1", two, one, 0.6, least=False)
            found += compared(
                f"{where}: ROOT's best / sapwood, 1 thread", smallest(bulk, frames[0]), one, 4, least=True
            )
            found += compared(f"{where}: uproot / sapwood, 1 thread", uproot, one, 8, least=True)
            found += compared(f"{where}: as a tree / as RNTuple", tree, one, 1.5, least=True)
        else:
            fastest = smallest(bulk, *frames, uproot)
            found += compared(f"{where}: fastest peer / sapwood", fastest, two, 1, least=True)
        if columns == "one" and (opened := group.value("sapwood", 2, "open")) is not None:
            ms = 1000 * opened
            found.append((f"{where}: ms to open", f"{ms:.1f}", f"at most {OPEN_MS}", ms <= OPEN_MS))
    return found


def reading(records: list[Record]) -> str:
    parts: list[str] = []
    for (name, columns), group in report.grouped(records).items():
        parts += [f"### {name}, {HEADINGS[columns]}", "", report.readers_table(group), ""]
    return "\n".join(parts)


def value(records: list[Record], quantity: str, **what: Any) -> float | None:
    """The median of a quantity in the record with these properties."""
    for record in records:
        if all(record[name] == wanted for name, wanted in what.items()):
            values = [run[quantity] for run in record["runs"] if quantity in run]
            return float(median(values)) if values else None
    return None


def loop_checks(records: list[Record]) -> list[Check]:
    seconds = {name: value(records, "seconds", reader=name) for name in LOOPS}
    found: list[Check] = []
    for name, others in LOOP_PEERS.items():
        peers = smallest(*(seconds[other] for other in others))
        found += compared(f"fastest of {', '.join(others)} / {name}", peers, seconds[name], 1, least=True)
    compiled, events = seconds["ROOT views, compiled"], seconds["sapwood events()"]
    if compiled and events:
        found.append(("ROOT views, compiled / sapwood events()", f"{compiled / events:.2f}", "-", None))
    return found


def looping(records: list[Record]) -> str:
    rows = []
    for record in records:
        seconds, entries = median(run["seconds"] for run in record["runs"]), record["runs"][0]["entries"]
        rows.append(
            [record["reader"], f"{seconds:.3f}", f"{1e6 * seconds / entries:.2f}", str(len(record["runs"]))]
        )
    return table(["reader", "seconds", "µs per event", "runs"], rows)


def writing_checks(records: list[Record]) -> list[Check]:
    found: list[Check] = []
    for threads in (1, 2):
        words = "1 thread" if threads == 1 else f"{threads} threads"
        own, peer = ({"writer": name, "threads": threads} for name in ("sapwood", "ROOT"))
        cpu, other = value(records, "cpu", **own), value(records, "cpu", **peer)
        found += compared(f"ROOT / sapwood, CPU, {words}", other, cpu, 2, least=True)
        size, other = value(records, "size", **own), value(records, "size", **peer)
        found += compared(f"size of the file / ROOT's, {words}", size, other, 1.02, least=False)
        memory, cluster = (
            value(records, "memory", **own),
            value(records, "cluster_bytes", writer="sapwood", threads=1),
        )
        found += compared(f"memory / a cluster's columns, {words}", memory, cluster, 2, least=False)
    return found


def writing(records: list[Record]) -> str:
    rows = []
    for record in records:
        cpu, wall, memory, size = (
            median(run[q] for run in record["runs"]) for q in ("cpu", "wall", "memory", "size")
        )
        threads = record["threads"]
        name = f"{record['writer']}, {threads} thread{'s' if threads > 1 else ''}"
        cells = [
            f"{cpu:.2f}",
            f"{wall:.2f}",
            f"{memory / 1e6:.0f}",
            f"{size / 1e6:.1f}",
            str(len(record["runs"])),
        ]
        rows.append([name, *cells])
    return table(["writer", "CPU s", "wall s", "memory MB", "file MB", "runs"], rows)


def merging_checks(records: list[Record]) -> list[Check]:
    found: list[Check] = []
    for work in dict.fromkeys(record["work"] for record in records):
        own, peer = (value(records, "wall", work=work, by=who) for who in ("sapwood", "hadd"))
        found += compared(f"hadd / sapwood, wall, {work}", peer, own, 1 if work == "merge" else 3, least=True)
    return found


def merging(records: list[Record]) -> str:
    rows = []
    for record in records:
        wall, cpu, memory, size = (
            median(run[q] for run in record["runs"]) for q in ("wall", "cpu", "memory", "size")
        )
        cells = [
            f"{wall:.2f}",
            f"{cpu:.2f}",
            f"{memory / 1e6:.0f}",
            f"{size / 1e6:.1f}",
            str(len(record["runs"])),
        ]
        rows.append([record["work"], record["by"], *cells])
    return table(["work", "by", "wall s", "CPU s", "memory MB", "file MB", "runs"], rows)


def points(records: list[Record], protocol: str) -> dict[str, dict[float, Record]]:
    """The records of a protocol, by client and round-trip time."""
    found: dict[str, dict[float, Record]] = {}
    for record in records:
        if record["protocol"] == protocol:
            found.setdefault(record["client"], {})[record["rtt_ms"]] = record
    return found


def seconds_of(record: Record | None) -> float | None:
    """The median, if no run failed or was stopped."""
    runs = record["runs"] if record else []
    if not runs or any("seconds" not in run for run in runs):
        return None
    return float(median(run["seconds"] for run in runs))


def remote_checks(records: list[Record]) -> list[Check]:
    found: list[Check] = []
    for protocol in dict.fromkeys(record["protocol"] for record in records):
        clients = points(records, protocol)
        far = {rtt: record for rtt, record in clients["sapwood"].items() if rtt >= AHEAD_FROM_MS}
        for rtt, record in far.items():
            trips = median(run["round_trips"] for run in record["runs"]) - CONNECTING[protocol]
            most, where = MOST_ROUND_TRIPS, f"{protocol}://, {rtt:g} ms"
            found.append((f"{where}: round trips", f"{trips:.0f}", f"at most {most}", trips <= most))
            peers = [seconds_of(other.get(rtt)) for name, other in clients.items() if name != "sapwood"]
            found += compared(
                f"{where}: fastest peer / sapwood", smallest(*peers), seconds_of(record), 1, least=True
            )
    return found


def far_away(records: list[Record]) -> str:
    parts: list[str] = []
    for protocol in dict.fromkeys(record["protocol"] for record in records):
        clients = points(records, protocol)
        rtts = sorted({rtt for each in clients.values() for rtt in each})
        rows = []
        for name, each in clients.items():
            cells = []
            for rtt in rtts:
                seconds = seconds_of(each.get(rtt))
                cells.append(f"{seconds:.3f}" if seconds is not None else "fails")
            last = each[max(each)]["runs"]
            trips = median(run.get("round_trips", 0) for run in last)
            rows.append(
                [
                    name,
                    *cells,
                    f"{trips:.0f}",
                    f"{median(run.get('bytes_sent', 0) for run in last) / 1e6:.1f}",
                ]
            )
        head = ["reader", *(f"{rtt:g} ms" for rtt in rtts), "round trips", "MB"]
        parts += [f"### {protocol}://", "", table(head, rows), ""]
    return "\n".join(parts)


PARTS = {
    "read": (reading_checks, reading),
    "loops": (loop_checks, looping),
    "write": (writing_checks, writing),
    "merge": (merging_checks, merging),
    "remote": (remote_checks, far_away),
}


def by_part(records: list[Record]) -> dict[str, list[Record]]:
    return {part: found for part in PARTS if (found := [one for one in records if one["part"] == part])}


def checks(records: list[Record]) -> dict[str, list[Check]]:
    """The requirements of each part that was measured."""
    return {part: PARTS[part][0](found) for part, found in by_part(records).items()}


def tables(records: list[Record]) -> dict[str, str]:
    """For each part that was measured: the requirements, and the tables."""
    asked = checks(records)
    found = by_part(records).items()
    return {TITLES[part]: f"{required(asked[part])}\n\n{PARTS[part][1](own)}" for part, own in found}
