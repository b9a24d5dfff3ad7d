"""The example file: it shows the Z and the J/psi, is the same every time, and replaces nothing unasked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sapwood
from sapwood.cli._app import app


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sapwood.example(tmp_path_factory.mktemp("example") / "nano.root")


def test_two_muons_show_the_known_masses(nano: str) -> None:
    muons = sapwood.open(f"{nano}:Events").arrays(filter_name="Muon_*", cut="nMuon == 2")
    pt, eta, phi, charge = (muons[f"Muon_{name}"].to_numpy().T for name in ("pt", "eta", "phi", "charge"))
    mass = np.sqrt(2 * pt[0] * pt[1] * (np.cosh(eta[0] - eta[1]) - np.cos(phi[0] - phi[1])))
    mass = mass[charge[0] != charge[1]]

    def per_gev(low: float, high: float) -> float:
        return np.count_nonzero((low < mass) & (mass < high)) / (high - low)

    assert per_gev(88, 94) > 10 * per_gev(65, 80)
    # Muons weigh something: at 3 GeV, the formula for massless ones is off by less than its resolution.
    assert per_gev(2.9, 3.3) > 10 * per_gev(4, 8)
    assert per_gev(9.2, 9.7) > 5 * per_gev(4, 8)


def test_lists_fit_their_counters_and_fall_in_momentum(nano: str) -> None:
    ak = pytest.importorskip("awkward")
    events = sapwood.open(f"{nano}:Events").arrays()
    assert len(events) == 50_000
    for name in ("Muon", "Electron", "Jet"):
        pt = events[f"{name}_pt"]
        assert (events[f"n{name}"] == ak.num(pt)).to_numpy().all()
        falls = pt[:, 1:] <= pt[:, :-1]
        assert ak.all(falls, axis=None) and ak.count(falls) == np.maximum(ak.num(pt) - 1, 0).to_numpy().sum()
    assert 0.02 < events.HLT_IsoMu24.to_numpy().mean() < 0.5


def test_the_same_seed_makes_the_same_events(tmp_path: Path) -> None:
    def read(seed: int) -> list[float]:
        path = sapwood.example(tmp_path / "one.root", events=100, seed=seed, overwrite=True)
        return list(sapwood.open(f"{path}:Events").arrays("MET_pt").MET_pt)

    assert read(1) == read(1) != read(2)


def test_uproot_reads_it(nano: str) -> None:
    ak, uproot = pytest.importorskip("awkward"), pytest.importorskip("uproot")
    with uproot.open(nano) as file:
        found, expected = file["Events"].arrays(), sapwood.open(f"{nano}:Events").arrays()
        assert found.fields == expected.fields
        for name in expected.fields:
            assert ak.array_equal(found[name], expected[name]), name
        assert file["Runs"]["genEventCount"].array().tolist() == [50_000]


def test_without_events_all_branches_are_there(nano: str, tmp_path: Path) -> None:
    with (
        sapwood.open(sapwood.example(tmp_path / "empty.root", events=0)) as empty,
        sapwood.open(nano) as full,
    ):
        assert empty.keys() == full.keys()
        for name in empty.keys(cycle=False):
            assert empty[name].num_entries == 0
            assert empty[name].typenames() == full[name].typenames()
            assert len(empty[name].arrays()) == 0


def test_the_command_refuses_to_replace_a_file(tmp_path: Path) -> None:
    path = tmp_path / "nano.root"
    first = CliRunner().invoke(app, ["example", str(path), "-n", "10"])
    assert first.exit_code == 0 and "10 events" in first.stdout
    again = CliRunner().invoke(app, ["example", str(path)])
    assert again.exit_code != 0 and "exists" in again.output
    assert CliRunner().invoke(app, ["example", str(path), "-n", "20", "--force"]).exit_code == 0
    assert sapwood.open(f"{path}:Events").num_entries == 20


def test_an_existing_file_is_replaced_on_demand_only(tmp_path: Path) -> None:
    path = sapwood.example(tmp_path / "one.root", events=10)
    with pytest.raises(sapwood.errors.UsageError, match="overwrite=True"):
        sapwood.example(path, events=20)
    assert sapwood.open(path)["Events"].num_entries == 10
    assert sapwood.open(sapwood.example(path, events=20, overwrite=True))["Events"].num_entries == 20
