"""Virtual arrays equal arrays, and are read on first access."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import sapwood
from sapwood import Caching, errors
from sapwood.arrays.column import BuiltColumn, buffer_count, empty_column
from sapwood.arrays.concatenate import concatenated
from sapwood.arrays.numpy import awkward_to_column, column_to_numpy

TWO_WINDOWS = Caching(startup_entries=300)


@pytest.fixture
def tree(events_file: Path) -> Iterator[Any]:
    with sapwood.open(f"{events_file}:Events") as tree:
        yield tree


def test_chunks(tree: Any) -> None:
    expected = tree.arrays()
    chunks = tree.lazy(caching=TWO_WINDOWS)
    assert len(chunks) > 1 and len(chunks.entry_ranges) == len(chunks)
    assert ak.array_equal(ak.materialize(ak.concatenate(list(chunks))), expected)
    for (start, stop), chunk in zip(chunks.entry_ranges, chunks, strict=True):
        assert ak.array_equal(chunk.Muon_pt, expected.Muon_pt[start:stop])
    assert ak.array_equal(chunks[-1].name, expected.name[chunks.entry_ranges[-1][0] :])
    assert len(chunks[:1]) == 1
    with pytest.raises(IndexError):
        chunks[len(chunks)]


def test_a_field_of_all_chunks_names_what_to_use(tree: Any) -> None:
    with pytest.raises(TypeError, match=r"'MET_pt' can be a field .* tree\.arrays"):
        tree.lazy()["MET_pt"]


def test_a_tree_without_clusters_is_cut_by_its_bytes(tree: Any) -> None:
    assert not tree.core.cluster_starts
    chunks = tree.lazy(caching=Caching(memory="64 kB"))
    assert len(chunks) > 3
    assert ak.array_equal(ak.materialize(ak.concatenate(list(chunks))), tree.arrays())


def test_only_what_is_touched_is_read(tree: Any) -> None:
    log: list[Any] = []
    chunk = tree.lazy(access_log=log)[0]
    assert "??" in repr(chunk) and tree.file.report().baskets == 0 and log == []
    chunk.met[0]
    assert [one.branch for one in log] == ["met"]
    assert tree.file.report().baskets == tree["met"].num_baskets
    chunk.met[1], ak.num(chunk.Jet_pt)
    assert [tuple(one) for one in log] == [("met", "<root>.met-data"), ("Jet_pt", "<root>.Jet_pt-offsets")]


def test_declared_columns_have_their_declared_names(corpus: Path) -> None:
    # An object that is split into branches: the object, and one of its members by its path.
    with sapwood.open(f"{corpus}/skhep__uproot-issue-1502.root:tree") as tree:
        names = ["branch", "branch/value"]
        expected = tree.arrays(names)
        chunk = tree.lazy(names)[0]
        for name in names:
            assert chunk[name].tolist() == expected[name].tolist()


def test_a_chunk_outlives_the_chunks(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        chunk = tree.lazy()[0]
        expected = ak.to_list(tree["met"].array())
        assert ak.to_list(chunk.met) == expected
    assert ak.to_list(chunk.met) == expected
    with pytest.raises(errors.ClosedFileError):
        ak.to_list(chunk.weight)


def test_the_whole_tree_as_virtual_arrays(tree: Any) -> None:
    log: list[Any] = []
    expected = tree.arrays(filter_name=["run", "Muon*", "name", "vertex"], entry_start=10)
    found = tree.arrays(
        filter_name=["run", "Muon*", "name", "vertex"], entry_start=10, virtual=True, access_log=log
    )
    assert found.fields == expected.fields and len(found) == 990 and log == []
    assert ak.array_equal(ak.materialize(found), expected)
    assert {one.branch for one in log} == set(expected.fields)


def test_as_uproot_does_it(events_file: Path) -> None:
    uproot = pytest.importorskip("uproot")
    logs: list[list[str]] = []
    for open_file in (sapwood.open, uproot.open):
        log: list[Any] = []
        with open_file(f"{events_file}:Events") as tree:
            found = tree.arrays(virtual=True, access_log=log)
            assert ak.sum(found.Muon_pt[found.met > 20]) > 0
        logs.append([one.branch for one in log])
    assert set(logs[0]) == set(logs[1]) == {"met", "Muon_pt"}


def test_limits_of_virtual_arrays(tree: Any) -> None:
    for arguments in (
        {"expressions": "met"},
        {"cut": "met > 5"},
        {"how": dict},
        {"aliases": {"a": "met"}},
        {"library": "np"},
        {"access_log": 5},
    ):
        with pytest.raises(errors.UsageError):
            tree.arrays(virtual=True, **arguments)
    with pytest.raises(errors.UsageError, match="access_log"):
        tree.arrays("met", access_log=[])


def test_descriptions(tree: Any) -> None:
    plain = tree.arrays(filter_name="met", ak_add_doc=True)
    chunk = tree.lazy(filter_name="met", ak_add_doc=True)[0]
    assert ak.parameters(chunk.met)["__doc__"] == ak.parameters(plain.met)["__doc__"] == tree["met"].title
    named = tree.arrays(virtual=True, filter_name="met", ak_add_doc={"typename": "typename"})
    assert ak.parameters(named.met) == {"typename": "float"}


def test_vectors(tree: Any) -> None:
    vector = pytest.importorskip("vector")
    vector.register_awkward()

    def muons(events: Any) -> Any:
        fields = {"pt": events.Muon_pt, "eta": events.Muon_eta, "phi": events.Muon_eta * 0}
        return ak.zip({**fields, "mass": events.Muon_pt * 0 + 0.105}, with_name="Momentum4D")

    log: list[Any] = []
    lazy = muons(tree.arrays(virtual=True, access_log=log))
    pairs = lazy[ak.num(lazy) >= 2]
    mass = (pairs[:, 0] + pairs[:, 1]).mass
    eager = muons(tree.arrays(["Muon_pt", "Muon_eta"]))
    pairs = eager[ak.num(eager) >= 2]
    assert ak.array_equal(mass, (pairs[:, 0] + pairs[:, 1]).mass)
    assert {one.branch for one in log} == {"Muon_pt", "Muon_eta"}


def test_objects(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-HZZ-objects.root") as file:
        tree = file["events"]
        expected = tree.arrays(entry_stop=100)
        found = tree.arrays(virtual=True, entry_stop=100)
        assert ak.to_list(found) == ak.to_list(expected)
        assert str(found.type) == str(expected.type)


def test_columns_one_after_the_other() -> None:
    data = [
        {"x": 1, "y": [1.5, 2.5], "z": "ab", "o": None, "u": 1, "f": [1, 2]},
        {"x": 2, "y": [], "z": "", "o": 3, "u": "s", "f": [3, 4]},
        {"x": 3, "y": [4.5], "z": "cé", "o": None, "u": "t", "f": [5, 6]},
        {"x": 4, "y": [5.5], "z": "d", "o": 7, "u": 2, "f": [7, 8]},
    ]
    array = ak.Array(data)
    array = ak.with_field(array, ak.to_regular(array.f), "f")
    whole = awkward_to_column(array)
    for cuts in ([0, 4], [0, 1, 4], [0, 2, 2, 3, 4]):
        parts = [awkward_to_column(array[a:b]) for a, b in pairwise(cuts)]
        # An empty part has no union: its buffers are put as those of the whole have them.
        parts = [part if part.length else empty_column(whole.form) for part in parts]
        joined = concatenated(whole.form, parts)
        assert joined.length == 4 and len(joined.buffers) == buffer_count(whole.form)
        assert repr(column_to_numpy(joined).tolist()) == repr(column_to_numpy(whole).tolist())
    assert concatenated(whole.form, []).length == 0
    single = BuiltColumn(("primitive", "int8"), 1, [np.zeros(1, "i1")])
    assert concatenated(single.form, [single]) is single
