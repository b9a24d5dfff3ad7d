"""Tables of the measurements of `loops.py`, and the requirements."""

from __future__ import annotations

from typing import Any

from results import Check, required, table

Record = dict[str, Any]

PATTERNS = {"columns": "8 columns of all events", "trigger": "3 columns, and 20 of 1 % of the events"}
EVENTS, CHUNKS = "sapwood, events()", "sapwood, events().chunks()"
WAYS = {EVENTS: "events", CHUNKS: "chunks", "sapwood, lazy()": "lazy", "sapwood, iterate()": "iterate"}
ROOT, UPROOT = "ROOT, GetEntry", "uproot, iterate"
FILES = 20
# ROOT / sapwood on local files, seconds per scalar column, round trips per file beyond one long file, ROOT /
# sapwood far away.
LEAST_EVENTS, LEAST_CHUNKS, MOST_SCALAR, MOST_TRIPS, LEAST_FAR = 0.8, 2.0, 1e-6, 1.0, 5.0


def line(record: Record) -> str:
    """A progress line for a record."""
    where = f"{record['part']:<8} {record.get('rtt_ms', 0):>4.0f} ms  {record['pattern']:<8}"
    return f"{where} {record.get('input', ''):<9} {record['client']:<28} {seconds_of(record)}"


def seconds_of(record: Record | None) -> str:
    if record is None:
        return "-"
    return "failed" if "error" in record else f"{record['seconds']:.2f}"


def found(records: list[Record], **wanted: Any) -> Record | None:
    """The record with these values, if it is there and did not fail."""
    same = (one for one in records if all(one.get(name) == value for name, value in wanted.items()))
    record = next(same, None)
    return None if record is None or "error" in record else record


def local_tables(records: list[Record]) -> str:
    rows = []
    for client in dict.fromkeys(one["client"] for one in records if one["part"] == "local"):
        cells = []
        for pattern in PATTERNS:
            where = {"part": "local", "pattern": pattern}
            own, root = found(records, **where, client=client), found(records, **where, client=ROOT)
            times = f"{root['seconds'] / own['seconds']:.2f}" if own and root else ""
            cells += [seconds_of(own), times]
        rows.append([client, *cells])
    return table(["reader", *(text for name in PATTERNS for text in (f"{name}: s", "ROOT / it"))], rows)


def far_table(records: list[Record], pattern: str) -> str:
    trips = sorted({one["rtt_ms"] for one in records if one["part"] == "far"})
    clients = dict.fromkeys(one["client"] for one in records if one["part"] == "far")
    rows = []
    for client in clients:
        cells = []
        for trip in trips:
            where = {"part": "far", "pattern": pattern, "rtt_ms": trip, "client": client}
            run, more = found(records, **where, input="20 files"), beyond(records, pattern, trip, client)
            waited = f"{run['waited'] / run['seconds']:.0%}" if run and "waited" in run else ""
            counted = f"{run['round_trips'] / FILES:.1f}" if run else ""
            cells += [seconds_of(run), counted, "" if more is None else f"{more:.2f}", waited]
        rows.append([client, *cells])
    titles = ("s", "round trips per file", "beyond one file", "waiting")
    return table(["reader", *(f"{trip:g} ms: {title}" for trip in trips for title in titles)], rows)


def beyond(records: list[Record], pattern: str, rtt_ms: float, client: str) -> float | None:
    """How many round trips more a file takes than its share of one long file, by the time."""
    where = {"part": "far", "pattern": pattern, "rtt_ms": rtt_ms, "client": client}
    many, one = found(records, **where, input="20 files"), found(records, **where, input="1 file")
    if many is None or one is None:
        return None
    return (many["seconds"] - one["seconds"]) / FILES / (rtt_ms / 1000)


def checks(records: list[Record]) -> list[Check]:
    """The requirements."""
    asked: list[Check] = []

    def times(what: str, least: float, client: str, **where: Any) -> None:
        own, root = found(records, client=client, **where), found(records, client=ROOT, **where)
        if own and root:
            factor = root["seconds"] / own["seconds"]
            asked.append(
                (f"{what}: ROOT / {client}", f"{factor:.2f}", f"at least {least:g}", factor >= least)
            )

    times("local, 8 columns", LEAST_EVENTS, EVENTS, part="local", pattern="columns")
    times("local, 8 columns", LEAST_CHUNKS, CHUNKS, part="local", pattern="columns")
    times("local, trigger pattern", LEAST_EVENTS, EVENTS, part="local", pattern="trigger")
    scalar = found(records, part="scalars")
    if scalar:
        each = scalar["seconds_per_scalar"]
        what = "one event and scalar column above an empty loop"
        asked.append((what, f"{each * 1e6:.2f} µs", "at most 1 µs", each <= MOST_SCALAR))
    for trip in sorted({one["rtt_ms"] for one in records if one["part"] == "far"}):
        for pattern in PATTERNS:
            more = beyond(records, pattern, trip, EVENTS)
            if more is not None:
                what = f"{trip:g} ms, {pattern}: round trips of a file beyond one long file, {EVENTS}"
                asked.append((what, f"{more:.2f}", "at most 1", more <= MOST_TRIPS))
        if trip >= 100:
            where = {"part": "far", "pattern": "trigger", "rtt_ms": trip, "input": "20 files"}
            times(f"{trip:g} ms, trigger pattern", LEAST_FAR, EVENTS, **where)
    return asked


def tables(records: list[Record]) -> dict[str, str]:
    """All tables by title."""
    parts = {one["part"] for one in records}
    result = {}
    if asked := checks(records):
        result["Required"] = required(asked)
    if "local" in parts:
        result["Local files"] = local_tables(records)
    if "far" in parts:
        named = [f"### {PATTERNS[name]}\n\n{far_table(records, name)}" for name in PATTERNS]
        result["Over http://"] = "\n\n".join(named)
    return result
