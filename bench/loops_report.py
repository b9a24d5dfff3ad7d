"""Tables of the measurements of `loops.py`, and the requirements."""

from __future__ import annotations

from typing import Any

from results import Check, found, required, table

Record = dict[str, Any]

PATTERNS = {"columns": "8 columns of all events", "trigger": "3 columns, and 20 of 1 % of the events"}
EVENTS, CHUNKS = "sapwood, events()", "sapwood, events().chunks()"
WAYS = {EVENTS: "events", CHUNKS: "chunks", "sapwood, lazy()": "lazy", "sapwood, iterate()": "iterate"}
BUSY, RUST = "sapwood, events(), busy", "sapwood, Rust"
ROOT, UPROOT = "ROOT, GetEntry", "uproot, iterate"
FILES = 20
# ROOT / sapwood on local files, seconds per scalar column, round trips per file beyond one long file, ROOT /
# sapwood far away, share of waiting in the busy loop.
LEAST_EVENTS, LEAST_CHUNKS, MOST_SCALAR, MOST_TRIPS, LEAST_FAR = 0.8, 2.0, 1e-6, 1.0, 5.0
MOST_WAITING = 0.1


def line(record: Record) -> str:
    """A progress line for a record."""
    place = f"{record['part']:<8} {record.get('protocol', ''):<5} {record.get('rtt_ms', 0):>4.0f} ms"
    what = f"{record['pattern']:<8} {record.get('input', ''):<9} {record['client']:<28}"
    return f"{place}  {what} {seconds_of(record)}"


def seconds_of(record: Record | None) -> str:
    if record is None:
        return "-"
    return "failed" if "error" in record else f"{record['seconds']:.2f}"


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


def far_table(records: list[Record], protocol: str, pattern: str) -> str:
    here = [one for one in records if one.get("protocol") == protocol and one["pattern"] == pattern]
    trips = sorted({one["rtt_ms"] for one in here})
    rows = []
    for client in dict.fromkeys(one["client"] for one in here):
        cells = []
        for trip in trips:
            run = found(here, rtt_ms=trip, client=client, input="20 files")
            failed = any(
                "error" in one and (one["rtt_ms"], one["client"], one["input"]) == (trip, client, "20 files")
                for one in here
            )
            more = beyond(here, trip, client)
            waited = f"{run['waited'] / run['seconds']:.0%}" if run and "waited" in run else ""
            counted = f"{run['round_trips'] / FILES:.1f}" if run else ""
            shown = "failed" if failed else seconds_of(run)
            cells += [shown, counted, "" if more is None else f"{more:.2f}", waited]
        rows.append([client, *cells])
    titles = ("s", "round trips per file", "beyond one file", "waiting")
    return table(["reader", *(f"{trip:g} ms: {title}" for trip in trips for title in titles)], rows)


def beyond(records: list[Record], rtt_ms: float, client: str) -> float | None:
    """How many round trips more a file takes than its share of one long file, by the time."""
    many = found(records, rtt_ms=rtt_ms, client=client, input="20 files")
    one = found(records, rtt_ms=rtt_ms, client=client, input="1 file")
    if many is None or one is None:
        return None
    return float((many["seconds"] - one["seconds"]) / FILES / (rtt_ms / 1000))


def checks(records: list[Record]) -> list[Check]:
    """The requirements."""
    asked: list[Check] = []

    local = [one for one in records if one["part"] == "local"]
    for pattern, client, least in (
        ("columns", EVENTS, LEAST_EVENTS),
        ("columns", CHUNKS, LEAST_CHUNKS),
        ("trigger", EVENTS, LEAST_EVENTS),
    ):
        what = {"columns": "local, 8 columns", "trigger": "local, trigger pattern"}[pattern]
        asked += against(ROOT, client, what, least, [one for one in local if one["pattern"] == pattern])
    scalar = found(records, part="scalars")
    if scalar:
        each = scalar["seconds_per_scalar"]
        what = "one event and scalar column above an empty loop"
        asked.append((what, f"{each * 1e6:.2f} µs", "at most 1 µs", each <= MOST_SCALAR))
    for protocol in dict.fromkeys(one["protocol"] for one in records if one["part"] == "far"):
        asked += far_checks([one for one in records if one.get("protocol") == protocol], protocol)
    return asked


def against(peer: str, client: str, what: str, least: float, records: list[Record]) -> list[Check]:
    """The time of a peer over that of sapwood, if both are among the records."""
    own, other = found(records, client=client), found(records, client=peer)
    if own is None or other is None:
        return []
    factor = other["seconds"] / own["seconds"]
    name = peer.partition(",")[0]
    return [(f"{what}: {name} / {client}", f"{factor:.2f}", f"at least {least:g}", factor >= least)]


def far_checks(records: list[Record], protocol: str) -> list[Check]:
    """The requirements of one protocol."""
    asked: list[Check] = []
    for trip in sorted({one["rtt_ms"] for one in records}):
        for pattern in PATTERNS:
            here = [one for one in records if (one["rtt_ms"], one["pattern"]) == (trip, pattern)]
            where = f"{protocol}://, {trip:g} ms, {pattern}"
            more = beyond(here, trip, EVENTS)
            if more is not None:
                what = f"{where}: round trips of a file beyond one long file, {EVENTS}"
                asked.append((what, f"{more:.2f}", "at most 1", more <= MOST_TRIPS))
            busy = found(here, client=BUSY)
            if busy:
                share = busy["waited"] / busy["seconds"]
                what = f"{where}: waiting of {BUSY}"
                asked.append((what, f"{share:.0%}", f"below {MOST_WAITING:.0%}", share < MOST_WAITING))
            if trip >= 100 and pattern == "trigger":
                many = [one for one in here if one["input"] == "20 files"]
                asked += against(ROOT, EVENTS, where, LEAST_FAR, many)
                asked += against(UPROOT, EVENTS, where, LEAST_FAR, many)
    return asked


def tables(records: list[Record]) -> dict[str, str]:
    """All tables by title."""
    parts = {one["part"] for one in records}
    result = {}
    if asked := checks(records):
        result["Required"] = required(asked)
    if "local" in parts:
        result["Local files"] = local_tables(records)
    for protocol in dict.fromkeys(one["protocol"] for one in records if one["part"] == "far"):
        named = [f"### {PATTERNS[name]}\n\n{far_table(records, protocol, name)}" for name in PATTERNS]
        result[f"Over {protocol}://"] = "\n\n".join(named)
    return result
