"""`layout` draws every basket in its place, and marks those that a read touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sapwood.display.units import human_bytes
from sapwood.report.layout import Basket, BranchLayout, TreeLayout, draw

SVG = "{http://www.w3.org/2000/svg}"


def made_up(branches: int, baskets: int, **read: Any) -> TreeLayout:
    """A tree of equal branches, whose baskets lie cluster by cluster."""
    entries, size = 100, 1000
    return TreeLayout(
        title="a & b.root:Events",
        num_entries=entries * baskets,
        cluster_starts=range(0, entries * baskets + 1, entries),
        branches=[
            BranchLayout(
                name=f"X{i % 7}_{i}",
                typename="float[]",
                compressed_bytes=size * baskets,
                uncompressed_bytes=2 * size * baskets,
                baskets=[
                    Basket(entries * j, entries, size * (branches * j + i), size) for j in range(baskets)
                ],
            )
            for i in range(branches)
        ],
        **read,
    )


def rectangles(svg: str) -> list[ElementTree.Element]:
    """The rectangles of baskets in a picture."""
    root = ElementTree.fromstring(svg)
    groups = [group for group in root.iter(f"{SVG}g") if group.get("class") == "baskets"]
    assert len(groups) == 1
    return list(groups[0].iter(f"{SVG}rect"))


def test_one_rectangle_per_basket() -> None:
    svg = draw(made_up(6, 5))
    found = rectangles(svg)
    assert len(found) == 30
    assert {rect.get("class") for rect in found} == {None}
    heights = {float(rect.get("height", 0)) for rect in found}
    assert max(heights) - min(heights) < 0.1


def test_width_is_bytes() -> None:
    small = BranchLayout("s", "float", 100, 100, [Basket(0, 10, 0, 100)])
    large = BranchLayout("l", "float", 900, 900, [Basket(0, 10, 100, 900)])
    widths = [
        float(r.get("width", 0)) for r in rectangles(draw(TreeLayout("t", 10, [0, 10], [small, large])))
    ]
    assert widths[1] / widths[0] == pytest.approx(9, rel=0.05)


def test_read_and_over_read_are_filled() -> None:
    layout = made_up(
        4, 5, wanted=frozenset({"X1_1"}), entries=(100, 300), fetched=[(5000, 2000), (9000, 1000)]
    )
    states = [rect.get("class") for rect in rectangles(draw(layout))]
    assert states.count("r") == 2 == layout.num_read
    # Basket 1 of X2 lies behind basket 1 of X1 and came with it.
    assert states.count("o") == 1


def test_thousands_of_branches_stay_light() -> None:
    svg = draw(made_up(5000, 20, wanted=frozenset({"X3_10"}), entries=(0, 2000), fetched=[(10_000, 1000)]))
    assert len(svg) < 4_000_000
    assert len(rectangles(svg)) < 60_000
    assert ">X3_10</text>" in svg


def test_texts_are_escaped_and_the_picture_needs_nothing_else() -> None:
    svg = draw(made_up(3, 2))
    assert "a &amp; b.root:Events" in svg
    assert "href" not in svg and "@import" not in svg


def test_an_empty_tree_has_a_picture() -> None:
    assert rectangles(draw(TreeLayout("empty", 0, [0], []))) == []


def test_bytes_for_people() -> None:
    assert [human_bytes(n) for n in (0, 999, 1000, 99_950, 6_600_000)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "100 kB",
        "6.60 MB",
    ]


def test_command(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    out = tmp_path / "nano.svg"
    arguments = ["--read", "MET_pt,Muon_*", "--entries", ":500", "--json"]
    document = sapwood("layout", f"{path}:Events", out, *arguments).json
    assert document["baskets"] == 20
    assert document["read"] == ["MET_pt", "Muon_pt"]
    assert document["baskets_read"] == 4
    states = [rect.get("class") for rect in rectangles(out.read_text())]
    assert len(states) == 20 and states.count("r") == 4


def test_command_without_a_read_is_silent_in_a_pipe(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "nano.svg"
    done = sapwood("layout", f"{path}:Events", out)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert {rect.get("class") for rect in rectangles(out.read_text())} == {None}


def test_no_such_column(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    assert sapwood("layout", f"{path}:Events", tmp_path / "x.svg", "--read", "nope").code == 3
    assert list(tmp_path.iterdir()) == []
