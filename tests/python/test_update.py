"""Files that are there and are added to: what they held stays, whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uproot

import sapwood
from sapwood.errors import FileNotFoundError, PermissionError, UnsupportedTypeError, UsageError

sys.path.append(str(Path(__file__).parent))
from root_peer import read_by_root

pytest.importorskip("awkward")

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


def test_a_second_object_of_a_name_is_its_next_cycle(path: Path) -> None:
    with sapwood.update(path) as file:
        file["notes/first"] = "another"
    with sapwood.open(path) as found:
        assert (found["notes/first"], found["notes/first;1"]) == ("another", "one")


def test_what_ends_with_an_exception_changes_nothing(path: Path) -> None:
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


def test_two_do_not_add_at_once(path: Path) -> None:
    with sapwood.update(path) as first:
        with pytest.raises(OSError, match="somebody else"):
            sapwood.update(path)
        first["a"] = "b"


def test_what_cannot_be_added_to(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sapwood.update(tmp_path / "nothing.root")
    with pytest.raises(UsageError, match="directory"):
        sapwood.update(tmp_path)
    with pytest.raises(UnsupportedTypeError, match="s3://"):
        sapwood.update("s3://bucket/file.root")
    with sapwood.update(path) as file, pytest.raises(UnsupportedTypeError, match="before"):
        file["Events"]
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
