"""Branches are added to trees of any kind; what the trees held stays as it was."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from root_peer import python_with_root, read_by_root

import sapwood
from sapwood.errors import KeyInFileError, SapwoodError, UnsupportedTypeError, UsageError

ak = pytest.importorskip("awkward")

ENTRIES, CLUSTER = 1000, 300


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a tree in four clusters, in a directory."""
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        tree = file.mktree("dir/Events", title="the events", cluster_entries=CLUSTER)
        tree.extend(old(ENTRIES))
    return path


def old(entries: int) -> dict[str, Any]:
    numbers = np.arange(entries)
    return {"run": numbers, "Jet_pt": ak.Array([[float(n)] * (n % 3) for n in numbers])}


def new(entries: int) -> dict[str, Any]:
    """A column of each kind."""
    numbers = np.arange(entries)
    return {
        "score": (numbers / 7).astype("f4"),
        "good": numbers % 2 == 0,
        "p4": np.repeat(numbers, 6).reshape(-1, 2, 3).astype("f8"),
        "weights": ak.Array([[float(n)] * (n % 4) for n in numbers]),
        "name": [f"entry {n}" for n in numbers],
        "deep": ak.Array([[[float(n)], []] for n in numbers]),
    }


def same(found: Any, columns: dict[str, Any]) -> bool:
    return all(ak.to_list(found[name]) == ak.to_list(ak.Array(column)) for name, column in columns.items())


def test_new_branches_stand_beside_the_old_ones(path: Path) -> None:
    with sapwood.update(path, compression="lzma:3") as file:
        columns = new(ENTRIES)
        tree = file["dir/Events"]
        tree.add_branches({"score": columns.pop("score")}, titles={"score": "of the network"})
        tree.add_branches(columns, basket_size={"p4": "2 kB"}, compression={"name": "none"})
    with sapwood.open(path) as file:
        tree = file["dir/Events"]
        assert file.keys() == ["dir;1", "dir/Events;2"]
        assert (tree.num_entries, tree.title) == (ENTRIES, "the events")
        assert tree.keys() == ["run", "nJet_pt", "Jet_pt", "score", "good", "p4", "nweights", *[*columns][2:]]
        assert same(tree.arrays(), {**old(ENTRIES), **new(ENTRIES)})
        assert tree["score"].title == "of the network"
        assert list(tree.cluster_starts) == [0, 300, 600, 900, 1000]
        assert tree["score"].num_baskets == 4 and tree["p4"].num_baskets > 20
        assert tree["name"].compression == sapwood.Compression.of("none")
    with uproot.open(path) as file:
        assert same(file["dir/Events"].arrays(), {**old(ENTRIES), **new(ENTRIES)})
    assert sapwood.verify(path).ok


@pytest.mark.skipif(python_with_root() is None, reason="there is no ROOT")
def test_root_reads_the_branches(path: Path) -> None:
    with sapwood.update(path) as file:
        file["dir/Events"].add_branches(new(ENTRIES))
    (found,) = read_by_root(path)
    tree = found["dir/Events"]
    assert tree["run"] == [[n] for n in range(ENTRIES)]
    assert tree["score"] == [[float(np.float32(n / 7))] for n in range(ENTRIES)]
    assert tree["weights"] == [[float(n)] * (n % 4) for n in range(ENTRIES)]
    assert tree["name"] == [f"entry {n}" for n in range(ENTRIES)]


def test_entries_can_be_added_in_a_later_update(path: Path) -> None:
    with sapwood.update(path) as file:
        file["dir/Events"].add_branches(new(ENTRIES))
    with sapwood.update(path) as file:
        tree = file["dir/Events"]
        tree.extend({name: column[:10] for name, column in {**old(10), **new(10)}.items()})
    with sapwood.open(f"{path}:dir/Events") as tree:
        found = tree.arrays()
        assert same(found[:ENTRIES], {**old(ENTRIES), **new(ENTRIES)})
        assert same(found[-10:], {**old(10), **new(10)})


def test_what_cannot_be_added_leaves_the_file_as_it_was(path: Path) -> None:
    before = path.read_bytes()
    with sapwood.update(path) as file:
        tree = file["dir/Events"]
        for data, says in [
            ({"run": np.arange(ENTRIES)}, "already has a branch 'run'"),
            ({"score": np.arange(9)}, "has 1000"),
            ({"a": np.arange(ENTRIES), "b": np.arange(9)}, "'b' has 9"),
            ({}, "no branches"),
        ]:
            with pytest.raises(UsageError, match=says):
                tree.add_branches(data)
        with pytest.raises(UnsupportedTypeError):
            tree.add_branches({"score": ak.Array([None, 1.5] * (ENTRIES // 2))})
        with pytest.raises(KeyInFileError):
            file["Events"]
    assert path.read_bytes() == before


def test_branches_and_entries_are_not_added_together(path: Path) -> None:
    with sapwood.update(path) as file:
        tree = file["dir/Events"]
        tree.add_branches({"score": np.arange(ENTRIES)})
        with pytest.raises(UsageError, match="branches were added"):
            tree.extend(old(10))
    with sapwood.update(path) as file:
        tree = file["dir/Events"]
        tree.extend({**old(10), "score": np.arange(10)})
        with pytest.raises(UsageError, match="entries were added"):
            tree.add_branches({"other": np.arange(ENTRIES)})
        fresh = file.mktree("fresh", {"x": [1, 2]})
        with pytest.raises(UsageError, match="declare all branches"):
            fresh.add_branches({"y": [1, 2]})
    with sapwood.open(path) as file:
        assert file["dir/Events"].num_entries == ENTRIES + 10 and "other" not in file["dir/Events"]


def test_an_update_that_fails_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RuntimeError), sapwood.update(path) as file:
        file["dir/Events"].add_branches(new(ENTRIES))
        raise RuntimeError
    assert path.read_bytes() == before


def test_trees_without_entries_get_branches(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file.mktree("t", {"x": "f4"})
    with sapwood.update(path) as file:
        file["t"].add_branches({"y": np.zeros(0, "i4")})
    with sapwood.open(f"{path}:t") as tree:
        assert tree.keys() == ["x", "y"] and len(tree["y"].array()) == 0


def test_trees_of_real_files_get_branches(corpus: Path, tmp_path: Path) -> None:
    """Of every kind: with split objects, in old layouts, with baskets in their records, without clusters."""
    added, refused = 0, []
    for source in sorted(corpus.rglob("*.root")):
        if source.stat().st_size > 3_000_000:
            continue
        path = tmp_path / "file.root"
        shutil.copy(source, path)
        try:
            with sapwood.open(path) as file:
                names = [name for name, kind in file.classnames().items() if kind in ("TTree", "TNtuple")]
                names = list(dict.fromkeys(name.partition(";")[0] for name in names))[:2]
                before = {name: digest(file[name]) for name in names}
        except SapwoodError:
            continue
        for name in names:
            try:
                with sapwood.update(path) as writer:
                    tree = writer[name]
                    scores = np.arange(tree.num_entries, dtype="f4")
                    lists = ak.unflatten(scores, np.ones(len(scores), "i8"))
                    tree.add_branches({"sapwood_score": scores, "sapwood_list": lists})
            except SapwoodError as error:
                refused.append((source.name, name, str(error)))
                continue
            with sapwood.open(path) as file:
                tree = file[name]
                assert digest(tree) == before[name], source
                assert tree["sapwood_score"].array(library="np").tolist() == scores.tolist(), source
                assert tree["sapwood_list"].array().to_list() == lists.to_list(), source
            added += 1
    assert added > 100
    assert not [one for one in refused if "before 4" not in one[2]]


def digest(tree: Any) -> dict[str, Any]:
    """What is found in each of the first branches of a tree."""
    found = {}
    for branch in [one for one in tree.itervalues() if "sapwood_" not in one.name][:20]:
        try:
            # Buffers, as lists take as long to make and to show as all else together.
            form, _, buffers = ak.to_buffers(ak.to_packed(branch.array(entry_stop=50)))
            found[branch.path] = form, {name: buffer.tobytes() for name, buffer in buffers.items()}
        except SapwoodError as error:
            found[branch.path] = type(error).__name__
    return found
