"""Trees that are repacked as RNTuples: uproot and ROOT read the values of the branches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from root_peer import rntuples_by_root

import sapwood
from sapwood.errors import UnsupportedTypeError, UsageError

ENTRIES = 500


def events() -> dict[str, Any]:
    random = np.random.default_rng(5)
    counts = random.integers(0, 4, ENTRIES)
    pt = ak.unflatten(random.normal(size=counts.sum()).astype("f4"), counts)
    return {
        "run": np.arange(ENTRIES, dtype="u4"),
        "flag": counts > 2,
        "nMuon": counts.astype("i4"),
        "Muon_pt": pt,
        "Muon_charge": ak.values_astype(pt > 0, "i1"),
        "name": [f"event {n}" for n in range(ENTRIES)],
        "p4": random.normal(size=(ENTRIES, 4)),
        "hits": ak.Array([[[n % 5] * (n % 3)] for n in range(ENTRIES)]),
    }


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.root"
    with sapwood.recreate(path) as file:
        file.mktree(
            "deep/Events", None, title="all events", titles={"Muon_pt": "transverse momentum"}
        ).extend(events())
        file["about"] = "an example"
        file["counts"] = np.histogram([1, 2, 3])
    return path


def test_branches_become_fields(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    report = sapwood.repack(tree, path, format="rntuple")
    assert dict(report.trees) == {"deep/Events": ENTRIES}
    assert report.objects == 2
    expected = {name: ak.Array(column).tolist() for name, column in events().items()}
    with uproot.open(path) as file:
        assert file.classnames()["deep/Events;1"] == "ROOT::RNTuple"
        assert file["about"] == "an example"
        read = file["deep/Events"]
        for name, values in expected.items():
            assert read[name].array().tolist() == values, name
        assert read["Muon_pt"].description == "transverse momentum"
    with sapwood.open(f"{path}:deep/Events") as copy:
        assert copy.title == "all events"
    (read,) = rntuples_by_root(path, "deep/Events")
    for name, values in expected.items():
        assert [entry[name] for entry in read["entries"]] == values, name
    muons = [entry["_collection0"] for entry in read["entries"]]
    assert [[muon["Muon_pt"] for muon in own] for own in muons] == expected["Muon_pt"]
    assert read["types"]["nMuon"] == "ROOT::RNTupleCardinality<std::uint32_t>"
    assert read["types"]["Muon_pt"] == "ROOT::VecOps::RVec<float>"
    assert read["types"]["hits"] == "std::vector<std::vector<std::int64_t>>"


def test_a_collection_and_its_projections_are_decoded_once(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    sapwood.repack(tree, path, format="rntuple")

    def decoded(*names: str) -> int:
        with sapwood.open(f"{path}:deep/Events") as read:
            read.arrays(names)
            return read.file.report().decompressed_bytes

    names = ("Muon_pt", "Muon_charge", "_collection0")
    assert decoded(*names) == decoded("_collection0") > decoded("Muon_pt") > 0
    with sapwood.open(f"{path}:deep/Events") as read:
        every = [read.arrays(names), ak.concatenate(list(read.iterate(names, step_size=40)))]
        every += [read.arrays(names, entries=range(ENTRIES)), read.arrays(names, "run >= 0")]
        for arrays in every:
            for name in names[:2]:
                assert arrays[name].tolist() == events()[name].tolist()
                assert arrays["_collection0"][name].tolist() == events()[name].tolist()


def test_entries_and_branches_can_be_chosen(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    sapwood.repack(
        tree, path, format="rntuple", keep=["Muon_pt", "run"], cut="nMuon == 2", cluster_entries=50
    )
    with uproot.open(path) as file:
        read = file["deep/Events"].arrays(["run", "nMuon", "Muon_pt"])
        assert "flag" not in read.fields
    given = events()
    wanted = given["nMuon"] == 2
    assert read.run.tolist() == given["run"][wanted].tolist()
    assert read.Muon_pt.tolist() == given["Muon_pt"][wanted].tolist()


def test_files_are_merged_to_one_rntuple(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    sapwood.merge([tree, tree], path, format="rntuple", compression="lz4:4")
    with uproot.open(path) as file:
        assert file["deep/Events"]["Muon_pt"].array().tolist() == events()["Muon_pt"].tolist() * 2


def test_trees_that_differ_are_not_merged(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.root"
    with sapwood.recreate(other) as file:
        file.mktree("deep/Events").extend({**events(), "run": np.arange(ENTRIES, dtype="i8")})
    with pytest.raises(UnsupportedTypeError, match="run"):
        sapwood.merge([tree, other], tmp_path / "out.root", format="rntuple")
    assert not (tmp_path / "out.root").exists()


def test_unknown_formats_are_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'parquet'"):
        sapwood.repack(tree, tmp_path / "out.root", format="parquet")  # type: ignore[arg-type]


def test_shared_pages_count_once(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "shared.root"
    sapwood.repack(tree, path, format="rntuple")
    with sapwood.open(f"{path}:deep/Events") as events:
        indices = [branch.index for branch in events.values()]
        stored, uncompressed, pages = events.core.shared_sizes(indices)
        assert (stored, uncompressed) == (events.compressed_bytes, events.uncompressed_bytes)
        lists = [events[name].index for name in ("Muon_pt", "Muon_charge")]
        apart = [events.core.shared_sizes([index]) for index in lists]
        assert events.core.shared_sizes(lists)[2] < sum(number for _, _, number in apart) <= pages + 1
        assert stored < path.stat().st_size
    with sapwood.open(f"{tree}:deep/Events") as events:
        assert events.core.shared_sizes([0]) is None
