"""Pile-up: numbers of interactions from any distribution, the same for the same primary event in any job."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import errors

ak = pytest.importorskip("awkward")

FILES, ENTRIES = 4, 300
POOL = FILES * ENTRIES


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files with 1,200 events; ``number`` counts them through, and the event n has n % 4 hits."""
    folder = tmp_path_factory.mktemp("pool")
    for place in range(FILES):
        with sapwood.recreate(folder / f"{place}.root") as file:
            number = np.arange(place * ENTRIES, (place + 1) * ENTRIES)
            hits = ak.unflatten(np.repeat(number, number % 4).astype("f4"), number % 4)
            columns = {"number": number, "nHit": number % 4, "Hit_id": hits, "Hit_time": hits + 0.5}
            columns["sums"] = ak.unflatten(np.ones(ENTRIES), np.full(ENTRIES, 1))
            tree = file.mktree("Events", cluster_entries=50)
            tree.extend(columns)
    return folder


def background(pool: Path, *columns: str, **options: Any) -> sapwood.Background:
    return sapwood.Background(f"{pool}/*.root:Events", [*columns] or None, **{"seed": 1, **options})


@pytest.mark.parametrize("mode", ["sequential", "random-clusters"])
def test_a_numbered_event_has_the_same_background_in_any_job(pool: Path, mode: str) -> None:
    how: dict[str, Any] = {"mean": 3.0, "bunches": range(-1, 2)}
    with background(pool, "number", mode=mode) as one:
        whole = one.overlay(range(2300), **how).number
        assert len(whole) == 2300
    for edges in ([0, 1, 500, 999, 1000, 1001, 2300], [0, 2150, 2300]):
        parts = []
        for start, stop in pairwise(edges):
            with background(pool, "number", mode=mode) as worker:
                parts.append(worker.overlay(range(start, stop), **how).number)
        assert ak.array_equal(ak.concatenate(parts), whole)
    with background(pool, "number", mode=mode) as backwards:
        late = backwards.overlay(range(1990, 2010), **how).number
        early = backwards.overlay(range(5), **how).number
    assert ak.array_equal(late, whole[1990:2010])
    assert ak.array_equal(early, whole[:5])


def test_parts_of_a_sample_have_different_background(pool: Path) -> None:
    with background(pool, "number") as events:
        found = events.overlay(range(2000), mean=2.0)
    assert ak.num(found)[:1000].tolist() != ak.num(found)[1000:].tolist()
    assert found[0].number[:1].tolist() != found[1000].number[:1].tolist()


def test_a_worker_reads_only_what_its_events_need(pool: Path) -> None:
    with background(pool, "number") as events:
        _, reports = events.overlay(range(20, 30), number=4, report=True)
        assert sum(one.stop - one.start for one in reports) == 40
        # Four of six clusters at most: those of the part before these events are passed over.
        (tree,) = {one.tree for one in reports}
        read = tree.file.report()
    with background(pool, "number") as events:
        events.overlay(range(75), number=4)
        more = tree.file.report()
    assert read.baskets <= more.baskets


def test_open_files_do_not_grow_with_the_pool(pool: Path, tmp_path: Path) -> None:
    names = []
    for number in range(40):
        names.append(tmp_path / f"{number}.root")
        names[-1].symlink_to(pool / f"{number % FILES}.root")
    with sapwood.Background([f"{name}:Events" for name in names], ["number"], seed=3) as events:
        _, reports = events.overlay(range(1000), number=12, report=True)
        trees = {id(one.tree): one.tree for one in reports}
        assert len(trees) >= 40
        assert sum(not tree.file.closed for tree in trees.values()) <= 16


class Bins:
    """A histogram as other packages have them."""

    def __init__(self, values: Any, edges: Any) -> None:
        self._pair = np.asarray(values), np.asarray(edges)

    def to_numpy(self) -> tuple[Any, Any]:
        return self._pair


def test_lists_of_probabilities(pool: Path) -> None:
    with background(pool, "number") as events:
        counts = ak.num(events.overlay(4000, number=[0, 3, 0, 1], bunches=[-1, 0]).number, axis=2).to_numpy()
    assert set(counts.ravel()) == {1, 3}
    assert abs((counts == 1).mean() - 0.75) < 0.02
    # Every bunch draws its own.
    assert abs((counts[:, 0] == counts[:, 1]).mean() - (0.75**2 + 0.25**2)) < 0.03


@pytest.mark.parametrize("edges", [[0, 1, 2, 5], [-0.5, 0.5, 1.5, 4.5]])
def test_whole_numbers_in_the_bins_of_a_histogram(pool: Path, edges: list[float]) -> None:
    with background(pool, "number") as events:
        counts = ak.num(events.overlay(4000, number=Bins([1, 0, 3], edges))).to_numpy()
    seen = np.bincount(counts, minlength=5) / len(counts)
    assert np.allclose(seen, [0.25, 0, 0.25, 0.25, 0.25], atol=0.03)


def test_a_histogram_in_a_file_gives_the_mean_of_all_bunches_of_a_crossing(
    pool: Path, tmp_path: Path
) -> None:
    path = tmp_path / "pileup.root"
    with sapwood.recreate(path) as file:
        file["pileup"] = (np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 39.0, 40.0]))
    with background(pool, "number") as events:
        lists = events.overlay(600, mean=f"{path}:pileup", bunches=range(4)).number
    counts = ak.num(lists, axis=2).to_numpy()
    few = counts.sum(axis=1) < 20
    assert 0.4 < few.mean() < 0.6
    assert counts[few].max() < 10 < counts[~few].min()
    assert abs(counts[~few].mean() - 39.5) < 1
    assert len(np.unique(counts[~few][0])) > 1


def test_functions(pool: Path) -> None:
    def train(random: np.random.RandomState, shape: tuple[int, int]) -> Any:
        """Twice as many in each bunch as in the one before."""
        return random.randint(1, 3, (shape[0], 1)) * 2 ** np.arange(shape[1])

    with background(pool, "number") as events:
        counts = ak.num(events.overlay(range(50), number=train, bunches=range(3)).number, axis=2).to_numpy()
        assert set(counts[:, 0]) == {1, 2}
        assert (counts[:, 1:] == 2 * counts[:, :-1]).all()
        own = np.array([3, 0, 7])
        assert ak.num(events.overlay(3, number=lambda _, __: own[:, np.newaxis])).tolist() == own.tolist()
        means = ak.num(events.overlay(300, mean=lambda random, shape: np.full(shape, 7.0)))
        assert abs(ak.mean(means) - 7) < 1


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({}, errors.UsageError),
        ({"number": 1, "mean": 1.0}, errors.UsageError),
        ({"number": -1}, errors.UsageError),
        ({"number": 1.5}, errors.ArgumentTypeError),
        ({"number": []}, errors.UsageError),
        ({"number": [0.0, 0.0]}, errors.UsageError),
        ({"number": [1.0, float("nan")]}, errors.UsageError),
        ({"number": [[1.0]]}, errors.ArgumentTypeError),
        ({"number": Bins([1.0], [0.2, 0.8])}, errors.UsageError),
        ({"number": Bins([1.0], [-5, 1])}, errors.UsageError),
        ({"mean": -1.0}, errors.UsageError),
        ({"mean": float("nan")}, errors.UsageError),
        ({"mean": float("inf")}, errors.UsageError),
        ({"mean": 1e30}, errors.UsageError),
        ({"number": lambda random, shape: random.random_sample(shape)}, errors.ArgumentTypeError),
        ({"number": lambda random, shape: np.ones((3, 3, 3), int)}, errors.UsageError),
        ({"mean": lambda random, shape: "many"}, errors.ArgumentTypeError),
        ({"number": object()}, errors.ArgumentTypeError),
        ({"mean": "nowhere.root:pileup"}, errors.FileNotFoundError),
    ],
)
def test_impossible_distributions_are_refused(
    pool: Path, how: dict[str, Any], error: type[Exception]
) -> None:
    with background(pool, "number") as events, pytest.raises(error):
        events.overlay(10, **how)


def test_what_is_no_histogram_is_refused(pool: Path) -> None:
    with background(pool, "number") as events, pytest.raises(errors.UsageError, match="not a histogram"):
        events.overlay(10, mean=f"{pool}/0.root:Events")


def test_numbers_of_events_must_be_consecutive(pool: Path) -> None:
    with background(pool, "number") as events:
        for wrong in (range(0, 10, 2), range(-5, 5)):
            with pytest.raises(errors.UsageError, match="consecutive"):
                events.overlay(wrong, number=1)


Listed = Callable[[Any], list[Any]]
LIBRARIES: dict[str, Listed] = {
    "np": lambda found: [[one.tolist() for one in row] for row in found["number"]],
    "arrow": lambda found: [[[e["number"] for e in one] for one in row] for row in found.to_pylist()],
}


@pytest.mark.parametrize("library", ["np", "arrow"])
@pytest.mark.parametrize("primaries", [30, 0, range(990, 1020)])
def test_any_library_has_the_same_lists(pool: Path, library: str, primaries: int | range) -> None:
    pytest.importorskip({"np": "numpy", "arrow": "pyarrow"}[library])
    how: dict[str, Any] = {"mean": 1.5, "bunches": [-1, 0, 1]}
    with background(pool) as events, background(pool, library=library) as others:
        expected = events.overlay(primaries, **how)
        found = others.overlay(primaries, **how)
    assert LIBRARIES[library](found) == expected.number.tolist()


@pytest.mark.parametrize("primaries", [30, 0, range(990, 1020)])
def test_pandas_has_one_row_for_each_event(pool: Path, primaries: int | range) -> None:
    pytest.importorskip("pandas")
    how: dict[str, Any] = {"mean": 1.5, "bunches": [-1, 0, 1]}
    with background(pool, "number") as events, background(pool, "number", library="pd") as others:
        expected = events.overlay(primaries, **how).number
        found = others.overlay(primaries, **how)
    assert found.index.names == ["primary", "bunch", "event"]
    assert found["number"].tolist() == ak.flatten(expected, axis=None).tolist()
    if primaries != 0:
        first = 0 if isinstance(primaries, int) else primaries.start
        for row in range(30):
            for place, bunch in enumerate(how["bunches"]):
                here = found[found.index.get_level_values(0) == first + row]
                here = here[here.index.get_level_values(1) == bunch]
                assert here["number"].tolist() == expected[row][place].tolist()
                assert here.index.get_level_values(2).tolist() == list(range(len(here)))


def test_mixing_gives_one_list_per_column_and_says_where_items_come_from(pool: Path) -> None:
    primary = ak.Array({"met": np.arange(40.0), "nHit": np.ones(40, "i4"), "Hit_id": [[7.0]] * 40})
    how: dict[str, Any] = {"mean": 2.0, "bunches": [-2, 0, 5]}
    with background(pool) as events, background(pool) as plain:
        mixed = events.mix(primary, 100, **how)
        lists = plain.overlay(range(100, 140), **how)
    assert ak.array_equal(mixed.met, primary.met)
    assert ak.array_equal(mixed.Hit_id, primary.Hit_id)
    assert mixed.npileup.tolist() == ak.sum(ak.num(lists.number, axis=2), axis=1).tolist()
    assert mixed.npileup_Hit.tolist() == ak.num(mixed.pileup_Hit_id).tolist()
    assert mixed.npileup_sums.tolist() == mixed.npileup.tolist()
    for one, expected in zip(mixed, lists, strict=True):
        flat = [
            (n, bunch) for bunch, inside in zip(how["bunches"], expected, strict=True) for n in inside.number
        ]
        assert one.pileup_number.tolist() == [n for n, _ in flat]
        assert one.pileup_bunch.tolist() == [bunch for _, bunch in flat]
        # The id of a hit is the number of its event.
        assert one.pileup_number[one.pileup_Hit_event].tolist() == one.pileup_Hit_id.tolist()
        assert one.pileup_Hit_time.tolist() == [n + 0.5 for n in one.pileup_Hit_id]


def test_a_premixed_pool_gives_what_mixing_gave(pool: Path, tmp_path: Path) -> None:
    path = tmp_path / "premixed.root"
    with background(pool) as events, sapwood.recreate(path) as file:
        made = events.mix(200, 0, mean=3.0, bunches=range(-1, 1))
        file["Events"] = made
    with sapwood.Background(f"{path}:Events", seed=4) as premixed:
        mixed = premixed.mix(ak.Array({"met": np.arange(200.0)}), 0)
    assert set(mixed.fields) == {"met", *made.fields}
    start = ak.to_list(made.pileup_number).index(mixed.pileup_number[0].tolist())
    for name in made.fields:
        again = ak.concatenate([made[name][start:], made[name][:start]])
        assert ak.array_equal(mixed[name], again, dtype_exact=False), name


def test_what_cannot_be_mixed_is_refused(pool: Path) -> None:
    with background(pool) as events:
        with pytest.raises(errors.UsageError, match="not premixed"):
            events.mix(10)
        with pytest.raises(errors.UsageError, match="was premixed"):
            events.mix(10, bunches=range(3))
        with pytest.raises(errors.UsageError, match="both sides"):
            events.mix(ak.Array({"npileup": [1, 2]}), number=1)
        with pytest.raises(errors.UsageError, match="empty"):
            events.mix(10, number=1, prefix="")
        with pytest.raises(errors.ArgumentTypeError):
            events.mix({"x": [1, 2]}, number=1)
    part = {f"{pool}/0.root": {"object_path": "Events", "steps": [[0, 10]]}}
    with pytest.raises(errors.UsageError, match="whole trees"):
        sapwood.Background(part, seed=1)
    with background(pool, library="np") as events, pytest.raises(errors.UsageError, match="overlay"):
        events.mix(10, number=1)


def test_memory_does_not_grow_with_the_pool(tmp_path: Path) -> None:
    """A pool of 64 MB, read twice, in the memory that a pool of 16 MB takes."""
    program = """
import sys
import sapwood
from sapwood.studies.tune.measure import peak_bytes
with sapwood.Background(sys.argv[1:], ["x"], seed=1, library="np", most_entries=5000) as pool:
    for step in range(60):
        pool.overlay(range(100 * step, 100 * (step + 1)), number=160)
print(peak_bytes())
"""
    names = []
    for number in range(8):
        names.append(f"{tmp_path}/{number}.root:Events")
        with sapwood.recreate(tmp_path / f"{number}.root", compression="none") as file:
            tree = file.mktree("Events", {"x": ("float32", (32,))}, cluster_entries=5000)
            tree.extend({"x": np.random.RandomState(number).random_sample((60_000, 32)).astype("f4")})
    peaks = []
    for files in (names[:2], names):
        done = subprocess.run(
            [sys.executable, "-c", program, *files], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout) / 1e6)
    assert peaks[1] < peaks[0] + 16
