"""Reports by column: what each cost, whichever way it was read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import testkit

import sapwood
from sapwood.report import ColumnCost, ReadReport


def costs(report: ReadReport) -> dict[str, ColumnCost]:
    """The costs by name, all of one tree."""
    assert {cost.tree for cost in report.columns} <= {"Events"}
    return {cost.column: cost for cost in report.columns}


def stored(tree: sapwood.Tree, column: str) -> int:
    """Bytes of the baskets of a branch."""
    return sum(nbytes for _, _, _, nbytes, _ in tree[column].baskets)


READS: dict[str, Callable[[sapwood.Tree], Any]] = {
    "arrays": lambda tree: tree.arrays(["met", "Jet_pt"], library="np"),
    "iterate": lambda tree: list(tree.iterate(["met", "Jet_pt"], step_size=1000, library="np")),
    "array": lambda tree: [tree[name].array(library="np") for name in ("met", "Jet_pt")],
}


@pytest.mark.parametrize("how", READS)
def test_every_way_of_reading_counts_by_column(events_file: Path, how: str) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        assert tree.file.report().columns == ()
        READS[how](tree)
        report = tree.file.report()
        found = costs(report)
        assert set(found) == {"met", "Jet_pt"}
        for name, cost in found.items():
            assert cost.wanted_bytes >= cost.fetched_bytes >= stored(tree, name)
            assert cost.baskets >= len(tree[name].baskets) and cost.decompressed_bytes > 0
            assert cost.seconds == cost.decompress_seconds + cost.decode_seconds > 0
    assert sum(cost.baskets for cost in found.values()) == report.baskets
    assert sum(cost.decompressed_bytes for cost in found.values()) == report.decompressed_bytes
    for name in ("decompress_seconds", "decode_seconds"):
        total = sum(getattr(cost, name) for cost in found.values())
        assert total == pytest.approx(getattr(report, name), abs=1e-8)


def test_baskets_that_two_steps_need_are_wanted_twice_and_fetched_once(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        for _ in tree.iterate(["met"], step_size=130, library="np"):
            pass
        cost = costs(tree.file.report())["met"]
        assert cost.fetched_bytes == stored(tree, "met") < cost.wanted_bytes
        tree.arrays(["met"], library="np")
        again = costs(tree.file.report())["met"]
    assert again.fetched_bytes == 2 * cost.fetched_bytes


def test_far_away_the_same_is_wanted_and_fetched(events_file: Path) -> None:
    with testkit.serving(events_file.parent, "--rtt-ms", "2") as server:
        url = f"{server.url}/{events_file.name}:Events"
        with sapwood.open(url) as far, sapwood.open(f"{events_file}:Events") as near:
            for tree in (far, near):
                for _ in tree.iterate(["met", "Jet_pt"], step_size=130, library="np"):
                    pass
                tree.arrays(["met"], entries=[1, 600], library="np")
            one, other = costs(far.file.report()), costs(near.file.report())
    for name in ("met", "Jet_pt"):
        assert one[name].wanted_bytes == other[name].wanted_bytes
        assert one[name].fetched_bytes == other[name].fetched_bytes > 0


def test_entries_of_a_list_cost_the_baskets_that_hold_them(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        tree.arrays(["met"], entries=[3], library="np")
        cost = costs(tree.file.report())["met"]
        assert cost.baskets == 1
        assert cost.wanted_bytes == cost.fetched_bytes == tree["met"].baskets[0][3]


def test_the_costs_of_several_files_add_up(events_file: Path) -> None:
    _, cost = sapwood.concatenate([f"{events_file}:Events"] * 3, ["met"], library="np", cost=True)
    [summed] = cost.columns
    assert [one.columns[0].baskets for one in cost.files] == [4, 4, 4]
    assert (summed.column, summed.baskets) == ("met", 12)
    assert summed.seconds == pytest.approx(sum(one.columns[0].seconds for one in cost.files))


def test_text_names_the_slowest_and_json_all() -> None:
    columns = [("Events", f"c{number}", {"baskets": 1, "decode_ns": number * 10**6}) for number in range(7)]
    report = ReadReport.from_counters("a.root", {}, columns=columns)
    lines = [line.strip() for line in str(report).splitlines() if "column" in line][2:]
    assert [line.split(":")[0] for line in lines[:5]] == [
        f"column Events/c{number}" for number in range(6, 1, -1)
    ]
    assert lines[0].endswith("1 basket, 0 B wanted, 0 B fetched, 0 B in 0.006 s")
    assert lines[5] == "and 2 columns that took less time"
    document = json.loads(report.to_json())
    assert [one["column"] for one in document["columns"]] == [f"c{number}" for number in range(7)]
    assert document["columns"][6]["decode_seconds"] == 0.006
