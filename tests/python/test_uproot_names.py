"""Programs of uproot, with and without sapwood under uproot's names: the same results, the same errors."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testkit
from root_peer import write_by_root

import sapwood

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")
if tuple(map(int, uproot.__version__.split(".")[:2])) < (5, 7):
    pytest.skip("uproot is too old", allow_module_level=True)

# Columns of numbers, of text, of objects, and trees that only uproot can read.
REAL_FILES = [
    "skhep__uproot-HZZ-objects.root",
    "skhep__uproot-HZZ.root",
    "skhep__uproot-Zmumu.root",
    "skhep__uproot-double32-float16.root",
    "skhep__uproot-from-geant4.root",
    "skhep__uproot-issue413.root",
    "skhep__uproot-issue64.root",
    "skhep__uproot-leaflist.root",
    "skhep__uproot-nesteddirs.root",
    "skhep__uproot-sample-6.20.04-lz4.root",
    "skhep__uproot-sample-5.23.02-zlib.root",
    "skhep__uproot-small-evnt-tree-fullsplit.root",
    "skhep__uproot-small-evnt-tree-nosplit.root",
    "skhep__uproot-stl_containers.root",
]


@pytest.fixture
def both(switch: Callable[[bool], None]) -> Callable[[Callable[[], Any]], Any]:
    """Calls a function with sapwood off and on, and compares what it returns or raises."""

    def compare(call: Callable[[], Any]) -> Any:
        switch(False)
        expected = attempt(call)
        switch(True)
        found = attempt(call)
        assert_same(found, expected)
        return found

    return compare


def attempt(call: Callable[[], Any]) -> Any:
    """What a function returns, or the class of what it raises."""
    try:
        return call()
    except Exception as error:
        return type(error)


def assert_same(found: Any, expected: Any) -> None:
    """Two results are of the same types, and hold the same values."""
    assert type(found).__name__ == type(expected).__name__
    if isinstance(expected, ak.Array):
        assert found.layout.form == expected.layout.form
        assert ak.array_equal(found, expected, equal_nan=True)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert_same(found.tolist(), expected.tolist())
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif hasattr(expected, "to_dict"):
        assert found.equals(expected) and (found.index == expected.index).all()
    elif hasattr(expected, "all_members"):
        assert_same(found.all_members, expected.all_members)
    elif hasattr(expected, "tolist"):  # containers of C++
        assert str(found.tolist()) == str(expected.tolist())
    else:
        assert found == expected or found != found


def trees(file: Any) -> list[str]:
    """The names of the trees in a file."""
    return [name for name, kind in file.classnames(recursive=True).items() if kind == "TTree"]


def described(tree: Any) -> Any:
    """What uproot says about a tree and its branches."""
    branches = [
        (one.name, one.title, one.typename, one.object_path, one.cache_key, one.index, one.num_entries)
        for one in tree.values()
    ]
    shown = [str(one.interpretation).partition(" at 0x")[0] for one in tree.values()]
    own = (tree.name, tree.title, tree.num_entries, tree.object_path, tree.classname, tree.aliases)
    return own, tree.keys(), tree.typenames(), tree.common_entry_offsets(), branches, shown


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files_are_described_and_read_in_the_same_way(
    corpus: Path, both: Callable[[Callable[[], Any]], Any], name: str
) -> None:
    path = corpus / name
    both(lambda: [described(uproot.open(path)[tree]) for tree in trees(uproot.open(path))])
    for library in ("ak", "np"):

        def read(library: str = library) -> Any:
            file = uproot.open(path)
            return [
                attempt(lambda branch=branch: branch.array(library=library, entry_stop=50))
                for tree in trees(file)
                for branch in file[tree].values()
            ]

        both(read)
    both(lambda: [attempt(uproot.open(path)[tree].arrays) for tree in trees(uproot.open(path))])


CALLS: dict[str, Callable[[Any], Any]] = {
    "all": lambda tree: tree.arrays(),
    "names": lambda tree: tree.arrays(["run", "Muon_pt"]),
    "one name": lambda tree: tree.arrays("met"),
    "the same name twice": lambda tree: tree.arrays(["met", "met"]),
    "a range": lambda tree: tree.arrays(["met", "name"], entry_start=-300, entry_stop=-100),
    "no entries": lambda tree: tree.arrays(["met", "Muon_pt", "name"], entry_start=10, entry_stop=10),
    "no columns": lambda tree: tree.arrays([]),
    "dict": lambda tree: tree.arrays(["met", "vertex"], how=dict),
    "tuple": lambda tree: tree.arrays(["met", "vertex"], how=tuple),
    "zip": lambda tree: tree.arrays(["met", "Muon_pt", "Muon_eta", "Jet_pt"], how="zip"),
    "numpy": lambda tree: tree.arrays(library="np"),
    "pandas": lambda tree: tree.arrays(["met", "run"], library="pd"),
    "expression": lambda tree: tree.arrays(["met * 2", "Muon_pt + 1", "run"]),
    "cut": lambda tree: tree.arrays(["met", "Muon_pt"], "(met > 30) & (nMuon > 1)"),
    "aliases": lambda tree: tree.arrays(["double"], aliases={"double": "met + met"}),
    "filter": lambda tree: tree.arrays(filter_name="Muon_*", filter_typename=["float[]", "int32_t[]"]),
    "filter of branches": lambda tree: tree.arrays(filter_branch=lambda branch: branch.name == "met"),
    "interpretation": lambda tree: tree.arrays({"met": uproot.AsDtype(">i4")}),
    "own interpretation": lambda tree: tree["met"].array(tree["met"].interpretation, 5, 9),
    "other interpretation": lambda tree: tree["met"].array(">i4", entry_stop=9),
    "documented": lambda tree: tree.arrays(["met"], ak_add_doc={"title": "title", "kind": "typename"}),
    "virtual": lambda tree: ak.materialize(tree.arrays(filter_name=["met", "Muon_pt"], virtual=True)),
    "steps": lambda tree: list(tree.iterate(["met", "Muon_pt", "name"], step_size=300)),
    "steps by memory": lambda tree: list(tree.iterate(["met", "Muon_pt"], step_size="4 kB", library="np")),
    "steps with a cut": lambda tree: list(tree.iterate(["met"], "met > 40", step_size=128)),
    "reports": lambda tree: [
        (part.start, part.stop) for _, part in tree.iterate("met", step_size=400, report=True)
    ],
    "no such branch": lambda tree: tree.arrays(["nothing"]),
    "no such name": lambda tree: tree["nothing"],
    "bad expression": lambda tree: tree.arrays("met +"),
    "bad library": lambda tree: tree.arrays("met", library="nothing"),
    "bad container": lambda tree: tree.arrays(["met"], how=set),
    "bad filter": lambda tree: tree.arrays(filter_branch=3),
    "unknown option": lambda tree: tree.arrays("met", nothing=1),
    "access log": lambda tree: tree.arrays("met", access_log=[]),
    "keys": lambda tree: tree.keys(filter_name="/m.*/i", ignore_duplicates=True, full_paths=False),
    "members": lambda tree: sorted(tree.all_members),
    "entries for memory": lambda tree: tree.num_entries_for("10 kB", ["met"]),
    "sizes of baskets": lambda tree: [
        (one.entry_offsets, [*map(one.basket_uncompressed_bytes, range(one.num_baskets))])
        for one in tree.values()
    ],
    "no such basket": lambda tree: tree["met"].basket_uncompressed_bytes(99),
    "baskets": lambda tree: [tree["met"].basket(0).num_entries, tree["met"].entry_offsets],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_the_same_with_and_without_sapwood(
    events_file: Path, both: Callable[[Callable[[], Any]], Any], name: str
) -> None:
    both(lambda: CALLS[name](uproot.open(events_file)["Events"]))


MODULE_CALLS: dict[str, Callable[[Path], Any]] = {
    "concatenate": lambda path: uproot.concatenate([f"{path}:Events", f"{path}:Events"], ["met", "name"]),
    "iterate": lambda path: list(uproot.iterate({path: "Events"}, ["met"], step_size=256, library="pd")),
    "num_entries": lambda path: list(uproot.num_entries(f"{path}:Events")),
    "a branch by its path": lambda path: uproot.open(f"{path}:Events/met").array(),
    "a tree in a directory": lambda path: uproot.open(path)["dir/sub/Runs"]["run"].array(),
    "custom classes": lambda path: uproot.open(
        f"{path}:Events", custom_classes=dict(uproot.classes)
    ).arrays(),
    "a handler": lambda path: uproot.open(f"{path}:Events", handler=uproot.source.file.MemmapSource).arrays(),
    "an object": lambda path: uproot.open(path.open("rb"))["Events"].arrays(["met"]),
    "no file": lambda path: uproot.open(f"{path}.nothing"),
    "not a ROOT file": lambda path: uproot.open(__file__),
    "no tree": lambda path: uproot.open(f"{path}:Nothing"),
    "classes": lambda path: isinstance(uproot.open(f"{path}:Events"), uproot.TTree),
}


@pytest.mark.parametrize("name", MODULE_CALLS)
def test_a_function_gives_the_same_with_and_without_sapwood(
    events_file: Path, both: Callable[[Callable[[], Any]], Any], name: str
) -> None:
    both(lambda: MODULE_CALLS[name](events_file))


def test_common_calls_leave_the_record_of_the_tree_unread(
    events_file: Path, switch: Callable[[bool], None]
) -> None:
    switch(True)
    tree = uproot.open(events_file)["Events"]
    assert (tree.num_entries, len(tree), "met" in tree) == (1000, 12, True)
    tree.arrays()
    tree.arrays(["met + 1"], "nMuon > 1", library="np")
    for branch in tree.branches:
        branch.array(entry_stop=3)
    list(tree.iterate(["met"], step_size=100))
    assert tree._is_unread
    assert tree.member("fEntries") == 1000
    assert not tree._is_unread


def test_branches_stay_the_same_objects_when_the_record_is_read(
    events_file: Path, switch: Callable[[bool], None]
) -> None:
    switch(True)
    tree = uproot.open(events_file)["Events"]
    early = tree["met"]
    assert early.member("fTitle") == early.title
    assert early is tree["met"] and early is tree.member("fBranches")[early.index]
    assert early.parent is tree and early.tree is tree
    assert early.array().tolist() == early.array(array_cache=None).tolist()


@pytest.mark.parametrize("is_read", [False, True])
def test_trees_and_branches_can_be_pickled(
    events_file: Path, switch: Callable[[bool], None], is_read: bool
) -> None:
    switch(True)
    tree = uproot.open(events_file)["Events"]
    if is_read:
        tree.all_members  # noqa: B018 (reads the record)
    copy = pickle.loads(pickle.dumps(tree))
    assert copy.arrays(["met"]).tolist() == tree.arrays(["met"]).tolist()
    branch = pickle.loads(pickle.dumps(tree["Muon_pt"]))
    assert branch.array().tolist() == tree["Muon_pt"].array().tolist()


def test_a_pickled_tree_is_small(events_file: Path, switch: Callable[[bool], None]) -> None:
    switch(True)
    tree = uproot.open(events_file)["Events"]
    assert len(pickle.dumps(tree)) < 4000 and len(pickle.dumps(tree["met"])) < 4000
    assert tree._is_unread


@pytest.fixture(scope="module")
def ntuples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that ROOT wrote, with a TNtuple, a TNtupleD, and a TChain."""
    path = tmp_path_factory.mktemp("ntuples") / "ntuples.root"
    write_by_root("root_ntuples.py", path)
    return path


@pytest.mark.parametrize("name", ["floats", "doubles", "chain"])
def test_ntuples_and_chains_are_read_in_the_same_way(ntuples: Path, both: Any, name: str) -> None:
    def read() -> Any:
        tree = uproot.open(ntuples)[name]
        early = tree.values()
        steps = list(tree.iterate(step_size=200))
        own = (tree.classname, tree.num_entries, tree.keys(), isinstance(tree, uproot.TTree))
        arrays = [tree.arrays(library="np"), tree.arrays(entry_stop=20)] if early else []
        members = sorted(tree.all_members), tree.all_members.get("fNvar"), [one.index for one in early]
        same = [one is tree[one.name] and one.parent is tree for one in early]
        return own, arrays, steps, members, same, type(tree).__bases__[-1].__name__

    both(read)


@pytest.mark.parametrize("name", ["floats", "doubles"])
def test_sapwood_reads_ntuples(ntuples: Path, switch: Callable[[bool], None], name: str) -> None:
    switch(True)
    tree = uproot.open(ntuples)[name]
    assert tree.arrays()["x"][7] == 7 and tree._is_unread
    assert pickle.loads(pickle.dumps(tree))["y"].array().tolist() == tree["y"].array().tolist()


def test_secrets_are_neither_pickled_nor_shown(
    events_file: Path,
    switch: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    switch(True)
    monkeypatch.setenv("SAPWOOD_UPROOT", "strict")
    with testkit.serving(events_file.parent) as server:
        url = f"{server.url}/{events_file.name}"
        for secret, options in [(f"{url}?token=abc", {}), (url, {"headers": {"Authorization": "abc"}})]:
            file = uproot.open(secret, **options)
            assert "abc" not in repr(file.file.source)
            with pytest.raises(sapwood.errors.UsageError, match="cannot be pickled") as raised:
                pickle.dumps(file.file.source)
            assert "abc" not in str(raised.value)
    with caplog.at_level(logging.WARNING, "sapwood.uproot"), pytest.raises(TypeError):
        uproot.open(f"{url}?token=abc", unknown_option=1)
    assert "left to uproot" in caplog.text and "abc" not in "".join(
        one for one in caplog.messages if "left to uproot" in one
    )


def test_open_trees_can_be_concatenated_and_iterated(
    events_file: Path, switch: Callable[[bool], None]
) -> None:
    switch(True)
    tree = uproot.open(events_file)["Events"]
    assert len(uproot.concatenate([tree, tree], ["met"])) == 2000
    assert [len(part) for part in uproot.iterate(tree, ["met"], step_size=600)] == [600, 400]


def test_arrays_are_kept_in_the_cache_of_the_file(events_file: Path, both: Any) -> None:
    def read() -> Any:
        mine: dict[str, Any] = {}
        tree = uproot.open(events_file)["Events"]
        first = tree.arrays(["met", "Muon_pt"], array_cache=mine)
        tree["run"].array(array_cache=mine)
        tree.arrays(["met + 1"], array_cache=mine)
        again = tree.arrays(["met"], array_cache=mine)
        return sorted(mine), first, again, again["met"].layout.data is mine[sorted(mine)[1]].layout.data

    both(read)


def test_a_program_that_watches_the_baskets_of_uproot_sees_them(
    events_file: Path, both: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Model_TBasket = uproot.models.TBasket.Model_TBasket
    read_basket, baskets = Model_TBasket.read, []

    def watch(*arguments: Any, **options: Any) -> Any:
        baskets.append(1)
        return read_basket(*arguments, **options)

    def read() -> Any:
        baskets.clear()
        tree = uproot.open(events_file)["Events"]
        with monkeypatch.context() as patch:
            patch.setattr(Model_TBasket, "read", watch)
            arrays = tree.arrays(["met"]), tree["run"].array(), tree.arrays(["met"])
        assert baskets
        return arrays, len(baskets)

    both(read)


def test_a_closed_file_raises_as_in_uproot(events_file: Path, both: Any) -> None:
    def read() -> Any:
        with uproot.open(events_file) as file:
            tree = file["Events"]
            tree["met"].array()
        assert file.closed
        return tree["run"].array()

    both(read)


def test_a_damaged_file_raises_as_in_uproot(events_file: Path, tmp_path: Path, both: Any) -> None:
    whole = events_file.read_bytes()
    for size in (100, 400, len(whole) // 2, len(whole) - 1000):
        path = tmp_path / f"{size}.root"
        path.write_bytes(whole[:size])
        both(lambda path=path: uproot.open(path)["Events"].arrays())
