"""Commands over RNTuples with variants: exact values, and one line where variants have no place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import sapwood as sw

LARGE = 2**60 + 1


def write(path: Path, large: int = LARGE) -> Path:
    """An RNTuple with a variant of numbers, one of a number or a text, and lists of the first."""
    tags, places = ak.index.Index8(np.array([0, 1, 0, 1], np.int8)), ak.index.Index64(np.array([0, 0, 1, 1]))
    integers = ak.to_layout(np.array([5, large]))
    numbers = ak.contents.UnionArray(tags, places, [integers, ak.to_layout(np.array([0.5, 1.5]))])
    words = ak.contents.UnionArray(tags, places, [integers, ak.to_layout(ak.Array(["a", "b"]))])
    with sw.recreate(path) as file:
        types = {
            "v": "union[int64, float64]",
            "w": "union[int64, string]",
            "l": "var * union[int64, float64]",
        }
        tree = file.mkrntuple("t", types, cluster_entries=3)
        tree.extend({"v": ak.Array(numbers), "w": ak.Array(words), "l": ak.unflatten(numbers, [2, 0, 1, 1])})
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "variants.root")


def test_diff_finds_integers_that_are_equal_as_floats(sapwood: Callable[..., Any], path: Path) -> None:
    assert sapwood("diff", path, write(path.parent / "same.root")).code == 0
    done = sapwood("diff", f"{path}:t", f"{write(path.parent / 'other.root', LARGE + 1)}:t", "--json")
    assert done.code == 1
    found = [(one["part"], one["entry"], one["a"], one["b"]) for one in done.json["differences"]]
    assert ("v", 2, LARGE, LARGE + 1) in found and ("w", 2, LARGE, LARGE + 1) in found
    assert len(found) == 3


def test_head_shows_all_digits(sapwood: Callable[..., Any], path: Path) -> None:
    assert str(LARGE) in sapwood("head", f"{path}:t", "v").out


@pytest.mark.parametrize("column", ["v", "w", "l"])
@pytest.mark.parametrize(
    ("suffix", "reason"), [("parquet", "Parquet has no variants"), ("npz", "npz cannot hold")]
)
def test_formats_without_variants_name_the_column(
    sapwood: Callable[..., Any], path: Path, column: str, suffix: str, reason: str
) -> None:
    done = sapwood("convert", f"{path}:t", path.parent / f"out.{suffix}", column)
    assert done.code == 4 and len(done.err.splitlines()) == 1
    assert repr(column) in done.err and reason in done.err and "feather" in done.err
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_feather_has_one_type_in_all_batches(sapwood: Callable[..., Any], path: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    output = path.parent / "out.feather"
    assert sapwood("convert", f"{path}:t", output, "--step-size", "1").code == 0
    table = feather.read_table(output)
    assert table["v"].to_pylist() == [5, 0.5, LARGE, 1.5] and table["w"].to_pylist() == [5, "a", LARGE, "b"]
    assert table["l"].to_pylist() == [[5, 0.5], [], [LARGE], [1.5]]


def test_only_variants_of_numbers_can_be_drawn(sapwood: Callable[..., Any], path: Path) -> None:
    assert "4 values" in sapwood("hist", f"{path}:t", "v").out
    assert "4 values" in sapwood("hist", f"{path}:t", "l", "--weight", "v").out
    done = sapwood("hist", f"{path}:t", "w")
    assert done.code == 4 and "needs numbers" in done.err and len(done.err.splitlines()) == 1


def test_records_and_tuples_with_text_cannot_be_drawn(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with sw.recreate(tmp_path / "a.root") as file:
        tuples = ak.zip((np.array([1, 2]), ak.Array(["a", "b"])))
        tree = file.mkrntuple("t", {"p": "(int64, string)", "m": "var * (string, int32)"})
        tree.extend({"p": tuples, "m": ak.Array([[("a", 1)], []])})
    for column in ("p", "m"):
        done = sapwood("hist", f"{tmp_path / 'a.root'}:t", column)
        assert done.code == 4 and "needs numbers" in done.err and len(done.err.splitlines()) == 1
