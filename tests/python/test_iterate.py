"""Reading in steps, and many files as one."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import errors

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")


@pytest.fixture
def tree(events_file: Path) -> sapwood.Tree:
    return sapwood.open(f"{events_file}:Events")


@pytest.fixture(scope="module")
def three_files(events_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of one file; the second has another tree in addition, the third lacks the branch "met"."""
    folder = tmp_path_factory.mktemp("many")
    shutil.copy(events_file, folder / "a.root")
    for name, branches in (("b", {"run": "u4", "met": "f4"}), ("c", {"run": "u4"})):
        with uproot.recreate(folder / f"{name}.root") as file:
            tree = file.mktree("Events", branches)
            tree.extend({branch: np.arange(100, dtype=dtype) for branch, dtype in branches.items()})
            if name == "b":
                file.mktree("Runs", {"x": "i4"}).extend({"x": np.arange(3, dtype="i4")})
    return folder


@pytest.mark.parametrize("step_size", [1, 100, 250, 333, 1000, 5000])
def test_a_number_of_entries_is_taken_at_its_word(tree: sapwood.Tree, step_size: int) -> None:
    if step_size == 1:
        steps = list(tree.iterate("run", step_size=1, entry_stop=5, library="np"))
        assert [step["run"].tolist() for step in steps] == [[0], [1], [2], [3], [4]]
        return
    theirs = uproot.open(f"{tree.file.file_path}:Events")
    steps = zip(
        tree.iterate(["run", "Muon_pt"], step_size=step_size, report=True),
        theirs.iterate(["run", "Muon_pt"], step_size=step_size, report=True),
        strict=True,
    )
    for (array, report), (expected, other) in steps:
        assert ak.array_equal(array, expected) and str(array.type) == str(expected.type)
        for attribute in (
            "tree_entry_start",
            "tree_entry_stop",
            "start",
            "stop",
            "file_path",
            "global_offset",
        ):
            assert getattr(report, attribute) == getattr(other, attribute)
        assert repr(report) == repr(other) and report.tree is report.source is tree


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
@pytest.mark.parametrize("step_size", ["3 kB", "20 kB", "1 GB", 170])
def test_steps_together_are_the_whole(tree: sapwood.Tree, library: str, step_size: int | str) -> None:
    whole = tree.arrays(["run", "Jet_pt"], "met > 20", library="np", entry_start=10, entry_stop=-10)
    got: list[int] = []
    for step in tree.iterate(
        ["run", "Jet_pt"], "met > 20", library=library, step_size=step_size, entry_start=10, entry_stop=-10
    ):
        runs = step["run"]
        got += runs.to_pylist() if library == "arrow" else list(runs)
    assert got == whole["run"].tolist()


def test_steps_by_memory_are_about_that_large(tree: sapwood.Tree) -> None:
    sizes = [array.nbytes for array in tree.iterate(["Muon_pt", "met", "weight"], step_size="8 kB")]
    assert len(sizes) > 2
    assert max(sizes) <= 8000 * 1.2 and sum(sizes[:-1]) / len(sizes[:-1]) > 8000 * 0.3


def test_steps_by_memory_end_at_clusters_where_that_is_near(tree: sapwood.Tree) -> None:
    entries = tree.num_entries_for("6 kB", ["Muon_pt", "weight"])
    assert 250 < entries < 500
    reports = [report for _, report in tree.iterate(["Muon_pt", "weight"], step_size="6 kB", report=True)]
    assert [report.stop for report in reports] == [250, 500, 750, 1000]


@pytest.mark.parametrize("step_size", [0, -1, "0 kB", "-1 MB", "fast"])
def test_a_step_size_that_makes_no_sense(tree: sapwood.Tree, step_size: int | str) -> None:
    with pytest.raises(ValueError, match="size"):
        tree.iterate("run", step_size=step_size)


def test_arguments_are_checked_at_once(tree: sapwood.Tree) -> None:
    with pytest.raises(errors.KeyInFileError):
        tree.iterate("nothing")
    with pytest.raises(TypeError):
        tree.iterate("run", step_size=None)
    with pytest.raises(errors.UsageError):
        tree.iterate("run", library="xx")
    with pytest.raises(errors.UsageError):
        tree.iterate("run", threads=0)


def test_an_empty_range_has_one_or_no_step(tree: sapwood.Tree) -> None:
    assert [len(array) for array in tree.iterate("run", entry_start=5, entry_stop=5)] in ([], [0])


def test_an_iteration_may_be_left(tree: sapwood.Tree) -> None:
    for array in tree.iterate("run", step_size=10):
        assert len(array) == 10
        break
    assert len(tree.arrays("run")) == 1000


def test_many_files_in_steps(three_files: Path) -> None:
    theirs = uproot.iterate(f"{three_files}/[ab].root:Events", ["run"], step_size=300, report=True)
    for (array, report), (expected, other) in zip(
        sapwood.iterate(f"{three_files}/[ab].root:Events", ["run"], step_size=300, report=True),
        theirs,
        strict=True,
    ):
        assert ak.array_equal(array, expected)
        assert (report.start, report.stop, report.file_path) == (other.start, other.stop, other.file_path)
        assert (report.tree_entry_start, report.tree_entry_stop) == (
            other.tree_entry_start,
            other.tree_entry_stop,
        )


def test_pandas_counts_through_all_files(three_files: Path) -> None:
    pytest.importorskip("pandas")
    frames = list(sapwood.iterate(f"{three_files}/[ab].root:Events", ["run"], step_size=600, library="pd"))
    assert [(frame.index[0], frame.index[-1]) for frame in frames] == [(0, 599), (600, 999), (1000, 1099)]
    whole = sapwood.concatenate(f"{three_files}/[ab].root:Events", ["run"], library="pd")
    assert whole.index.tolist() == list(range(1100))


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
@pytest.mark.parametrize("how", [None, dict, tuple, list])
def test_concatenate(three_files: Path, library: str, how: Any) -> None:
    whole = sapwood.concatenate(f"{three_files}/*.root:Events", "run", library=library, how=how)
    runs = whole["run"] if how in (None, dict) else whole[0]
    got = runs.to_pylist() if library == "arrow" else list(runs)
    assert got == [*range(1000), *range(100), *range(100)]


@pytest.fixture(scope="module")
def unlike_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files with the columns x and y, in another order, and one with z instead of y."""
    folder = tmp_path_factory.mktemp("unlike")
    tables = {"xy": {"x": [1], "y": [1.5]}, "yx": {"y": [2.5], "x": [2]}, "xz": {"x": [3], "z": [3.5]}}
    for name, table in tables.items():
        with sapwood.recreate(folder / f"{name}.root") as file:
            file["t"] = table
    return folder


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
@pytest.mark.parametrize("how", [tuple, list])
def test_columns_in_another_order_are_joined_by_name(unlike_files: Path, library: str, how: type) -> None:
    files = [f"{unlike_files}/{name}.root:t" for name in ("xy", "yx")]
    joined = sapwood.concatenate(files, library=library, how=how)
    assert isinstance(joined, how) and [list(map(float, np.asarray(one))) for one in joined] == [
        [1, 2],
        [1.5, 2.5],
    ]
    twice = sapwood.concatenate(files, iter(["y", "x", "y"]), library=library, how=how)
    assert [np.asarray(one)[0] for one in twice] == [1.5, 1, 1.5]


@pytest.mark.parametrize("how", [None, dict, tuple, list])
def test_only_tables_mark_what_a_file_lacks(unlike_files: Path, how: Any) -> None:
    for names, lost in ((("xy", "xz"), "y"), (("xz", "xy"), "z")):
        files = [f"{unlike_files}/{name}.root:t" for name in names]
        for library in ("np",) if how is None else ("ak", "np", "pd", "arrow"):
            with pytest.raises(errors.KeyInFileError, match=f"{names[1]}.root:.* has no column '{lost}'"):
                sapwood.concatenate(files, library=library, how=how, allow_missing=True)
        assert sapwood.concatenate(files).to_list()[0].keys() == {"x", lost}
        assert sapwood.concatenate(files, library="pd")[lost].isna().to_list() == [False, True]


@pytest.mark.parametrize(
    ("start", "stop"), [(None, 10), (990, 1010), (-150, None), (1050, -20), (5, 5), (2000, None)]
)
def test_concatenate_counts_entries_through_all_files(
    three_files: Path, start: int | None, stop: int | None
) -> None:
    files = f"{three_files}/*.root:Events"
    expected = [*range(1000), *range(100), *range(100)][start:stop]
    got = sapwood.concatenate(files, "run", entry_start=start, entry_stop=stop)
    assert got.run.to_list() == expected


def test_every_way_to_say_which_files(three_files: Path) -> None:
    a, b = f"{three_files}/a.root", f"{three_files}/b.root"
    with sapwood.open(a) as opened:
        for files in (
            [f"{a}:Events", f"{b}:Events"],
            {a: "Events", b: "Events"},
            [{a: "Events"}, {Path(b): "Events"}],
            [opened["Events"], f"{b}:Events"],
            [f"{b}:Events", {a: "Events;1"}],
            {f"{three_files}/[ab].root": "Events"},
        ):
            assert len(sapwood.concatenate(files, "run")) == 1100
        assert not opened.closed

    for given in ({a: "Events", b: "Runs"}, [f"{a}:Events", f"{b}:Runs"]):
        found = list(sapwood.num_entries(given))
        assert found == list(uproot.num_entries(given)) == [(a, "Events", 1000), (b, "Runs", 3)]
    with sapwood.open(a) as opened:
        assert list(sapwood.num_entries([f"{a}:Events", opened["Events"]])) == [(a, "Events", 1000)] * 2


def test_entry_ranges_can_come_with_the_files(three_files: Path) -> None:
    files = {f"{three_files}/a.root": {"object_path": "Events", "steps": [[10, 20], [500, 2000]]}}
    expected = [*range(10, 20), *range(500, 1000)]
    assert sapwood.concatenate(files, "run").run.to_list() == expected
    steps = [array.run.to_list() for array in sapwood.iterate(files, "run", step_size=300)]
    assert [len(step) for step in steps] == [10, 300, 200] and [
        run for step in steps for run in step
    ] == expected


def test_the_only_tree_of_a_file_needs_no_name(three_files: Path) -> None:
    assert len(sapwood.concatenate(f"{three_files}/c.root", "run")) == 100
    with pytest.raises(errors.UsageError, match="'Runs'"):
        sapwood.concatenate(f"{three_files}/b.root", "run")


def test_missing_trees_and_branches_are_errors_unless_allowed(three_files: Path) -> None:
    for files, names in ((f"{three_files}/*.root:Events", ["met"]), (f"{three_files}/*.root:Runs", None)):
        with pytest.raises(errors.KeyInFileError):
            list(sapwood.iterate(files, names))
        with pytest.raises(errors.KeyInFileError):
            sapwood.concatenate(files, names)
    assert len(sapwood.concatenate(f"{three_files}/*.root:Events", "met", allow_missing=True)) == 1100
    assert len(sapwood.concatenate(f"{three_files}/*.root:Runs", allow_missing=True)) == 3
    reports = [
        report
        for _, report in sapwood.iterate(
            f"{three_files}/*.root:Runs", allow_missing=True, report=True, step_size="1 MB"
        )
    ]
    assert [Path(report.file_path).name for report in reports] == ["b.root"]
    with pytest.raises(errors.UsageError, match="nothing to concatenate"):
        sapwood.concatenate(f"{three_files}/*.root:Nothing", allow_missing=True)


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sapwood.iterate(f"{tmp_path}/*.root:Events")
    with pytest.raises(FileNotFoundError):
        list(sapwood.iterate(f"{tmp_path}/x.root:Events"))


def test_files_are_closed_when_an_iteration_ends_or_is_left(three_files: Path) -> None:
    trees = [report.tree for _, report in sapwood.iterate(f"{three_files}/*.root:Events", "run", report=True)]
    assert len(trees) == 3 and all(tree.file.closed for tree in trees)
    steps = sapwood.iterate(f"{three_files}/*.root:Events", "run", report=True)
    _, report = next(steps)
    assert not report.file.closed
    steps.close()  # type: ignore[attr-defined]
    assert report.file.closed


class Watched(io.FileIO):
    """A file object that counts what is read of it."""

    reads = 0

    def read(self, size: int = -1, /) -> bytes:
        self.reads += 1
        return super().read(size)

    def readinto(self, buffer: Any, /) -> int:
        self.reads += 1
        return super().readinto(buffer) or 0


def test_file_objects_are_read_only_while_somebody_waits_for_it(events_file: Path) -> None:
    with Watched(events_file) as watched, sapwood.open(watched) as file:
        reads = []
        for _ in file["Events"].iterate("Muon_pt", step_size=250, threads=2):
            reads.append(watched.reads)
            time.sleep(0.1)
            assert watched.reads == reads[-1]
        assert reads == sorted(set(reads)) and len(reads) == 4


@pytest.mark.parametrize("threads", [1, 2])
def test_a_damaged_step_is_an_error_when_it_is_its_turn(
    events_file: Path, tmp_path: Path, threads: int
) -> None:
    content = bytearray(events_file.read_bytes())
    with sapwood.open(events_file) as file:
        _, _, offset, size, _ = file["Events"]["Muon_pt"].baskets[2]
    content[offset : offset + size] = bytes(size)
    (path := tmp_path / "damaged.root").write_bytes(content)
    with sapwood.open(path) as file:
        steps = file["Events"].iterate("Muon_pt", step_size=250, threads=threads)
        assert len(next(steps)) == 250 and len(next(steps)) == 250
        with pytest.raises(errors.CorruptFileError, match="Muon_pt"):
            next(steps)
        assert list(steps) == []


FORK = """
import os, sys, numpy, sapwood
from sapwood.errors import UsageError

tree = sapwood.open(sys.argv[1])["Events"]
steps = tree.iterate("Muon_pt", step_size=250, threads=2)
whole = tree["Muon_pt"].array()
for number, step in enumerate(steps):
    assert step["Muon_pt"].tolist() == whole[250 * number : 250 * number + 250].tolist()
    child = os.fork()
    if child == 0:
        own = [part["Muon_pt"] for part in tree.iterate("Muon_pt", step_size=250, threads=2)]
        assert sum((part.tolist() for part in own), []) == whole.tolist()
        try:
            rest = list(steps)
        except UsageError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(0 if number == 3 and rest == [] else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, number
assert number == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_fork_does_not_wait_for_the_threads_of_its_parent(events_file: Path) -> None:
    call = [sys.executable, "-c", FORK, str(events_file)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


WAITS = """
import sys, time, sapwood

file = sapwood.open(sys.argv[1])
steps = file["Events"].iterate("Muon_pt", step_size=250, threads=2)
next(steps)
time.sleep(0.3)
of_one = file.report().baskets
assert len(list(steps)) == 3
assert 0 < 4 * of_one == file.report().baskets
"""


@pytest.mark.parametrize("variable", ["SAPWOOD_READ_AHEAD", "SAPWOOD_TRACE"])
def test_a_step_is_read_when_it_is_asked_for_if_nothing_is_to_be_read_ahead_or_a_job_is_recorded(
    events_file: Path, tmp_path: Path, variable: str
) -> None:
    value = "0" if variable == "SAPWOOD_READ_AHEAD" else str(tmp_path / "job.swt")
    call = [sys.executable, "-c", WAITS, str(events_file)]
    environment = {**os.environ, variable: value}
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def test_an_object_that_is_not_a_tree_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "histogram.root"
    with sapwood.recreate(path) as file:
        file["h"] = np.histogram([1.0, 2.0])
    with pytest.raises(errors.UsageError, match="h is not a tree"):
        list(sapwood.iterate(f"{path}:h"))
    with pytest.raises(errors.UsageError, match="is not a tree"):
        sapwood.edm.open(f"{path}:h")
    with pytest.raises(errors.UsageError, match="a whole file is required"):
        sapwood.repack(f"{path}:h", tmp_path / "out.root")
    with pytest.raises(errors.UsageError, match="a whole file is required"):
        sapwood.merge([path, f"{path}:h"], tmp_path / "out.root")
    with pytest.raises(errors.UsageError, match="'steps' are only for"):
        sapwood.merge({path: {"object_path": "h", "steps": [[0, 1]]}}, tmp_path / "out.root")
    assert not (tmp_path / "out.root").exists()


@pytest.mark.parametrize(("library", "name"), [("ak", "run"), ("ak", "Muon_pt"), ("np", "run")])
def test_a_path_to_a_branch_gives_the_branch_as_the_only_column(
    events_file: Path, library: str, name: str
) -> None:
    place = f"{events_file}:Events/{name}"
    (step,) = sapwood.iterate(place, library=library)
    (expected,) = uproot.iterate(place, library=library)
    whole = sapwood.concatenate(place, library=library)
    for found in (step, whole, sapwood.open(place).arrays(library=library)):
        assert type(found) is type(expected) and ak.array_equal(ak.Array(found), ak.Array(expected))
    assert len(sapwood.concatenate([place, place], library=library)[name]) == 2 * len(expected[name])
    assert ak.array_equal(sapwood.concatenate(place, name, library=library)[name], expected[name])
    for chunk in sapwood.lazy(place):
        assert ak.array_equal(chunk[name], expected[name])


def test_a_path_to_a_group_of_branches_gives_its_sub_branches() -> None:
    path = Path(__file__).parents[1] / "data" / "trees" / "split.root"
    theirs = uproot.open(path)
    for tree, kind in theirs.classnames(cycle=False).items():
        for name, branch in theirs[tree].items() if kind == "TTree" else ():
            if len(branch):
                assert (
                    sapwood.concatenate(f"{path}:{tree}/{name}").fields == branch.arrays(entry_stop=1).fields
                )


def test_an_unreadable_branch_by_its_path_is_an_error_and_no_empty_record(
    events_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sapwood.Branch, "unsupported", "unknown to this test")
    with pytest.raises(errors.UnsupportedTypeError, match="cannot read branch 'run'"):
        sapwood.concatenate(f"{events_file}:Events/run")
