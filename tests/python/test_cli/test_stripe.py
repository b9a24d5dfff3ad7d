"""`sapwood stripe`: a dataset's life, told in lines and in JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood import open as open_tree


@pytest.fixture
def place(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> str:
    place = str(tmp_path / "ttbar")
    assert sapwood("stripe", "create", place, "--from", f"{path}:Events", "--batch", "100").code == 0
    return place


def test_a_dataset_is_shown(sapwood: Callable[..., Any], place: str) -> None:
    assert "Events, 1,000 entries" in sapwood("stripe", "show", place).out
    products = sapwood("stripe", "ls", place, "--json").json["products"]
    assert {"run", "MET", "matrix", "Muon"} <= {one["name"] for one in products}
    versions = sapwood("stripe", "log", place, "--json").json["versions"]
    assert [one["operation"] for one in versions] == ["create", "append"]


def test_nothing_is_deleted_unasked(sapwood: Callable[..., Any], place: str) -> None:
    assert sapwood("stripe", "drop", place, "MET").code == 0
    assert sapwood("stripe", "expire", place, "--newest", "1").code == 0
    assert sapwood("stripe", "gc", place, "--alone", "--grace-days", "0").code == 0
    assert "MET_pt" in open_tree(f"{place}@v2")
    assert sapwood("stripe", "restore", place, "v2").code == 0
    assert "MET_pt" in open_tree(place)


def test_damage_is_a_failure(sapwood: Callable[..., Any], place: str) -> None:
    assert sapwood("stripe", "verify", place).code == 0
    lost = next(path for path in Path(place, "d").rglob("*") if path.is_file())
    lost.unlink()
    done = sapwood("stripe", "verify", place)
    assert done.code == 1 and lost.name in done.err


def test_a_file_comes_out(sapwood: Callable[..., Any], place: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out.root")
    assert sapwood("stripe", "export", place, out, "--json").json["entries"] == 1000
    assert sapwood("stripe", "export", place, out).code == 2
    assert open_tree(f"{out}:Events").num_entries == open_tree(f"{out}:dir/small").num_entries + 997
