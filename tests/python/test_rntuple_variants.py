"""Variants of RNTuples: unions with exactly the alternatives of the field, whatever is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood.arrays.libraries import library_named

ak = pytest.importorskip("awkward")

LARGE = 2**60 + 1
TYPES = {
    "v": "union[int64, float64]",
    "w": "var * union[int64, string]",
    "l": "union[var * int64, var * float64]",
}


def union(tags: list[int], *contents: Any) -> Any:
    """A union of arrays, whose items appear in their order."""
    places = [tags[:i].count(tag) for i, tag in enumerate(tags)]
    layouts = [ak.to_layout(content) for content in contents]
    return ak.Array(
        ak.contents.UnionArray(
            ak.index.Index8(np.array(tags, np.int8)), ak.index.Index64(np.array(places)), layouts
        )
    )


def write(path: Path, large: int = LARGE) -> str:
    """Two clusters of two entries; the first has only the first alternatives."""
    numbers = union([0, 0, 1, 1], np.array([large, 5]), np.array([0.5, 1.5]))
    words = ak.unflatten(union([0, 1, 0], np.array([large, 3]), ak.Array(["a"])), [1, 0, 1, 1])
    lists = union([0, 0, 1, 1], ak.Array([[large], []]), ak.Array([[0.5], [1.5, 2.5]]))
    with sapwood.recreate(path) as file:
        tree = file.mkrntuple("t", {**TYPES, "i": "int32"}, cluster_entries=2)
        tree.extend({"v": numbers, "w": words, "l": lists, "i": np.arange(4)})
    return f"{path}:t"


@pytest.fixture
def source(tmp_path: Path) -> str:
    return write(tmp_path / "variants.root")


V, W, L = [LARGE, 5, 0.5, 1.5], [[LARGE], [], ["a"], [3]], [[LARGE], [], [0.5], [1.5, 2.5]]
V_TYPE, W_TYPE = "union[?int64, ?float64]", "var * union[?int64, ?string]"
L_TYPE = "union[option[var * int64], option[var * float64]]"


def exact(values: Any) -> str:
    """Values such that equal ones have one text: 5 and 5.0 differ."""
    return repr(values)


def test_integers_beside_floats_keep_all_digits(source: str) -> None:
    arrays = sapwood.open(source).arrays(["v", "w", "l"])
    for name, values, kind in (("v", V, V_TYPE), ("w", W, W_TYPE), ("l", L, L_TYPE)):
        assert exact(arrays[name].to_list()) == exact(values)
        assert str(arrays[name].type) == f"4 * {kind}"


def test_unsigned_and_signed_alternatives_keep_all_digits(tmp_path: Path) -> None:
    values = union([0, 1], np.array([-LARGE]), np.array([2**64 - 1], np.uint64))
    with sapwood.recreate(tmp_path / "signs.root") as file:
        file.mkrntuple("t", {"v": "union[int64, uint64]"}).extend({"v": values})
    array = sapwood.open(f"{tmp_path / 'signs.root'}:t")["v"].array()
    assert array.to_list() == [-LARGE, 2**64 - 1] and str(array.type) == "2 * union[?int64, ?uint64]"


def test_values_of_one_cluster_are_those_of_uproot(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    values = union([0, 1, 0, 1], np.array([LARGE, 5]), np.array([0.5, 1.5]))
    with sapwood.recreate(tmp_path / "one.root") as file:
        file.mkrntuple("t", {"v": TYPES["v"]}).extend({"v": values})
    ours = sapwood.open(f"{tmp_path / 'one.root'}:t")["v"].array()
    theirs = uproot.open(f"{tmp_path / 'one.root'}:t")["v"].array()
    assert exact(ours.to_list()) == exact(theirs.to_list())
    # uproot has an alternative more, for variants without a value.
    assert str(theirs.type).replace("?unknown, ", "") == str(ours.type)


def test_the_type_of_a_variant_does_not_depend_on_the_entries(source: str) -> None:
    tree = sapwood.open(source)
    for start, stop in ((0, 0), (0, 1), (2, 4), (4, 4)):
        for name, kind in (("v", V_TYPE), ("w", W_TYPE), ("l", L_TYPE)):
            array = tree[name].array(entry_start=start, entry_stop=stop)
            assert str(array.type) == f"{stop - start} * {kind}"
    steps = list(tree.iterate(["v"], step_size=1))
    assert {str(step.v.type) for step in steps} == {f"1 * {V_TYPE}"}
    assert exact([value for step in steps for value in step.v.to_list()]) == exact(V)


def test_a_cut_compares_integers_exactly(source: str) -> None:
    tree = sapwood.open(source)
    for library in ("ak", "np", "pd"):
        chosen = tree.arrays(["i"], f"v=={LARGE}", library=library)["i"]
        assert list(chosen) == [0]
        assert list(tree.arrays(["i"], f"v=={LARGE + 1}", library=library)["i"]) == []
    assert exact(tree.arrays(["v"], "v>1").v.to_list()) == exact([LARGE, 5, 1.5])


def test_files_of_several_are_joined_without_merging(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.root"), write(tmp_path / "two.root", LARGE + 1)
    joined = sapwood.concatenate([one, two], ["v", "w", "l"])
    expected = sapwood.open(one).arrays().to_list() + sapwood.open(two).arrays().to_list()
    for name, kind in (("v", V_TYPE), ("w", W_TYPE), ("l", L_TYPE)):
        assert exact(joined[name].to_list()) == exact([entry[name] for entry in expected])
        assert str(joined[name].type) == f"8 * {kind}"


def test_variants_of_other_alternatives_are_joined_by_type(tmp_path: Path) -> None:
    one = write(tmp_path / "one.root")
    values = union([1, 0], ak.Array(["b"]), np.array([LARGE + 1]))
    with sapwood.recreate(tmp_path / "two.root") as file:
        file.mkrntuple("t", {"v": "union[string, int64]"}).extend({"v": values})
    joined = sapwood.concatenate([one, f"{tmp_path / 'two.root'}:t"], ["v"]).v
    assert exact(joined.to_list()) == exact([*V, LARGE + 1, "b"])
    assert str(joined.type) == "6 * union[?int64, ?float64, ?string]"


def test_variants_inside_options_and_arrays_are_joined() -> None:
    layout = ak.to_layout(union([0, 1, 0, 1], np.array([LARGE, 5]), np.array([0.5, 1.5])))
    regular = ak.contents.RegularArray(layout, 2)
    records = ak.contents.RecordArray([regular], ["x"])
    missing = ak.contents.IndexedOptionArray(ak.index.Index64(np.array([1, -1, 0])), records)
    parts = [missing, ak.contents.UnmaskedArray(records)]
    joined = library_named("ak").concatenate_arrays(parts)
    assert exact(joined.to_list()) == exact(ak.to_list(parts[0]) + ak.to_list(parts[1]))
    assert str(joined.type) == "5 * ?{x: 2 * union[int64, float64]}"


def test_text_in_a_variant_cannot_be_computed_with(source: str) -> None:
    tree = sapwood.open(source)
    for expression in ("w+1", "w>1", "sqrt(w)"):
        with pytest.raises(sapwood.errors.ExpressionError, match="cannot be computed"):
            tree.arrays([expression], how=dict)


def test_virtual_arrays_and_chunks_hold_variants(source: str) -> None:
    tree = sapwood.open(source)
    log: list[Any] = []
    whole = tree.arrays(virtual=True, access_log=log)
    assert whole.i.to_list() == [0, 1, 2, 3] and {access.branch for access in log} == {"i"}
    for name, values in (("v", V), ("w", W), ("l", L)):
        assert exact(whole[name].to_list()) == exact(values)
        assert str(whole[name].type) == str(tree[name].array().type)
    parts = [chunk.v.to_list() for chunk in tree.lazy()]
    assert exact([value for part in parts for value in part]) == exact(V)


def test_events_and_data_frames_hold_the_values(source: str) -> None:
    tree = sapwood.open(source)
    assert exact([event.v.item() for event in tree.events()]) == exact(V)
    assert exact(tree.arrays(["v"], library="np")["v"].tolist()) == exact(V)
    pytest.importorskip("pandas")
    assert exact(list(tree.arrays(["v"], library="pd")["v"])) == exact(V)


def test_arrow_has_one_type_for_all_entries(source: str) -> None:
    pytest.importorskip("pyarrow")
    tree = sapwood.open(source)
    whole = tree.arrays(["v", "w", "l"], library="arrow")
    assert exact(whole["v"].to_pylist()) == exact(V)
    for entry in range(4):
        part = tree.arrays(["v", "w", "l"], library="arrow", entry_start=entry, entry_stop=entry + 1)
        assert part.schema.equals(whole.schema)
