"""Cuts and entry lists over HTTP: bytes saved, and round trips."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import testkit
from numpy.testing import assert_array_equal

import sapwood

uproot = pytest.importorskip("uproot")

CLUSTERS, PER_CLUSTER, VALUES = 20, 100, 800
BASKET = PER_CLUSTER * VALUES * 8  # bytes


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A file of 20 clusters of 640 kB that nothing compresses, behind a round trip of 10 ms."""
    folder = tmp_path_factory.mktemp("remote")
    random = np.random.default_rng(2)
    with uproot.recreate(folder / "wide.root", compression=None) as file:
        tree = file.mktree("Events", {"number": "int64", "wide": ("f8", (VALUES,))})
        for cluster in range(CLUSTERS):
            numbers = np.arange(PER_CLUSTER) + cluster * PER_CLUSTER
            tree.extend({"number": numbers, "wide": random.random((PER_CLUSTER, VALUES))})
    with testkit.serving(folder, "--rtt-ms", "10") as server:
        yield f"{server.url}/wide.root:Events"


def test_a_cut_costs_one_more_round_trip_and_saves_bytes(url: str) -> None:
    with sapwood.open(url) as tree:
        before = tree.file.report()
        found = tree.arrays(["number", "wide"], "(number == 150) | (number == 1301)", library="np")
        after = tree.file.report()
    assert found["number"].tolist() == [150, 1301]
    assert found["wide"].shape == (2, VALUES)
    assert after.round_trips - before.round_trips <= 2
    assert after.fetched_bytes - before.fetched_bytes < 4 * BASKET
    assert after.skipped_bytes > (CLUSTERS - 3) * BASKET
    assert after.unplanned_reads == 0


def test_steps_with_a_cut_are_fetched_ahead_in_both_stages(url: str) -> None:
    steps = 10
    with sapwood.open(url) as tree:
        before = tree.file.report()
        numbers = []
        for step in tree.iterate(["number", "wide"], "number % 200 < 50", step_size=200, library="np"):
            assert step["wide"].shape == (50, VALUES)
            numbers += step["number"].tolist()
        after = tree.file.report()
    assert numbers == [n for n in range(2000) if n % 200 < 50]
    # One for each second stage: the first stage of all steps is ahead of them.
    assert after.round_trips - before.round_trips <= steps + 3
    assert after.fetched_bytes - before.fetched_bytes < (CLUSTERS // 2 + 2) * BASKET


def test_random_access_is_one_planned_read(url: str) -> None:
    entries = [1999, 17, 803, 17]
    with sapwood.open(url) as tree:
        before = tree.file.report()
        wide = tree["wide"].array(entries=entries, library="np")
        after = tree.file.report()
        assert after.round_trips - before.round_trips <= 1
        assert after.baskets - before.baskets == 3
        assert after.fetched_bytes - before.fetched_bytes < 4 * BASKET
        assert_array_equal(wide[1], wide[3])
        assert_array_equal(wide[2], tree["wide"].array(entry_start=803, entry_stop=804, library="np")[0])
