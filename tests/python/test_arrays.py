"""Branches and expressions have the values that uproot reads, in every array library."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import errors

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

HOWS = [None, dict, tuple, list]


@pytest.fixture
def ours(events_file: Path) -> sapwood.Tree:
    return sapwood.open(f"{events_file}:Events")


@pytest.fixture
def theirs(events_file: Path) -> Any:
    return uproot.open(f"{events_file}:Events")


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[name], right[name]) for name in left)
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    assert str(ak.type(left)) == str(ak.type(right))
    return bool(ak.array_equal(left, right, equal_nan=True))


def test_all_branches(ours: sapwood.Tree, theirs: Any) -> None:
    assert same(ours.arrays(), theirs.arrays())


@pytest.mark.parametrize("how", [*HOWS, "zip"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"expressions": "Jet_pt"},
        {"expressions": ["Muon_pt", "Muon_eta", "run", "name"]},
        {"expressions": ("met",), "entry_start": -10},
        {"expressions": ["vertex"], "entry_start": 240, "entry_stop": 260},
        {"filter_name": "Muon_*"},
        {"filter_name": "/.*pt/", "filter_typename": "float[]"},
        {"filter_branch": lambda branch: branch.name.startswith("n")},
        {"expressions": ["met * 2", "run", "sqrt(met**2 + weight**2)"]},
        {"expressions": ["Muon_pt * Muon_charge", "Muon_pt > met"]},
        {"expressions": ["run"], "cut": "met > 30"},
        {"expressions": ["run", "Jet_pt"], "cut": "(met > 30) & isGood"},
        {"expressions": ["Muon_pt", "Muon_eta"], "cut": "Muon_pt > 20"},
        {"expressions": ["Muon_pt"], "cut": "(Muon_pt > 20) & (abs(Muon_eta) < 1.5)"},
        {"expressions": ["pt"], "aliases": {"pt": "Muon_pt * scale", "scale": "weight + 1"}},
        {"expressions": ["run"], "cut": "good", "aliases": {"good": "isGood"}},
        {"expressions": [], "entry_stop": 0},
    ],
    ids=lambda arguments: " ".join(map(str, arguments.values())),
)
def test_awkward_as_uproot(ours: sapwood.Tree, theirs: Any, arguments: dict[str, Any], how: Any) -> None:
    if how == "zip" and not arguments.get("expressions", [1]):
        pytest.skip("uproot returns None for nothing")
    assert same(ours.arrays(how=how, **arguments), theirs.arrays(how=how, **arguments))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("cut", [None, "met > 30"])
def test_numpy_as_uproot(ours: sapwood.Tree, theirs: Any, how: Any, cut: str | None) -> None:
    names = ["run", "met", "isGood", "Muon_pt", "vertex", "name", "met * weight"]
    left = ours.arrays(names, cut, library="np", how=how)
    right = theirs.arrays(names, cut, library="np", how=how)
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert list(left) == list(right)
        left, right = list(left.values()), list(right.values())
    for one, other in zip(left, right, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        if one.dtype == object:
            assert all(type(a) is type(b) and np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("cut", [None, "met > 30"])
def test_pandas_as_uproot(ours: sapwood.Tree, theirs: Any, cut: str | None) -> None:
    pd = pytest.importorskip("pandas")
    names = ["run", "met", "isGood", "met * weight"]
    left = ours.arrays(names, cut, library="pd", entry_start=100)
    right = theirs.arrays(names, cut, library="pd", entry_start=100)
    assert left.columns.tolist() == right.columns.tolist()
    if cut is None:
        pd.testing.assert_frame_equal(left, right)
    else:
        assert left["run"].tolist() == right["run"].tolist() == left.index.tolist()
    assert same_items(ours.arrays(["Muon_pt"], library="pd")["Muon_pt"], theirs.arrays(["Muon_pt"]).Muon_pt)
    assert ours["met"].array(library="pd", entry_start=5, entry_stop=8).index.tolist() == [5, 6, 7]


def same_items(left: Any, right: Any) -> bool:
    return all(np.array_equal(one, np.asarray(other)) for one, other in zip(left, right, strict=True))


@pytest.mark.parametrize("cut", [None, "met > 30", "Muon_pt > 20"])
def test_arrow_has_the_same_values(ours: sapwood.Tree, theirs: Any, cut: str | None) -> None:
    pa = pytest.importorskip("pyarrow")
    names = (
        ["Muon_pt"] if cut == "Muon_pt > 20" else ["run", "isGood", "Muon_pt", "vertex", "name", "met * 2"]
    )
    table = ours.arrays(names, cut, library="arrow")
    assert isinstance(table, pa.Table) and table.column_names == names
    table.validate(full=True)
    assert table.to_pylist() == theirs.arrays(names, cut).to_list()
    assert isinstance(ours["run"].array(library="pa"), pa.Array)


def test_one_branch_in_every_library(ours: sapwood.Tree, theirs: Any) -> None:
    for name in ours:
        assert same(ours[name].array(), theirs[name].array())
        assert same(
            ours[name].array(entry_start=-30, entry_stop=-5),
            theirs[name].array(entry_start=-30, entry_stop=-5),
        )
    assert np.asarray(ours["met"]).dtype == np.float32
    assert np.asarray(ours["met"], dtype="f8").dtype == np.float64
    with pytest.raises(errors.UsageError):
        ours["met"].array("an interpretation")


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0), (-5, -1), (5000, 10), (-5000, 1), (249, 251), (999, None)]
)
def test_entry_ranges_are_slices(ours: sapwood.Tree, start: int, stop: int | None) -> None:
    expected = list(range(1000))[start:stop]
    assert ours["run"].array(library="np", entry_start=start, entry_stop=stop).tolist() == expected
    array = ours.arrays(["run", "Muon_pt"], entry_start=start, entry_stop=stop)
    assert array.run.to_list() == expected


@pytest.mark.parametrize("bad", ["2", 1.5, True])
def test_entry_ranges_are_whole_numbers(ours: sapwood.Tree, bad: Any) -> None:
    with pytest.raises(TypeError, match="entry_start"):
        ours.arrays("run", entry_start=bad)


def test_titles_become_docs(ours: sapwood.Tree, theirs: Any) -> None:
    array = ours.arrays(["met", "Muon_pt"], ak_add_doc=True)
    assert array.layout.parameters["__doc__"] == "the events"
    assert array.met.layout.parameters["__doc__"] == ours["met"].title
    assert array.layout.form == theirs.arrays(["met", "Muon_pt"], ak_add_doc=True).layout.form
    more = ours["met"].array(ak_add_doc={"__doc__": "title", "typename": "typename"})
    assert more.layout.parameters == {"__doc__": ours["met"].title, "typename": "float"}
    assert ours.arrays("met").layout.parameters == {}
    pytest.importorskip("pyarrow")
    table = ours.arrays(["met"], library="arrow", ak_add_doc=True)
    assert table.field("met").metadata == {b"__doc__": ours["met"].title.encode()}


def test_root_spelling_in_cuts(ours: sapwood.Tree) -> None:
    both = ours.arrays("run", "met > 30 && !isGood || Sum$(Muon_pt) > 100")
    plain = ours.arrays(["run", "met", "isGood", "Muon_pt"])
    mask = ((plain.met > 30) & ~plain.isGood) | (ak.sum(plain.Muon_pt, axis=1) > 100)
    assert both.run.to_list() == plain.run[mask].to_list()
    assert ours.arrays("run", "Length$(Muon_pt) > 2", library="np")["run"].tolist() == (
        plain.run[ak.num(plain.Muon_pt) > 2].to_list()
    )


def test_a_cut_on_items_leaves_entries_alone(ours: sapwood.Tree) -> None:
    assert len(ours.arrays(["Muon_pt"], "Muon_pt > 1e9")) == 1000
    with pytest.raises(errors.UsageError, match=r"'run'.*Any\$"):
        ours.arrays(["run"], "Muon_pt > 20")


def test_a_constant_is_repeated(ours: sapwood.Tree) -> None:
    assert ours.arrays(["1", "run"], entry_stop=3).to_list() == [{"1": 1, "run": i} for i in range(3)]
    assert len(ours.arrays("run", "1")) == 1000 and len(ours.arrays("run", "0", library="np")["run"]) == 0


def test_missing_branches_are_named(ours: sapwood.Tree) -> None:
    for arguments in (["muon_pt"], ["muon_pt * 2"], ["run", "1 + get('muon_pt')"]):
        with pytest.raises(errors.KeyInFileError, match="'Muon_pt'"):
            ours.arrays(arguments)
    with pytest.raises(errors.KeyInFileError):
        ours.arrays("run", "mett > 3")
    with pytest.raises(SyntaxError):
        ours.arrays("run +")
    with pytest.raises(errors.UsageError, match="itself"):
        ours.arrays("a", aliases={"a": "b + 1", "b": "a * 2"})
    with pytest.raises(TypeError):
        ours.arrays(3)
    with pytest.raises(TypeError):
        ours.arrays("run", 3)
    with pytest.raises(errors.UsageError, match="how"):
        ours.arrays("run", library="np", how="zip")


def test_shapes_that_do_not_fit_are_an_error(ours: sapwood.Tree) -> None:
    with pytest.raises(errors.UsageError, match="cannot be computed"):
        ours.arrays(["Muon_pt + Jet_pt"])


def test_an_expression_that_loses_entries_makes_no_table(ours: sapwood.Tree) -> None:
    with pytest.raises(errors.UsageError, match="how=dict"):
        ours.arrays(["run", "met[met > 30]"])
    assert len(ours.arrays(["met[met > 30]"], how=tuple)[0]) == len(ours.arrays("run", "met > 30"))


@pytest.mark.parametrize("how", [tuple, list])
def test_an_array_that_is_requested_twice_comes_twice(ours: sapwood.Tree, theirs: Any, how: type) -> None:
    for names, cut in ((["run", "run", "met"], None), (["met", "run", "met"], "run > 990")):
        got, expected = (tree.arrays(names, cut, how=how) for tree in (ours, theirs))
        assert len(got) == 3 and all(same(*pair) for pair in zip(got, expected, strict=True))


def test_many_threads_read_the_same_tree(ours: sapwood.Tree, theirs: Any) -> None:
    expected = theirs.arrays()
    results: list[Any] = [None] * 8

    def read(number: int) -> None:
        results[number] = ours.arrays(threads=1 + number % 2)

    workers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert all(same(result, expected) for result in results)


def test_arrays_outlive_their_file(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        array = tree["run"].array(library="np")
        jagged = tree["Muon_pt"].array()
    del tree
    assert array.sum() == 999 * 500 and len(ak.flatten(jagged)) > 0
    assert array.flags.aligned and array.flags.c_contiguous and array.dtype.isnative


def test_branches_that_cannot_be_read(corpus: Path) -> None:
    tree = sapwood.open(f"{corpus / 'skhep__uproot-mc10events.root'}:Events")
    unreadable = tree.values(filter_branch=lambda branch: branch.unsupported is not None)
    assert unreadable
    with pytest.raises(errors.UnsupportedTypeError) as caught:
        tree.arrays([unreadable[0].name])
    assert caught.value.typename == unreadable[0].typename and unreadable[0].typename in str(caught.value)
    assert caught.value.branch == unreadable[0].path and isinstance(caught.value, NotImplementedError)
    with pytest.raises(errors.UnsupportedTypeError):
        unreadable[0].array()
    with pytest.warns(errors.BranchSkippedWarning) as warnings:
        arrays = tree.arrays(entry_stop=1)
    assert len(warnings) == 1 and unreadable[0].path in str(warnings[0].message)
    assert warnings[0].filename == __file__
    assert unreadable[0].name not in arrays.fields


def test_a_group_is_a_record(corpus: Path) -> None:
    path = f"{corpus / 'skhep__uproot-issue371.root'}:Event"
    ours, theirs = sapwood.open(path), uproot.open(path)
    group = next(branch for branch in ours.values() if branch.is_group and branch.interpretation.form)
    array = group.array(entry_stop=5)
    leaves = [leaf for leaf in group.branches if not leaf.is_group and leaf.unsupported is None]
    assert len(leaves) > 3
    for leaf in leaves:
        if leaf.typename == "TObject":
            continue
        field = leaf.name.removeprefix(f"{group.name.removesuffix('.')}.")
        assert same(array[field], theirs[group.path][leaf.name].array(entry_stop=5)), field
    assert "fBits" not in array.fields and array.layout.parameters["__record__"] == group.typename
    assert same(ours.arrays([group.name], entry_stop=5)[group.name], array)
    inside = ours.arrays(filter_name=[group.name, leaves[0].name], entry_stop=5)
    assert inside.fields == [group.name]
    members = group.arrays(entry_stop=5)
    assert members.fields == [
        leaf.name for leaf in group.values() if not leaf.is_group and leaf.unsupported is None
    ]
