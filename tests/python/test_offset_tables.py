"""Offset tables that are compressed separately: tables assumed from a neighboring branch are correct."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
import pytest

import sapwood
from sapwood import errors

uproot = pytest.importorskip("uproot")

ENTRIES = 2000


def lists(seed: int) -> ak.Array:
    """Lists of numbers that say where they belong; of any seed as many, in another order."""
    counts = np.random.default_rng(seed).permutation(np.arange(ENTRIES) % 6)
    return ak.unflatten(np.arange(counts.sum(), dtype="f4"), counts)


def written(path: Path, seed: int, compression: str = "zstd:5") -> Path:
    with sapwood.recreate(path, compression=compression) as file:
        types = {"x": "var * float32", "y": "var * float32"}
        tree = file.mktree("t", types, counter_name=lambda _: "n")
        tree.extend({"x": lists(seed), "y": lists(seed) + 1})
    return path


def payload(path: Path, branch: str) -> tuple[int, int]:
    """Where the bytes of a branch's only basket begin and end, behind its key."""
    with uproot.open(path) as file:
        basket = file["t"][branch]
        (start,), (length,) = basket.member("fBasketSeek")[:1], basket.member("fBasketBytes")[:1]
        key = file.file.source.chunk(start, start + 100).raw_data
        return int(start) + int.from_bytes(key[14:16].tobytes(), "big"), int(start + length)


@pytest.mark.parametrize("compression", ["zstd:5", "zstd:1", "zlib:6", "lz4:4", "lzma:1", "none"])
def test_columns_of_one_counter(tmp_path: Path, compression: str) -> None:
    path = written(tmp_path / "f.root", 1, compression)
    with sapwood.open(f"{path}:t") as tree:
        both = tree.arrays()
        for name, right in [("x", lists(1)), ("y", lists(1) + 1)]:
            assert ak.array_equal(both[name], right) and ak.array_equal(tree[name].array(), right)
            part = tree.arrays([name], entry_start=100, entry_stop=1900)[name]
            assert ak.array_equal(part, right[100:1900])


def test_a_table_that_says_something_else_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "f.root", 1)
    start, stop = payload(path, "y")
    for seed in range(2, 300):
        other = written(tmp_path / "other.root", seed)
        begin, end = payload(other, "y")
        if end - begin == stop - start:
            break
    content = bytearray(path.read_bytes())
    content[start:stop] = other.read_bytes()[begin:end]
    path.write_bytes(content)
    both = sapwood.open(f"{path}:t").arrays()
    assert ak.array_equal(both["x"], lists(1)) and ak.array_equal(both["y"], lists(seed) + 1)


def test_damage_of_a_table_is_seen(tmp_path: Path) -> None:
    path = written(tmp_path / "f.root", 1)
    start, stop = payload(path, "y")
    content = path.read_bytes()
    second = content.rindex(b"ZS\x01", start, stop)
    for place in [*range(second, second + 20), *range(second + 20, stop, 37), stop - 1]:
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        with sapwood.open(f"{path}:t") as tree:
            with pytest.raises(errors.SapwoodError, match="y"):
                tree["y"].array()
            # With its neighbor, the column is right, or an error.
            try:
                both = tree.arrays()
            except errors.SapwoodError:
                continue
            assert ak.array_equal(both["x"], lists(1)) and ak.array_equal(both["y"], lists(1) + 1)
