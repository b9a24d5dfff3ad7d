"""`sapwood report` reads columns and prints what that cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest


def test_text(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("report", f"{path}:Events", "MET_pt", "Muon_pt")
    lines = [line.split() for line in done.out.splitlines()]
    assert (done.code, lines[0]) == (0, [str(path)])
    assert ["baskets", "8"] in lines
    assert ["unplanned", "reads", "0"] in lines


def test_json(sapwood: Callable[..., Any], path: Path) -> None:
    document = sapwood("report", f"{path}:Events", "MET_pt", "--entries", ":300", "--json").json
    assert (document["file_path"], document["baskets"], document["unplanned_reads"]) == (str(path), 2, 0)
    assert document["fetched_bytes"] == document["wanted_bytes"] + document["overread_bytes"]
    assert document["wanted_bytes"] > 0
    assert document["servers"].keys() == {"local"}
    fetched = sum(nbytes for request in document["timeline"] for _, nbytes in request["ranges"])
    assert fetched == document["fetched_bytes"]


def test_rates(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("report", f"{path}:Events", "MET_pt", "--entries", "100:400", "--json").json
    assert done["entries"] == 300
    assert done["entries_per_second"] == 300 / done["wall_seconds"]
    assert done["fetched_bytes_per_second"] == done["fetched_bytes"] / done["wall_seconds"]
    rate = done["decompressed_bytes_per_cpu_second"]
    assert rate * done["cpu_seconds"] == pytest.approx(done["decompressed_bytes"])
    shown = sapwood("report", f"{path}:Events", "MET_pt", "--entries", "100:400").out
    assert "  300 entries in " in shown and " entries/s" in shown
    assert " MB decompressed per CPU second" in shown.splitlines()[-1]


def test_expressions_read_the_branches_that_they_use(sapwood: Callable[..., Any], path: Path) -> None:
    assert sapwood("report", f"{path}:Events", "sqrt(MET_pt) + run", "--json").json["baskets"] == 8
    assert sapwood("report", f"{path}:Events", "--json").json["baskets"] == 20


def test_picture(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.svg"
    assert sapwood("report", f"{path}:Events", "run", "--svg", out).code == 0
    assert ElementTree.parse(out).getroot().tag.endswith("svg")
    done = sapwood("report", f"{path}:Events", "run", "--svg", tmp_path / "report.png")
    assert done.code != 0 and ".svg" in done.err
    assert list(tmp_path.iterdir()) == [out]


def test_no_such_column(sapwood: Callable[..., Any], path: Path) -> None:
    assert sapwood("report", f"{path}:Events", "nope").code == 3
