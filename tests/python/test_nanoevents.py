"""coffea's NanoEvents over sapwood: the values that coffea reads through uproot, and only columns in use."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import sapwood

pytest.importorskip("coffea", reason="coffea is not installed: its events over sapwood are not tested")


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file with names as NanoAOD has them."""
    import awkward as ak
    import numpy as np
    import uproot

    random = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("nano") / "nano.root"
    counts = random.integers(0, 4, 1000)
    values = {
        name: ak.unflatten(random.normal(20, 5, counts.sum()).astype("f4"), counts)
        for name in ("pt", "eta", "phi", "mass")
    }
    values["charge"] = ak.unflatten(random.choice([-1, 1], counts.sum()).astype("i4"), counts)
    with uproot.recreate(path) as file:
        muon = "var * {pt: float32, eta: float32, phi: float32, mass: float32, charge: int32}"
        ids = ("run", "luminosityBlock", "event")
        tree = file.mktree("Events", {**dict.fromkeys(ids, "uint32"), "MET_pt": "f4", "Muon": muon})
        numbers = np.arange(1000, dtype="u4")
        tree.extend({**dict.fromkeys(ids, numbers), "MET_pt": counts.astype("f4"), "Muon": ak.zip(values)})
    return path


@pytest.mark.parametrize("schema", ["NanoAODSchema", "BaseSchema"])
def test_the_same_as_by_uproot(nano: Path, schema: str) -> None:
    import awkward as ak
    from coffea import nanoevents

    schemaclass = getattr(nanoevents, schema)
    log: list[Any] = []
    with sapwood.open(f"{nano}:Events") as tree, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sapwood.nanoevents(tree, schemaclass=schemaclass, entry_start=100, access_log=log)
        factory = nanoevents.NanoEventsFactory.from_root(
            {str(nano): "Events"}, schemaclass=schemaclass, entry_start=100, mode="virtual"
        )
        expected = factory.events()
        assert sorted(found.fields) == sorted(expected.fields) and len(found) == 900
        assert tree.file.report().baskets == 0
        if schema == "NanoAODSchema":
            masses = []
            for events in (found, expected):
                muons = events.Muon[events.Muon.pt > 15]
                pairs = muons[ak.num(muons) >= 2]
                masses.append((pairs[:, 0] + pairs[:, 1]).mass)
            assert len(masses[0]) > 50 and ak.array_equal(*masses)
            assert {one.branch for one in log} <= {
                f"Muon_{x}" for x in ("pt", "eta", "phi", "mass", "charge")
            } | {"nMuon"}
        else:
            assert ak.array_equal(found.Muon_pt, expected.Muon_pt)
        assert ak.array_equal(ak.materialize(found.run), ak.materialize(expected.run))


def test_used_columns_are_learned(nano: Path, tmp_path: Path) -> None:
    profile = sapwood.Profile(tmp_path / "profile.json")
    with sapwood.open(f"{nano}:Events") as tree, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        events = sapwood.nanoevents(tree, profile=profile)
        assert events.run[5] == 5
        [use] = tree.file.report().lazy
    assert use.kind == "nanoevents" and list(use.columns) == ["run"]
    assert list(profile.trees[0].columns) == ["run"]


def test_many_files(nano: Path, tmp_path: Path) -> None:
    place = tmp_path / "loop.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loop = sapwood.nanoevents([f"{nano}:Events"] * 3, resume=place)
        for number, events in enumerate(loop):
            assert events.run[5] == 5 and len(events.Muon) == 1000
            if number == 1:
                break
        loop = sapwood.nanoevents([f"{nano}:Events"] * 3, resume=place)
        assert [len(events) for events in loop] == [1000, 1000]
    assert loop.report().entries == 3000
    with pytest.raises(sapwood.errors.UsageError, match="steps"):
        sapwood.nanoevents([f"{nano}:Events"], entry_stop=5)
