"""Sparse files beyond 2 GB, where offsets need 8 bytes, and beyond 4 GB."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from root_peer import read_by_root

import sapwood

ak = pytest.importorskip("awkward")

BIG_FILE = 2_000_000_000
"""``kStartBigFile``: where ROOT begins to write offsets of 8 bytes (root-io-spec LargeFiles §1)."""
LARGE = 1_000_000
BEFORE = 20_000
"""Bytes before a boundary at which a file goes on."""
BOUNDARIES = {"2 GB": BIG_FILE, "2 GiB": 1 << 31, "4 GiB": 1 << 32}


def hollow(path: Path, end: int) -> None:
    """Moves the end of a file, as its header says it, behind a hole that takes no room on the disk."""
    with path.open("r+b") as file:
        magic, version = struct.unpack(">4sI", file.read(8))
        assert magic == b"root"
        file.seek(12)
        file.write(struct.pack(">Q" if version >= LARGE else ">I", end))
        file.truncate(end)


def columns(first: int, last: int) -> dict[str, Any]:
    numbers = np.arange(first, last)
    return {
        "x": numbers,
        "Jet_pt": ak.Array([[float(n)] * (n % 4) for n in numbers]),
        "name": [f"entry {n}" for n in numbers],
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that crosses all boundaries, each in the middle of a tree."""
    path = tmp_path_factory.mktemp("large") / "large.root"
    layout: dict[str, Any] = {"compression": "none", "basket_size": 4000, "cluster_entries": 500}
    with sapwood.recreate(path) as file:
        file.mktree("dir/Events", **layout).extend(columns(0, 1000))
        file["notes/first"] = "before all of it"
    for number, (name, boundary) in enumerate(BOUNDARIES.items(), 1):
        hollow(path, boundary - BEFORE)
        with sapwood.update(path, compression="none") as file:
            file["dir/Events"].extend(columns(1000 * number, 1000 * (number + 1)))
            file.mktree(f"more/at {name}", **layout).extend(columns(0, 1000))
            file[f"notes/{name}"] = f"behind {name}"
            file[f"histograms/{name}"] = (np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
        assert boundary < path.stat().st_size < boundary + 10_000_000
    return path


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return {name: ak.to_list(values) for name, values in columns(0, 4000).items()}


def test_files_cross_the_boundaries_of_offsets(path: Path, expected: dict[str, Any]) -> None:
    short = {name: values[:1000] for name, values in expected.items()}
    with sapwood.open(path) as ours, uproot.open(path) as theirs:
        for file in (ours, theirs):
            for tree, wanted in [("dir/Events", expected)] + [(f"more/at {n}", short) for n in BOUNDARIES]:
                found = file[tree]
                assert {name: found[name].array().to_list() for name in wanted} == wanted
            for name in BOUNDARIES:
                assert str(file[f"notes/{name}"]) == f"behind {name}"
                assert list(file[f"histograms/{name}"].values()) == [1.0, 2.0]
        # Nothing was moved: the first baskets lie before the first hole, the last ones behind the last.
        places = theirs["dir/Events/x"].member("fBasketSeek")
        assert places[0] < BEFORE and places.max() > 1 << 32
        assert any(BIG_FILE - BEFORE < place < BIG_FILE for place in places)


def test_root_reads_beyond_the_boundaries(path: Path, expected: dict[str, Any]) -> None:
    (found,) = read_by_root(path)
    assert found["dir/Events"]["x"] == [[x] for x in expected["x"]]
    assert found["dir/Events"]["Jet_pt"] == expected["Jet_pt"]
    assert found["more/at 4 GiB"]["name"] == expected["name"][:1000]
    assert {f"notes/{name}" for name in BOUNDARIES} <= set(found)


def test_a_copy_has_no_holes(path: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    merged = tmp_path / "copy.root"
    sapwood.repack(path, merged)
    assert merged.stat().st_size < 10_000_000
    with sapwood.open(merged) as file:
        tree = file["dir/Events"]
        assert {name: tree[name].array().to_list() for name in expected} == expected
