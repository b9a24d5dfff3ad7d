"""`convert` keeps every value, works in bounded steps, and leaves no partial files."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import uproot

import sapwood as sw

NAMES = ["run", "MET_pt", "matrix", "nMuon_pt", "Muon_pt"]


@pytest.mark.parametrize("step", ["100 MB", "300"])
@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow"])
def test_tables(
    sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path, suffix: str, step: str
) -> None:
    out = tmp_path / f"out.{suffix}"
    done = sapwood("convert", f"{path}:Events", out, "--step-size", step)
    assert (done.code, done.out, done.err) == (0, "", "")
    table = pa.parquet.read_table(out) if suffix == "parquet" else pa.feather.read_table(out)
    assert table.num_rows == 1000
    for name, values in events.items():
        assert table[name].to_pylist() == values.tolist()
    if suffix == "parquet" and step == "300":
        assert pa.parquet.ParquetFile(out).num_row_groups == 4


def test_npz(sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    assert sapwood("convert", f"{path}:Events", out, "--step-size", "300").code == 0
    with np.load(out) as arrays:
        assert set(arrays) == {*events, "nMuon_pt", "Muon_pt.offsets"} or set(arrays) == {
            *events,
            "Muon_pt.offsets",
        }
        for name in ("run", "MET_pt", "matrix"):
            assert arrays[name].dtype == events[name].dtype
            assert np.array_equal(arrays[name], events[name])
        rebuilt = ak.unflatten(arrays["Muon_pt"], np.diff(arrays["Muon_pt.offsets"]))
        assert rebuilt.tolist() == events["Muon_pt"].tolist()


def test_npz_of_text_and_nested_lists(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    texts = ["a", "", "längst"] * 4
    with uproot.recreate(tmp_path / "text.root") as file:
        tree = file.mktree("t", {"text": "string"})
        for start in range(0, 12, 4):
            tree.extend({"text": texts[start : start + 4]})
    out = tmp_path / "text.npz"
    assert sapwood("convert", tmp_path / "text.root", out, "--step-size", "5").code == 0
    with np.load(out) as arrays:
        raw, offsets = arrays["text"].tobytes(), arrays["text.offsets"]
        assert [raw[a:b].decode() for a, b in itertools.pairwise(offsets)] == texts


def test_csv(sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert (
        sapwood("convert", f"{path}:Events", out, "run", "MET_pt", "Muon_pt", "--step-size", "300").code == 0
    )
    with open(out, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["run", "MET_pt", "Muon_pt"]
    assert [int(row[0]) for row in rows[1:]] == events["run"].tolist()
    assert np.array_equal(np.array([row[1] for row in rows[1:]], dtype=np.float32), events["MET_pt"])
    assert [json.loads(row[2]) for row in rows[1:]] == events["Muon_pt"].tolist()


def test_columns_entries_and_cut(
    sapwood: Callable[..., Any], path: Path, events: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    arguments = ["run", "MET_pt * 2", "--entries", "100:-100", "--cut", "MET_pt > 30", "--json"]
    document = sapwood("convert", f"{path}:Events", out, *arguments).json
    table = pa.parquet.read_table(out)
    kept = [run for run in range(100, 900) if events["MET_pt"][run] > 30]
    assert table["run"].to_pylist() == kept
    assert document["entries"] == len(kept)
    assert document["columns"] == table.column_names == ["run", "MET_pt * 2"]
    assert document["bytes"] == out.stat().st_size
    assert document["read"]["unplanned_reads"] == 0


def test_no_entries(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    for suffix in ("parquet", "feather", "csv", "npz"):
        out = tmp_path / f"out.{suffix}"
        done = sapwood("convert", f"{path}:Events", out, "run", "--entries", "5:5", "--json")
        assert done.code == 0, done.err
        assert done.json["entries"] == 0 and out.exists()


def test_an_existing_file_is_kept(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("precious")
    assert sapwood("convert", f"{path}:Events", out).code == 2
    assert out.read_text() == "precious"
    assert sapwood("convert", f"{path}:Events", out, "--force").code == 0
    assert pa.parquet.read_table(out).num_rows == 1000


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv", "npz"])
def test_nothing_is_left_of_a_failure(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, suffix: str
) -> None:
    damaged = tmp_path / "damaged.root"
    content = bytearray(path.read_bytes())
    with uproot.open(path) as file:
        branch = file["Events/MET_pt"]
        key = branch.basket_key(3)
        start = key.fSeekKey + key.fKeylen
    # The last basket: the steps before it are written by the time it is met.
    content[start : start + 40] = bytes(40)
    damaged.write_bytes(content)
    folder = tmp_path / "out"
    folder.mkdir()
    done = sapwood("convert", f"{damaged}:Events", folder / f"out.{suffix}", "--step-size", "250")
    assert done.code == 4, done.err
    assert "MET_pt" in done.err
    assert list(folder.iterdir()) == []


def test_a_filter_beside_columns_is_refused(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    done = sapwood("convert", f"{path}:Events", tmp_path / "out.csv", "run", "--filter", "Muon_*")
    assert done.code == 2 and "'run' and --filter cannot be combined" in done.err
    assert not (tmp_path / "out.csv").exists()


FIRST = {
    "int32": np.array([1, 2], np.int32),
    "int64": np.array([1, 2**53 + 1]),
    "float32": np.array([0.5, np.nan], np.float32),
    "float64": np.array([0.5, 1.0]),
    "bool": np.array([True, False]),
    "pairs": np.ones((2, 2)),
    "jagged": ak.Array([[1, 2], []]),
    "text": ak.Array(["1", "2"]),
}
"""Columns by the name of their type."""


@pytest.fixture
def convert_two(sapwood: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Converts a file with a column `x`, and then one with another; returns the result and the output."""

    def convert(first: Any, second: Any, suffix: str) -> tuple[Any, Path]:
        for name, values in {"1": first, "2": second}.items():
            with sw.recreate(tmp_path / f"{name}.root") as file:
                file["t"] = {"x": values}
        (tmp_path / "out").mkdir()
        out = tmp_path / "out" / f"out.{suffix}"
        return sapwood("convert", tmp_path / "1.root", tmp_path / "2.root", out, "x"), out

    return convert


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv", "npz"])
@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("int32", FIRST["float64"], ("int32", "double")),
        ("int64", np.array([0, 2**63], np.uint64), ("int64", "uint64")),
        ("float64", FIRST["int64"], ("double", "int64")),
        ("float32", np.array([0.1, 1e300]), ("float", "double")),
        ("float32", np.array([0.1]), ("float", "double")),
        ("bool", np.array([5, 0], np.int32), ("bool", "int32")),
        ("int32", FIRST["bool"], ("int32", "bool")),
        ("int32", FIRST["jagged"], ("int32", "large_list<item: int64>")),
        ("int32", FIRST["text"], ("int32", "large_string")),
        ("text", FIRST["int32"], ("large_string", "int32")),
    ],
)
def test_a_later_file_whose_values_would_change_is_refused(
    convert_two: Callable[..., Any], first: str, second: Any, names: tuple[str, str], suffix: str
) -> None:
    done, out = convert_two(FIRST[first], second, suffix)
    assert done.code == 4 and len(done.err.splitlines()) == 1
    assert f"column 'x' has type {names[0]} at first and later {names[1]}, but" in done.err
    assert "one by one" in done.err
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv", "npz"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("float64", FIRST["float32"]),
        ("float64", FIRST["int32"]),
        ("float32", np.array([np.nan, 0.25, np.inf])),
        ("int64", FIRST["int32"]),
        ("int32", np.array([3, -4])),
    ],
)
def test_a_later_file_whose_values_fit_is_kept(
    convert_two: Callable[..., Any], first: str, second: Any, suffix: str
) -> None:
    done, out = convert_two(FIRST[first], second, suffix)
    assert done.code == 0, done.err
    if suffix == "npz":
        with np.load(out) as arrays:
            found = arrays["x"]
        assert found.dtype == FIRST[first].dtype
    elif suffix == "csv":
        found = np.array(out.read_text().split()[1:], np.float64 if "float" in first else np.int64)
    else:
        table = pa.parquet.read_table(out) if suffix == "parquet" else pa.feather.read_table(out)
        found = table["x"].to_numpy()
    np.testing.assert_array_equal(found, np.concatenate([FIRST[first], second]))


def test_npz_refuses_lists_and_arrays_of_other_lengths(convert_two: Callable[..., Any]) -> None:
    done, out = convert_two(FIRST["pairs"], np.ones((2, 3)), "npz")
    assert done.code == 4 and "[2] at first and later" in done.err
    assert list(out.parent.iterdir()) == []


def test_a_narrower_type_in_lists_is_checked(convert_two: Callable[..., Any]) -> None:
    first = ak.values_astype(FIRST["jagged"], np.float32)
    done, _ = convert_two(first, ak.Array([[0.5], [0.1]]), "parquet")
    assert done.code == 4 and "large_list<item: float> at first" in done.err


@pytest.fixture
def options(tmp_path: Path) -> Path:
    """An RNTuple whose first steps have no missing values."""
    types = {
        "i": "?int64",
        "v": "var * ?int16",
        "s": "?string",
        "b": "?bool",
        "u": "union[int64, string]",
        "n": "int64",
    }
    values = {
        "i": [1, 2, 2**60 + 1, None],
        "v": [[1], [2, 3], [], [None, 4]],
        "s": ["a", "b", "", None],
        "b": [True, False, True, None],
        "u": ak.Array([1, 2, 3, "a"]),
        "n": np.arange(4),
    }
    with sw.recreate(tmp_path / "options.root") as file:
        file.mkrntuple("t", types, cluster_entries=2).extend(values)
    return tmp_path / "options.root"


@pytest.mark.parametrize("column", ["i", "v", "s", "b", "u", "i + 1"])
@pytest.mark.parametrize("entries", [":", ":2", "0:0"])
def test_npz_refuses_columns_that_may_miss_values_or_mix_types(
    sapwood: Callable[..., Any], options: Path, tmp_path: Path, column: str, entries: str
) -> None:
    out = tmp_path / "o.npz"
    done = sapwood("convert", options, out, "n", column, "--step-size", "1 B", "--entries", entries)
    assert done.code == 4 and len(done.err.splitlines()) == 1
    assert f"column {column!r} has type " in done.err and "npz" in done.err
    assert not out.exists()
    assert sapwood("convert", options, out, "n", "--cut", "n > 0", "--step-size", "1 B").code == 0
    with np.load(out) as arrays:
        assert arrays["n"].tolist() == [1, 2, 3]


def test_npz_refuses_two_columns_with_one_array(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with sw.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": FIRST["jagged"], "x.offsets": np.array([7, 8])}
    out = tmp_path / "a.npz"
    done = sapwood("convert", tmp_path / "a.root", out)
    assert done.code == 4 and "columns 'x' and 'x.offsets' both need an array 'x.offsets'" in done.err
    assert not out.exists()


def test_unions_are_kept_or_refused(sapwood: Callable[..., Any], options: Path, tmp_path: Path) -> None:
    done = sapwood("convert", options, tmp_path / "a.parquet", "u")
    assert done.code == 4 and len(done.err.splitlines()) == 1 and "use feather" in done.err
    assert sapwood("convert", options, tmp_path / "a.feather", "u").code == 0
    assert sapwood("convert", options, tmp_path / "b.feather", "u", "--step-size", "2").code == 0
    for name in ("a", "b"):
        assert pa.feather.read_table(tmp_path / f"{name}.feather")["u"].to_pylist() == [1, 2, 3, "a"]


def test_collections_of_rntuples_that_projections_show_are_no_columns(
    sapwood: Callable[..., Any], tmp_path: Path
) -> None:
    tree, ntuple = tmp_path / "nano.root", tmp_path / "nano.rnt.root"
    assert sapwood("example", tree, "-n", "20").code == 0
    sw.repack(tree, ntuple, format="rntuple")
    headers = []
    for source in (tree, ntuple):
        done = sapwood("convert", f"{source}:Events", "-", "--to", "csv")
        assert done.code == 0, done.err
        headers.append(sorted(done.out.splitlines()[0].split(",")))
    assert headers[0] == headers[1]
    assert sapwood("convert", f"{ntuple}:Events", tmp_path / "out.npz").code == 0
    chosen = sapwood("convert", f"{ntuple}:Events", "-", "--to", "csv", "--filter", "_collection0")
    assert chosen.code == 0 and "Muon_pt" in chosen.out
