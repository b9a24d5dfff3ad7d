"""Members of the objects in a branch as columns of their own."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood.errors import KeyInFileError


@pytest.fixture
def tracks(corpus: Path) -> Iterator[sapwood.Tree]:
    """A tree with structures of leaves, some in branches whose names end in a dot."""
    with sapwood.open(corpus / "skhep__uproot-issue-513.root")["TrkAnaNeg/trkana"] as tree:
        yield tree


def test_a_member_is_found_by_its_path(tracks: sapwood.Tree) -> None:
    whole = tracks["evtinfo."].array(library="np")
    for found in (tracks["evtinfo.runid"], tracks["evtinfo."]["runid"], tracks["evtinfo..runid"]):
        assert found.request == (tracks["evtinfo."].index, "runid")
        assert (found.name, found.path, found.typename) == ("evtinfo.runid", "evtinfo.runid", "int32_t")
        assert found.array(library="np").tolist() == whole["runid"].tolist()
    assert "evtinfo.runid" in tracks and "evtinfo.nothing" not in tracks
    assert "evtinfo.runid" not in list(tracks)
    assert tracks["evtinfo.runid"].parent == tracks["evtinfo."]


def test_members_are_columns_of_tables_and_of_expressions(tracks: sapwood.Tree) -> None:
    whole = tracks["evtinfo."].array(library="np")
    table = tracks.arrays(["evtinfo.eventid", "evtinfo.runid", "evtinfo.eventid - 1"], library="np")
    assert table["evtinfo.eventid"].tolist() == whole["eventid"].tolist()
    assert table["evtinfo.runid"].tolist() == whole["runid"].tolist()
    assert table["evtinfo.eventid - 1"].tolist() == (whole["eventid"] - 1).tolist()
    steps = list(tracks.iterate(["evtinfo.runid", "evtinfo."], step_size=3, library="np", how=tuple))
    assert np.concatenate([runs for runs, _ in steps]).tolist() == whole["runid"].tolist()
    assert np.concatenate([infos for _, infos in steps]).tolist() == whole.tolist()


def test_members_of_a_branch_are_read_together(corpus: Path) -> None:
    path = corpus / "skhep__uproot-issue-513.root"
    costs = []
    for names in (["evtinfo."], ["evtinfo.runid", "evtinfo.eventid", "evtinfo."]):
        with sapwood.open(path)["TrkAnaNeg/trkana"] as tree:
            before = tree.file.report().baskets
            tree.arrays(names, library="np")
            costs.append(tree.file.report().baskets - before)
    assert costs[0] == costs[1] > 0


def test_members_are_listed(tracks: sapwood.Tree) -> None:
    branch = tracks["evtinfo."]
    assert branch.fields == ["eventid", "runid", "subrunid", "nprotons"]
    assert branch["runid"].fields == [] and branch["runid"].keys() == []
    out = io.StringIO()
    branch.show(stream=out)
    assert out.getvalue().splitlines()[3].split() == ["eventid", "|", "int32_t", "|", "int32"]


def test_an_unknown_member_names_those_that_are_near(tracks: sapwood.Tree) -> None:
    with pytest.raises(KeyInFileError, match=r"'evtinfo\.runid'") as caught:
        tracks["evtinfo.runide"]
    assert "evtinfo.runid" in caught.value.keys
    with pytest.raises(KeyInFileError, match=r"'evtinfo\.runid'"):
        tracks.arrays(["evtinfo.runide + 1"])
    with pytest.raises(KeyInFileError):
        tracks["evtinfo.runid.more"]


def test_a_member_can_be_pickled(tracks: sapwood.Tree) -> None:
    member = tracks["evtinfo.runid"]
    copy = pickle.loads(pickle.dumps(member))
    with copy.file:
        assert copy.request == member.request
        assert copy.array(library="np").tolist() == member.array(library="np").tolist()


def test_members_that_cannot_be_read_are_reported(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-mc10events.root")["Events"] as tree:
        branch = tree["Info"]
        ((path, reason),) = branch.skipped
        assert path == "triggerBits" and "lost" in reason
        assert path not in branch.fields and "runNum" in branch.fields
        assert branch["runNum"].skipped == []


def test_only_what_is_asked_for_is_built(corpus: Path) -> None:
    """A member of an object is the same, whether it is read alone or with the whole."""
    with sapwood.open(corpus / "skhep__uproot-HZZ-objects.root")["events"] as tree:
        whole = tree["muonp4"].array(library="np", entry_stop=50)
        energies = tree["muonp4.fE"].array(library="np", entry_stop=50)
        x = tree["muonp4.fP.fX"].array(library="np", entry_stop=50)
        for objects, energy, momentum in zip(whole, energies, x, strict=True):
            assert objects["fE"].tolist() == energy.tolist()
            assert objects["fP"]["fX"].tolist() == momentum.tolist()


def test_patterns_with_a_dot_find_members_if_they_match_no_branch(
    tracks: sapwood.Tree, tmp_path: Path
) -> None:
    assert tracks.keys(filter_name="evtinfo.*") == ["evtinfo."]
    assert tracks.keys(filter_name="evtinfo.run*") == ["evtinfo.runid"]
    with sapwood.recreate(tmp_path / "muons.root") as file:
        muons = [[{"pt": 1.0, "id": {"loose": 1, "tight": 0}}], []]
        file.mkrntuple("Events", {"Muon": muons, "x": [1, 2]})
    with sapwood.open(f"{tmp_path}/muons.root:Events") as tree:
        assert tree.keys() == ["Muon", "x"]
        assert tree.keys(filter_name="Muon.*") == ["Muon.pt", "Muon.id"]
        assert tree.typenames(filter_name="Muon.id.*") == {
            "Muon.id.loose": "int64_t[]",
            "Muon.id.tight": "int64_t[]",
        }
        assert tree.keys(filter_name="*.pt") == ["Muon.pt"]
        assert tree.keys(filter_name="Muon.nothing") == []
        assert tree.keys(filter_name="Muon.*", recursive=False) == []
        chosen = ["x", "/Muon[.]p/", "Muon.id.t*"]
        arrays = tree.arrays(filter_name=chosen)
        assert arrays.tolist() == [
            {"x": 1, "Muon.pt": [1.0], "Muon.id.tight": [0]},
            {"x": 2, "Muon.pt": [], "Muon.id.tight": []},
        ]
        (chunk,) = tree.lazy(filter_name=chosen)
        assert chunk["Muon.pt"].tolist() == arrays["Muon.pt"].tolist()
        (step,) = sapwood.iterate(tree, filter_name=chosen)
        assert step.tolist() == arrays.tolist()
