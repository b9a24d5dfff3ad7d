"""Two-stage cuts and entry lists equal a mask, and read only the baskets that they need."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import errors
from sapwood.query import stages

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

CLUSTERS, PER_CLUSTER = 20, 100
COLUMNS = ["number", "energy", "Jet_pt", "Jet_hits", "label", "matrix"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clusters of 100 entries each; ``number`` counts the entries."""
    numbers = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("entries") / "clusters.root"
    types = {
        "number": "int64",
        "energy": "float64",
        "Jet": "var * {pt: float32, hits: int32}",
        "label": "string",
        "matrix": ("f4", (2, 3)),
    }
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        tree = file.mktree("Events", types)
        for cluster in range(CLUSTERS):
            counts = numbers.integers(0, 5, PER_CLUSTER)
            total = int(counts.sum())
            jets = ak.zip(
                {"pt": numbers.exponential(30, total).astype("f4"), "hits": np.arange(total, dtype="i4")}
            )
            tree.extend(
                {
                    "number": np.arange(PER_CLUSTER) + cluster * PER_CLUSTER,
                    "energy": numbers.normal(0, 1, PER_CLUSTER),
                    "Jet": ak.unflatten(jets, counts),
                    "label": ["ab" * int(n) for n in numbers.integers(0, 4, PER_CLUSTER)],
                    "matrix": numbers.normal(0, 1, (PER_CLUSTER, 2, 3)).astype("f4"),
                }
            )
    return path


@pytest.fixture(autouse=True)
def two_stages_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of tests are too small for two stages to be worth it."""
    monkeypatch.setattr(stages, "THRESHOLDS", {"least_bytes": 1, "many_percent": 200})


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same, whatever library they are of."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, ak.Array):
        return str(ak.type(one)) == str(ak.type(other)) and bool(ak.array_equal(one, other))
    if isinstance(one, np.ndarray):
        if one.dtype != object:
            return one.dtype == other.dtype and np.array_equal(one, other)
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str):
        return one == other
    if hasattr(one, "index") and hasattr(one, "columns"):  # of pandas
        arrow_like = all(same(ak.Array(list(one[name])), ak.Array(list(other[name]))) for name in one.columns)
        return one.index.equals(other.index) and list(one.dtypes) == list(other.dtypes) and arrow_like
    return bool(one.equals(other))


def random_cut(number: random.Random) -> str:
    low, length = number.randrange(2000), number.choice([0, 1, 30, 700])
    return number.choice(
        [
            f"(number >= {low}) & (number < {low + length})",
            f"number % {number.choice([1, 2, 37, 400])} == 0",
            f"(energy > {number.uniform(-1, 4):.3f}) & (number > {low})",
            f"Sum$(Jet_pt) > {number.choice([10, 150, 400, 10000])}",
            f"Jet_pt > {number.choice([10, 1000])}",
            f"big && number > {low}",
            "number",
            "1",
        ]
    )


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
def test_two_stages_give_what_one_gives(path: Path, library: str) -> None:
    pytest.importorskip({"ak": "awkward", "np": "numpy", "pd": "pandas", "arrow": "pyarrow"}[library])
    number = random.Random(library)
    skipped = 0
    with sapwood.open(f"{path}:Events") as tree:
        for _ in range(25):
            columns = number.choice(
                [
                    number.sample(COLUMNS, number.randint(1, 6)),
                    ["energy * 2", "label"],
                    None,
                    ["Jet_pt", "twice"],
                ]
            )
            cut = random_cut(number)
            start = number.choice([0, 0, 555])
            arguments = {
                "library": library,
                "how": number.choice([None, dict, tuple]),
                "aliases": {"big": "energy > 1.5", "twice": "energy + energy"},
                "entry_start": start,
                "entry_stop": number.choice([None, start, 1800]),
            }
            if "Jet_pt >" in cut and "Sum$" not in cut:
                columns = ["Jet_pt", "Jet_hits"]
            before = tree.file.report().skipped_bytes
            staged = tree.arrays(columns, cut, **arguments)
            steps = list(tree.iterate(columns, cut, step_size=number.choice([90, 700, "20 kB"]), **arguments))
            skipped += tree.file.report().skipped_bytes - before
            with pytest.MonkeyPatch.context() as context:
                context.setattr(stages, "THRESHOLDS", {"least_bytes": 2**62})
                plain = tree.arrays(columns, cut, **arguments)
            assert same(staged, plain), (columns, cut, arguments)
            if steps and library == "ak" and arguments["how"] is None:
                assert same(ak.concatenate(steps), plain), (columns, cut, arguments)
    assert skipped > 0


def test_only_baskets_with_entries_that_pass_are_read(path: Path) -> None:
    with sapwood.open(f"{path}:Events") as tree:
        sizes = {name: [size for size, _ in tree[name].basket_sizes] for name in COLUMNS}
        before = tree.file.report()
        found = tree.arrays(COLUMNS, "(number == 150) | (number == 1999)")
        after = tree.file.report()
    assert found["number"].tolist() == [150, 1999]
    others = [name for name in COLUMNS if name != "number"]
    wanted = sum(sizes["number"]) + sum(sizes[name][1] + sizes[name][19] for name in others)
    assert after.wanted_bytes - before.wanted_bytes == wanted
    assert after.baskets - before.baskets == CLUSTERS + 2 * len(others)
    assert after.skipped_bytes == sum(map(sum, sizes.values())) - wanted


def test_a_cut_that_nothing_passes_reads_its_own_branches_only(path: Path) -> None:
    with sapwood.open(f"{path}:Events") as tree:
        nothing = tree.arrays(COLUMNS, "number < 0")
        assert tree.file.report().baskets == CLUSTERS
        assert len(nothing) == 0
        assert nothing.fields == COLUMNS
        assert str(ak.type(nothing["Jet_pt"])) == "0 * var * float32"


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
def test_entry_lists(path: Path, library: str) -> None:
    pytest.importorskip({"ak": "awkward", "np": "numpy", "pd": "pandas", "arrow": "pyarrow"}[library])
    number = random.Random(5)
    with sapwood.open(f"{path}:Events") as tree:
        whole = tree.arrays(COLUMNS, library="ak")
        for _ in range(10):
            entries = [number.randrange(2000) for _ in range(number.choice([0, 1, 7, 300]))]
            chosen = tree.arrays(COLUMNS, entries=entries, library=library, how=dict)
            for name in COLUMNS:
                column = chosen[name]
                items = column.to_pylist() if library == "arrow" else ak.Array(list(column)).tolist()
                assert items == whole[name][np.asarray(entries, int)].tolist()
            one = tree["Jet_pt"].array(entries=entries)
            assert ak.array_equal(one, whole["Jet_pt"][np.asarray(entries, int)])


def test_an_entry_list_may_be_a_mask_or_be_cut(path: Path) -> None:
    pytest.importorskip("pandas")
    with sapwood.open(f"{path}:Events") as tree:
        mask = np.zeros(100, bool)
        mask[[3, 5, 50]] = True
        frame = tree.arrays(["number", "Jet_pt"], entries=mask, entry_start=200, entry_stop=300, library="pd")
        assert frame["number"].tolist() == frame.index.tolist() == [203, 205, 250]
        cut = tree.arrays(["energy", "number"], "number % 2", entries=[8, 7, 5, 7], library="pd")
        assert cut["number"].tolist() == cut.index.tolist() == [7, 5, 7]


def test_random_access_reads_the_baskets_needed(path: Path) -> None:
    entries = [17, 1903, 1910, 804]
    with sapwood.open(f"{path}:Events") as tree:
        tree.arrays(["energy", "Jet_pt"], entries=entries)
        assert tree.file.report().baskets == 2 * 3


@pytest.mark.parametrize("entries", [[5, 2000], [-1], np.asarray([True, False])])
def test_entries_that_are_not_there_are_refused(path: Path, entries: Any) -> None:
    with sapwood.open(f"{path}:Events") as tree, pytest.raises(errors.UsageError):
        tree.arrays(["energy"], entries=entries)


@pytest.mark.parametrize("entries", [[1.5], "abc", [[1, 2]], 7])
def test_invalid_entry_lists_are_type_errors(path: Path, entries: Any) -> None:
    with sapwood.open(f"{path}:Events") as tree, pytest.raises(TypeError):
        tree.arrays(["energy"], entries=entries)


def test_many_files_are_cut_in_two_stages(path: Path) -> None:
    arguments: dict[str, Any] = {"cut": "number % 500 < 20", "library": "np"}
    with pytest.MonkeyPatch.context() as context:
        context.setattr(stages, "THRESHOLDS", {"least_bytes": 2**62})
        plain = sapwood.concatenate(
            [f"{path}:Events"] * 2, COLUMNS, entry_start=50, entry_stop=3100, **arguments
        )
    staged, report = sapwood.concatenate(
        [f"{path}:Events"] * 2, COLUMNS, entry_start=50, entry_stop=3100, cost=True, **arguments
    )
    assert same(staged, plain)
    assert report.skipped_bytes > 0


def files_with_objects() -> list[Path]:
    return sorted((Path(__file__).parents[1] / "data" / "trees").glob("*.root"))


@pytest.mark.parametrize("file", files_with_objects(), ids=lambda file: file.stem)
def test_objects_and_groups_are_cut_in_two_stages(file: Path) -> None:
    with sapwood.open(file) as opened:
        for name in opened.keys(filter_classname="TTree", cycle=False):
            tree = opened[name]
            numbers = [
                one for one in tree.values() if one.form and one.form[0] == "primitive" and not one.member
            ]
            for branch in [one for one in numbers if one.num_entries == tree.num_entries][:2]:
                middle = float(np.median(branch.array(library="np"))) if tree.num_entries else 0.0
                cut = f'get("{branch.path}") > {middle}'
                wanted = [one.path for one in tree.branches if one.unsupported is None]
                staged = tree.arrays(wanted, cut, how=dict)
                with pytest.MonkeyPatch.context() as context:
                    context.setattr(stages, "THRESHOLDS", {"least_bytes": 2**62})
                    plain = tree.arrays(wanted, cut, how=dict)
                for key, array in plain.items():
                    assert str(ak.type(staged[key])) == str(ak.type(array)), key
                    assert staged[key].tolist() == array.tolist(), key
