"""Content of a dataset beside its entries reads as from files: other trees, histograms, provenance."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import edm, errors, stripe

ak = pytest.importorskip("awkward")
EDM = Path(__file__).resolve().parents[1] / "data" / "edm" / "edm.root"


def write(path: Path, first: int, extra: bool = False) -> str:
    """A file with events, runs, a histogram, and a directory."""
    with sapwood.recreate(path) as file:
        file["Events"] = {"event": np.arange(first, first + 50, dtype="u8"), "met": np.arange(50.0)}
        file["Runs"] = {"run": np.array([first, first + 1], dtype="u4")}
        file["dir/Lumis"] = {"lumi": np.arange(first, first + 3)}
        file["dir/hist"] = np.histogram(np.arange(first, first + 10), bins=4, range=(0, 100))
        if extra:
            file["Late"] = {"x": np.array([1.0])}
    return f"{path}:Events"


@pytest.fixture
def dataset(tmp_path: Path) -> stripe.Dataset:
    """Two segments, of files that have nearly the same."""
    made = stripe.create(tmp_path / "data", write(tmp_path / "a.root", 0))
    made.append(write(tmp_path / "b.root", 50, extra=True))
    return made


def objects(dataset: stripe.Dataset) -> list[Path]:
    """The objects with what came beside the entries."""
    data = sorted((Path(dataset.url) / "d").rglob("*"))
    return [path for path in data if path.is_file() and path.read_bytes()[:4] == b"root"]


def test_other_trees_are_those_of_all_segments(dataset: stripe.Dataset) -> None:
    with dataset.tree().file as file:
        assert set(file.keys(cycle=False)) == {"Events", "Runs", "dir", "dir/Lumis", "dir/hist", "Late"}
        assert file.classnames(cycle=False)["dir/Lumis"] == "TTree"
        assert file["Events"].num_entries == 100
        assert file["Runs"].arrays(library="np")["run"].tolist() == [0, 1, 50, 51]
        assert file["Runs;1"].num_entries == 4
        assert file["dir"]["Lumis"]["lumi"].array(library="np").tolist() == [0, 1, 2, 50, 51, 52]
        assert file["Late"]["x"].array(library="np").tolist() == [1.0]
        with pytest.raises(errors.KeyInFileError, match="Runs"):
            file["Run"]


def test_a_tree_beside_is_opened_by_its_name(dataset: stripe.Dataset) -> None:
    with sapwood.open({dataset.url: "Runs"}) as runs:
        assert runs.num_entries == 4
    with sapwood.open({f"{dataset.url}@v2": "Runs"}) as runs:
        assert runs["run"].array(library="np").tolist() == [0, 1]
    assert len(sapwood.concatenate({dataset.url: "dir/Lumis"}, library="np")["lumi"]) == 6


def test_histograms_are_summed_as_they_are_merged(dataset: stripe.Dataset, tmp_path: Path) -> None:
    sapwood.merge([str(tmp_path / "a.root"), str(tmp_path / "b.root")], tmp_path / "merged.root")
    merged = sapwood.open(tmp_path / "merged.root")["dir/hist"]
    found = dataset.tree().file["dir/hist"]
    assert found.values().sum() > sapwood.open(tmp_path / "a.root")["dir/hist"].values().sum()
    assert np.array_equal(found.values(), merged.values())
    exported = dataset.export(tmp_path / "out.root") and sapwood.open(tmp_path / "out.root")
    assert np.array_equal(found.values(), exported["dir/hist"].values())


def test_the_events_need_none_of_it(dataset: stripe.Dataset) -> None:
    beside = objects(dataset)
    assert len(beside) == 2
    for path in beside:
        path.unlink()
    tree = dataset.tree()
    assert len(tree["met"].array()) == 100 and "Events" in repr(tree)
    assert tree.file["Events"].num_entries == 100
    with pytest.raises(errors.CorruptFileError, match="auxiliary file of a segment is lost"):
        tree.file["Runs"]


def test_damage_is_reported(dataset: stripe.Dataset) -> None:
    victim = objects(dataset)[0]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.chmod(0o644)
    victim.write_bytes(bytes(content))
    with pytest.raises(errors.CorruptFileError, match=victim.name):
        dataset.tree().file.keys()


class TestCms:
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        shutil.copy(EDM, tmp_path / "a.root")
        made = stripe.create(tmp_path / "data", f"{tmp_path / 'a.root'}:Events")
        made.append(f"{EDM}:Events")
        return made.url

    def test_provenance_is_there_once(self, place: str) -> None:
        with sapwood.open(EDM) as file, sapwood.open(place).file as other:
            assert edm.processes(other) == edm.processes(file)
            assert edm.parameter_sets(other) == edm.parameter_sets(file)
            assert other["MetaData"].num_entries == file["MetaData"].num_entries
            assert [one.name for one in edm.products(other)] == [one.name for one in edm.products(file)]

    def test_products_are_found_by_label(self, place: str) -> None:
        with edm.open(EDM) as events, edm.open(place) as other:
            for product in events.products:
                arrays: list[Any] = [events[product.name].array(), other[product.name].array()]
                assert ak.array_equal(ak.concatenate([arrays[0], arrays[0]]), arrays[1], equal_nan=True)


def test_a_dataset_that_was_not_created_to_the_end_is_reported(
    dataset: stripe.Dataset, tmp_path: Path
) -> None:
    half = tmp_path / "half"
    half.mkdir()
    shutil.copy(Path(dataset.url) / "fmt", half)
    with pytest.raises(FileNotFoundError, match=r"interrupted.*create it again"):
        sapwood.open(half)


def test_nothing_of_a_dataset_is_kept_on_the_disk_and_a_warning_says_so(
    dataset: stripe.Dataset, tmp_path: Path
) -> None:
    for options in ({"cache": tmp_path / "cache"}, {"lazy_download": True}):
        with pytest.warns(UserWarning, match="are ignored"):
            assert sapwood.open(dataset.url, **options).num_entries == 100
