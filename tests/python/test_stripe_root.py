"""Files come out of datasets as they went in, as ROOT sees them: all branches, byte by byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import stripe

sys.path.append(str(Path(__file__).parent))
from root_peer import needs_root

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = [
    ("edm/edm.root", "Events"),
    ("xaod/xaod.root", "CollectionTree"),
    ("trees/split.root", "tree"),
]


def compare(one: Path, other: Path, *trees: str) -> dict[str, Any]:
    """What ROOT finds of trees of two files."""
    script = str(Path(__file__).with_name("root_compare.py"))
    command = [needs_root(), "-W", "ignore", script, str(one), str(other), *trees]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(source: Path, tree: str, folder: Path) -> dict[str, Any]:
    """A file goes into a dataset, and comes out again; ROOT compares all trees."""
    dataset = stripe.create(folder / "data", f"{source}:{tree}", batch=7, stripe_size="4 kB")
    dataset.export(folder / "out.root")
    with sapwood.open(source) as file, sapwood.open(folder / "out.root") as out:
        classes = file.classnames(cycle=False)
        assert classes == out.classnames(cycle=False)
        trees = [path for path, class_name in classes.items() if class_name == "TTree"]
        entries = {path: (file[path].num_entries, len(file[path].keys())) for path in trees}
    found = compare(source, folder / "out.root", *trees)
    for path in trees:
        assert found[path]["differences"] == []
        assert (found[path]["entries"], found[path]["branches"]) == entries[path]
    return found


@pytest.mark.parametrize(("name", "tree"), FILES)
def test_a_file_of_root_comes_out_as_it_went_in(name: str, tree: str, tmp_path: Path) -> None:
    assert check(DATA / name, tree, tmp_path)[tree]["bytes"] > 0


def test_flat_and_jagged_columns_come_out_as_they_went_in(events_file: Path, tmp_path: Path) -> None:
    found = check(events_file, "Events", tmp_path)
    assert found["Events"]["read"] and found["Events"]["bytes"] > 0


def test_a_difference_is_found(events_file: Path, tmp_path: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree, sapwood.recreate(tmp_path / "other.root") as file:
        met = tree["met"].array(library="np").copy()
        met[500] += 1
        file["Events"] = {"met": met}
    with sapwood.open(f"{events_file}:Events") as tree, sapwood.recreate(tmp_path / "one.root") as file:
        file["Events"] = {"met": tree["met"].array(library="np")}
    found = compare(tmp_path / "one.root", tmp_path / "other.root", "Events")
    assert found["Events"]["differences"] == ["met, entry 500"]
