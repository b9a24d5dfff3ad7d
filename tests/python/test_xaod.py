"""ATLAS xAOD files: containers, their stores, and element links."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import xaod
from sapwood.errors import BranchSkippedWarning, KeyInFileError, UsageError

ak = pytest.importorskip("awkward")

FILE = Path(__file__).resolve().parents[1] / "data" / "xaod" / "xaod.root"
ENTRIES, TRUTH = 20, 394100163


@pytest.fixture
def tree() -> Iterator[sapwood.Tree]:
    with sapwood.open(f"{FILE}:CollectionTree") as tree:
        yield tree


def electrons(entry: int) -> list[dict[str, Any]]:
    """What make.cpp writes as the electrons of an entry."""
    return [{"pt": 10.0 * entry + i, "eta": 0.25 * i, "charge": 1 if i % 2 else -1} for i in range(entry % 4)]


@pytest.mark.parametrize("name", ["ElectronsAux.pt", "ElectronsAuxDyn.charge", "MuonsAux.pt"])
def test_variables_go_by_their_usual_names(tree: sapwood.Tree, name: str) -> None:
    container, _, variable = name.replace("Dyn", "").partition("Aux.")
    array = tree[name].array()
    assert len(array) == ENTRIES
    assert array.to_list() == xaod.container(tree, container)[variable].array().to_list()


def test_containers_have_the_variables_of_both_stores(tree: sapwood.Tree) -> None:
    assert xaod.containers(tree) == ["EventInfo", "Electrons", "Muons", "Truth"]
    found = xaod.container(tree, "Electrons")
    assert found.keys() == ["pt", "eta", "charge", "truthParticleLink", "parents", "rare"]
    assert "pt" in found
    assert len(found) == 6
    assert not found.is_single


def test_variables_are_zipped_to_objects(tree: sapwood.Tree) -> None:
    found = xaod.container(tree, "Electrons")
    array = found.arrays(["pt", "eta", "charge"])
    assert array.fields == ["pt", "eta", "charge"]
    assert array.to_list() == [electrons(e) for e in range(ENTRIES)]
    assert found.arrays("charge", entries=[6, 2]).to_list() == array[["charge"]][[6, 2]].to_list()
    assert found.arrays("charge", 6, 7).to_list() == [[{"charge": -1}, {"charge": 1}]]


def test_an_unsplit_store(tree: sapwood.Tree) -> None:
    found = xaod.container(tree, "Muons")
    assert found.keys() == ["pt", "author"]
    assert found.arrays().to_list() == [[{"pt": float(e), "author": e}] * (e % 3) for e in range(ENTRIES)]


def test_all_variables_without_those_that_some_objects_lack(tree: sapwood.Tree) -> None:
    with pytest.warns(BranchSkippedWarning, match=r"rare.*not filled|not filled.*rare"):
        array = xaod.container(tree, "Electrons").arrays()
    assert array.fields == ["pt", "eta", "charge", "truthParticleLink", "parents"]


def test_one_object_per_event(tree: sapwood.Tree) -> None:
    info = xaod.container(tree, "EventInfo")
    assert info.is_single
    expected = [{"runNumber": 7, "eventNumber": 5_000_000_000 + e} for e in range(ENTRIES)]
    assert info.arrays().to_list() == expected


def test_missing_names_are_reported_with_similar_ones(tree: sapwood.Tree) -> None:
    with pytest.raises(KeyInFileError, match="Electrons"):
        xaod.container(tree, "Electron")
    with pytest.raises(KeyInFileError, match="charge"):
        xaod.container(tree, "Electrons")["charg"]


def test_links_are_records(tree: sapwood.Tree) -> None:
    links = xaod.container(tree, "Electrons")["truthParticleLink"].array()
    assert links[3].to_list() == [
        {"m_persKey": TRUTH, "m_persIndex": 0},
        {"m_persKey": TRUTH, "m_persIndex": 1},
        {"m_persKey": 0, "m_persIndex": 0},
    ]


def test_links_are_followed(tree: sapwood.Tree) -> None:
    names = xaod.link_names(tree.file)
    assert names == {TRUTH: "Truth", 956497600: "Electrons"}
    truth = xaod.container(tree, "Truth").arrays("e")
    found = xaod.container(tree, "Electrons")
    one = xaod.follow(found["truthParticleLink"].array(), "Truth", truth, names)
    assert one[7].to_list() == [{"e": 700.0}, {"e": 701.0}, None]
    assert one[4].to_list() == []
    several = xaod.follow(found["parents"].array(), "Truth", truth, names)
    assert several[3].to_list() == [[], [{"e": 301.0}], [{"e": 301.0}] * 2]
    with pytest.raises(UsageError, match="beyond"):
        xaod.follow(found["parents"].array(), "Truth", truth[:, :1], names)
    with pytest.raises(KeyInFileError, match="Muons"):
        xaod.follow(found["parents"].array(), "Muons", truth, names)


def test_a_physlite_file(corpus: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = corpus / "coffea__PHYSLITE_example.root"
    wanted = ["pt", "eta", "phi"]
    with sapwood.open(path) as file, uproot.open(path) as reference:
        tree, theirs = file["CollectionTree"], reference["CollectionTree"]
        for name in ("AnalysisElectrons", "AnalysisMuons", "AnalysisJets"):
            array = xaod.container(tree, name).arrays(wanted)
            assert array.fields == wanted
            for variable in wanted:
                expected = theirs[f"{name}AuxDyn.{variable}"].array()
                assert array[variable].to_list() == expected.to_list()
        info = xaod.container(tree, "EventInfo").arrays(["runNumber", "eventNumber"])
        assert info.ndim == 1
        with pytest.raises(KeyInFileError, match="MetaData"):
            xaod.link_names(file)


def test_a_container_without_variables(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-issue-951.root") as file:
        found = xaod.container(file["CollectionTree"], "TruthBSM")
        assert found.keys() == []
        assert found.arrays().to_list() == [{}] * file["CollectionTree"].num_entries
        assert xaod.link_names(file)


def test_links_of_a_physlite_file_lead_to_truth(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-issue-123b.root") as file:
        names = xaod.link_names(file)
        assert names[956497600] == "AnalysisElectrons"
        tree = file["CollectionTree"]
        found = xaod.container(tree, "AnalysisElectrons").arrays(["pt", "truthParticleLink"])
        links = found.truthParticleLink
        keys = set(ak.flatten(links.m_persKey).to_list()) - {0}
        assert keys
        assert keys <= names.keys()


def test_examples() -> None:
    assert doctest.testmod(xaod).failed == 0
