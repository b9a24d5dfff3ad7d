"""Datasets as inputs of repack, skim and merge, and of other datasets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from root_peer import Judge
from typer.testing import CliRunner

import sapwood
from sapwood import edm, errors, stripe
from sapwood.cli._app import app
from sapwood.options.remote_glob import remote_glob

ak = pytest.importorskip("awkward")
EDM = Path(__file__).resolve().parents[1] / "data" / "edm" / "edm.root"
LAYOUTS: list[dict[str, Any]] = [
    {"cut": "nJet_pt > 4", "follow": True},
    {"keep": ["Jet_*", "met"], "entry_start": 120, "entry_stop": 340, "follow": True},
    {"drop": "Jet_eta", "cut": "met < 100", "basket_size": 400, "cluster_entries": 37},
    {"compression": "lz4:4"},
]


def write(path: Path, first: int, count: int) -> str:
    """A file with events, of which the counter has the last digit, runs, and a histogram."""
    events = np.arange(first, first + count)
    jets = ak.unflatten(np.repeat(events.astype("f4"), events % 10), events % 10)
    with sapwood.recreate(path) as file:
        file["Events"] = {
            "run": (events // 100).astype("u4"),
            "luminosityBlock": (events // 10).astype("u4"),
            "event": events.astype("u8"),
            "met": (events / 2).astype("f4"),
            "name": [str(event) * (event % 3) for event in events],
            "Jet_pt": jets,
            "Jet_eta": -jets,
        }
        runs = np.unique(events // 100).astype("u4")
        file["Runs"] = {"run": runs, "weight": runs * 1.5}
        blocks = np.unique(events // 10).astype("u4")
        file["LuminosityBlocks"] = {"run": blocks // 10, "luminosityBlock": blocks}
        file["dir/hist"] = np.histogram(events, bins=5, range=(0, 600))
    return f"{path}:Events"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset of three segments, one product of which is newer, and what it is as a file."""
    folder = tmp_path_factory.mktemp("repack")
    files = [write(folder / f"{n}.root", first, count) for n, (first, count) in enumerate(PARTS)]
    dataset = stripe.create(folder / "data", files[:1], batch=60, stripe_size="2 kB")
    dataset.append(files[1:], batch=50)
    dataset.add_product("met", lambda events: {"met": events["met"] + 1}, ["met"])
    sapwood.merge([file.removesuffix(":Events") for file in files], folder / "merged.root")
    dataset.export(folder / "whole.root")
    return folder


PARTS = [(0, 250), (250, 100), (350, 170)]


def same(one: Path, other: Path, *trees: str) -> None:
    """That two files have the same trees and objects."""
    with sapwood.open(one) as left, sapwood.open(other) as right:
        assert left.classnames(cycle=False) == right.classnames(cycle=False)
        assert np.array_equal(left["dir/hist"].values(), right["dir/hist"].values())
        for tree in trees:
            assert left[tree].keys() == right[tree].keys()
            arrays = [file[tree].arrays() for file in (left, right)]
            assert ak.array_equal(*arrays, equal_nan=True), tree


def test_an_export_is_what_the_files_are_merged(place: Path) -> None:
    with sapwood.open(place / "whole.root") as whole, sapwood.open(place / "merged.root") as merged:
        left, right = whole["Events"].arrays(), merged["Events"].arrays()
        assert ak.array_equal(left["met"], right["met"] + 1)
        rest = [name for name in right.fields if name != "met"]
        assert ak.array_equal(left[rest], right[rest])
        assert whole["Runs"]["run"].array().tolist() == merged["Runs"]["run"].array().tolist()
        assert np.array_equal(whole["dir/hist"].values(), merged["dir/hist"].values())
        starts = [*range(0, 250, 60), *range(250, 350, 50), *range(350, 520, 50)]
        assert whole["Events"].cluster_starts == [*starts, 520]


@pytest.mark.parametrize("options", LAYOUTS, ids=str)
def test_a_dataset_is_written_as_its_file_is(place: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    source = place / "data"
    report = sapwood.repack(source, tmp_path / "one.root", **options)
    other = sapwood.repack(place / "whole.root", tmp_path / "other.root", tree="Events", **options)
    assert report.trees == other.trees and 0 < report.trees["Events"] <= 520
    assert (report.trees["Runs"] < 8) == ("entry_start" in options)
    same(tmp_path / "one.root", tmp_path / "other.root", "Events", "Runs", "LuminosityBlocks")


def test_root_finds_no_difference(place: Path, judge: Judge, tmp_path: Path) -> None:
    for options in LAYOUTS[1:3]:
        sapwood.repack(place / "data", tmp_path / "one.root", overwrite=True, **options)
        sapwood.repack(
            place / "whole.root", tmp_path / "other.root", tree="Events", overwrite=True, **options
        )
        found = judge.compare(tmp_path / "one.root", tmp_path / "other.root", ["Events", "Runs"])
        assert found is not None
        for tree in found.values():
            assert tree["differences"] == [] and tree["bytes"] > 0


def test_baskets_are_copied_but_for_those_that_root_does_not_read(place: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    jets = sapwood.open(f"{place}/data")["Jet_eta"].array()
    stripe.create(tmp_path / "lz4", place / "data", compression="lz4:1")
    for source, planes in ((tmp_path / "lz4", False), (place / "data", True)):
        report = sapwood.repack(sapwood.open(source), tmp_path / f"{planes}.root", keep=["Jet_*", "met"])
        assert (report.recompressed_baskets > 0, report.cut_baskets) == (planes, 0)
        assert (report.decompress_seconds > 0) == planes
        with sapwood.open(tmp_path / f"{planes}.root") as out:
            assert {str(one.compression) for one in out["Events"].branches if one.num_baskets} == {"ZSTD-5"}
        with uproot.open(tmp_path / f"{planes}.root") as out:
            assert ak.array_equal(out["Events/Jet_eta"].array(), jets)


def test_older_versions_are_sources_too(place: Path, tmp_path: Path) -> None:
    sapwood.repack(f"{place}/data@v2", tmp_path / "out.root", trees=["Events"])
    with sapwood.open(tmp_path / "out.root") as out:
        assert out.keys(cycle=False) == ["dir", "dir/hist", "Events"]
        assert out["Events"]["met"].array(library="np").tolist() == [event / 2 for event in range(250)]


def test_datasets_and_files_are_merged(place: Path, tmp_path: Path) -> None:
    sapwood.merge([f"{place}/data", place / "1.root"], tmp_path / "one.root")
    sapwood.merge([place / "whole.root", place / "1.root"], tmp_path / "other.root")
    same(tmp_path / "one.root", tmp_path / "other.root", "Events", "Runs")


def test_datasets_whose_tree_is_a_set_lose_no_entries(tmp_path: Path) -> None:
    sources = []
    for part in range(3):
        stripe.create(tmp_path / f"data{part}", write(tmp_path / f"{part}.root", 100 * part, 100))
        sources.append(f"{tmp_path}/data{part}")
    sapwood.merge([*sources, sources[1]], tmp_path / "out.root", sets=["Events"])
    with sapwood.open(tmp_path / "out.root") as file:
        assert file["Events"]["event"].array().tolist() == list(range(300))


def test_a_dataset_is_made_of_a_dataset(place: Path, tmp_path: Path) -> None:
    made = stripe.create(tmp_path / "new", place / "data", stripe_size="8 kB")
    made.append(f"{place}/data@v2")
    assert [one["entries"] for one in made.describe()["segments"]] == [250, 100, 170, 250]
    assert made.find(3, 34, 341) == [341] and made.find(0, 4, 41) == [41, 561]
    with sapwood.open(f"{place}/data").file as file, made.tree(2).file as other:
        for tree in ("Events", "Runs"):
            assert ak.array_equal(file[tree].arrays(), other[tree].arrays())
        assert np.array_equal(file["dir/hist"].values(), other["dir/hist"].values())


def test_a_dataset_is_made_of_what_is_chosen(place: Path, tmp_path: Path) -> None:
    sources = [place / "data", sapwood.open(f"{place}/0.root:Events")]
    cut, keep = "(nJet_pt > 4) & (event != 7)", ["Jet_*", "event"]
    made = stripe.create(tmp_path / "new", sources, keep=keep, cut=cut, batch=40)
    made.append(f"{place}/data@v2", keep=keep, cut="event == 3")
    passing = [event for event in [*range(520), *range(250)] if event % 10 > 4 and event != 7] + [3]
    tree = made.tree()
    assert tree.keys() == ["event", "nJet_pt", "Jet_pt", "nJet_eta", "Jet_eta"]
    assert tree["event"].array(library="np").tolist() == passing
    assert tree["Jet_eta"].array().tolist() == [[-event] * (event % 10) for event in passing]
    assert [one["entries"] for one in made.describe(2)["segments"]] == [124, 50, 85, 124]
    assert made.find(0, 0, 8) == [2, 261] and made.find(0, 0, 7) == []
    assert made.describe(2)["made"]["parameters"] == {"keep": repr(keep), "cut": cut}
    assert tree.file["Runs"].num_entries == 8 + 3 + 3


def test_products_are_taken_from_datasets(place: Path, tmp_path: Path) -> None:
    made = stripe.create(tmp_path / "new", f"{place}/merged.root:Events")
    made.add(place / "data", "met")
    assert made.tree()["met"].array(library="np")[519] == 519 / 2 + 1


def test_commands_take_datasets(place: Path, tmp_path: Path) -> None:
    source, runner = str(place / "data"), CliRunner()
    for command in (
        ["skim", source, "skim.root", "--cut", "nJet_pt > 4", "--keep", "Jet_pt"],
        ["slim", source, "slim.root", "--keep", "Jet_pt"],
        ["repack", f"{source}@v3", "repack.root", "--entries", "10:20", "--compression", "zlib:1"],
        ["merge", "merge.root", source, str(place / "0.root")],
        ["stripe", "export", source, "export.root", "--cut", "nJet_pt > 4", "--keep", "Jet_pt"],
    ):
        target = tmp_path / next(word for word in command if word.endswith(".root") and "/" not in word)
        done = runner.invoke(app, [str(target) if word == target.name else word for word in command])
        assert done.exit_code == 0, done.output
    passing = sum(event % 10 > 4 for event in range(520))
    entries = {"skim": passing, "slim": 520, "repack": 10, "merge": 770, "export": passing}
    for name, expected in entries.items():
        with sapwood.open(tmp_path / f"{name}.root") as file:
            assert file["Events"].num_entries == expected, name
            assert set(file.keys(cycle=False)) == {"Events", "Runs", "LuminosityBlocks", "dir", "dir/hist"}


def test_globs_of_buckets_find_datasets() -> None:
    folders = {
        "s3://b/sets/": [("a.root", False), ("ttbar", True), ("other", True)],
        "s3://b/sets/ttbar/": [("fmt", False), ("log", True)],
        "s3://b/sets/other/": [("x.root", False)],
    }
    assert list(remote_glob("s3://b/sets/*", folders.__getitem__)) == [
        "s3://b/sets/a.root",
        "s3://b/sets/ttbar",
    ]


def test_commands_find_trees_beside_by_their_names(place: Path) -> None:
    for target, columns in (("data@v2:Runs", "run"), ("data:LuminosityBlocks", "luminosityBlock")):
        done = CliRunner().invoke(app, ["head", f"{place}/{target}", columns])
        assert done.exit_code == 0 and columns in done.output


def test_the_doctor_knows_datasets(place: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", f"{place}/data@v2", "--json"])
    *_, last = json.loads(done.output)["steps"]
    assert (done.exit_code, last["name"], last["outcome"]) == (0, "dataset", "passed")
    assert last["facts"]["entries"] == "250"


def test_lost_data_is_reported_and_nothing_is_written(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "data", tmp_path / "data")
    for path in (tmp_path / "data" / "list").iterdir():
        path.unlink()
    with pytest.raises(errors.CorruptFileError, match="stripe list is lost"):
        sapwood.repack(tmp_path / "data", tmp_path / "out.root")
    assert not (tmp_path / "out.root").exists()


class TestCms:
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        made = stripe.create(tmp_path / "data", f"{EDM}:Events", batch=7, stripe_size="4 kB")
        made.append(f"{EDM}:Events")
        return made.url

    def test_provenance_is_there_once_and_products_are_as_in_files(
        self, place: str, judge: Judge, tmp_path: Path
    ) -> None:
        with sapwood.open(EDM) as file:
            number, trees = file["Events"].num_entries, file.keys(cycle=False, filter_classname="TTree")
        sapwood.merge([EDM, EDM], tmp_path / "merged.root")
        chosen = {"entry_start": number - 2, "entry_stop": number + 3}
        for source, target in ((place, "one.root"), (tmp_path / "merged.root", "other.root")):
            sapwood.repack(source, tmp_path / target, tree="Events", **chosen)
        found = judge.compare(tmp_path / "one.root", tmp_path / "other.root", trees)
        assert found is not None
        assert {tree: one["differences"] for tree, one in found.items()} == {tree: [] for tree in trees}
        assert found["Events"]["entries"] == 5
        with sapwood.open(EDM) as file, sapwood.open(tmp_path / "one.root") as out:
            assert edm.processes(out) == edm.processes(file)
            assert out["MetaData"].num_entries == 1


def test_reads_beside_the_events_are_counted(place: Path) -> None:
    with sapwood.open(place / "data").file as file:
        before = file.report()
        file["Runs"]["weight"].array()
        after = file.report()
    assert after.requests - before.requests == 3
    assert after.baskets > before.baskets and after.decompressed_bytes > before.decompressed_bytes
    assert after.fetched_bytes - before.fetched_bytes >= after.wanted_bytes - before.wanted_bytes > 0
    assert after.unplanned_reads == 0
