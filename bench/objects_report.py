"""Tables of the measurements of `objects.py`: rates, ratios to the peers, and the requirements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from results import Check, required, table

Record = dict[str, Any]
Taken = dict[str, Any]

# The required ratios: to ROOT with as many threads, to uproot with one.
REQUIRED = {"ROOT, 1 thread": 1.3, "ROOT, 2 threads": 2.3, "uproot, unsplit": 100, "uproot, split members": 5}
MEGABYTE = 1e6


class Input:
    """The records of one input file."""

    def __init__(self, name: str, records: list[Record]) -> None:
        self.name = name
        self.records = [each for each in records if each["input"] == name]

    def runs(self, reader: str, what: str, threads: int = 1) -> list[Taken]:
        for each in self.records:
            if (each.get("reader"), each["what"], each.get("threads")) == (reader, what, threads):
                return list(each["runs"])
        return []

    def total(self, reader: str, threads: int, quantity: str) -> float | None:
        """The median seconds for the whole tree."""
        found = [run[quantity] for run in self.runs(reader, "total", threads)]
        return median(found) if found else None

    def each(self, reader: str, what: str) -> dict[str, Taken]:
        """The median cost of each branch for a reader, or its error."""
        runs = self.runs(reader, what)
        found = {}
        for name, first in runs[0].items() if runs else []:
            good = [run[name] for run in runs if run[name]["read"]]
            times = {q: median(run[q] for run in good) for q in ("cpu", "wall")} if good else {}
            found[name] = {**first, **times}
        return found

    def values(self) -> dict[str, str]:
        """The differences in the values of each product, in the small input of this kind."""
        return next((each["products"] for each in self.records if each["what"] == "values"), {})


@dataclass
class Group:
    """Products of one type, all split or all unsplit, with the cost of each reader."""

    title: str
    split: bool
    count: int = 0
    bytes: float = 0
    cpu: dict[str, float] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    # Seconds for the members that both sapwood and uproot read.
    both: dict[str, float] = field(default_factory=lambda: {"sapwood": 0.0, "uproot": 0.0})

    def rate(self, reader: str) -> float | None:
        """MB per CPU second, if the reader read all of them."""
        seconds = self.cpu.get(reader, 0)
        whole = self.read.get(reader, 0) == self.count
        return self.bytes / MEGABYTE / seconds if seconds and whole else None

    def over_uproot(self) -> float | None:
        """The rate of sapwood relative to uproot, for the members that both read."""
        return self.both["uproot"] / self.both["sapwood"] if self.both["sapwood"] else None


def add_leaves(group: Group, members: Iterable[tuple[Taken, Taken]]) -> None:
    """Adds the seconds for all entries; those of uproot are scaled from the entries that it read."""
    for ours, theirs in members:
        if ours["read"] and theirs["read"]:
            group.both["sapwood"] += ours["cpu"]
            group.both["uproot"] += theirs["cpu"] * ours["entries"] / max(theirs["entries"], 1)


def groups(data: Input) -> list[Group]:
    """The products by type, the largest first."""
    root, ours = data.each("ROOT", "products"), data.each("sapwood", "products")
    leaves, theirs = data.each("sapwood", "leaves"), data.each("uproot", "leaves")
    found: dict[tuple[str, bool], Group] = {}
    for name, taken in root.items():
        kind = name.split("AuxDyn.")[0] if "AuxDyn." in name else name.split("_")[0]
        group = found.setdefault((kind, taken["split"]), Group(kind, taken["split"]))
        group.count += 1
        group.bytes += taken["bytes"]
        for reader, product in (("ROOT", taken), ("sapwood", ours.get(name, {"read": False}))):
            if product["read"]:
                group.read[reader] = group.read.get(reader, 0) + 1
                group.cpu[reader] = group.cpu.get(reader, 0) + product["cpu"]
        members = [leaf for leaf in leaves if leaf == name or leaf.startswith(f"{name}/")]
        if theirs and members:
            group.read["uproot"] = group.read.get("uproot", 0) + all(
                leaf in theirs and theirs[leaf]["read"] for leaf in members
            )
        add_leaves(group, ((leaves[leaf], theirs[leaf]) for leaf in members if leaf in theirs))
    return sorted(found.values(), key=lambda group: -group.bytes)


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def over(peer: float | None, ours: float | None) -> float | None:
    return peer / ours if peer is not None and ours else None


def totals_table(data: Input) -> str:
    """The cost of reading the whole tree."""
    root = data.runs("ROOT", "total")
    size = root[0]["bytes"] / MEGABYTE if root else 0
    rows = []
    for reader in ("sapwood", "ROOT"):
        for threads in (1, 2):
            cpu, wall = (data.total(reader, threads, quantity) for quantity in ("cpu", "wall"))
            if cpu and wall:
                name = f"{reader}, {threads} threads" if threads > 1 else reader
                rates = [number(size / cpu, 0), number(size / wall, 0)]
                rows.append([name, number(cpu, 3), number(wall, 3), *rates])
    return table(["reader", "CPU s", "wall s", "MB / CPU s", "MB / wall s"], rows)


def products_table(data: Input) -> str:
    rows = []
    for group in groups(data):
        name = f"{group.title} ({'split' if group.split else 'unsplit'})"
        ours, root = group.rate("sapwood"), group.rate("ROOT")
        read = [f"{group.read.get(reader, 0)} of {group.count}" for reader in ("sapwood", "ROOT")]
        # uproot is run on some inputs only.
        read.append(f"{group.read['uproot']} of {group.count}" if "uproot" in group.read else "-")
        rates = [number(ours, 0), number(root, 0), number(over(ours, root))]
        rows.append([name, number(group.bytes / MEGABYTE, 1), *read, *rates, number(group.over_uproot(), 0)])
    head = ["products", "MB", "sapwood reads", "ROOT reads", "uproot reads"]
    return table([*head, "sapwood MB / CPU s", "ROOT MB / CPU s", "sapwood / ROOT", "sapwood / uproot"], rows)


def refused_table(data: Input) -> str:
    """The errors of uproot for the branches that it does not read."""
    said: dict[str, int] = {}
    for taken in data.each("uproot", "leaves").values():
        if not taken["read"]:
            said[taken["error"]] = said.get(taken["error"], 0) + 1
    rows = [[f"`{error}`", str(count)] for error, count in sorted(said.items(), key=lambda one: -one[1])]
    return table(["error of uproot", "branches"], rows[:12]) if rows else ""


def members_table(data: Input, members: list[tuple[str, str]]) -> str:
    """The cost of single members, compared with that of their whole objects."""
    taken = data.each("sapwood", "members")
    rows = []
    for branch, path in members:
        whole, one = taken.get(branch, {}).get("cpu"), taken.get(branch + path, {}).get("cpu")
        seconds = [number(1000 * value if value is not None else None, 1) for value in (one, whole)]
        rows.append([f"{branch}{path}", *seconds, number(over(one, whole))])
    return table(["member", "CPU ms", "whole object, CPU ms", "ratio"], rows) if taken else ""


def input_checks(data: Input) -> list[Check]:
    """The requirements for one input."""
    checks: list[Check] = []

    def at_least(what: str, measured: float | None, least: float) -> None:
        if measured is not None:
            checks.append((f"{data.name}: {what}", number(measured), f"at least {least}", measured >= least))

    found = groups(data)
    values = data.values()
    equal = sum(not wrong for wrong in values.values())
    at_least("products with ROOT's values (small file)", equal if values else None, len(values))
    ours = data.each("sapwood", "products")
    at_least("products read", sum(each["read"] for each in ours.values()), len(ours))
    for name, threads, quantity in (("ROOT, 1 thread", 1, "cpu"), ("ROOT, 2 threads", 2, "wall")):
        measured = over(data.total("ROOT", 1, quantity), data.total("sapwood", threads, quantity))
        at_least(f"GetEntry on 1 thread / sapwood, {name[6:]}, {quantity}", measured, REQUIRED[name])
    both = over(data.total("ROOT", 2, "wall"), data.total("sapwood", 2, "wall"))
    at_least("GetEntry with implicit threads / sapwood, 2 threads, wall", both, 1)
    for name, split in (("uproot, unsplit", False), ("uproot, split members", True)):
        if not split and not any(group.title.startswith("pat") for group in found):
            continue  # In xAOD, unsplit branches are vectors, not objects.
        seconds = {
            reader: sum(group.both[reader] for group in found if group.split == split)
            for reader in ("sapwood", "uproot")
        }
        at_least(f"{name}: CPU / sapwood", over(seconds["uproot"], seconds["sapwood"]), REQUIRED[name])
    return checks


def inputs(records: list[Record]) -> list[Input]:
    return [Input(name, records) for name in dict.fromkeys(each["input"] for each in records)]


def markdown(records: list[Record], members: list[tuple[str, str]]) -> str:
    """The requirements, and the tables of each input."""
    tables = [required(checks(records)), ""]
    for data in inputs(records):
        tables += [f"### {data.name}, all products", "", totals_table(data), ""]
        tables += [f"### {data.name}, by type", "", products_table(data), ""]
        for part in (refused_table(data), members_table(data, members)):
            tables += [part, ""] if part else []
    return "\n".join(tables)


def checks(records: list[Record]) -> list[Check]:
    """All requirements."""
    return [check for data in inputs(records) for check in input_checks(data)]
