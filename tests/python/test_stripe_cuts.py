"""Cuts skip stripes by the statistics of their values, and give the same result as without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sapwood
from sapwood import errors, stripe
from sapwood.cli._app import app

ak = pytest.importorskip("awkward")

ENTRIES, BATCH = 600, 25
TYPES = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
LARGE = 2**53
CONSTANTS = [
    *("0", "1", "-1", "True", "3", "100", "127", "128", "255", "256", "-129", "-(2 + 1)"),
    *("0.1", "0.5", "-0.1", "3.7", "1e300", "-1e300", "1e999"),
    *(f"{LARGE}", f"{LARGE + 1}", f"{LARGE}.0", f"{2**63}", f"{2**64 - 1}", f"{2**64}"),
]


def numbers(random: np.random.Generator, dtype: str, size: int) -> Any:
    """Numbers that are alike in most batches, with those at the ends of their type, NaN and infinities."""
    level = np.repeat(random.integers(-130, 300, size // BATCH + 1), BATCH)[:size]
    if dtype == "bool":
        return level % 3 == 0
    if dtype[0] == "f":
        values = (level / 10 + random.choice([0, 0.1, 1e-9], size)).astype(dtype)
        odd = [np.nan, np.inf, -np.inf, -0.0, 1e38, 0.1]
        values[random.integers(0, size, 20)] = random.choice(odd, 20)
        values[BATCH : 2 * BATCH] = np.nan
        return values
    info = np.iinfo(dtype)
    values = np.clip(level, info.min, info.max).astype(dtype)
    large = [number for number in (LARGE, LARGE + 1, info.min, info.max) if info.min <= number <= info.max]
    values[random.integers(0, size, 12)] = random.choice(np.asarray(large, dtype=dtype), 12)
    values[-BATCH:] = large[min(1, len(large) - 1)]
    return values


def columns(random: np.random.Generator) -> dict[str, Any]:
    flat = {f"s_{dtype}": numbers(random, dtype, ENTRIES) for dtype in TYPES}
    counts = np.repeat(random.integers(0, 2, ENTRIES // BATCH), BATCH) * random.integers(0, 4, ENTRIES)
    items = int(counts.sum())
    jagged = {
        f"j{place}_{dtype}": ak.unflatten(numbers(random, dtype, items), counts)
        for place, dtype in enumerate(["f4", "i4", "u8"])
    }
    return {**flat, **jagged}


def write(folder: Path, branches: dict[str, Any], **layout: Any) -> tuple[str, str]:
    """The same columns as a file and as a dataset."""
    source = f"{folder}/file.root:Events"
    with sapwood.recreate(source.removesuffix(":Events")) as file:
        file["Events"] = branches
    return source, stripe.create(folder / "data", source, **{"batch": BATCH, **layout}).url


def condition(random: np.random.Generator, flat: list[str], jagged: list[str], depth: int) -> str:
    """A condition on entries."""

    def comparison(names: list[str]) -> str:
        operator = random.choice(["<", "<=", ">", ">=", "==", "!="])
        name, constant = random.choice(names), random.choice(CONSTANTS)
        if random.random() < 0.1:
            return f"{constant} {operator} {name}"
        if random.random() < 0.1:
            return f"{random.choice(CONSTANTS)} < {name} {operator} {constant}"
        if random.random() < 0.1:
            return f"{name} {operator} {random.choice(names)}"
        return f"{f'abs({name})' if random.random() < 0.1 else name} {operator} {constant}"

    if depth == 0:
        kind = random.random()
        if kind < 0.6:
            return comparison(flat)
        if kind < 0.7:
            return str(random.choice(flat))
        if kind < 0.75:
            return f"Length$({random.choice(jagged)}) > {random.integers(0, 3)}"
        if kind < 0.85:
            return f"Sum$({comparison(jagged)}) >= {random.integers(0, 3)}"
        return f"{random.choice(['Any$', 'All$'])}({comparison(jagged)})"
    left, right = (condition(random, flat, jagged, depth - 1) for _ in range(2))
    form = random.choice(["({}) and ({})", "({}) or ({})", "not ({})", "({}) && !({})", "logical_or({}, {})"])
    return str(form).format(left, right)


@pytest.mark.parametrize("seed", range(3))
def test_random_cuts_give_the_same_with_and_without_statistics(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    branches = columns(random)
    source, place = write(tmp_path, branches)
    flat, jagged = ([name for name in branches if name[0] == kind] for kind in "sj")
    file, dataset = sapwood.open(source), sapwood.open(place)
    outcomes, kinds = 0, set()
    for number in range(40):
        cut = condition(random, flat, jagged[number % 3 :][:1], int(random.integers(0, 3)))
        wanted = [str(name) for name in random.choice(list(branches), 3, replace=False)]
        with np.errstate(all="ignore"):
            try:
                expected = file.arrays(wanted, cut)
            except (errors.SapwoodError, RuntimeError, ValueError, TypeError) as error:
                with pytest.raises(type(error)):
                    dataset.arrays(wanted, cut)
                continue
            found = dataset.arrays(wanted, cut)
            steps = list(dataset.iterate(wanted, cut, step_size=int(random.integers(10, 200))))
        assert ak.array_equal(found, expected, equal_nan=True, dtype_exact=True), cut
        assert ak.array_equal(ak.concatenate(steps), expected, equal_nan=True), cut
        outcomes += 1
        kinds.add(0 < len(expected) < ENTRIES)
    assert outcomes > 10
    assert kinds == {True, False}
    assert dataset.file.report().excluded_entries > 0
    assert file.file.report().excluded_entries == 0


@pytest.fixture(scope="module")
def sorted_events(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Events by luminosity block, and what else is in them."""
    number = np.arange(ENTRIES)
    counts = number // 300 * (number % 3)
    pt = ak.unflatten(np.linspace(0, 100, int(counts.sum()), dtype="f4"), counts)
    branches = {"luminosityBlock": (number // 50).astype("u4"), "MET_pt": number % 97 / 2, "Jet_pt": pt}
    return write(tmp_path_factory.mktemp("sorted"), branches, group=False, stripe_size="1 kB")


def excluded(place: str, cut: str, **how: Any) -> tuple[int, int]:
    """How many entries and batches a cut passes over; what it gives is what it gives of a file."""
    with sapwood.open(place).file as file:
        file["Events"].arrays(cut=cut, **how)
        report = file.report()
        assert report.unplanned_reads == 0
        return report.excluded_entries, report.excluded_clusters


def test_only_batches_that_may_pass_are_asked_for(sorted_events: tuple[str, str]) -> None:
    source, place = sorted_events
    everything = {}
    for cut in (None, "luminosityBlock == 3"):
        with sapwood.open(place).file as file:
            # Where baskets lie is asked for before.
            tree = file["Events"]
            sizes = {name: tree[name].basket_sizes for name in tree}
            before = file.report()
            array = tree.arrays(cut=cut)
            after = file.report()
            everything[cut] = (array, after.fetched_bytes - before.fetched_bytes, after.baskets, sizes)
    assert ak.array_equal(
        everything["luminosityBlock == 3"][0], sapwood.open(source).arrays(cut="luminosityBlock == 3")
    )
    _, whole, baskets, sizes = everything[None]
    array, part, some, _ = everything["luminosityBlock == 3"]
    assert len(array) == 50
    assert some < baskets
    # Of each branch, two batches of 24.
    of_two = sum(size for column in sizes.values() for size, _ in column[6:8])
    assert 0 < of_two <= part < whole / 4
    assert excluded(place, "luminosityBlock == 3") == (ENTRIES - 50, ENTRIES // BATCH - 2)
    assert excluded(place, "luminosityBlock == 3", entry_start=140, entry_stop=180) == (10, 0)
    assert excluded(place, "luminosityBlock == 99") == (ENTRIES, ENTRIES // BATCH)


def test_statistics_of_lists_skip_batches(sorted_events: tuple[str, str]) -> None:
    source, place = sorted_events
    for cut, least in {
        "Any$(Jet_pt > 80)": 400,
        "Sum$(Jet_pt > 80) >= 1": 400,
        "Length$(Jet_pt) > 0": 300,
    }.items():
        assert excluded(place, cut)[0] >= least
        assert ak.array_equal(sapwood.open(place).arrays(cut=cut), sapwood.open(source).arrays(cut=cut))


def test_cuts_of_which_nothing_follows_pass_over_nothing(sorted_events: tuple[str, str]) -> None:
    source, place = sorted_events
    names = {"MET_pt * 2 > 1000": None, "luminosityBlock[MET_pt > -1e9] == 3": None}
    names |= {"All$(Jet_pt > 1e6)": None, "Jet_pt > 1e6": ["Jet_pt"]}
    for cut, wanted in names.items():
        assert excluded(place, cut, expressions=wanted) == (0, 0), cut
        expected = sapwood.open(source).arrays(wanted, cut)
        assert ak.array_equal(sapwood.open(place).arrays(wanted, cut), expected), cut
    # A selection may have fewer values than there are entries.
    texts = ["MET_pt - MET_pt[MET_pt > -1e9]"]
    for library in ("ak", "np", "pd"):
        found = sapwood.open(place).arrays(texts, "luminosityBlock == 3", library=library)
        expected = sapwood.open(source).arrays(texts, "luminosityBlock == 3", library=library)
        assert np.array_equal(found[texts[0]], expected[texts[0]])


def test_aliases_and_chosen_entries_are_cut_alike(sorted_events: tuple[str, str]) -> None:
    source, place = sorted_events
    entries = [599, 3, 151, 151, 420, 160]
    how: dict[str, Any] = {"aliases": {"block": "luminosityBlock", "early": "block < 4"}, "library": "pd"}
    expressions = ["MET_pt", "twice"]
    how["aliases"]["twice"] = "MET_pt * 2"
    for cut in ("early & (block >= 3)", "!early", "(early | (MET_pt < -1)) & (block > 1)"):
        found = sapwood.open(place).arrays(expressions, cut, **how)
        expected = sapwood.open(source).arrays(expressions, cut, **how)
        assert found.equals(expected)
        assert excluded(place, cut, expressions=expressions, **how)[0] > 0
        chosen = sapwood.open(place).arrays(expressions, cut, entries=entries, **how)
        assert chosen.equals(sapwood.open(source).arrays(expressions, cut, entries=entries, **how))


def test_products_that_are_appended_added_and_replaced_have_statistics(tmp_path: Path) -> None:
    def events(name: str, **columns: Any) -> str:
        with sapwood.recreate(tmp_path / name) as file:
            number = np.arange(100, dtype="u8")
            file["Events"] = {
                "run": np.ones(100, "u4"),
                "luminosityBlock": np.ones(100, "u4"),
                "event": number,
                **columns,
            }
        return f"{tmp_path / name}:Events"

    rising = np.arange(100.0)
    data = stripe.create(tmp_path / "data", events("a.root", MET_pt=rising), batch=10)
    assert excluded(data.url, "MET_pt >= 90") == (90, 9)
    data.add(events("b.root", Jet_ht=-rising), ["Jet"])
    assert excluded(data.url, "Jet_ht <= -90") == (90, 9)
    data.add(events("c.root", MET_pt=2 * rising), ["MET"])
    assert excluded(data.url, "MET_pt >= 180") == (90, 9)
    data.append(events("d.root", MET_pt=np.full(100, np.nan), Jet_ht=rising), batch=10)
    assert excluded(data.url, "MET_pt >= 180") == (190, 19)
    assert excluded(data.url, "MET_pt != 500") == (0, 0)
    data.add_product("Half", lambda event: {"Half_x": event.MET_pt / 2}, ["MET_pt"])
    assert excluded(data.url, "Half_x >= 90") == (190, 19)


def test_known_values_are_shown(sorted_events: tuple[str, str]) -> None:
    _, place = sorted_events
    data = stripe.open(place)
    [block] = data.statistics("luminosityBlock")
    batches = ENTRIES // BATCH
    assert block == stripe.Statistics("luminosityBlock", batches, batches, ENTRIES, 0, 0, 11)
    assert data.excluded("luminosityBlock == 3") == (ENTRIES - 50, batches - 2)
    assert data.excluded("luminosityBlock < 100") == (0, 0)
    with pytest.raises(errors.KeyInFileError, match="luminosityBlock"):
        data.statistics("luminosityBlocks")
    shown = CliRunner().invoke(app, ["stripe", "show", place, "--product", "MET", "--cut", "MET_pt < 0"])
    assert shown.exit_code == 0
    assert f"skips {ENTRIES} entries, {batches} batches" in shown.output
    values = shown.output.splitlines()[-1].split()
    assert values == ["MET_pt", str(ENTRIES), "0", "0.0", "48.0", str(batches), "of", str(batches)]
