"""Objects of classes that ROOT treats in its own ways, at other split levels, compared with those of ROOT."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from root_peer import dictionary_by_root, needs_root, objects_by_root
from split_levels import LEVELS, Described, described

import sapwood

HERE = Path(__file__).resolve().parent / "objects"
sys.path.insert(0, str(HERE))

import make  # noqa: E402

pytest.importorskip("awkward")
pytest.importorskip("uproot")

KEPT = {
    "clones": {("holder.", 99): "it holds a TClonesArray in another object"},
    "counted": {("spectrum", 1): "no branch has the number of items of 'bins'"},
    "referable": {("holder.", 99): "the class referable::Bare is stored without its TObject"},
}
"""The classes, and which of their objects do not get a level, and why."""
CLASSES = sorted(KEPT)


class Levels:
    """The objects of some classes at each level, and what ROOT says of them."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        saved = json.loads(gzip.decompress((HERE / f"{name}_levels.json.gz").read_bytes()))
        self.described: dict[str, dict[str, Described]] = saved["levels"]
        self.bytes: dict[str, str] = saved["bytes"]
        self.paths = {level: folder / f"{name}_{level}.root" for level in LEVELS}
        for level, path in self.paths.items():
            sapwood.repack(HERE / f"{name}.root", path, split=level)


@pytest.fixture(scope="module", params=CLASSES)
def levels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Levels:
    return Levels(request.param, tmp_path_factory.mktemp(request.param))


def by_name(found: dict[str, dict[str, list[str]]] | None) -> dict[str, list[str]]:
    """What ROOT reads of each object: split ones come behind the others."""
    assert found is not None
    return {branch.partition(" ")[2]: digests for branch, digests in found[make.TREE].items()}


def values(path: Path) -> dict[str, Any]:
    with sapwood.open(f"{path}:{make.TREE}") as tree:
        return {name: tree[name].array().tolist() for name in tree}


def kept(levels: Levels, at: int) -> tuple[str, ...]:
    """The objects that do not get the level."""
    return tuple(name for name, level in KEPT[levels.name] if level == at)


def notes(levels: Levels, at: int) -> set[str]:
    """Why not."""
    return {
        f"'{name}' keeps its split level: {why}"
        for (name, level), why in KEPT[levels.name].items()
        if level == at
    }


@pytest.mark.parametrize("level", LEVELS)
def test_the_branches_are_those_of_root(levels: Levels, level: int) -> None:
    found = described(levels.paths[level], [make.TREE])
    expected = levels.described[str(level)]
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name] == expected[name] or name.endswith(kept(levels, level)), name


def test_split_objects_have_the_bytes_that_root_writes(levels: Levels) -> None:
    found = make.digests(levels.paths[99])
    other = {path for path, digest in levels.bytes.items() if found.get(path) != digest}
    stays = tuple(f"/{name}" for name in kept(levels, 99))
    assert other == {path for path in levels.bytes if path.startswith(stays)}


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(LEVELS, 2)))
def test_every_level_becomes_every_other(levels: Levels, before: int, after: int, tmp_path: Path) -> None:
    report = sapwood.repack(levels.paths[before], tmp_path / "out.root", split=after)
    assert set(report.notes) <= notes(levels, after)
    found, expected = (described(path, [make.TREE]) for path in (tmp_path / "out.root", levels.paths[after]))
    assert found.keys() == expected.keys()
    stays = kept(levels, after)
    for name in found:
        assert found[name] == expected[name] or name.endswith(stays), name
    got, wanted = values(tmp_path / "out.root"), values(levels.paths[after])
    for name in wanted:
        assert name.startswith(stays) or got[name] == wanted[name], name


def test_what_stays_is_noted(levels: Levels, tmp_path: Path) -> None:
    for level in LEVELS:
        report = sapwood.repack(HERE / f"{levels.name}.root", tmp_path / f"{level}.root", split=level)
        assert set(report.notes) == notes(levels, level)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_root_reads_the_same_objects(levels: Levels, tmp_path: Path) -> None:
    python = needs_root()
    folder = dictionary_by_root(python, levels.name)
    back = tmp_path / "back.root"
    sapwood.repack(levels.paths[99], back, split=0)
    files = [HERE / f"{levels.name}.root", *levels.paths.values(), back]
    read = objects_by_root(python, folder, [(path, [make.TREE]) for path in files])
    expected, *others = map(by_name, read)
    assert len(expected) > 2
    for path, found in zip(files[1:], others, strict=True):
        assert found == expected, path.name


def test_references_of_several_processes_are_not_mixed_up(tmp_path: Path) -> None:
    from sapwood.errors import UnsupportedTypeError

    data = (HERE / "referable.root").read_bytes()
    with sapwood.open({str(HERE / "referable.root"): None}) as file:
        process = next(key.title for key in file.all_keys if key.path == "ProcessID0").encode()
    one, other, out = (tmp_path / f"{name}.root" for name in ("one", "other", "out"))
    one.write_bytes(data)
    other.write_bytes(data.replace(process, process[::-1]))
    sapwood.merge([one, one], out, split=99)
    with sapwood.open(f"{out}:{make.TREE}") as merged:
        assert merged["hit/channel"].array().tolist() == [*range(6)] * 2
    with pytest.raises(UnsupportedTypeError, match="by the process ids of a merged file"):
        sapwood.merge([one, other], tmp_path / "both.root", split=99)
    sapwood.merge([one, other], tmp_path / "whole.root")


def test_selected_entries_of_several_files_are_converted(levels: Levels, tmp_path: Path) -> None:
    for before, after in ((0, 99), (99, 0)):
        out, whole = tmp_path / f"{before}.root", values(levels.paths[after])
        sapwood.merge([levels.paths[before]] * 2, out, split=after, cluster_entries=4)
        merged = values(out)
        sapwood.repack(levels.paths[before], out, split=after, entry_start=2, entry_stop=5, overwrite=True)
        selected = values(out)
        for name, value in whole.items():
            if not name.startswith(kept(levels, after)):
                assert merged[name] == value * 2, name
                assert selected[name] == value[2:5], name
