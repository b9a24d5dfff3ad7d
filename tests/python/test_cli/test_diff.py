"""`sapwood diff` finds every kind of difference, and says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import sapwood as sw
from sapwood.studies import comparing

N = 1000


def columns() -> dict[str, Any]:
    x = np.arange(N, dtype=np.float32)
    x[3] = np.nan
    return {
        "x": x,
        "lists": ak.unflatten(np.arange(2.0 * N), np.full(N, 2)),
        "text": ak.Array([f"{i}" for i in range(N)]),
        "number": np.arange(N, dtype=np.int32),
    }


def write(path: Path, content: dict[str, Any], mass: int = 0) -> str:
    with sw.recreate(path) as file:
        file["dir/Events"] = content
        file["mass"] = np.histogram([0.5, 1.5, 1.5 + mass], bins=3, range=(0, 3))
    return str(path)


@pytest.fixture
def first(tmp_path: Path) -> str:
    return write(tmp_path / "a.root", columns())


def test_files_with_the_same_content_are_equal(
    sapwood: Callable[..., Any], first: str, tmp_path: Path
) -> None:
    sw.repack(first, tmp_path / "b.root", compression="lz4", basket_size=2000)
    done = sapwood("diff", first, tmp_path / "b.root")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert sapwood("diff", first, tmp_path / "b.root", "--json").json["equal"] is True


@pytest.mark.parametrize("step", ["32 MB", "1 kB"])
def test_the_first_entry_that_differs_is_named_with_both_values(
    sapwood: Callable[..., Any], first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(comparing, "STEP", step)
    other = columns()
    other["x"][[500, 700]] += 0.25
    lists = other["lists"].to_list()
    lists[900][1] = -1.0
    lists[901] = []
    other |= {"lists": ak.Array(lists), "text": ak.Array([*other["text"].to_list()[:-1], "changed"])}
    second = write(tmp_path / "b.root", other)
    done = sapwood("diff", first, second, "--json")
    assert done.code == 1
    found = {one["part"]: (one["entry"], one["a"], one["b"]) for one in done.json["differences"]}
    assert found == {
        "x": (500, 500.0, 500.25),
        "nlists": (901, 2, 0),
        "lists[1]": (900, 1801.0, -1.0),
        "text": (999, "999", "changed"),
    }
    assert {one["object"] for one in done.json["differences"]} == {"dir/Events"}
    assert "500.25" in sapwood("diff", first, second).out


def test_schemas_entries_and_objects_are_compared(
    sapwood: Callable[..., Any], first: str, tmp_path: Path
) -> None:
    other = {name: values[:990] for name, values in columns().items()}
    other["number"] = other["number"].astype(np.int64)
    other["new"] = other.pop("text")
    second = write(tmp_path / "b.root", other, mass=1)
    done = sapwood("diff", first, second, "--json")
    found = {
        (one["object"], one["part"], one["kind"]): (one["a"], one["b"]) for one in done.json["differences"]
    }
    assert done.code == 1
    assert found[("dir/Events", "", "entries")] == (1000, 990)
    assert found[("dir/Events", "number", "type")] == ("int32_t", "int64_t")
    assert found[("dir/Events", "text", "missing")][1] is None
    assert found[("dir/Events", "new", "missing")][0] is None
    assert ("mass", "fArray[2]", "value") in found
    shown = sapwood("diff", first, second).out
    assert "only in the first" in shown and "only in the second" in shown


def test_tolerances_and_filters(sapwood: Callable[..., Any], first: str, tmp_path: Path) -> None:
    other = columns()
    other["x"] = other["x"] * np.float32(1.0001)
    second = write(tmp_path / "b.root", other)
    assert sapwood("diff", first, second).code == 1
    assert sapwood("diff", first, second, "--rtol", "1e-3").code == 0
    assert sapwood("diff", first, second, "--atol", "1").code == 0
    assert sapwood("diff", first, second, "--filter", "lists").code == 0
    assert sapwood("diff", f"{first}:dir/Events", f"{second}:dir/Events").code == 1


@pytest.mark.parametrize(
    "words", [["A", "nothing.root"], ["A", "A:dir/Events"], ["A", "A", "--rtol", "-1"], ["A"]]
)
def test_trouble_has_the_code_2(sapwood: Callable[..., Any], first: str, words: list[str]) -> None:
    done = sapwood("diff", *(word.replace("A", first) if word[0] == "A" else word for word in words))
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("path", ["", ":dir/Events"])
def test_a_filter_that_no_branch_matches_does_not_mean_equal(
    sapwood: Callable[..., Any], first: str, path: str
) -> None:
    done = sapwood("diff", first + path, first + path, "--filter", "zzz*")
    assert done.code == 2
    assert "no branch of either matches the filter 'zzz*'" in done.err


def test_branches_that_cannot_be_read_are_trouble_and_not_equal(
    sapwood: Callable[..., Any], first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sw.Branch, "unsupported", property(lambda one: "odd" if one.name == "x" else None))
    done = sapwood("diff", first, first)
    assert done.code == 2
    assert done.err == "sapwood: dir/Events:x was not compared: odd\n"
    assert sapwood("diff", first, first, "--filter", "lists").code == 0


def test_a_dataset_equals_the_tree_that_it_was_made_from(
    sapwood: Callable[..., Any], first: str, tmp_path: Path
) -> None:
    sw.stripe.create(tmp_path / "set", f"{first}:dir/Events")
    assert sapwood("diff", f"{first}:dir/Events", tmp_path / "set").code == 0


def test_an_object_that_cannot_be_read_does_not_hide_the_others(
    sapwood: Callable[..., Any], corpus: Path
) -> None:
    file = corpus / "skhep__uproot-issue49.root"
    done = sapwood("diff", file, file)
    assert done.code == 2
    assert "fitResult was not compared" in done.err


def test_a_tree_and_its_rntuple_differ_only_where_their_arrays_do(
    sapwood: Callable[..., Any], tmp_path: Path
) -> None:
    tree, ntuple = tmp_path / "nano.root", tmp_path / "nano.rnt.root"
    assert sapwood("example", tree, "-n", "50").code == 0
    sw.repack(tree, ntuple, format="rntuple")
    pair = (f"{tree}:Events", f"{ntuple}:Events")
    assert sapwood("diff", *pair, "--filter", "Muon_*").code == 0
    # The counters of branches have signs, those of collections have none.
    differences = sapwood("diff", *pair, "--json").json["differences"]
    assert {one["part"] for one in differences} == {"nMuon", "nElectron", "nJet"}
    assert {one["kind"] for one in differences} == {"type"}
    assert all("std::uint32_t" in one["b"] for one in differences)
    changed = tmp_path / "changed.root"
    sw.repack(tree, changed, cut="event != 3")
    assert sapwood("diff", f"{changed}:Events", pair[1], "--filter", "Muon_pt").code == 1


def test_files_in_two_formats_differ_by_class_and_their_values_are_compared(
    sapwood: Callable[..., Any], first: str, tmp_path: Path
) -> None:
    other = str(tmp_path / "ntuple.root")
    with sw.recreate(other) as file:
        file.mkrntuple("dir/Events", columns() | {"number": np.arange(N, dtype=np.int32) * 2})
        file["mass"] = np.histogram([0.5, 1.5, 1.5], bins=3, range=(0, 3))
    done = sapwood("diff", first, other, "--json")
    found = [(one["part"], one["kind"], one["entry"]) for one in done.json["differences"]]
    assert done.code == 1
    assert found == [("", "class", None), ("nlists", "missing", None), ("number", "value", 1)]
