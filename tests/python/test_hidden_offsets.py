"""Trees of uproot whose last array was empty: their records say that all entries have one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from root_peer import python_with_root, read_by_root

import sapwood

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

COLUMNS = {
    "jagged": ak.values_astype(ak.Array([[1, 2], [3], [], [4, 5, 6]]), "int8"),
    "even": ak.values_astype(ak.Array([[1], [2], [3], [4]]), "int8"),
    "text": ak.Array(["a", "bb", "", "ccc"]),
    "flat": ak.values_astype(ak.Array([1, 2, 3, 4]), "int32"),
}


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    with uproot.recreate(tmp_path / "hidden.root") as file:
        tree = file.mktree("t", {name: column.type.content for name, column in COLUMNS.items()})
        tree.extend(COLUMNS)
        tree.extend({name: column[:0] for name, column in COLUMNS.items()})
    with uproot.open(tmp_path / "hidden.root") as file:
        assert file["t/jagged"].member("fEntryOffsetLen") == 0
    return tmp_path / "hidden.root"


def assert_read(path: Path, first: int = 0) -> None:
    expected = {name: column[first:].to_list() for name, column in COLUMNS.items()}
    with sapwood.open(path) as file, uproot.open(path) as other:
        for name, values in expected.items():
            assert file["t"][name].array().to_list() == values
            assert other["t"][name].array().to_list() == values
            has_offsets = other["t"][name].member("fEntryOffsetLen") != 0
            assert has_offsets == (name != "flat")
    if python_with_root() is not None:
        (found,) = read_by_root(path)
        of_root = {name: found["t"][name] for name in ("jagged", "even")}
        assert of_root == {name: expected[name] for name in of_root}


@pytest.mark.parametrize(
    "options",
    [{}, {"compression": "lz4"}, {"basket_size": 1000}, {"cluster_entries": 2}, {"entry_start": 1}],
    ids=str,
)
def test_a_copy_is_read_by_root(hidden: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    sapwood.repack(hidden, tmp_path / "out.root", **options)
    assert_read(tmp_path / "out.root", options.get("entry_start", 0))
    assert sapwood.verify(tmp_path / "out.root").files[0].note_count == 0


def test_added_branches_mend_the_record(hidden: Path) -> None:
    with sapwood.update(hidden) as file:
        file["t"].add_branches({"more": ak.Array([[1.5], [], [2.5, 3.5], []])})
    assert_read(hidden)


def test_verify_notes_it(hidden: Path) -> None:
    (report,) = sapwood.verify(hidden).files
    assert report.ok
    notes = {finding.branch for finding in report.findings if "entries have one size" in finding.message}
    assert notes == {"jagged", "even", "text"}
