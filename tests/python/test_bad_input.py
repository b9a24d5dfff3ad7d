"""Damaged files give a typed error with its position, or the data; never a crash or an untyped exception."""

from __future__ import annotations

import io
import random
import warnings
from pathlib import Path

import pytest

import sapwood
from sapwood import errors
from sapwood.model.directory import TREE_CLASSES

SMALL = [
    "skhep__uproot-foriter2.root",
    "skhep__uproot-issue31.root",
    "skhep__uproot-issue33.root",
    "skhep__uproot-leaflist.root",
    "skhep__uproot-sample-5.23.02-zlib.root",
    "skhep__uproot-sample-6.10.05-lz4.root",
    "skhep__uproot-stl_containers.root",
    "skhep__uproot-issue38a.root",
]
MUTATIONS = 120


def read_everything(data: bytes) -> int:
    """Reads all that can be read; the number of branches that could."""
    count = 0
    with sapwood.open(data) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.BranchSkippedWarning)
        for name, kind in file.classnames().items():
            if kind not in TREE_CLASSES:
                continue
            try:
                tree = file[name]
                branches = tree.values()
                tree.show(stream=io.StringIO())
            except errors.SapwoodError:
                continue
            for branch in branches:
                try:
                    branch.array(library="np", entry_stop=2000)
                    count += 1
                except errors.SapwoodError as error:
                    assert str(error)
    return count


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One of the ways in which files are damaged."""
    damaged = bytearray(data)
    kind = chance.randrange(5)
    if kind == 0:
        return bytes(damaged[: chance.randrange(len(damaged))])
    for _ in range(chance.choice([1, 1, 3, 20])):
        place = chance.randrange(len(damaged))
        if kind == 1:
            damaged[place] ^= 1 << chance.randrange(8)
        elif kind == 2:
            damaged[place] = chance.choice([0, 0x7F, 0x80, 0xFF])
        elif kind == 3:
            damaged[place : place + 4] = chance.choice(
                [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0"]
            )
        else:
            other = chance.randrange(len(damaged))
            damaged[place : place + 16] = damaged[other : other + 16]
    return bytes(damaged[: len(data)])


@pytest.mark.parametrize("name", SMALL)
def test_damaged_real_files(corpus: Path, name: str) -> None:
    path = corpus / name
    if not path.is_file():
        pytest.skip(f"the corpus has no {name}")
    damage_and_read(path.read_bytes(), name)


def test_damaged_generated_file(events_file: Path) -> None:
    # Most of this file is baskets: damage to one of them must not spoil the others.
    assert damage_and_read(events_file.read_bytes(), "events") > MUTATIONS / 3


def damage_and_read(data: bytes, seed: str) -> int:
    """How many of many damaged versions of a file could still be read in part."""
    chance = random.Random(seed)
    whole = read_everything(data)
    survived = 0
    for _ in range(MUTATIONS):
        try:
            survived += read_everything(mutated(data, chance)) > 0
        except errors.SapwoodError as error:
            assert error.code in errors.by_code()
    assert survived > 0 or not whole
    return survived


def test_a_damaged_basket_names_the_place_and_spoils_nothing_else(events_file: Path) -> None:
    data = bytearray(events_file.read_bytes())
    with sapwood.open(bytes(data)) as file:
        _, _, offset, size, _ = file["Events"]["weight"].baskets[2]
    # 14 bytes into a record stands the length of its key; then comes a block with its compression's tag.
    block = offset + int.from_bytes(data[offset + 14 : offset + 16], "big")
    assert data[block : block + 2] == b"ZS"
    data[block : block + 2] = b"??"
    with sapwood.open(bytes(data)) as file:
        tree = file["Events"]
        with pytest.raises(errors.CorruptFileError) as caught:
            tree["weight"].array(library="np")
        assert caught.value.branch == "weight" and caught.value.url == "<bytes>"
        assert caught.value.offset is not None and offset <= caught.value.offset < offset + size
        assert len(tree["weight"].array(library="np", entry_stop=500)) == 500
        assert len(tree["met"].array(library="np")) == 1000


@pytest.mark.parametrize("size", [0, 1, 50, 100, 400, 5000])
def test_a_truncated_file(events_file: Path, size: int) -> None:
    with pytest.raises(errors.CorruptFileError), sapwood.open(events_file.read_bytes()[:size]) as file:
        file["Events"].arrays(library="np")


def test_a_file_object_that_fails(events_file: Path) -> None:
    class Failing:
        def __init__(self) -> None:
            self.reads = 0

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def tell(self) -> int:
            return 100_000

        def read(self, size: int = -1) -> bytes:
            raise RuntimeError("the tape broke")

    with pytest.raises(errors.ReadError, match="the tape broke"):
        sapwood.open(Failing())
