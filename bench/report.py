"""Tables of the measurements of `local.py`: medians, ratios to the limit, and the requirements."""

from __future__ import annotations

from statistics import median
from typing import Any

from results import Check, required, table

Record = dict[str, Any]

# Readers that return decoded values. Bulk I/O returns raw buffers, so it has its own requirements.
PEERS = ["ROOT branch loop", "ROOT GetEntry", "RDataFrame", "uproot"]
HEADINGS = {"one": "1 column", "ten": "10 columns", "all": "all columns"}


class Group:
    """The records of one selection of columns of one file."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    def value(self, reader: str, threads: int, quantity: str) -> float | None:
        """The median of a quantity; None if that reader did not run."""
        for record in self.records:
            if (record["reader"], record["threads"]) == (reader, threads):
                return float(median(run[quantity] for run in record["runs"]))
        return None

    def best_peer(self) -> float | None:
        """The shortest wall time of all peers, with any number of threads."""
        found = [self.value(r["reader"], r["threads"], "wall") for r in self.records if r["reader"] in PEERS]
        return min((value for value in found if value is not None), default=None)


def ratio(value: float | None, other: float | None) -> str:
    """`value` relative to `other`."""
    return f"{value / other:.2f}" if value is not None and other else "-"


def readers_table(group: Group) -> str:
    """A row for each reader, with times relative to those of the limit on as many threads."""
    rows = []
    for record in group.records:
        reader, threads = record["reader"], record["threads"]
        cpu, wall, opened, peak = (group.value(reader, threads, q) for q in ("cpu", "wall", "open", "peak"))
        assert cpu is not None and wall is not None and opened is not None and peak is not None
        limit_cpu, limit_wall = (group.value("limit", max(threads, 1), q) for q in ("cpu", "wall"))
        name = f"{reader}, {threads} threads" if threads > 1 else reader
        times = [f"{cpu:.3f}", ratio(cpu, limit_cpu), f"{wall:.3f}", ratio(wall, limit_wall)]
        rows.append([name, *times, f"{1000 * opened:.0f}", f"{peak / 1e6:.0f}", str(len(record["runs"]))])
    return table(["reader", "CPU s", "x limit", "wall s", "x limit", "open ms", "peak MB", "runs"], rows)


def group_checks(name: str, columns: str, group: Group) -> list[Check]:
    """The requirements for one selection of columns of one file."""
    one, two = (group.value("sapwood", threads, "wall") for threads in (1, 2))
    best = group.best_peer()
    bulk = group.value("ROOT bulk I/O", 0, "wall")
    found: list[Check] = []

    def add(what: str, measured: float, limit: str, holds: bool) -> None:
        label = f"{name}, {HEADINGS[columns]}: {what}"
        found.append((label, f"{measured:.2f}", limit, holds))

    def at_most(what: str, value: float | None, other: float | None, most: float) -> None:
        if value is not None and other:
            add(what, value / other, f"at most {most:.2f}", value / other <= most)

    def at_least(what: str, value: float | None, other: float | None, least: float) -> None:
        if value is not None and other:
            add(what, value / other, f"at least {least:.2f}", value / other >= least)

    if columns == "all":
        for threads in (1, 2):
            cpu, limit = (group.value(reader, threads, "cpu") for reader in ("sapwood", "limit"))
            at_most(f"CPU / limit, {threads} threads" if threads > 1 else "CPU / limit", cpu, limit, 1.25)
        at_most("wall on 2 threads / on 1", two, one, 0.65)
        at_least("best peer / 2 threads", best, two, 1.7 if "lzma" in name else 4)
        at_least("bulk I/O / 1 thread", bulk, one, 0.85 if "lz4" in name else 1)
        at_least("bulk I/O / 2 threads", bulk, two, 1.7)
    if columns == "one":
        opened = group.value("sapwood", 2, "open")
        if two is not None and opened is not None:
            at_most("ms from open to the first result / 30", 1000 * (two - opened), 30, 1)
        fastest = min((each for each in (best, bulk) if each is not None), default=None)
        at_least("fastest peer / sapwood, open and read", fastest, two, 1)
    return found


def grouped(records: list[Record]) -> dict[tuple[str, str], Group]:
    """The records by input and selection of columns."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["input"], record["columns"]), []).append(record)
    return {key: Group(members) for key, members in groups.items()}


def markdown(records: list[Record]) -> str:
    """The requirements, and a table for each selection of columns."""
    found = checks(records)
    tables = [required(found), ""] if found else []
    for (name, columns), group in grouped(records).items():
        tables += [f"### {name}, {HEADINGS[columns]}", "", readers_table(group), ""]
    return "\n".join(tables)


def checks(records: list[Record]) -> list[Check]:
    """All requirements."""
    groups = grouped(records).items()
    return [check for (name, columns), group in groups for check in group_checks(name, columns, group)]
