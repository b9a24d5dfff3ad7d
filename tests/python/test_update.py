"""Adding to existing files never changes what they held."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from root_peer import python_with_root, read_by_root

import sapwood
from sapwood.errors import FileNotFoundError, PermissionError, UnsupportedTypeError, UsageError

ak = pytest.importorskip("awkward")

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a tree and a text in a directory."""
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file["Events"] = {"met": np.arange(1000, dtype="f4")}
        file["notes/first"] = "one"
    return path


def test_trees_and_objects_are_added(path: Path) -> None:
    with sapwood.update(path) as file:
        assert file.keys() == ["Events", "notes/first"] and "Events" in file
        file["notes/second"] = "two"
        file["More"] = {"run": np.arange(10), "Jet_pt": [[1.5]] * 10}
        file["deep/er/histogram"] = (np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    with uproot.open(path) as file:
        assert list(file["Events/met"].array(library="np")) == list(range(1000))
        assert list(file["More/Jet_pt"].array()[9]) == [1.5]
        assert (file["notes/first"], file["notes/second"]) == ("one", "two")
        assert list(file["deep/er/histogram"].values()) == [1.0, 2.0]
    with sapwood.open(path) as ours:
        assert ours["Events"].num_entries == 1000 and ours["More"].num_entries == 10


def test_root_reads_what_was_added(path: Path) -> None:
    for round in range(3):
        with sapwood.update(path, compression="lzma:3") as file:
            file[f"notes/round{round}"] = f"round {round}"
            file[f"Tree{round}"] = {"x": np.full(100, round), "names": ["text"] * 100}
    (found,) = read_by_root(path)
    assert found["Events"]["met"] == [[float(x)] for x in range(1000)]
    assert found["Tree2"]["x"] == [[2]] * 100 and found["Tree0"]["names"] == ["text"] * 100
    assert "notes/round1" in found


def columns(first: int, last: int) -> dict[str, Any]:
    """A column of each kind, of numbered entries."""
    numbers = np.arange(first, last)
    return {
        "x": numbers,
        "good": numbers % 2 == 0,
        "p4": np.repeat(numbers, 6).reshape(-1, 2, 3).astype("f4"),
        "Jet_pt": ak.Array([[float(n)] * (n % 4) for n in numbers]),
        "Jet_id": ak.Array([[n] * (n % 4) for n in numbers]),
        "name": [f"entry {n}" for n in numbers],
        "deep": ak.Array([[[float(n)], []] for n in numbers]),
        "texts": ak.Array([[str(n)] * (n % 3) for n in numbers]),
    }


@pytest.mark.parametrize("cluster_entries", [70, 100, 10_000])
def test_entries_are_added_to_a_tree(tmp_path: Path, cluster_entries: int) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file.mktree("dir/Events", cluster_entries=cluster_entries).extend(columns(0, 230))
    for first, last in ((230, 231), (231, 231), (231, 800)):
        with sapwood.update(path) as file:
            tree = file["dir/Events"]
            assert tree.num_entries == first
            if last > first:
                tree.extend(columns(first, last))
    expected = columns(0, 800)
    with uproot.open(path) as file:
        found = file["dir/Events"]
        assert file.keys(cycle=True) == ["dir;1", "dir/Events;3"]
        for name, values in expected.items():
            assert found[name].array().to_list() == ak.to_list(values), name
    with sapwood.open(f"{path}:dir/Events") as ours:
        for name, values in expected.items():
            assert ours[name].array().to_list() == ak.to_list(values), name
    if python_with_root():
        (by_root,) = read_by_root(path)
        assert by_root["dir/Events"]["Jet_id"] == ak.to_list(expected["Jet_id"])
        assert by_root["dir/Events"]["name"] == expected["name"]


def more(first: int, last: int) -> dict[str, Any]:
    """Entries of the trees of others."""
    numbers = np.arange(first, last)
    return {
        "x": numbers,
        "flag": numbers % 3 == 0,
        "p4": np.repeat(numbers, 4).reshape(-1, 4) / 2,
        "Jet_pt": ak.Array([[float(n)] * (n % 7) for n in numbers]),
        "Jet_id": ak.Array([[n] * (n % 7) for n in numbers]),
    }


def extend_in_steps(path: Path, columns: Any, steps: list[int]) -> None:
    for first, last in itertools.pairwise(steps):
        with sapwood.update(path) as file:
            assert file["Events"].num_entries == first
            file["Events"].extend(columns(first, last))


def as_lists(values: list[Any]) -> list[Any]:
    """As ROOT tells them: a number is a list, too."""
    return [value if isinstance(value, (list, str)) else [value] for value in values]


def test_trees_of_uproot_are_extended(tmp_path: Path) -> None:
    path = tmp_path / "uproot.root"
    start = more(0, 120)
    start["Jet"] = ak.zip({"pt": start.pop("Jet_pt"), "id": start.pop("Jet_id")})
    types = {"x": "int64", "flag": "bool", "p4": np.dtype(("f8", (4,))), "Jet": start["Jet"].type.content}
    with uproot.recreate(path) as theirs:
        tree = theirs.mktree("Events", types)
        for first, last in ((0, 100), (100, 120)):
            tree.extend({name: array[first:last] for name, array in start.items()})
    extend_in_steps(path, more, [120, 130, 131, 5000])
    expected = {name: ak.to_list(values) for name, values in more(0, 5000).items()}
    with uproot.open(path) as file, sapwood.open(f"{path}:Events") as ours:
        for name, values in expected.items():
            assert file["Events"][name].array().to_list() == values, name
            assert ours[name].array().to_list() == values, name
    if python_with_root():
        (by_root,) = read_by_root(path)
        for name, values in expected.items():
            assert by_root["Events"][name] == as_lists(values), name


def test_trees_of_uproot_get_longer_texts(tmp_path: Path) -> None:
    path = tmp_path / "uproot.root"
    parts = [["a", ""], ["a text that is longer", "b"], ["c" * 300]]
    with uproot.recreate(path) as theirs:
        theirs.mktree("Events", {"text": "string"}).extend({"text": ak.Array(parts[0])})
    for part in parts[1:]:
        with sapwood.update(path) as file:
            file["Events"].extend({"text": part})
    expected = [text for part in parts for text in part]
    with uproot.open(path) as file, sapwood.open(f"{path}:Events") as ours:
        assert file["Events"]["text"].array().to_list() == expected
        assert ours["text"].array().to_list() == expected
    if python_with_root():
        (by_root,) = read_by_root(path)
        assert by_root["Events"]["text"] == expected


BY_ROOT = """
import sys, ROOT
file = ROOT.TFile(sys.argv[1], "RECREATE", "", 404)
tree = ROOT.TTree("Events", "by ROOT")
tree.SetAutoFlush(300)
ROOT.gInterpreter.Declare('''
void fill(TTree &tree) {
   int x, nJet; float pt[100]; double p4[4]; std::vector<float> v; std::vector<int> w;
   std::string s;
   tree.Branch("x", &x, "x/I"); tree.Branch("nJet", &nJet, "nJet/I");
   tree.Branch("Jet_pt", pt, "Jet_pt[nJet]/F", 1500); tree.Branch("p4", p4, "p4[4]/D", 2000);
   tree.Branch("v", &v); tree.Branch("w", &w); tree.Branch("s", &s);
   tree.GetUserInfo()->Add(new TNamed("author", "nobody"));
   for (x = 0; x < 1000; x++) {
      nJet = x % 5; for (int i = 0; i < 5; i++) pt[i] = x; for (auto &p : p4) p = x / 2.;
      v.assign(x % 4, x); w.assign(x % 3, x); s = std::to_string(x); tree.Fill();
   }
}''')
ROOT.fill(tree)
tree.SetAlias("twice", "2 * x")
tree.Write()
file.Close()
"""


def as_root_filled(first: int, last: int) -> dict[str, Any]:
    numbers = np.arange(first, last)
    return {
        "x": numbers,
        "Jet_pt": ak.Array([[float(n)] * (n % 50) for n in numbers]),
        "p4": np.repeat(numbers, 4).reshape(-1, 4) / 2,
        "v": ak.Array([[float(n)] * (n % 4) for n in numbers]),
        "w": ak.Array([[n] * (n % 3) for n in numbers]),
        "s": [str(n) for n in numbers],
    }


@pytest.mark.skipif(python_with_root() is None, reason="ROOT is not here: make servers")
def test_trees_of_root_are_extended(tmp_path: Path) -> None:
    path = tmp_path / "root.root"
    subprocess.run([str(python_with_root()), "-c", BY_ROOT, str(path)], check=True, timeout=120)
    extend_in_steps(path, as_root_filled, [1000, 1010, 3000])
    whole = as_root_filled(0, 3000)
    whole["Jet_pt"] = ak.Array([[float(n)] * (n % (5 if n < 1000 else 50)) for n in range(3000)])
    (by_root,) = read_by_root(path)
    with uproot.open(path) as file, sapwood.open(f"{path}:Events") as ours:
        assert file["Events"].aliases == {"twice": "2 * x"}
        for name, values in whole.items():
            values = ak.to_list(values)
            assert file["Events"][name].array().to_list() == values, name
            assert ours[name].array().to_list() == values, name
            assert by_root["Events"][name] == as_lists(values), name


def test_a_second_object_of_a_name_is_its_next_cycle(path: Path) -> None:
    with sapwood.update(path) as file:
        file["notes/first"] = "another"
    with sapwood.open(path) as found:
        assert (found["notes/first"], found["notes/first;1"]) == ("another", "one")


def test_exceptions_change_nothing(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), sapwood.update(path) as file:
        file["More"] = {"run": np.arange(100_000)}
        raise ZeroDivisionError
    assert path.read_bytes() == before
    with sapwood.update(path):
        pass
    assert path.read_bytes() == before


KILLED = """
import os, signal, sys
import numpy as np
import sapwood
with sapwood.{opener}(sys.argv[1]) as file:
    file["More"] = {{"run": np.random.default_rng(1).integers(0, 2**60, 2_000_000)}}
    file.mktree("Last", {{"x": "int64"}}, cluster_entries=1000).extend({{"x": np.arange(500_000)}})
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("opener", ["update", "recreate"])
def test_a_process_that_is_killed_leaves_what_was_there(path: Path, opener: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED.format(opener=opener), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    with sapwood.open(path) as file:
        assert "More" not in file.keys(cycle=False)
        assert file["Events"].num_entries == 1000
    with getattr(sapwood, opener)(path) as writer:
        writer["More"] = {"run": np.arange(10)}
    with uproot.open(path) as file:
        assert file["More"].num_entries == 10
        assert ("Events" in file) == (opener == "update")


LIMITED = """
import resource, signal, sys
import numpy as np
import sapwood
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    with sapwood.{opener}(sys.argv[1]) as file:
        file["More"] = {{"run": np.random.default_rng(1).integers(0, 2**60, 2_000_000)}}
except OSError as error:
    assert "ulimit -f" in str(error), error
else:
    raise AssertionError("nothing was raised")
"""


@pytest.mark.parametrize("opener", ["update", "recreate"])
def test_a_file_that_may_not_grow_leaves_what_was_there(path: Path, opener: str) -> None:
    before = path.read_bytes()
    subprocess.run([sys.executable, "-c", LIMITED.format(opener=opener), str(path)], check=True)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


FORK = """
import os, sys, numpy, sapwood
from sapwood.errors import UsageError

file = getattr(sapwood, sys.argv[1])(sys.argv[2])
tree = file.mktree("Forked", {"x": "float64"}, cluster_entries=100_000)
values = numpy.random.default_rng(1).random(1_000_000)
tree.extend({"x": values})
for what in ("drops", "writes"):
    child = os.fork()
    if child == 0:
        if what == "drops":
            del tree, file
            os._exit(0)
        try:
            tree.extend({"x": values})
        except UsageError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, what
tree.extend({"x": -values})
file.close()
read = sapwood.open(sys.argv[2])["Forked"]["x"].array(library="np")
assert numpy.array_equal(read, numpy.concatenate([values, -values]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("opener", ["recreate", "update"])
def test_a_fork_does_not_affect_a_large_file_of_its_parent(path: Path, opener: str) -> None:
    # It is written by a thread, which the fork does not have; what that thread locks may stay locked there.
    call = [sys.executable, "-c", FORK, opener, str(path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_two_do_not_add_at_once(path: Path) -> None:
    with sapwood.update(path) as first:
        with pytest.raises(OSError, match="another process"):
            sapwood.update(path)
        first["a"] = "b"


def test_files_and_trees_that_cannot_be_extended(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sapwood.update(tmp_path / "nothing.root")
    with pytest.raises(UsageError, match="directory"):
        sapwood.update(tmp_path)
    with pytest.raises(UnsupportedTypeError, match="s3://"):
        sapwood.update("s3://bucket/file.root")
    with sapwood.update(path) as file, pytest.raises(UnsupportedTypeError, match="not a tree"):
        file["notes/first"]
    if os.geteuid():
        path.chmod(0o400)
        with pytest.raises(PermissionError):
            sapwood.update(path)


def test_files_of_others_are_added_to(tmp_path: Path) -> None:
    path = tmp_path / "uproot.root"
    with uproot.recreate(path) as file:
        file["Events"] = {"x": np.arange(100)}
        file["inner/text"] = "inside"
    with sapwood.update(path) as ours:
        ours["inner/more"] = "added"
        ours["Tree"] = {"y": np.arange(50)}
    with uproot.open(path) as file:
        assert file["Events"].num_entries == 100 and file["Tree/y"].array()[49] == 49
        assert (file["inner/text"], file["inner/more"]) == ("inside", "added")
    with uproot.update(path) as file:
        file["inner/last"] = "by uproot"
    with sapwood.open(path) as ours:
        assert (ours["inner/more"], ours["inner/last"]) == ("added", "by uproot")


@pytest.mark.skipif(not CORPUS.is_dir(), reason="there is no corpus of real files")
def test_real_files_are_added_to(tmp_path: Path) -> None:
    added = refused = 0
    for source in sorted(CORPUS.rglob("*.root")):
        if source.stat().st_size > 3_000_000 or added >= 30:
            continue
        path = tmp_path / "file.root"
        shutil.copy(source, path)
        try:
            with sapwood.open(path) as file:
                before = file.keys()
        except sapwood.errors.SapwoodError:
            continue
        try:
            with sapwood.update(path) as writer:
                writer["sapwood_was_here"] = "yes"
        except sapwood.errors.SapwoodError:
            refused += 1
            assert path.read_bytes() == source.read_bytes()
            continue
        with sapwood.open(path) as file:
            assert set(file.keys()) == {*before, "sapwood_was_here;1"}, source
            assert file["sapwood_was_here"] == "yes"
        added += 1
    assert added > 20 and refused < added
