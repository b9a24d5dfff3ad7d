"""Datasets read like the files that they were made of, from a directory and from a bucket."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import s3_server
from report_sums import assert_adds_up

import sapwood
from sapwood import _core, errors

ak = pytest.importorskip("awkward")
DATA = Path(__file__).resolve().parents[1] / "data"


def create(place: str, file: Path, tree: str = "Events") -> None:
    """Creates a dataset of a file, in batches of 100 entries."""
    _core.Stripes(place).create(tree, [(str(file), _core.OpenOptions())], _core.WriteOptions(batch=100))


def append(place: str, file: Path) -> None:
    """Appends the entries of a file."""
    _core.Stripes(place).append([(str(file), _core.OpenOptions())], _core.WriteOptions(batch=100))


@pytest.fixture(scope="module")
def place(events_file: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dataset with two versions that have entries: the events once, and twice."""
    place = str(tmp_path_factory.mktemp("datasets") / "ttbar")
    create(place, events_file)
    append(place, events_file)
    return place


def same(one: Any, other: Any) -> bool:
    """Whether all columns are equal, NaN with NaN."""
    return bool(ak.array_equal(one, other, equal_nan=True))


def test_a_dataset_is_a_tree_like_any_other(place: str, events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events").file as file, sapwood.open(place).file as dataset:
        tree, other = file["Events"], dataset["Events"]
        assert isinstance(sapwood.open(place), sapwood.Tree)
        assert set(other.keys()) == set(tree.keys())
        assert other.typenames() == tree.typenames()
        assert other.num_entries == 2 * tree.num_entries
        names = tree.keys()
        expected = tree.arrays(names)
        twice = ak.concatenate([expected, expected])
        assert same(other.arrays(names), twice)
        assert same(other.arrays(["met"], entry_start=900, entry_stop=1100).met, twice.met[900:1100])
        steps = list(other.iterate(["Jet_pt", "name"], step_size="20 kB"))
        assert len(steps) > 1
        assert_adds_up(dataset.report())
        assert same(ak.concatenate(steps), twice[["Jet_pt", "name"]])
        assert same(other.arrays(["weight"], cut="met > 60"), twice[["weight"]][twice.met > 60])
        assert other["met"].num_baskets > 0 and other.compressed_bytes > 0
        assert [event.met for event in other.events()] == twice.met.to_list()


def test_versions_are_named_in_the_path_or_by_arguments(place: str, events_file: Path) -> None:
    entries = sapwood.open(f"{events_file}:Events").num_entries
    first = 2
    for tree in (sapwood.open(f"{place}@v{first}"), sapwood.open(place, version=first)):
        assert tree.num_entries == entries
        assert tree.file.file_path.endswith(f"ttbar@v{first}")
    latest = sapwood.open(place, as_of=time.time() + 3600)
    assert latest.num_entries == 2 * entries
    with pytest.raises(errors.SapwoodError, match="no version 99"):
        sapwood.open(f"{place}@v99")
    with pytest.raises(errors.SapwoodError, match="no tag 'gold'"):
        sapwood.open(f"{place}@gold")
    with pytest.raises(errors.SapwoodError, match="did not exist at that time"):
        sapwood.open(place, as_of=1)
    with pytest.raises(errors.UsageError, match="not both"):
        sapwood.open(place, version=2, as_of=1)
    with pytest.raises(FileNotFoundError):
        sapwood.open(f"{place}x@v1")


def test_copies_read_the_version_that_was_opened(place: str, tmp_path: Path, events_file: Path) -> None:
    own = str(tmp_path / "own")
    create(own, events_file)
    tree = sapwood.open(own)
    stored = pickle.dumps(tree)
    append(own, events_file)
    assert sapwood.open(own).num_entries == 2 * tree.num_entries
    assert pickle.loads(stored).num_entries == tree.num_entries


def test_a_list_of_places_may_have_files_and_datasets(place: str, events_file: Path) -> None:
    both = sapwood.concatenate([place, f"{events_file}:Events"], ["met"])
    assert len(both) == 3 * sapwood.open(f"{events_file}:Events").num_entries


OBJECTS = [("edm/edm.root", "Events"), ("xaod/xaod.root", "CollectionTree"), ("trees/split.root", None)]


@pytest.mark.parametrize(("name", "path"), OBJECTS)
def test_objects_are_read_from_stripes_as_from_files(name: str, path: str | None, tmp_path: Path) -> None:
    with sapwood.open(DATA / name) as file:
        path = path or file.keys(filter_classname="TTree", cycle=False)[0]
        create(str(tmp_path / "ds"), DATA / name, path)
        tree, other = file[path], sapwood.open(tmp_path / "ds")
        names = [name for name in tree if tree[name].form is not None]
        assert names
        for name in names:
            assert same(other[name].array(), tree[name].array()), name


def test_a_lost_object_is_reported_and_all_others_are_read(tmp_path: Path, events_file: Path) -> None:
    place = tmp_path / "ds"
    create(str(place), events_file)
    for file in place.glob("d/*/*"):
        file.unlink()
    tree = sapwood.open(place)
    with pytest.raises(errors.CorruptFileError, match="the product 'vertex' are lost"):
        tree["vertex"].array()


def requests_of_open(url: str) -> int:
    """Counts them without connections ahead of need, which are made where the first answer is late."""
    program = "import sys, sapwood; print(sapwood.open(sys.argv[1]).file.report().requests)"
    environment = {**os.environ, "SAPWOOD_CONNECTIONS_AHEAD": "0"}
    command = [sys.executable, "-c", program, url]
    return int(subprocess.run(command, env=environment, capture_output=True, check=True, timeout=300).stdout)


@pytest.mark.skipif(s3_server.missing() is not None, reason=f"s3:// is not tested: {s3_server.missing()}")
class TestBucket:
    def test_a_dataset_in_a_bucket(self, s3: s3_server.Server, events_file: Path) -> None:
        create("s3://data/sets/ttbar", events_file)
        expected = sapwood.open(f"{events_file}:Events").arrays()
        tree = sapwood.open("s3://data/sets/ttbar")
        assert tree.core.is_distant
        assert requests_of_open("s3://data/sets/ttbar") == 3
        assert same(tree.arrays(expected.fields), expected)
        assert sum(map(len, tree.iterate(["met"], step_size=100))) == len(expected)
        assert same(ak.concatenate([chunk.met for chunk in tree.lazy()]), expected.met)
        with pytest.raises(FileNotFoundError, match="neither a file nor a dataset"):
            sapwood.open("s3://data/sets/nothing")

    def test_a_server_that_is_gone_is_an_error_in_time(self, s3: s3_server.Server, events_file: Path) -> None:
        create("s3://data/sets/ttbar", events_file)
        tree = sapwood.open("s3://data/sets/ttbar")
        assert len(tree["met"].array()) == tree.num_entries
        assert s3.process is not None
        s3.process.kill()
        begin = time.monotonic()
        for name in ("weight", "vertex"):
            with pytest.raises(errors.SapwoodError):
                tree[name].array(deadline=2)
        assert time.monotonic() - begin < 10
