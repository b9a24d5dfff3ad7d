"""What zfit makes data sets of, from trees."""

from __future__ import annotations

import numpy as np
import pytest
import uproot

zfit = pytest.importorskip("zfit")

EVENTS = 1000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of decays."""
    path = tmp_path_factory.mktemp("zfit") / "decays.root"
    random = np.random.default_rng(5)
    with uproot.recreate(path) as file:
        tree = file.mktree("decays", {"B_M": "float64", "B_PT": "float32", "weight": "float64"})
        mass = np.linspace(5000, 5600, EVENTS)
        values = {"B_M": mass, "B_PT": random.exponential(5, EVENTS).astype("f4"), "weight": mass * 0 + 0.5}
        tree.extend(values)
    return str(path)


def test_columns_are_read_by_the_names_of_observables(path: str) -> None:
    space = zfit.Space(["B_M", "B_PT"])
    data = zfit.Data.from_root(path, "decays", obs=space)
    values = np.asarray(data.value())
    assert values.shape == (EVENTS, 2)
    assert np.array_equal(values[:, 0], np.linspace(5000, 5600, EVENTS))


def test_limits_cut_and_weights_come_from_a_branch(path: str) -> None:
    space = zfit.Space("mass", limits=(5200, 5400))
    data = zfit.Data.from_root(path, "decays", obs=space, obs_alias={"mass": "B_M"}, weights="weight")
    mass = np.linspace(5000, 5600, EVENTS)
    inside = mass[(mass >= 5200) & (mass <= 5400)]
    assert np.array_equal(np.asarray(data.value())[:, 0], inside)
    assert np.asarray(data.weights).tolist() == [0.5] * len(inside)
