"""Tables of the measurements of `learned.py`, and the requirements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from results import Check, required, table

Record = dict[str, Any]

# Requirements: round trips to the first 100 events, fetches per window, the speed-up over peers at high
# latency. Random access reveals nothing but the set of columns, so its speed-up must only be at least 1.
MOST_ROUND_TRIPS, MOST_FETCHES, LEAST_FACTOR, FAR_MS = 4, 2, 5, 100
OWN = "sapwood"
# A smaller share of the work is too little to extrapolate from.
LEAST_SHARE = 0.002


def line(record: Record) -> str:
    """A progress line for a record."""
    where = f"{record['pattern']:<12} {record.get('rtt_ms', 0):>4.0f} ms  {record['client']:<26}"
    if "error" in record:
        return f"{where} {record['error']}"
    return f"{where} {seconds_of(record)} s"


def seconds_of(record: Record | None) -> str:
    """The time of a run; `~` marks extrapolated times."""
    if record is None or "error" in record:
        return "failed" if record else "-"
    share = record.get("share", 1)
    seconds: float = record["seconds"]
    if share >= LEAST_SHARE:
        seconds = record.get("all_seconds", seconds)
    text = f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"
    return text if share == 1 else f"> {text}" if share < LEAST_SHARE else f"~{text}"


def found(records: list[Record], pattern: str, client: str, rtt_ms: float) -> Record | None:
    """The run of a client, if there is one."""
    wanted = (pattern, client, rtt_ms)
    return next((r for r in records if (r["pattern"], r["client"], r.get("rtt_ms")) == wanted), None)


def patterns(records: list[Record], beginning: str) -> list[str]:
    return list(dict.fromkeys(r["pattern"] for r in records if r["pattern"].startswith(beginning)))


def round_trips(records: list[Record]) -> list[float]:
    return sorted({record["rtt_ms"] for record in records if "rtt_ms" in record})


def pattern_table(records: list[Record], pattern: str) -> str:
    """A row for each reader: seconds at each round-trip time, and the cost at the longest."""
    trips = round_trips(records)
    clients = list(dict.fromkeys(r["client"] for r in records if r["pattern"] == pattern))
    rows = []
    for client in clients:
        runs = [found(records, pattern, client, trip) for trip in trips]
        cells = []
        for run, trip in zip(runs, trips, strict=True):
            own = found(records, pattern, OWN, trip)
            cells += [seconds_of(run), factor(run, own)]
        rows.append([client, *cells, *costs(runs[-1])])
    head = ["reader", *(text for trip in trips for text in (f"{trip:g} ms: s", f"x {OWN}"))]
    return table([*head, f"round trips at {trips[-1]:g} ms", "MB", "fetches per window", "wasted"], rows)


def factor(run: Record | None, own: Record | None) -> str:
    """The time relative to that of sapwood."""
    if run is None or own is None or "error" in run or "error" in own:
        return ""
    if run.get("share", 1) < LEAST_SHARE:
        return ""
    return f"{run['all_seconds'] / own['all_seconds']:.1f}"


def costs(run: Record | None) -> list[str]:
    """Round trips and bytes, and the figures that only sapwood reports."""
    if run is None or "error" in run:
        return ["", "", "", ""]
    # The cost of an incomplete run says little about a complete one.
    whole = run.get("share", 1) == 1
    per_window, wasted = run.get("fetches_per_later_window"), run.get("wasted")
    return [
        f"{run['round_trips']:.0f}" if whole else "",
        f"{run['bytes_sent'] / 1e6:.1f}" if whole else "",
        f"{per_window:.2f}" if whole and per_window is not None else "",
        f"{wasted:.1%}" if whole and wasted is not None else "",
    ]


def local_table(records: list[Record]) -> str:
    """The cost of lazy readers on a local file."""
    runs = [record for record in records if record["pattern"] == "local"]
    eager = runs[0]["seconds"]
    rows = [[r["client"], f"{r['seconds']:.3f}", f"{r['seconds'] / eager:.2f}"] for r in runs]
    return table(["23 columns of a local file", "s", "x arrays()"], rows)


def checks(records: list[Record]) -> list[Check]:
    """The requirements."""
    result: list[Check] = []
    trips = [trip for trip in round_trips(records) if trip > 0]
    for trip in trips:
        own = found(records, "startup", OWN, trip)
        if own and "error" not in own:
            count = own["round_trips_after_opening"]
            what = f"startup, {trip:g} ms: round trips from opening to the first 100 events"
            result.append((what, f"{count}", f"at most {MOST_ROUND_TRIPS}", count <= MOST_ROUND_TRIPS))
        for pattern in patterns(records, "trigger"):
            own = found(records, pattern, OWN, trip)
            if own is None or "error" in own:
                continue
            per_window = own["fetches_per_later_window"]
            if per_window is not None:
                what = f"{pattern}, {trip:g} ms: fetches per window after the second"
                holds = per_window <= MOST_FETCHES
                result.append((what, f"{per_window:.2f}", f"at most {MOST_FETCHES}", holds))
            if trip >= FAR_MS:
                result += [*times_faster(records, pattern, trip, LEAST_FACTOR)]
        result += [*times_faster(records, "random", trip, 1)]
    return result


def times_faster(records: list[Record], pattern: str, trip: float, least: float) -> Iterator[Check]:
    """The required and the measured speed-up over peers."""
    own = found(records, pattern, OWN, trip)
    for peer in ("ROOT", "uproot"):
        run = found(records, pattern, peer, trip)
        if own and run and "error" not in own and "error" not in run:
            times = run["all_seconds"] / own["all_seconds"]
            what = f"{pattern}, {trip:g} ms: times faster than {peer}"
            yield what, f"{times:.1f}", f"at least {least:g}", times >= least


def tables(records: list[Record]) -> dict[str, str]:
    """All tables by title."""
    result = {}
    if asked := checks(records):
        result["Required"] = required(asked)
    titles = {"startup": "Startup", "trigger": "Trigger patterns", "random": "Random access"}
    for name in titles:
        parts = patterns(records, name)
        title = "### {}\n\n" if len(parts) > 1 else ""
        texts = [title.format(part.capitalize()) + pattern_table(records, part) for part in parts]
        if texts:
            result[titles[name]] = "\n\n".join(texts)
    if patterns(records, "local"):
        result["Local file"] = local_table(records)
    return result
