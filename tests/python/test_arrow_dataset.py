"""Trees as a pyarrow dataset: filters give the same rows as Arrow's own, and decide what is read."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from testkit import needs_testkit, serving

import sapwood
from sapwood.query import stages

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pads = pytest.importorskip("pyarrow.dataset")

FILES, ENTRIES = 3, 4000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ak = pytest.importorskip("awkward")
    random, path = np.random.default_rng(5), tmp_path_factory.mktemp("tables")
    for number in range(FILES):
        counts = random.integers(0, 4, ENTRIES)
        met = random.exponential(30, ENTRIES).astype("f4")
        met[7] = np.nan
        with sapwood.recreate(path / f"{number}.root") as file:
            tree = file.mktree("Events", {"run": "u4", "event": "i8", "met": "f4", "weight": "f8", "ok": "?",
                                          "Jet_pt": "var * float32", "name": "string"})  # fmt: skip
            for start in range(0, ENTRIES, 1000):
                here = slice(start, start + 1000)
                total = int(counts[here].sum())
                tree.extend(
                    {
                        "run": np.arange(start, start + 1000, dtype="u4") + number * ENTRIES,
                        "event": 2**60 + np.arange(start, start + 1000) + number * ENTRIES,
                        "met": met[here],
                        "weight": random.normal(1, 0.1, 1000),
                        "ok": random.random(1000) < 0.5,
                        "Jet_pt": ak.unflatten(random.exponential(50, total).astype("f4"), counts[here]),
                        "name": [f"n{at % 5}" for at in range(1000)],
                    }
                )
    return path


@pytest.fixture(scope="module")
def events(folder: Path) -> Any:
    return sapwood.arrow_dataset(str(folder / "*.root"), "Events", step_size=1000)


@pytest.fixture(scope="module")
def table(events: Any) -> Any:
    return events.to_table()


def test_the_table_has_all_columns_with_lists_as_lists(events: Any, table: Any, folder: Path) -> None:
    assert isinstance(events, pads.Dataset)
    assert table.num_rows == events.count_rows() == FILES * ENTRIES
    assert table.schema == events.schema and pa.types.is_large_list(events.schema.field("Jet_pt").type)
    with sapwood.open(folder / "1.root") as file:
        expected = file["Events"].arrays(["Jet_pt", "name"], library="arrow")
    assert table.select(["Jet_pt", "name"]).slice(ENTRIES, ENTRIES).equals(expected)


def filters() -> Iterator[Any]:
    run, met, event, weight, ok = (pc.field(name) for name in ("run", "met", "event", "weight", "ok"))
    yield from (run > 9000, run >= 9000, run < 17, run <= 17, run == 17, run != 17, run > 17)
    yield from (run > 5.5, run < pa.scalar(5.5, pa.float32()), run > -3, run < 2**40, run == 2**31)
    yield from (event > 2**60 + 11990, event == 2**60 + 11990, event < 2**60 + 3)
    yield from (met > 30.1, met > pa.scalar(30.1, pa.float32()), met <= 30.1, met != 2, met > 1e300)
    yield from (weight > pa.scalar(1.1, pa.float32()), weight < 0.7, weight == 1, met > float("inf"))
    yield from (ok, ~ok, ok == True, ok != True, ~(run > 3), ~(ok & (run > 3)))  # noqa: E712
    yield from ((run > 100) & (met < 30), (run < 5) | (met > 200), (run < 5) | (pc.field("name") == "n1"))
    yield from (run.isin([1, 2, 9000]), weight.isin([1.0, 2.5]), pc.field("name").isin(["n1", "n2"]))
    yield from (met.is_valid(), met.is_null(), pc.is_nan(met), pc.is_nan(met) | (met > 100))
    yield from (pc.if_else(run.is_valid(), run > 9000, pa.scalar(None, pa.bool_())), run + 1 > 9000)
    yield from (pc.field("name") == "a) or (run == 1", pc.list_value_length(pc.field("Jet_pt")) > 2)
    yield from (pc.scalar(True), pc.scalar(False), (run > 100) & pc.field("Jet_pt").is_valid())


@pytest.mark.parametrize("filter", list(filters()), ids=str)
def test_a_filter_gives_the_rows_that_arrow_gives(filter: Any, events: Any, table: Any) -> None:
    expected = table.filter(filter)
    names = ["name", "Jet_pt", "weight"]
    assert events.to_table(names, filter).combine_chunks().equals(expected.select(names).combine_chunks())
    assert events.count_rows(filter) == expected.num_rows
    assert (
        events.filter(filter).filter(pc.field("ok")).count_rows() == expected.filter(pc.field("ok")).num_rows
    )


def test_all_other_ways_to_read_agree(events: Any, table: Any) -> None:
    run = pc.field("run")
    assert events.head(5, ["run"]).equals(table.select(["run"]).slice(0, 5))
    assert events.head(1500, filter=run > 3).num_rows == 1500
    assert events.take([5, 7000], ["run"])["run"].to_pylist() == [5, 7000]
    assert events.to_table(columns=[]).num_rows == table.num_rows
    assert events.to_table(columns=[], filter=run < 1500).num_rows == 1500
    assert [len(batch) for batch in events.to_batches(["run"], batch_size=600)][:3] == [600, 400, 600]
    twice = events.to_table({"twice": run * 2, "r": run}, filter=run < 3)
    assert twice.to_pydict() == {"twice": [0, 2, 4], "r": [0, 1, 2]}
    assert events.sort_by([("run", "descending")]).head(1)["run"].to_pylist() == [FILES * ENTRIES - 1]
    copy = pickle.loads(pickle.dumps(events.filter(run < 3)))
    assert copy.to_table(["run"])["run"].to_pylist() == [0, 1, 2]


def test_columns_can_be_chosen_and_computed(folder: Path) -> None:
    some = sapwood.arrow_dataset(folder / "0.root", "Events", columns=["met", "met / 2"])
    assert some.schema.names == ["met", "met / 2"]
    halves = some.to_table(filter=pc.field("met / 2") > 40)["met / 2"].to_numpy()
    assert len(halves) and (halves > 40).all()


@needs_testkit
def test_only_columns_and_clusters_that_a_query_needs_are_fetched(folder: Path) -> None:
    with serving(folder) as server:
        urls = [f"{server.url}/{number}.root" for number in range(FILES)]
        events = sapwood.arrow_dataset(urls, "Events", step_size=1000)
        assert events.to_table(["Jet_pt"], pc.field("run") >= 11_000).num_rows == 1000
        report = events.report()
    assert report is not None and report.unplanned_reads == 0
    with sapwood.open(folder / "0.root") as file:
        tree = file["Events"]
        needed = FILES * (tree["run"].compressed_bytes + tree["Jet_pt"].compressed_bytes)
        everything = FILES * tree.compressed_bytes
    assert report.wanted_bytes < needed + FILES * 20_000 < everything
    assert report.baskets <= FILES * 8


def test_hostile_names_of_columns_cannot_change_a_filter(tmp_path: Path) -> None:
    names = ["x > 5) and (y", "x", "and", "true"]
    with sapwood.recreate(tmp_path / "hostile.root") as file:
        file["t"] = {name: np.arange(10.0) for name in names}
    events = sapwood.arrow_dataset(tmp_path / "hostile.root", "t")
    table = events.to_table()
    for name in names:
        found = events.to_table(filter=pc.field(name) < 3)
        assert found.equals(table.filter(pc.field(name) < 3)) and found.num_rows == 3


def test_files_of_other_types_are_converted_or_refused_by_name(tmp_path: Path) -> None:
    for name, values in (("a", np.arange(3, dtype="i8")), ("b", np.arange(3, dtype="i4"))):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file["t"] = {"x": values}
    with sapwood.recreate(tmp_path / "c.root") as file:
        file["t"] = {"x": ["p", "q"]}
    a, b, c = (str(tmp_path / f"{name}.root") for name in "abc")
    assert sapwood.arrow_dataset([a, b], "t").to_table()["x"].to_pylist() == [0, 1, 2] * 2
    with pytest.raises(NotImplementedError, match=r"c\.root: the column 'x' is of type large_string"):
        sapwood.arrow_dataset([a, c], "t").to_table()


def test_mistakes_are_explained(events: Any, folder: Path) -> None:
    with pytest.raises(KeyError, match=r"no column 'mett'.*'met'"):
        events.to_table(["mett"])
    with pytest.raises(KeyError, match="Event"):
        sapwood.arrow_dataset(folder / "0.root", "Evnts")
    with pytest.raises(NotImplementedError, match="has no fragments"):
        events.get_fragments()
    secret = sapwood.arrow_dataset(str(folder / "0.root"), "Events", headers={"Authorization": "s3cr3t"})
    with pytest.raises(ValueError, match="BEARER_TOKEN_FILE") as found:
        pickle.dumps(secret)
    assert "s3cr3t" not in str(found.value)


def test_random_filters_at_the_limits_of_types_give_the_rows_of_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(stages.THRESHOLDS, "least_bytes", 1)
    random = np.random.default_rng(3)
    columns = {
        "i4": random.integers(-(2**31), 2**31, 900).astype("i4"),
        "u4": random.integers(0, 2**32, 900).astype("u4"),
        "i8": (2**53 + random.integers(-3, 3, 900)).astype("i8"),
        "u8": random.integers(0, 2**64, 900, dtype="u8"),
        "i2": random.integers(-9, 9, 900).astype("i2"),
        "f4": np.where(random.random(900) < 0.05, np.nan, random.normal(0, 1, 900)).astype("f4"),
        "f8": np.where(random.random(900) < 0.05, np.inf, random.normal(0, 1, 900)),
    }
    with sapwood.recreate(tmp_path / "limits.root") as file:
        file["t"] = columns
    events = sapwood.arrow_dataset(tmp_path / "limits.root", "t", step_size=300)
    table, compared = events.to_table(), 0
    names = ["i2", "i4"]
    for _ in range(400):
        filter = _random_filter(random, table)
        try:
            expected = table.filter(filter).select(names).combine_chunks()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        assert events.to_table(names, filter).combine_chunks().equals(expected), str(filter)
        compared += 1
    assert compared > 200


def _random_filter(random: np.random.Generator, table: Any, depth: int = 0) -> Any:
    kind = random.random()
    if depth < 3 and kind < 0.35:
        left, right = (_random_filter(random, table, depth + 1) for _ in range(2))
        return ~left if kind < 0.05 else left & right if kind < 0.2 else left | right
    name = str(random.choice(table.schema.names))
    literal = table[name][int(random.integers(len(table)))]
    if kind > 0.5:
        # The same number, or one near it, as a literal of another type.
        literal = _as_other_type(literal.as_py(), int(random.integers(3)))
    compare = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
    return compare[int(random.integers(6))](pc.field(name), literal)


def _as_other_type(value: Any, which: int) -> Any:
    if which == 0 and isinstance(value, int) and abs(value) < 2**63:
        return pa.scalar(value, pa.int64())
    return pa.scalar(float(value), pa.float64()).cast(
        pa.float32() if which == 1 else pa.float64(), safe=False
    )


def test_steps_of_files_are_all_that_a_dataset_has(folder: Path) -> None:
    steps = [[0, 100], [3990, 5000]]
    dataset = sapwood.arrow_dataset({str(folder / "0.root"): {"object_path": "Events", "steps": steps}})
    assert dataset.count_rows() == dataset.to_table(columns=["run"]).num_rows == 110
    assert dataset.to_table(columns=[]).num_rows == 110
