"""Rare kinds of branches, in a file that ROOT wrote with `tests/data/trees/make_rare.py`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sapwood

RARE = Path(__file__).resolve().parents[1] / "data" / "trees" / "rare.root"
WORDS = ["one", "two", "three"]
pytest.importorskip("awkward")


@pytest.fixture
def file() -> Iterator[sapwood.File]:
    """The file."""
    with sapwood.open(RARE) as opened:
        yield opened


def test_leaves_that_another_leaf_of_the_branch_counts_are_lists(file: sapwood.File) -> None:
    hits = file["leaves"]["hits"]
    assert hits.typename == "struct {int32_t n; int32_t[] x; int32_t[][2] y; int32_t last;}"
    array = hits.array()
    for entry, found in enumerate(array.to_list()):
        first = [100 * entry + index + 1 for index in range(2 * entry)]
        pairs = [first[index : index + 2] for index in range(0, len(first), 2)]
        assert found == {"n": entry, "x": first[:entry], "y": pairs, "last": 100 * entry + 1}
    assert hits.array(entry_start=2, entry_stop=4).to_list() == array[2:4].to_list()


def test_leaves_that_are_counted_become_objects_of_numpy_and_rows_of_pandas(file: sapwood.File) -> None:
    as_numpy = file["leaves"]["hits"].array(library="np")
    assert as_numpy["x"][3].tolist() == [301, 302, 303]
    pytest.importorskip("pandas")
    assert len(file["leaves"].arrays(["hits"], library="pd")) == 5


def test_a_member_with_the_name_of_one_of_tobject_is_shown(file: sapwood.File) -> None:
    trigger = file["bits"]["trigger"]
    expected = [
        {"run": entry, "fBits": {"fNbits": 8, "fNbytes": 1, "fAllBits": [1 << entry]}} for entry in range(3)
    ]
    assert trigger.array().to_list() == expected
    assert trigger["fBits"].array().to_list() == [entry["fBits"] for entry in expected]


@pytest.mark.parametrize("branch", ["split.", "whole."])
def test_pointers_to_strings_and_enums_in_maps_are_read(file: sapwood.File, branch: str) -> None:
    array = file["pointers"][branch].array()
    for entry, found in enumerate(array):
        assert found.words.to_list() == WORDS[:entry]
        assert found.titles.to_list() == [word.title() for word in WORDS[:entry]]
        pairs = {name: [tuple(_values(pair)) for pair in found[name].to_list()] for name in _MAPS}
        colors = [(-3, 5)[index % 2] for index in range(entry)]
        assert pairs["numbered"] == list(enumerate(WORDS[:entry]))
        assert pairs["colors"] == list(enumerate(colors))
        assert pairs["counts"] == [
            (color, {-3: 2 * (entry > 2), 5: 1}[color]) for color in sorted(set(colors))
        ]


_MAPS = ("numbered", "colors", "counts")


def _values(pair: object) -> tuple[object, ...]:
    return tuple(pair.values()) if isinstance(pair, dict) else tuple(pair)  # type: ignore[arg-type]


@pytest.mark.parametrize("branch", ["split.", "whole."])
def test_a_fixed_array_of_counted_arrays_is_read(file: sapwood.File, branch: str) -> None:
    array = file["pointers"][branch].array()
    for entry in range(4):
        points = [{"x": 10 * entry + index} for index in range(entry)]
        assert array[entry].points.to_list() == [points, points]
    assert array.last.to_list() == [100, 101, 102, 103]
    part = file["pointers"]["split.points[2]"].array(entry_start=1, entry_stop=3)
    assert part.to_list() == array.points[1:3].to_list()


def test_baskets_in_the_record_need_no_other_file(tmp_path: Path) -> None:
    """The branch names ``gone.root``, which is nowhere."""
    alone = shutil.copy(RARE, tmp_path)
    with sapwood.open(alone) as file:
        assert file["embedded"]["number"].array().to_list() == [0, 7, 14]
    copy = tmp_path / "copy.root"
    sapwood.repack(alone, copy)
    with sapwood.open(copy) as file:
        assert file["embedded"]["number"].array().to_list() == [0, 7, 14]
