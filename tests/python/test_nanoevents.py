"""coffea's NanoEvents over sapwood: the values that coffea reads through uproot, and only columns in use."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from textwrap import dedent
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


@pytest.mark.parametrize("mode", ["eager", "virtual", "dask"])
def test_coffea_takes_an_open_file(nano: Path, mode: str) -> None:
    import awkward as ak
    from coffea.nanoevents import NanoEventsFactory

    if mode == "dask":
        pytest.importorskip("dask_awkward", reason="dask-awkward is not installed: coffea needs it for dask")
    with sapwood.open(nano) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = (
            NanoEventsFactory.from_root(what, mode=mode, **options).events()
            for what, options in ((file, {"treepath": "Events"}), ({str(nano): "Events"}, {}))
        )
        assert sorted(found.fields) == sorted(expected.fields)
        masses = [events.Muon[events.Muon.pt > 22].mass for events in (found, expected)]
        if mode == "dask":
            before = file.report().baskets
            tree = NanoEventsFactory.from_root(file["Events"], mode="dask").events()
            masses.append(tree.Muon[tree.Muon.pt > 22].mass)
            masses = [mass.compute(scheduler="sync") for mass in masses]
            assert file.report().baskets > before and ak.array_equal(masses[0], masses.pop())
        assert ak.count(masses[0]) > 100 and ak.array_equal(*masses)
        if mode == "virtual":
            assert file.report().baskets == 3, "only columns in use are read: nMuon, Muon_pt and Muon_mass"


def test_uproot_dask_takes_an_open_tree(nano: Path) -> None:
    import uproot

    pytest.importorskip("dask_awkward", reason="dask-awkward is not installed: uproot.dask needs it")
    import dask

    with sapwood.open(nano) as file:
        arrays, report = uproot.dask(file["Events"], open_files=False, allow_read_errors_with_report=True)
        values, cost = dask.compute(arrays.MET_pt, report, scheduler="sync")
        assert values.to_list() == file["Events/MET_pt"].array().to_list()
        assert cost.performance_counters.num_requests[0] > 0


def test_a_file_that_was_opened_before_coffea_was_imported(nano: Path) -> None:
    code = """
        import sys, warnings
        import sapwood
        file = sapwood.open(sys.argv[1])
        assert "uproot" not in sys.modules
        warnings.simplefilter("ignore")
        from coffea.nanoevents import NanoEventsFactory
        print(len(NanoEventsFactory.from_root(file, treepath="Events").events()))
    """
    run = subprocess.run(
        [sys.executable, "-c", dedent(code), str(nano)], stdout=subprocess.PIPE, text=True, check=True
    )
    assert run.stdout == "1000\n"


@pytest.mark.parametrize(
    ("name", "tree", "schema", "wrong"),
    [
        ("coffea-hist__nano_dy__64aa2c2d", "Events", "NanoAODSchema", set()),
        ("coffea__pfnano", "Events", "PFNanoAODSchema", set()),
        # uproot reads wrong links of METAssoc_MET, and cannot read a branch of each of the others.
        (
            "coffea__PHYSLITE_example",
            "CollectionTree",
            "PHYSLITESchema",
            {"METAssoc_MET", "egammaClusters", "EventInfo"},
        ),
    ],
)
def test_coffea_reads_files_of_experiments_as_by_uproot(
    corpus: Path, name: str, tree: str, schema: str, wrong: set[str]
) -> None:
    import awkward as ak
    from coffea import nanoevents

    path = corpus / f"{name}.root"
    schemaclass = getattr(nanoevents, schema)
    different = set()
    with sapwood.open(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = (
            nanoevents.NanoEventsFactory.from_root(what, schemaclass=schemaclass, **options).events()
            for what, options in ((file, {"treepath": tree}), ({str(path): tree}, {}))
        )
        assert set(found.fields) == set(expected.fields)
        for field in found.fields:
            try:
                values = ak.materialize(expected[field])
            except ValueError:  # coffea does not accept the fields of some collections
                continue
            read = ak.materialize(found[field])
            if not ak.array_equal(read, values, equal_nan=True, check_parameters=False):
                different.add(field)
    assert different == wrong


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
