"""What cabinetry fills histograms with, from trees; its own tests make RNTuples since uproot 5.7."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import uproot

creator = pytest.importorskip("cabinetry.contrib.histogram_creator")

EDGES = np.linspace(0, 100, 11)


@pytest.fixture(scope="module")
def ntuples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files of events."""
    folder = tmp_path_factory.mktemp("cabinetry")
    paths = [folder / "0.root", folder / "1.root"]
    for number, path in enumerate(paths):
        with uproot.recreate(path) as file:
            tree = file.mktree("events", {"pt": "float64", "w": "float64", "n": "int32"})
            values = np.arange(100.0)
            tree.extend({"pt": values, "w": values * 0 + 1 + number, "n": np.arange(100) % 3})
    return paths


def test_events_are_counted(ntuples: list[Path]) -> None:
    found = creator.with_uproot(ntuples, "events", "pt", EDGES)
    assert found.values().tolist() == [20] * 10


def test_events_are_selected_and_weighted_by_expressions(ntuples: list[Path]) -> None:
    found = creator.with_uproot(
        [ntuples[0].with_name("*.root")], "events", "pt", EDGES, weight="2*w", selection_filter="n == 1"
    )
    values = np.arange(100.0)[np.arange(100) % 3 == 1]
    assert found.values().tolist() == (6 * np.histogram(values, EDGES)[0]).tolist()
