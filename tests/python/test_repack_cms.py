"""Skimming and merging CMS files keeps the trees beside the events consistent with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood.errors import UsageError

pytest.importorskip("awkward")

DATA = Path(__file__).resolve().parents[1] / "data" / "edm"
NUMBERS = {
    "run": np.repeat(np.array([1, 2, 3], np.uint32), 4),
    "luminosityBlock": np.array([1, 1, 2, 2, 1, 1, 5, 5, 1, 2, 3, 4], np.uint32),
}


@pytest.fixture
def nano(tmp_path: Path) -> Path:
    """Twelve events of three runs, and what NanoAOD has beside them."""
    path = tmp_path / "nano.root"
    blocks = np.unique(np.stack(list(NUMBERS.values())), axis=1)
    with sapwood.recreate(path) as file:
        file["Events"] = NUMBERS | {"x": np.arange(12.0)}
        file["LuminosityBlocks"] = {"run": blocks[0], "luminosityBlock": blocks[1]}
        file["Runs"] = {"run": np.array([3, 1, 2], np.uint32), "genEventCount": np.array([30, 10, 20])}
        file["MetaData"] = {"version": np.array([7])}
        file["ParameterSets"] = {"blob": np.arange(5)}
    return path


def column(path: Path, name: str) -> list[Any]:
    tree, _, branch = name.partition("/")
    with sapwood.open(f"{path}:{tree}") as found:
        return list(found[branch].array(library="np"))


def test_runs_and_luminosity_blocks_come_along_whole(nano: Path, tmp_path: Path) -> None:
    report = sapwood.repack(nano, tmp_path / "out.root", cut="x == 3", tree="Events")
    assert report.trees["Events"] == 1
    assert (report.trees["Runs"], report.trees["LuminosityBlocks"]) == (3, 8)


@pytest.mark.parametrize(
    ("cut", "runs", "blocks"),
    [
        ("(x == 2) | (x > 10)", [3, 1], [(1, 2), (3, 4)]),
        ("x < 0", [], []),
        ("x >= 0", [3, 1, 2], None),
    ],
)
def test_runs_and_luminosity_blocks_follow(
    nano: Path, tmp_path: Path, cut: str, runs: list[int], blocks: list[tuple[int, int]] | None
) -> None:
    target = tmp_path / "out.root"
    sapwood.repack(nano, target, cut=cut, tree="Events", follow=True)
    assert column(target, "Runs/run") == runs
    assert column(target, "Runs/genEventCount") == [10 * run for run in runs]
    numbers = (column(target, f"LuminosityBlocks/{name}") for name in NUMBERS)
    found = list(zip(*numbers, strict=True))
    assert found == (sorted(set(zip(*NUMBERS.values(), strict=True))) if blocks is None else blocks)


def test_trees_without_runs_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no trees 'Runs'"):
        sapwood.repack(DATA / "edm.root", tmp_path / "out.root", tree="Events", entry_stop=5, follow=True)


def test_common_sets_are_written_once(nano: Path, tmp_path: Path) -> None:
    target, other = tmp_path / "out.root", tmp_path / "other.root"
    report = sapwood.merge([nano, nano, nano], target)
    assert (report.trees["Events"], report.trees["ParameterSets"], report.trees["MetaData"]) == (36, 5, 1)
    assert sum("written once" in note for note in report.notes) == 2
    # In another compression, and other baskets, they are the same still.
    sapwood.repack(nano, other, compression="lzma:1", basket_size=1000, cluster_entries=2)
    assert sapwood.merge([nano, other], target, overwrite=True).trees["ParameterSets"] == 5
    assert sapwood.merge([nano, other], target, sets=(), overwrite=True).trees["ParameterSets"] == 10


def test_different_sets_are_concatenated_and_reported(nano: Path, tmp_path: Path) -> None:
    target, other = tmp_path / "out.root", tmp_path / "other.root"
    sapwood.repack(nano, other, tree="ParameterSets", entry_stop=3)
    report = sapwood.merge([nano, other, nano, other], target)
    assert column(target, "ParameterSets/blob") == [0, 1, 2, 3, 4, 0, 1, 2]
    assert report.trees["MetaData"] == 1
    assert any("'ParameterSets' has 2 different contents in 4 files" in note for note in report.notes)


def test_edm_files_are_merged(tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    report = sapwood.merge([DATA / "edm.root", DATA / "edm.root"], target)
    assert (report.trees["Events"], report.trees["MetaData"], report.trees["ParameterSets"]) == (60, 1, 2)
    assert any("describes the first file" in note for note in report.notes)


def test_a_foreign_index_of_an_edm_file_is_reported(tmp_path: Path) -> None:
    source, target = DATA / "edm.root", tmp_path / "out.root"
    (note,) = sapwood.repack(source, target, entry_stop=5).notes
    assert "describes the source" in note
    # The index is right if all entries are there; and where there is none, there is no note.
    assert not sapwood.repack(source, target, compression="lz4:4", overwrite=True).notes
    assert not sapwood.repack(source, target, entry_stop=5, trees=["Events"], overwrite=True).notes
    assert not sapwood.merge([source], target, overwrite=True).notes
