"""Objects at other split levels: their branches are those that ROOT makes, and their values stay the same."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from root_peer import build_folder, locked, needs_root
from split_levels import LEVELS, SPLIT_LEVEL, Described, described

import sapwood

HERE = Path(__file__).resolve().parent / "objects"
sys.path.insert(0, str(HERE.parents[2] / "bench"))

import objects_values  # noqa: E402

pytest.importorskip("awkward")
pytest.importorskip("uproot")

KEPT = {
    "recoJetTagInfos_pfInclusiveTagInfos__PAT.": "it holds pointers",
    "recoCandidatesOwned_compositeDaughters__PAT.": "it holds pointers",
}
"""Objects that cannot be taken apart, and why."""
SINGLE = {"Events/BranchListIndexes"}
"""Numbers, which are a single branch at any level: its record stays as it is."""


@pytest.fixture(scope="module")
def at_levels(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The file, in which some objects are split, with all objects at each level."""
    folder = tmp_path_factory.mktemp("levels")
    for level in LEVELS:
        sapwood.repack(HERE / "edm.root", folder / f"{level}.root", split=level)
    return {level: folder / f"{level}.root" for level in LEVELS}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What ROOT's records say at each level, and the digests of ROOT's values."""
    return {
        name: json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes()))
        for name in ("edm_levels", "edm", "xaod")
    }


def assert_same(found: dict[str, Described], expected: dict[str, Described]) -> None:
    for name, lines in expected.items():
        if name in SINGLE:
            assert without_level(found[name]) == without_level(lines), name
        else:
            assert found[name] == lines, name


def without_level(lines: Described) -> Described:
    return [[*line[:SPLIT_LEVEL], *line[SPLIT_LEVEL + 1 :]] for line in lines]


@pytest.mark.parametrize("level", LEVELS)
def test_the_branches_are_those_of_root(
    level: int, at_levels: dict[int, Path], expected: dict[str, Any]
) -> None:
    found, of_root = described(at_levels[level]), expected["edm_levels"][str(level)]
    assert len(found) > 100
    taken_apart = {name: lines for name, lines in of_root.items() if name.partition("/")[2] not in KEPT}
    assert_same({name: found[name] for name in taken_apart}, taken_apart)
    assert found.keys() == of_root.keys()


@pytest.mark.parametrize("level", LEVELS)
def test_the_values_are_those_of_root(
    level: int, at_levels: dict[int, Path], expected: dict[str, Any]
) -> None:
    compared = objects_values.compare(at_levels[level], "Events", expected["edm"])
    assert not [f"{product}: {what}" for product, what in compared.items() if what]


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(LEVELS, 2)))
def test_every_level_becomes_every_other(
    before: int, after: int, at_levels: dict[int, Path], expected: dict[str, Any], tmp_path: Path
) -> None:
    report = sapwood.repack(at_levels[before], tmp_path / "out.root", split=after)
    for name, why in KEPT.items():
        assert f"'{name}' keeps its split level: {why}" in report.notes
    assert_same(described(tmp_path / "out.root"), described(at_levels[after]))
    compared = objects_values.compare(tmp_path / "out.root", "Events", expected["edm"])
    assert not [f"{product}: {what}" for product, what in compared.items() if what]


def test_objects_of_xaod_keep_their_values(expected: dict[str, Any], tmp_path: Path) -> None:
    for level in LEVELS:
        sapwood.repack(HERE / "xaod.root", tmp_path / f"{level}.root", split=level)
        compared = objects_values.compare(tmp_path / f"{level}.root", "CollectionTree", expected["xaod"])
        assert not [f"{product}: {what}" for product, what in compared.items() if what]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_root_reads_the_same_values(at_levels: dict[int, Path], expected: dict[str, Any]) -> None:
    python = needs_root()
    script, build = HERE.parent / "root_digests.py", build_folder(python) / "edm"
    command = [python, "-W", "ignore", str(script), str(build), "edm", "Events"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with locked(build):
        done = subprocess.run(
            [*command, *map(str, at_levels.values())],
            capture_output=True,
            text=True,
            env=environment,
            timeout=600,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Error" not in done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert found == [expected["edm"]] * len(LEVELS)


def test_selected_entries_are_converted(at_levels: dict[int, Path], tmp_path: Path) -> None:
    for before, after in ((0, 99), (99, 0)):
        target, other = tmp_path / f"{before}.root", tmp_path / f"{before} after.root"
        sapwood.repack(at_levels[before], target, split=after, entry_start=1, entry_stop=5, cluster_entries=3)
        sapwood.repack(at_levels[after], other, entry_start=1, entry_stop=5, cluster_entries=3)
        with sapwood.open(f"{target}:Events") as one, sapwood.open(f"{other}:Events") as two:
            assert one.num_entries == 4
            assert sorted(one.keys()) == sorted(two.keys())
            name = "patMuons_slimmedMuons__PAT.obj"
            assert one[name].array().tolist() == two[name].array().tolist()


def test_files_are_merged_at_another_level(at_levels: dict[int, Path], tmp_path: Path) -> None:
    for before, after in itertools.permutations(LEVELS, 2):
        target = tmp_path / f"{before} {after}.root"
        sapwood.merge([at_levels[before], at_levels[before]], target, split=after, sets=())
        with sapwood.open(f"{target}:Events") as merged, sapwood.open(f"{at_levels[after]}:Events") as single:
            assert merged.num_entries == 2 * single.num_entries
            name = "patMuons_slimmedMuons__PAT.obj"
            assert merged[name].array().tolist() == single[name].array().tolist() * 2


def test_what_has_no_split_level_is_refused(tmp_path: Path) -> None:
    from sapwood.errors import UsageError

    for level in (-1, 100):
        with pytest.raises(UsageError, match="split must be 0 to 99"):
            sapwood.repack(HERE / "edm.root", tmp_path / "out.root", split=level)
    with pytest.raises(UsageError, match="have no split level"):
        sapwood.repack(HERE / "edm.root", tmp_path / "out.root", split=0, format="rntuple")
