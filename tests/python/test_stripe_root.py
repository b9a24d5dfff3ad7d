"""Files exported from datasets equal the original ones for ROOT: all branches, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from root_peer import Judge

import sapwood
from sapwood import stripe

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = [
    ("edm/edm.root", "Events"),
    ("xaod/xaod.root", "CollectionTree"),
    ("trees/split.root", "tree"),
]


def check(judge: Judge, source: Path, tree: str, folder: Path) -> dict[str, Any]:
    """A file goes into a dataset, and comes out again; ROOT compares all trees."""
    dataset = stripe.create(folder / "data", f"{source}:{tree}", batch=7, stripe_size="4 kB")
    dataset.export(folder / "out.root")
    with sapwood.open(source) as file, sapwood.open(folder / "out.root") as out:
        classes = file.classnames(cycle=False)
        assert classes == out.classnames(cycle=False)
        trees = [path for path, class_name in classes.items() if class_name == "TTree"]
        entries = {path: (file[path].num_entries, len(file[path].keys())) for path in trees}
    found = judge.compare(source, folder / "out.root", trees)
    assert found is not None
    for path in trees:
        assert found[path]["differences"] == []
        assert (found[path]["entries"], found[path]["branches"]) == entries[path]
    return found


@pytest.mark.parametrize(("name", "tree"), FILES)
def test_a_file_of_root_comes_out_as_it_went_in(judge: Judge, name: str, tree: str, tmp_path: Path) -> None:
    assert check(judge, DATA / name, tree, tmp_path)[tree]["bytes"] > 0


def test_flat_and_jagged_columns_come_out_as_they_went_in(
    judge: Judge, events_file: Path, tmp_path: Path
) -> None:
    found = check(judge, events_file, "Events", tmp_path)
    assert found["Events"]["read"] and found["Events"]["bytes"] > 0


def test_a_difference_is_found(judge: Judge, events_file: Path, tmp_path: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree, sapwood.recreate(tmp_path / "other.root") as file:
        met = tree["met"].array(library="np").copy()
        met[500] += 1
        file["Events"] = {"met": met}
    with sapwood.open(f"{events_file}:Events") as tree, sapwood.recreate(tmp_path / "one.root") as file:
        file["Events"] = {"met": tree["met"].array(library="np")}
    found = judge.compare(tmp_path / "one.root", tmp_path / "other.root", ["Events"])
    assert found is not None and found["Events"]["differences"] == ["met, entry 500"]
