"""Tables of the measurements of `sources.py`: throughput, faults, traffic, lazy download, requirements."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from results import Check, required, table

Record = dict[str, Any]
Run = dict[str, Any]

# The requirements.
TWICE, ONE_TENTH, SECONDS_LOST, PROBES, DUPLICATES = 1.8, 0.95, 5.0, 0.02, 0.03
# Seconds within which a fast replica is found, and by which single runs differ anyway.
SECONDS_TO_FIND, NOISE = 10.0, 1.0
# A read from a cache that is not revalidated.
NOTHING_ASKED = "the same once more, `cache_max_age=3600`"
# The entries of the NanoAOD-like file.
ENTRIES = 100_000


def seconds(record: Record) -> float | None:
    """The median of the runs; None if a run is incomplete."""
    if any("error" in run or "stopped" in run for run in record["runs"]):
        return None
    return median([float(run["seconds"]) for run in record["runs"]])


def megabytes(record: Record) -> float:
    """MB through all links of a run."""
    return median([float(sum(run["bytes"])) for run in record["runs"]]) / 1e6


def outcome(record: Record) -> str:
    """Seconds, or the failure."""
    run = record["runs"][0]
    if "stopped" in run:
        return f"stopped after {run['stopped']:.0f} s"
    if "error" in run:
        return f"fails: {run['error']}"
    return f"{seconds(record):.2f}"


def line(record: Record) -> str:
    """A progress line for a record."""
    what = [record[name] for name in ("setup", "what", "client", "fault") if record.get(name)]
    moved = f"{megabytes(record):.0f} MB by {[round(each / 1e6) for each in record['runs'][0]['bytes']]}"
    return f"{record['part']} {', '.join(what)}: {outcome(record)}; {moved}"


def chosen(records: list[Record], part: str, **wanted: Any) -> list[Record]:
    """The records of a part."""
    return [
        each
        for each in records
        if each["part"] == part and all(each.get(name) == value for name, value in wanted.items())
    ]


def baseline(records: list[Record], setup: str) -> float | None:
    """Seconds with one replica: the fastest of those in the setup."""
    found = [
        taken
        for each in chosen(records, "pairs")
        if each["setup"].startswith("1 x ")
        and len(each["links"]) == 1
        and each["setup"].removeprefix("1 x ") in setup
        and (taken := seconds(each)) is not None
    ]
    return min(found, default=None)


def pair_checks(records: list[Record]) -> list[Check]:
    """The requirements for throughput, relative to one replica."""
    found: list[Check] = []
    for each in chosen(records, "pairs"):
        if len(each["links"]) == 1:
            continue
        one, taken = baseline(records, each["setup"]), seconds(each)
        least = ONE_TENTH if "slow" in each["setup"] else TWICE
        what = f"{each['setup']}: times the throughput of one replica"
        if one is None or taken is None:
            found.append((what, outcome(each)[:60], f"at least {least}", False))
        else:
            found.append((what, f"{one / taken:.2f}", f"at least {least}", one / taken >= least))
    return found


def fault_checks(records: list[Record]) -> list[Check]:
    """The requirements for the cost of faults, and for correct data."""
    found: list[Check] = []
    for each in chosen(records, "faults", client=None):
        calm = next(iter(chosen(records, "faults", client=None, setup=each["setup"], fault=None)), None)
        if each is calm or calm is None:
            continue
        what, allowed = f"{each['setup']}, {each['fault']}", f"at most {SECONDS_LOST:g} s"
        taken, undisturbed = seconds(each), seconds(calm)
        if taken is None or undisturbed is None:
            found.append((f"{what}: completes", outcome(each)[:60], "yes", False))
            continue
        run = each["runs"][0]
        same = (run["checksum"], run["entries"]) == (calm["runs"][0]["checksum"], ENTRIES)
        holds = same and taken - undisturbed <= SECONDS_LOST
        lost = f"{max(taken - undisturbed, 0):.1f} s" if same else "other values"
        found.append((f"{what}: lost, with equal values", lost, allowed, holds))
    return found


def counter(record: Record, name: str) -> float | None:
    """The median of a counter."""
    values = [run["report"][name] for run in record["runs"] if name in run.get("report", {})]
    return median(values) if values else None


def lapse_checks(records: list[Record]) -> list[Check]:
    """A replica that lapses costs no more than one that fails for good, but for the noise of one run."""
    times = [seconds(each) for each in chosen(records, "lapses")]
    if not times:
        return []
    lapsed, hung = (*times, None, None)[:2]
    holds = lapsed is not None and hung is not None and lapsed - hung <= NOISE
    shown = "-" if lapsed is None or hung is None else f"{lapsed - hung:+.1f} s"
    return [
        ("a replica lapses, compared with one that hangs for good", shown, f"at most {NOISE:+g} s", holds)
    ]


def found_after(record: Record) -> float | None:
    """Seconds from opening until the last replica was read."""
    run = record["runs"][0]
    log = run.get("report", {}).get("log", [])
    used = (each for each in log if each["event"] == "switched" and f":{run['ports'][-1]}" in each["text"])
    return next((each["seconds"] for each in used), None)


def hidden_checks(records: list[Record]) -> list[Check]:
    """The time until a fast replica is found beside slow ones."""
    found: list[Check] = []
    for each in chosen(records, "hidden"):
        after = found_after(each)
        shown = "never" if after is None else f"{after:.1f} s"
        holds = after is not None and after <= SECONDS_TO_FIND
        found.append((f"{each['setup']}: the fast one is read", shown, f"after {SECONDS_TO_FIND:g} s", holds))
    return found


def traffic_checks(records: list[Record]) -> list[Check]:
    """The requirements for extra traffic: bytes of probes, duplicates, and all that the links counted."""
    found: list[Check] = []
    several = [each for each in chosen(records, "pairs") if len(each["links"]) > 1]
    probed = [*chosen(records, "lapses"), *chosen(records, "hidden")]
    measures: dict[str, tuple[float, Callable[[Record], float | None]]] = {
        "probe": (PROBES, lambda each: counter(each, "probe_bytes")),
        "duplicate": (DUPLICATES, lambda each: counter(each, "duplicated_bytes")),
        "over-read": (PROBES + DUPLICATES, unwanted),
    }
    for what, (most, measure) in measures.items():
        shares = [
            (extra / wanted, each["setup"])
            for each in (several + probed if what == "probe" else several)
            if (extra := measure(each)) is not None and (wanted := counter(each, "wanted_bytes"))
        ]
        if shares:
            share, setup = max(shares)
            label = f"{what} bytes / requested bytes, at most ({setup})"
            found.append((label, f"{share:.2%}", f"less than {most:.0%}", share < most))
    return found


def unwanted(record: Record) -> float | None:
    """Bytes that the links counted, in addition to those of the arrays."""
    wanted = counter(record, "wanted_bytes")
    return None if wanted is None else 1e6 * megabytes(record) - wanted


def lazy_checks(records: list[Record]) -> list[Check]:
    """The requirements for caches: saved requests, and equal values."""
    every = chosen(records, "lazy")
    found: list[Check] = []
    for each in every:
        if each["what"] == NOTHING_ASKED:
            moved = each["through"]["connections"]
            found.append((f"{each['what']}: connections", f"{moved}", "0", moved == 0))
        if each["processes"] > 1:
            plain = every[0]["runs"][0].get("checksum")
            right = {run.get("checksum") for run in each["runs"]} == {plain}
            found.append((f"{each['what']}: equal values", "yes" if right else "no", "yes", right))
    return found


def checks(records: list[Record]) -> list[Check]:
    """All requirements."""
    parts = (pair_checks, fault_checks, lapse_checks, hidden_checks, traffic_checks, lazy_checks)
    return [check for part in parts for check in part(records)]


def pairs_table(records: list[Record]) -> str:
    rows = []
    for each in chosen(records, "pairs"):
        one, taken = baseline(records, each["setup"]), seconds(each)
        ratio = f"{one / taken:.2f}" if one and taken else "-"
        shares = each["runs"][0]["bytes"]
        parts = " + ".join(f"{number / 1e6:.0f}" for number in shares)
        rates = "-" if taken is None else f"{megabytes(each) / taken:.1f}"
        extras = [counter(each, name) for name in ("probe_bytes", "duplicated_bytes")]
        extra = ["-" if number is None else f"{number / 1e6:.1f}" for number in extras]
        rows.append([each["setup"], outcome(each)[:60], rates, ratio, parts, *extra])
    head = ["replicas", "seconds", "MB/s", "x one replica", "MB from each", "MB of probes", "MB twice"]
    return table(head, rows)


def faults_table(records: list[Record]) -> str:
    """A row for each reader and its replicas, a column for each fault."""
    every = chosen(records, "faults")
    kinds = [kind for kind in dict.fromkeys(each["fault"] for each in every) if kind]
    rows = []
    for client, setup in dict.fromkeys((each.get("client"), each["setup"]) for each in every):
        cells = []
        for kind in [None, *kinds]:
            found = chosen(every, "faults", client=client, setup=setup, fault=kind)
            cells.append(after_fault(found[0]) if found else "-")
        rows.append([client or "sapwood", setup, *cells])
    return table(["reader", "replicas", "no fault", *kinds], rows)


def after_fault(record: Record) -> str:
    """The total seconds of sapwood; for a peer, how it ends, and how long after the fault."""
    run = record["runs"][0]
    if "client" not in record:
        return f"{seconds(record):.1f} s" if seconds(record) is not None else shortened(run)
    if "stopped" in run:
        return "> 60 s" if "failed" in run else "too slow"
    if "failed" not in run:
        return shortened(run) if "error" in run else "finished before"
    after = run["begin"] + run["seconds"] - run["failed"]
    how = shortened(run) if "error" in run else "completes"
    return f"{how} after {after:.0f} s"


def shortened(run: Run) -> str:
    """How an incomplete run ended."""
    if "stopped" in run:
        return f"stopped after {run['stopped']:.0f} s"
    return "fails"


def answers_table(records: list[Record]) -> str:
    """The error messages of readers."""
    rows = [
        [each.get("client", "sapwood"), each["setup"], each["fault"] or "-", said(each["runs"][0]["error"])]
        for each in chosen(records, "faults")
        if "error" in each["runs"][0]
    ]
    return table(["reader", "replicas", "fault", "error message"], rows)


def said(error: str) -> str:
    """An error message for a table cell."""
    text = " ".join(error.split()).replace("|", "\\|")
    return f"`{text[:160]}{'…' if len(text) > 160 else ''}`"


def lazy_table(records: list[Record]) -> str:
    rows = []
    for each in chosen(records, "lazy"):
        through = each["through"]
        cells = [outcome(each)[:60], f"{through['bytes_sent'] / 1e6:.1f}"]
        cells += [str(through["connections"]), str(through["round_trips"])]
        rows.append([each["what"], *cells])
    return table(["read", "seconds", "MB over the link", "connections", "round trips"], rows)


def lapses_table(records: list[Record]) -> str:
    rows = []
    for each in chosen(records, "lapses"):
        shares = " + ".join(f"{number / 1e6:.0f}" for number in each["runs"][0]["bytes"])
        extras = [counter(each, name) for name in ("probe_bytes", "duplicated_bytes")]
        extra = ["-" if number is None else f"{number / 1e6:.2f}" for number in extras]
        rows.append([each["setup"], outcome(each)[:60], shares, *extra])
    return table(["replicas", "seconds", "MB from each", "MB of probes", "MB twice"], rows)


def hidden_table(records: list[Record]) -> str:
    rows = []
    for each in chosen(records, "hidden"):
        after, probes = found_after(each), counter(each, "probe_bytes")
        shares = " + ".join(f"{number / 1e6:.0f}" for number in each["runs"][0]["bytes"])
        cells = ["-" if after is None else f"{after:.1f}", outcome(each)[:60], shares]
        rows.append([each["setup"], *cells, "-" if probes is None else f"{probes / 1e6:.2f}"])
    head = ["replicas", "seconds until the fast one is read", "seconds", "MB from each", "MB of probes"]
    return table(head, rows)


def recording_table(records: list[Record]) -> str:
    rows = []
    for each in chosen(records, "recording"):
        times = sorted(float(run["seconds"]) for run in each["runs"] if "seconds" in run)
        spread = f"{times[0]:.2f} to {times[-1]:.2f}" if times else "-"
        plain, taken = seconds(chosen(records, "recording")[0]), seconds(each)
        ratio = f"{taken / plain:.3f}" if plain and taken else "-"
        rows.append([each["what"], outcome(each)[:60], spread, ratio])
    return table(["read", "seconds", "from, to", "x not recorded"], rows)


def tables(records: list[Record]) -> dict[str, str]:
    """All tables, by title."""
    found: dict[str, str] = {}
    if asked := checks(records):
        found["Required"] = required(asked)
    parts = {
        "pairs": ("Two replicas", pairs_table),
        "faults": ("Replicas that fail", faults_table),
        "lapses": ("A replica that recovers", lapses_table),
        "hidden": ("A fast replica beside two slow ones", hidden_table),
        "lazy": ("Lazy download", lazy_table),
        "recording": ("Recording", recording_table),
    }
    found |= {title: make(records) for name, (title, make) in parts.items() if chosen(records, name)}
    if any("error" in run for each in chosen(records, "faults") for run in each["runs"]):
        found["Error messages"] = answers_table(records)
    return found
