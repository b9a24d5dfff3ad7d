"""Background events: reproducible by seed, complete, and read ahead from many files."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testkit

import sapwood
from sapwood import errors

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

FILES, CLUSTERS, PER_CLUSTER = 3, 4, 25
POOL = FILES * CLUSTERS * PER_CLUSTER


@pytest.fixture
def served(pool: Path) -> Iterator[str]:
    """The URL of the pool."""
    with testkit.serving(pool) as server:
        yield server.url


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of four clusters of 25 events; ``number`` counts them through."""
    folder = tmp_path_factory.mktemp("pool")
    for file_number in range(FILES):
        with uproot.recreate(folder / f"{file_number}.root") as file:
            tree = file.mktree("Events", {"number": "int64", "hits": "var * float32"})
            for cluster in range(CLUSTERS):
                first = (file_number * CLUSTERS + cluster) * PER_CLUSTER
                numbers = np.arange(first, first + PER_CLUSTER)
                hits = ak.unflatten(np.repeat(numbers, numbers % 3).astype("f4"), numbers % 3)
                tree.extend({"number": numbers, "hits": hits})
    return folder


def background(pool: Path, **options: Any) -> sapwood.Background:
    return sapwood.Background(f"{pool}/*.root:Events", **{"seed": 1, **options})


def numbers(events: Any) -> list[int]:
    return ak.to_list(events["number"])


@pytest.mark.parametrize("mode", ["sequential", "random-clusters"])
def test_the_same_seed_gives_the_same_events_however_they_are_taken(pool: Path, mode: str) -> None:
    with background(pool, mode=mode) as one, background(pool, expressions=["number"], mode=mode) as other:
        at_once = numbers(one.take(2 * POOL + 7))
        in_parts = [n for count in (0, 1, 13, 60, 2 * POOL - 67) for n in numbers(other.take(count))]
    assert at_once == in_parts
    assert len(at_once) == 2 * POOL + 7
    with background(pool, mode=mode, seed=2) as another:
        assert numbers(another.take(50)) != at_once[:50]


def test_a_seed_means_the_same_events_for_ever(pool: Path) -> None:
    with background(pool, seed=2**70 + 5) as one, background(pool, seed=3, mode="random-clusters") as other:
        assert numbers(one.take(3)) == [30, 31, 32]
        assert numbers(other.take(26))[::25] == [125, 150]


def test_sequential_goes_round_from_anywhere(pool: Path) -> None:
    starts = set()
    for seed in range(8):
        with background(pool, seed=seed) as events:
            found = numbers(events.take(POOL))
        assert found == [(found[0] + step) % POOL for step in range(POOL)]
        starts.add(found[0])
    assert len(starts) > 4


def test_random_clusters_use_each_event_once_a_round(pool: Path) -> None:
    with background(pool, mode="random-clusters") as events:
        rounds = [numbers(events.take(POOL)) for _ in range(2)]
    assert sorted(rounds[0]) == sorted(rounds[1]) == list(range(POOL))
    assert rounds[0] != rounds[1]
    clusters = [rounds[0][i : i + PER_CLUSTER] for i in range(0, POOL, PER_CLUSTER)]
    assert all(one == list(range(one[0], one[0] + PER_CLUSTER)) for one in clusters)
    assert [one[0] for one in clusters] != sorted(one[0] for one in clusters)


@pytest.mark.parametrize("mode", ["sequential", "random-clusters"])
def test_long_clusters_come_in_pieces(pool: Path, mode: str) -> None:
    with background(pool, mode=mode, most_entries=10) as events:
        _, reports = events.take(POOL, report=True)
    assert max(one.stop - one.start for one in reports) == 10
    assert sum(one.stop - one.start for one in reports) == POOL


def test_the_report_says_which_events_they_are(pool: Path) -> None:
    with background(pool, mode="random-clusters", seed=4) as events:
        found, reports = events.take(180, report=True)
    place = [int(Path(one.file_path).stem) * CLUSTERS * PER_CLUSTER for one in reports]
    named = [base + n for base, one in zip(place, reports, strict=True) for n in range(one.start, one.stop)]
    assert named == numbers(found)


def test_overlay_gives_a_list_for_each_primary_event(pool: Path) -> None:
    with background(pool) as events, background(pool) as plain:
        fixed = events.overlay(10, number=4)
        drawn = events.overlay(500, mean=2.5)
        assert ak.num(fixed).tolist() == [4] * 10
        assert abs(ak.num(drawn).to_numpy().mean() - 2.5) < 0.3
        assert len(set(ak.num(drawn).tolist())) > 4
        one_by_one = numbers(ak.flatten(fixed)) + numbers(ak.flatten(drawn))
        assert one_by_one == numbers(plain.take(len(one_by_one)))
        assert len(events.overlay(0, mean=3.0)) == 0
    with background(pool) as events:
        events.overlay(10, number=4)
        assert ak.num(events.overlay(500, mean=2.5)).tolist() == ak.num(drawn).tolist()


@pytest.mark.parametrize("library", ["np", "pd", "arrow"])
def test_other_libraries(pool: Path, library: str) -> None:
    pytest.importorskip({"np": "numpy", "pd": "pandas", "arrow": "pyarrow"}[library])
    with background(pool, library=library) as events, background(pool) as plain:
        expected = plain.take(90)
        found = events.take(90)
        as_list = found["number"].to_pylist() if library == "arrow" else found["number"].tolist()
        assert as_list == numbers(expected)


def test_the_next_clusters_are_read_before_they_are_asked_for(served: str) -> None:
    files = [f"{served}/{number}.root:Events" for number in range(FILES)]
    with sapwood.Background(files, ["hits"], seed=1, mode="random-clusters") as events:
        _, (report,) = events.take(1, report=True)
        file = report.tree.file
        (basket,) = {size for size, _ in report.tree["hits"].basket_sizes[:1]}
        until = time.monotonic() + 10

        def ready() -> bool:
            return file.report().baskets >= 2 and file.report().wanted_bytes >= 3 * basket

        while not ready() and time.monotonic() < until:
            time.sleep(0.01)
        assert ready()
        assert file.report().baskets == 2
        assert file.report().unplanned_reads == 0
        events.take(3 * POOL)


@pytest.mark.parametrize(
    "options", [{"seed": -1}, {"mode": "sideways"}, {"most_entries": 0}, {"expressions": "no_such_branch"}]
)
def test_invalid_options_are_refused(pool: Path, options: dict[str, Any]) -> None:
    with pytest.raises(errors.SapwoodError), background(pool, **options) as events:
        events.take(1)


def test_a_pool_without_events_ends(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "none.root") as file:
        file.mktree("Events", {"number": "int64"})
    with background(tmp_path) as events, pytest.raises(errors.UsageError, match="no events"):
        events.take(1)


def test_each_event_is_equally_likely_to_be_the_first(pool: Path) -> None:
    firsts: Counter[int] = Counter()
    for seed in range(60):
        with background(pool, expressions=["number"], seed=seed) as events:
            firsts[numbers(events.take(1))[0] // (POOL // FILES)] += 1
    assert min(firsts[file] for file in range(FILES)) >= 8
