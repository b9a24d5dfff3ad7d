"""What writing refuses: data, types, names and settings, and that it leaves nothing in the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import errors
from sapwood.errors import KeyInFileError, UnsupportedTypeError, UsageError

ak = pytest.importorskip("awkward")


def test_data_that_cannot_be_written_leave_nothing_in_the_file(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        for name in ("abandoned", "again"):
            for write in (file.__setitem__, file.mktree, file.mkrntuple):
                with pytest.raises(UnsupportedTypeError, match="has missing values"):
                    write(name, {"run": [1, 2], "x": ak.Array([{"a": 1}, None])})
                with pytest.raises(UnsupportedTypeError, match="complex128"):
                    write(name, {"x": np.array([1j])})
        assert file.keys() == []
        file["again"] = {"x": [1, 2]}
    with sapwood.open(tmp_path / "out.root") as file:
        assert file.keys() == ["again;1"]
        assert file["again/x"].array().tolist() == [1, 2]


def test_records_without_members_are_refused_in_trees(tmp_path: Path) -> None:
    """A tree would store nothing of them, not even the lengths of lists."""
    columns = [[{}, {}], [[{}], []], [{"a": 1, "hits": [{}]}, {"a": 2, "hits": []}], [(), ()]]
    with sapwood.recreate(tmp_path / "out.root") as file:
        for number, column in enumerate(columns):
            table = {"run": [1, 2], "x": ak.Array(column)}
            with pytest.raises(UnsupportedTypeError, match=r"'x': no branch can store .* no members"):
                file[f"tree{number}"] = table
            file.mkrntuple(f"rntuple{number}", table)
    with sapwood.open(tmp_path / "out.root") as file:
        for number, column in enumerate(columns):
            assert file[f"rntuple{number}"]["x"].array().tolist() == column
            assert f"tree{number}" not in file


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"x": np.zeros(3)}, UsageError, "'n' has 2 entries, but 'x' has 3"),
        ({"x": None}, UsageError, "'x' is not an array"),
        ({"x": [1 << 70]}, UsageError, "'x' holds a number that does not fit in 64 bits"),
        ({"n": [2**63, -1]}, UsageError, "'n' holds a number that does not fit in 64 bits"),
        ({"n": [[2**63], []]}, UsageError, "give numbers beyond int64 in arrays of uint64"),
        ({"n": ["\ud800", "a"]}, UsageError, "'n' holds a text that is not valid Unicode"),
        ({"x": np.array([1j, 2j])}, UnsupportedTypeError, "'x': no branch can store complex128"),
        ({"x": np.array(["a", "b"])}, UsageError, "'x': the data is string, but the file stores float32"),
        ({"x": np.array([1, 1e39])}, UsageError, "'x': 1e+39 (number 1 of the data) does not fit float32"),
        ({"x": np.array([1, 2**24 + 1])}, UsageError, "'x': 16777217 (number 1 of the data) does not fit"),
        ({"n": np.array([1, 2**31])}, UsageError, "'n': 2147483648 (number 1 of the data) does not fit"),
        ({"n": np.array([1, 2**64 - 1], "u8")}, UsageError, "does not fit int32"),
        ({"n": np.array([1.0, 2.0])}, UsageError, "'n': the data is float64, but the file stores int32"),
        ({"j": ak.Array([[1.5], None])}, UnsupportedTypeError, "'j' has missing values"),
        ({"j": ak.Array([[[1.5]], []])}, UsageError, "'j': the data is var * var * float64"),
        ({"z": np.zeros(2)}, KeyInFileError, "no column 'z' in the tree"),
    ],
)
def test_columns_that_do_not_fit_add_nothing(
    tmp_path: Path, change: dict[str, Any], error: type[Exception], says: str
) -> None:
    good = {"x": np.zeros(2, "f4"), "n": [1, 2], "j": ak.Array([[1.5], []])}
    with sapwood.recreate(tmp_path / "out.root") as file:
        tree = file.mktree("t", {"x": "float32", "n": "int32", "j": "var * float64"})
        tree.extend(good)
        with pytest.raises(error) as caught:
            tree.extend({**good, **change})
        assert says in str(caught.value)
        with pytest.raises(UsageError, match="column 'n' is missing"):
            tree.extend({"x": [1.0], "j": [[]]})
        tree.extend(good)
    with sapwood.open(f"{tmp_path}/out.root:t") as read:
        assert read.num_entries == 4
        assert read["j"].array().tolist() == [[1.5], [], [1.5], []]


@pytest.mark.parametrize(
    ("types", "says"),
    [
        ({"x": "floaty"}, "'floaty' is not a type"),
        ({"x": "var * floaty"}, "is not a type"),
        ({"x": "complex64"}, "no branch can store complex64"),
        ({"x": "var * union[int32, string]"}, "no branch can store union"),
        ({"x": ("f4", (0,))}, "empty"),
        ({}, "has no columns"),
        ({"a_b": "int32", "a": {"b": "int32"}}, "two branches of this name"),
    ],
)
def test_types_that_no_branch_has(tmp_path: Path, types: dict[str, Any], says: str) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        with pytest.raises((UsageError, UnsupportedTypeError), match=says):
            file.mktree("t", types)
        file["t"] = {"x": [1]}


def test_settings_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown compression"):
        sapwood.recreate(tmp_path / "out.root", compression="brotli")
    with pytest.raises(UsageError, match="threads"):
        sapwood.recreate(tmp_path / "out.root", threads=0)
    with sapwood.recreate(tmp_path / "out.root") as file:
        for settings in (
            {"basket_size": 10},
            {"cluster_entries": 0},
            {"cluster_size": "much"},
            {"compression": {"y": "lz4"}},
            {"titles": {"y": "why"}},
        ):
            with pytest.raises(UsageError):
                file.mktree("t", {"x": "int32"}, **settings)


def test_a_branch_is_no_array(tmp_path: Path) -> None:
    path = sapwood.example(tmp_path / "in.root", events=10)
    branch = sapwood.open(path)["Events/MET_pt"]
    wrong = pytest.raises(errors.UsageError, match=r"'a' is a branch.*\.array\(\)")
    with sapwood.recreate(tmp_path / "out.root") as file, wrong:
        file["t"] = {"a": branch}


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    tables: dict[str, Any] = {
        "frame": pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
        "arrow": pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        "dict": {1: [1], "1": [2]},
    }
    for table in tables.values():
        with sapwood.recreate(tmp_path / "x.root") as file:
            with pytest.raises(UsageError, match=r"two columns are named '.'; rename one of them"):
                file["t"] = table
            with pytest.raises(UsageError, match="two columns are named"):
                file.mktree("t", {"a": "int64"}).extend(table)


def test_tables_without_columns_say_so(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "x.root") as file:
        with pytest.raises(UsageError, match="'t' would be a tree without branches: the dict is empty"):
            file["t"] = {}
        with pytest.raises(UsageError, match=r"'x' is not an array: [^\n]*$"):
            file["t"] = {"x": np.array([object()])}


def test_a_directory_that_takes_no_files_is_not_missing() -> None:
    with pytest.raises(errors.PermissionError, match="takes no new files"):
        sapwood.recreate("/proc/x.root")


def test_data_that_cannot_be_written_make_no_tree(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        for data in ({"x": [1, 2], "y": [1]}, {"x": [object()]}, 7):
            with pytest.raises(sapwood.errors.SapwoodError):
                file.mktree("t", data)
            assert "t" not in file
        file.mktree("t", {"x": [1, 2]})


def test_structured_arrays_without_entries_or_fields_are_refused(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "x.root") as file:
        with pytest.raises(UsageError, match="'x' is a single value"):
            file.mktree("t", {"x": np.zeros((), [("a", "i4")])})
        with pytest.raises(UsageError, match="'x' has no fields"):
            file.mktree("t", {"x": np.zeros(2, [])})


@pytest.mark.parametrize("table", [{"x[3]": [1]}, {"x": [{"a[2]": 1}]}, {"x[n]y": [[1.5]]}])
def test_brackets_in_names_of_branches_are_refused(tmp_path: Path, table: dict[str, Any]) -> None:
    with sapwood.recreate(tmp_path / "x.root") as file:
        with pytest.raises(UsageError, match="would be read as an array, because of its brackets"):
            file["t"] = table
        with pytest.raises(UsageError, match="because of its brackets"):
            file.mktree("u", {"x": "var * int32"}, counter_name=lambda name: f"n[{name}]")
        file.mkrntuple("n", table)
    assert sapwood.open(f"{tmp_path}/x.root:n").arrays().to_list() == ak.Array(table).to_list()
