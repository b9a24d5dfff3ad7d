"""Records written as split objects equal those that ROOT writes of the same classes, byte by byte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from root_peer import split_by_root

import sapwood
from sapwood.errors import UnsupportedTypeError, UsageError

ak = pytest.importorskip("awkward")

TREES = Path(__file__).resolve().parents[1] / "data" / "trees"

# The classes in `tests/data/trees/make.py`.
P4 = "P4[pt: float32, e: float64]"
DEEP = f"Deep[a: int32, p4: {P4}]"
HIT = f"Hit[adc: int16, w: 2 * float32, ids: var * int32, p4: {P4}, deep: {DEEP}, on: var * bool]"
EVENT = (
    "Ev[b: bool, c: int8, uc: uint8, s: int16, us: uint16, i: int32, ui: uint32, l: int64, ul: uint64, "
    "f: float32, d: float64, arr: 2 * 3 * float32, flags: 3 * bool, vf: var * float32, vb: var * bool, "
    f"name: string, vv: var * var * float64, vs: var * string, p4: {P4}, deep: {DEEP}, "
    f"hits: var * {HIT}, vl: var * int64]"
)
TYPES = {"ev": EVENT, "Hits": f"var * {HIT}", "p": P4}
ENTRIES = 7


def hit(k: int) -> dict[str, Any]:
    return {
        "adc": k,
        "w": [k, k + 0.5],
        "ids": [k] * (k % 3),
        "p4": {"pt": k, "e": 2 * k},
        "deep": {"a": k, "p4": {"pt": k + 1, "e": 3 * k}},
        "on": [k % 2 == 0] * (k % 4),
    }


def hits(k: int) -> list[dict[str, Any]]:
    return [hit(j) for j in range(k, k + k % 4)]


def event(k: int) -> dict[str, Any]:
    return {
        "b": k % 2 == 1,
        "c": k,
        "uc": 200 + k,
        "s": -k,
        "us": 60000 + k,
        "i": -1000 * k,
        "ui": 4000000000 + k,
        "l": -(1 << 40) - k,
        "ul": (1 << 62) + k,
        "f": k / 2,
        "d": k / 4,
        "arr": [[10 * k + 3 * a + b for b in range(3)] for a in range(2)],
        "flags": [(k + a) % 2 == 1 for a in range(3)],
        "vf": [k] * (k % 3),
        "vb": [k % 2 == 1] * (k % 4),
        "name": "n" * k,
        "vv": [[k] * (k % 2 + 1)] * (k % 3),
        "vs": ["str"] * (k % 3),
        "p4": {"pt": k, "e": 2 * k},
        "deep": {"a": k, "p4": {"pt": k + 1, "e": 3 * k}},
        "hits": hits(k),
        "vl": [k] * (k % 2),
    }


def columns(start: int, stop: int) -> dict[str, list[Any]]:
    steps = range(start, stop)
    return {
        "ev": [event(k) for k in steps],
        "Hits": [hits(k) for k in steps],
        "p": [{"pt": k, "e": k} for k in steps],
    }


def write(path: Path, *, steps: list[int] | None = None, **layout: Any) -> None:
    compression = layout.pop("compression", "zstd:5")
    with sapwood.recreate(path, compression=compression) as file:
        tree = file.mktree(
            "T", TYPES, records="split", basket_size=layout.pop("basket_size", 32000), **layout
        )
        start = 0
        for step in steps or [ENTRIES]:
            tree.extend(columns(start, start + step))
            start += step


def facts(branch: Any) -> dict[str, Any]:
    """What a branch says of itself, but for where its baskets are."""
    names = "Name Title ClassName ParentName ClonesName CheckSum ClassVersion ID Type StreamerType Maximum"
    found = {name: branch.member(f"f{name}") for name in names.split()}
    names = "SplitLevel EntryNumber Entries Offset"
    found |= {name: branch.member(f"f{name}") for name in names.split()}
    found["has offsets"] = branch.member("fEntryOffsetLen") != 0
    counter = branch.member("fBranchCount")
    found["counter"] = counter and counter.member("fName")
    found["leaves"] = [leaf_facts(leaf) for leaf in branch.member("fLeaves")]
    found["branches"] = [facts(child) for child in branch.member("fBranches")]
    if branch.num_baskets:
        basket = branch.basket(0)
        found["bytes"] = bytes(basket.data[: basket.border])
        found["offsets"] = None if basket.byte_offsets is None else basket.byte_offsets.tolist()
    return found


def leaf_facts(leaf: Any) -> dict[str, Any]:
    names = ["Name", "Title", "Len", "LenType", "Offset", "IsRange", "IsUnsigned", "ID", "Type"]
    counter = leaf.member("fLeafCount")
    return {name: leaf.member(f"f{name}") for name in names} | {
        "counter": counter and counter.member("fName")
    }


def descriptions(file: Any) -> dict[str, Any]:
    """How the classes of the test are described."""
    members = ["Name", "Title", "Type", "Size", "ArrayLength", "ArrayDim", "TypeName"]
    return {
        name: [
            (info.member("fCheckSum"), info.member("fClassVersion"), info.member("fTitle")),
            *(
                (
                    type(element).__name__,
                    *(element.member(f"f{member}") for member in members),
                    element.member("fMaxIndex").tolist(),
                    *(element.member(extra) for extra in ("fSTLtype", "fCtype") if element.has_member(extra)),
                )
                for element in info.elements
            ),
        ]
        for name in ("P4", "Deep", "Hit", "Ev")
        for info in file.file.streamers[name].values()
    }


def test_branches_bytes_and_descriptions_are_those_of_root(tmp_path: Path) -> None:
    write(tmp_path / "out.root")
    with uproot.open(tmp_path / "out.root") as ours, uproot.open(TREES / "members.root") as theirs:
        assert [facts(branch) for branch in ours["T"].branches] == [
            facts(branch) for branch in theirs["T"].branches
        ]
        leaves = [[leaf.member("fName") for leaf in file["T"].member("fLeaves")] for file in (ours, theirs)]
        assert leaves[0] == leaves[1]
        assert descriptions(ours) == descriptions(theirs)


def test_records_are_written_as_they_were_read(tmp_path: Path) -> None:
    with sapwood.open(TREES / "members.root")["T"] as tree, sapwood.recreate(tmp_path / "out.root") as file:
        data = {name: tree[name].array() for name in ("ev.", "Hits", "p.")}
        file.mktree("T", records="split").extend(data)
    with sapwood.open(tmp_path / "out.root")["T"] as tree:
        for name, array in data.items():
            again = tree[name].array()
            assert again.type == array.type and again.to_list() == array.to_list()


def test_sapwood_reads_the_records_and_so_does_uproot_their_members(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    write(path, steps=[3, 1, 3], cluster_entries=2, basket_size=1000, compression="lz4:1")
    expected = columns(0, ENTRIES)
    with sapwood.open(path)["T"] as tree, sapwood.open(TREES / "members.root")["T"] as made:
        assert tree.keys() == made.keys()
        for branch, column in (("ev.", "ev"), ("Hits", "Hits"), ("p.", "p")):
            array = tree[branch].array()
            assert array.to_list() == expected[column]
            assert array.type == made[branch].array().type
        assert tree["ev.hits"].array().to_list() == [hits(k) for k in range(ENTRIES)]
        assert tree["Hits.deep.p4.pt"].array().to_list() == [
            [h["adc"] + 1 for h in hits(k)] for k in range(7)
        ]
    with uproot.open(path)["T"] as tree:
        for name in ("Hits.adc", "Hits.w[2]", "Hits.ids", "Hits.on", "ev.vb", "ev.name", "p.e"):
            expected_part = made_of(expected, name)
            assert ak.to_list(tree[name].array()) == expected_part, name


def made_of(expected: dict[str, list[Any]], name: str) -> list[Any]:
    column, member = name.split("[")[0].split(".")
    return [
        [item[member] for item in entry] if isinstance(entry, list) else entry[member]
        for entry in expected[column]
    ]


def write_inside(path: Path) -> dict[str, list[Any]]:
    """Writes records in records, which hold lists of records; gives what they hold."""
    kind = "Outer[a: A[n: int8, i: I[h: var * H[y: float64, q: Q[z: int16]], s: string]], b: bool]"

    def item(k: int) -> dict[str, Any]:
        inner = {"h": [{"y": 2 * k, "q": {"z": j}} for j in range(k % 3)], "s": "s" * k}
        return {"a": {"n": k, "i": inner}, "b": k % 2 == 0}

    data = {"one": [item(k) for k in range(8)], "two": [item(k + 1) for k in range(8)]}
    with sapwood.recreate(path) as file:
        file.mktree("T", dict.fromkeys(data, kind), records="split").extend(data)
    return data


def test_lists_inside_of_records_inside_of_records(tmp_path: Path) -> None:
    data = write_inside(tmp_path / "out.root")
    with sapwood.open(tmp_path / "out.root")["T"] as tree:
        assert {name: tree[f"{name}."].array().to_list() for name in data} == data
        assert "two./two.a/two.a.i.h/two.a.i.h.q.z" in tree


def test_root_reads_the_members_with_all_settings_and_says_nothing(tmp_path: Path) -> None:
    paths = []
    levels = ["none", "zlib:1", "zlib:9", "lzma:1", "lz4:1", "lz4:9", "zstd:1", "zstd:5", "zstd:9"]
    for number, compression in enumerate(levels):
        paths.append(tmp_path / f"{number}.root")
        write(
            paths[-1],
            steps=[[7], [0, 1, 6]][number % 2],
            compression=compression,
            basket_size=[1000, 32000][number % 2],
            **[{"cluster_entries": 2}, {"cluster_size": 500}, {}][number % 3],
        )
    inside = write_inside(tmp_path / "inside.root")
    *ours, theirs, nested = split_by_root(*paths, TREES / "members.root", tmp_path / "inside.root")
    for found in ours:
        assert found == theirs
    assert nested["one.a.i.h.y"] == [[hit["y"] for hit in one["a"]["i"]["h"]] for one in inside["one"]]
    assert nested["two.a.i.s"] == [[two["a"]["i"]["s"]] for two in inside["two"]]
    assert theirs["ev.i"] == [[-1000 * k] for k in range(ENTRIES)]


def test_classes_are_called_as_records_or_columns(tmp_path: Path) -> None:
    jets = ak.zip({"pt": ak.Array([[1.5], []]), "p4": ak.zip({"x": ak.Array([[2], []])})}, with_name="MyJet")
    with sapwood.recreate(tmp_path / "out.root") as file:
        tree = file.mktree("T", records={"jets": "split", "m*": "split"})
        tree.extend({"jets": jets, "met": ak.zip({"phi": np.zeros(2)}), "plain": jets.p4, "n": np.arange(2)})
        assert tree.keys() == ["jets", "jets.pt", "jets.p4.x", "met.", "met.phi", "nplain", "plain_x", "n"]
    with uproot.open(tmp_path / "out.root") as opened:
        branches = opened["T"].branches
        assert [branch.member("fClassName") for branch in branches[:2]] == ["vector<MyJet>", "met"]
        assert branches[0].branches[1].member("fClassName") == "MyJet_p4"
    with sapwood.open(tmp_path / "out.root")["T"] as again, sapwood.recreate(tmp_path / "2.root") as file:
        read = again["jets"].array()
        file.mktree("T", records="split").extend({"jets": read})
    with sapwood.open(tmp_path / "2.root")["T"] as again:
        assert again["jets"].array().type == read.type and again["jets"].array().to_list() == read.to_list()


@pytest.mark.parametrize(
    ("types", "error", "says"),
    [
        ({"x": "var * {a: var * {b: int32}}"}, UnsupportedTypeError, r"'x\.a'.*list of records.*columns"),
        ({"x": "var * {a: string}"}, UnsupportedTypeError, r"'x\.a'.*string.*columns"),
        ({"x": "{h: var * {a: var * var * int8}}"}, UnsupportedTypeError, r"'x\.h\.a'.*columns"),
        ({"x": "var * var * {b: int32}"}, UnsupportedTypeError, "'x'.*cannot be split"),
        ({"x": "{a: (int32, int32)}"}, UnsupportedTypeError, r"'x\.a'.*cannot be split"),
        ({"x": '{"a b": int32}'}, UsageError, "'a b'.*C\\+\\+"),
        ({"class": "{a: int32}"}, UsageError, "'class'.*C\\+\\+"),
        ({"x": "Same[a: int32]", "y": "Same[b: int32]"}, UsageError, "Same"),
        ({"x": "{a: datetime64}"}, UnsupportedTypeError, "datetime64"),
    ],
)
def test_unsplittable_records_are_reported(tmp_path: Path, types: Any, error: Any, says: str) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        with pytest.raises(error) as caught:
            file.mktree("T", types, records="split")
        assert re.search(says, f"{caught.value} {caught.value.hint}")


def test_inconsistent_choices_are_reported(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "out.root") as file:
        for records in ("members", {"y": "split"}, {"n": "split"}):
            with pytest.raises(UsageError):
                file.mktree("T", {"x": "{a: int32}", "n": "int32"}, records=records)


def test_lists_that_differ_and_later_entries_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.root"
    with sapwood.recreate(path) as file:
        file.mktree("T", {"x": "var * {a: int32}"}, records="split").extend({"x": [[{"a": 1}], []]})
    with sapwood.update(path) as file, pytest.raises(UnsupportedTypeError, match="x"):
        file["T"].extend({"x": [[{"a": 1}]]})


def test_files_with_split_objects_are_repacked_and_merged(tmp_path: Path) -> None:
    first, second, out = (tmp_path / name for name in ("a.root", "b.root", "out.root"))
    write(first, cluster_entries=2)
    write(second, steps=[5, 2])
    sapwood.merge([first, second], out, basket_size=1000)
    with sapwood.open(out)["T"] as tree:
        assert tree["Hits"].array().to_list() == 2 * [hits(k) for k in range(ENTRIES)]
        assert tree["ev."].array().to_list() == 2 * [event(k) for k in range(ENTRIES)]
