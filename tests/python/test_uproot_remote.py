"""Under uproot's names, columns of remote files take few round trips, and a closed file stays closed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import testkit

uproot = pytest.importorskip("uproot")
if tuple(map(int, uproot.__version__.split(".")[:2])) < (5, 7):
    pytest.skip("uproot is too old", allow_module_level=True)


@testkit.needs_testkit
def test_a_remote_tree_takes_at_most_four_round_trips(
    events_file: Path, switch: Callable[[bool], None]
) -> None:
    switch(True)
    with testkit.serving(events_file.parent) as server:
        server.counts_since()
        tree = uproot.open(f"{server.url}/{events_file.name}:Events")
        assert tree.arrays(["met", "Muon_pt"]).fields == ["met", "Muon_pt"]
        counts = server.counts_since()
        assert counts["round_trips"] <= 4
        counters = tree.source.performance_counters
        assert counters.num_requests == counts["requests"]
        assert 0 < counters.num_requested_bytes <= counts["bytes_sent"]
        assert tree.file.source.num_requested_bytes == counters.num_requested_bytes


@pytest.fixture(scope="module")
def many_baskets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 6 MB: twenty clusters of four columns."""
    path = tmp_path_factory.mktemp("many") / "many.root"
    random = np.random.default_rng(3)
    with uproot.recreate(path, compression=None) as file:
        tree = file.mktree("Events", dict.fromkeys("abcd", "float64"))
        for _ in range(20):
            tree.extend({name: random.random(10_000) for name in "abcd"})
    return path


@testkit.needs_testkit
def test_the_sizes_of_all_baskets_are_read_in_one_round_trip(
    many_baskets: Path, switch: Callable[[bool], None]
) -> None:
    def read(path: Path | str) -> list[int]:
        tree = uproot.open(path)["Events"]
        return [len(part) for part in tree.iterate(["a", "b", "d"], step_size="2 MB")]

    expected = read(many_baskets)
    switch(True)
    with testkit.serving(many_baskets.parent) as server:
        server.counts_since()
        assert read(f"{server.url}/many.root") == expected
        # Not one for each of the 60 baskets.
        assert server.counts_since()["round_trips"] <= 20


@testkit.needs_testkit
def test_columns_read_one_by_one_are_fetched_together_in_later_ranges(
    many_baskets: Path, switch: Callable[[bool], None]
) -> None:
    expected = uproot.open(many_baskets)["Events"].arrays(library="np")
    switch(True)
    with testkit.serving(many_baskets.parent) as server:

        def read(names: str, start: int, stop: int) -> tuple[int, int]:
            server.counts_since()
            with uproot.open(f"{server.url}/many.root") as file:
                tree = file["Events"]
                for name in names:
                    found = tree[name].array(library="np", entry_start=start, entry_stop=stop)
                    assert np.array_equal(found, expected[name][start:stop])
            counts = server.counts_since()
            return counts["round_trips"], counts["bytes_sent"]

        assert read("abc", 0, 20_000)[0] > 3
        # The file is still open, and "b" and "c" come with "a".
        assert read("abc", 20_000, 40_000)[0] == 1
        assert read("cab", 40_000, 60_000)[0] == 1
        assert read("abcd", 60_000, 80_000)[0] == 2
        # What is not read any more is soon not fetched any more.
        for start in range(80_000, 140_000, 20_000):
            read("a", start, start + 20_000)
        trips, size = read("a", 140_000, 160_000)
        assert trips == 1 and size < 250_000


@testkit.needs_testkit
def test_a_closed_remote_file_cannot_be_read_though_it_stays_open_for_others(
    many_baskets: Path, switch: Callable[[bool], None]
) -> None:
    switch(True)
    with testkit.serving(many_baskets.parent) as server:
        url = f"{server.url}/many.root"
        with uproot.open(url) as first:
            early = first["Events"]
            late = uproot.open(url)["Events"]
        assert first.closed and not late.file.closed
        with pytest.raises(OSError, match="closed"):
            early["a"].array()
        assert len(late["a"].array()) == 200_000
