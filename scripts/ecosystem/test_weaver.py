"""What weaver-core reads files with, called as its data sets call it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import uproot

fileio = pytest.importorskip("weaver.utils.data.fileio")

JETS = 500
MEMBERS = {"jet_pt": "float32", "jet_eta": "float32", "label": "int32"}


@pytest.fixture(scope="module")
def jets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of jets, with lists of particles."""
    import awkward as ak

    random = np.random.default_rng(3)
    counts = random.integers(0, 20, JETS)
    path = tmp_path_factory.mktemp("weaver") / "jets.root"
    with uproot.recreate(path) as file:
        tree = file.mktree("tree", {**MEMBERS, "part_px": "var * float32"})
        values = {name: np.arange(JETS).astype(kind) for name, kind in MEMBERS.items()}
        parts = ak.unflatten(np.arange(counts.sum(), dtype="f4"), counts)
        tree.extend({**values, "part_px": parts})
    return path


def test_the_only_tree_is_found_and_read(jets: Path) -> None:
    read = fileio._read_root(str(jets), ["jet_pt", "part_px"])
    assert read.fields == ["jet_pt", "part_px"] and len(read) == JETS
    assert np.concatenate(read.part_px.to_list()).tolist() == list(range(int(read.part_px[-1, -1]) + 1))


def test_a_part_of_a_file_is_read(jets: Path) -> None:
    read = fileio._read_root(str(jets), ["label"], load_range=(0.2, 0.6), treename="tree")
    assert read.label.to_list() == list(range(100, 300))


def test_names_are_replaced(jets: Path) -> None:
    read = fileio._read_root(str(jets), ["fatjet_pt"], branch_magic={"fatjet": "jet"})
    assert read.fatjet_pt.to_list() == list(range(JETS))


def test_several_files_are_joined(jets: Path) -> None:
    table = fileio._read_files([str(jets)] * 3, ["jet_pt", "label"], load_ranges=(0, 0.5), treename="tree")
    assert table["label"].to_list() == 3 * list(range(JETS // 2))
