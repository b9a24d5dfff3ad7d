"""`ls`, `show` and `head` agree with uproot."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from sapwood import recreate


def test_ls(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("ls", path)
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0].split()[:3] == ["key", "class", "entries"]
    assert lines[1].split()[:3] == ["Events", "TTree", "1,000"]
    assert lines[2].split() == ["dir", "TDirectory"]
    assert len(lines) == 3
    assert "\x1b" not in done.out


def test_ls_recursive_and_long(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("ls", "-r", "-l", path)
    assert "dir/small;1" in done.out
    assert "the events" in done.out


def test_ls_of_a_directory_and_of_a_tree(sapwood: Callable[..., Any], path: Path) -> None:
    assert [key["name"] for key in sapwood("ls", f"{path}:dir", "--json").json["keys"]] == ["small"]
    keys = sapwood("ls", f"{path}:dir/small", "--json").json["keys"]
    assert [(key["name"], key["tree"]["entries"]) for key in keys] == [("small", 3)]


@pytest.mark.parametrize("name", ["histograms", "objects"])
def test_ls_of_any_object_is_the_row_of_its_file(sapwood: Callable[..., Any], name: str) -> None:
    path = Path(__file__).parents[2] / "data" / "objects" / f"{name}.root"
    for row in sapwood("ls", path, "--json").json["keys"]:
        if row["class"] != "TDirectory":
            for place in (row["name"], f"{row['name']};{row['cycle']}"):
                assert sapwood("ls", f"{path}:{place}", "--json").json["keys"] == [row]


def test_ls_of_an_older_cycle(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file["h"] = np.histogram([1.0, 2.0], bins=2)
        file["h"] = np.histogram([1.0, 2.0], bins=3)
    for name, cycles in (("h", [2]), ("h;1", [1])):
        keys = sapwood("ls", f"{tmp_path / 'a.root'}:{name}", "--json").json["keys"]
        assert [key["cycle"] for key in keys] == cycles
    assert len(sapwood("ls", "-l", f"{tmp_path / 'a.root'}:h", "--json").json["keys"]) == 2


@pytest.mark.parametrize("mark", ["/", ":"])
@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("head", "Events MET_pt"),
        ("report", "Events MET_pt"),
        ("convert {} a.csv", "Events MET_pt"),
        ("layout {} a.svg", "Events --read MET_pt"),
        ("hist", "sapwood hist {}:Events MET_pt"),
        ("hist {} run", "Events MET_pt"),
    ],
)
def test_a_branch_in_place_of_a_tree_is_refused_with_what_to_write(
    sapwood: Callable[..., Any], path: Path, command: str, instead: str, mark: str
) -> None:
    place = f"{path}:Events{mark}MET_pt"
    words = (command if "{}" in command else f"{command} {{}}").split()
    done = sapwood(*(word.format(place) for word in words))
    assert done.code == 2 and done.err.count("\n") == 1
    assert "is a branch" in done.err and instead.format(path) in done.err


def test_ls_json(sapwood: Callable[..., Any], path: Path) -> None:
    document = sapwood("ls", path, "--json").json
    with uproot.open(path) as file:
        tree, key = file["Events"], file.key("Events")
        assert document["bytes"] == path.stat().st_size
        found = document["keys"][0]
        assert found["offset"] == key.fSeekKey
        assert found["bytes"] == key.fNbytes
        assert found["tree"]["branches"] == len(tree.keys())
        assert found["tree"]["clusters"] == 4
        assert found["tree"]["compression"] == "ZSTD-5"
        assert found["tree"]["compressed_bytes"] == sum(branch.compressed_bytes for branch in tree.branches)


def test_show_calls_the_columns_of_an_rntuple_fields_and_their_chunks_pages(
    sapwood: Callable[..., Any], tmp_path: Path
) -> None:
    with recreate(tmp_path / "ntuple.root") as file:
        file.mkrntuple("Events", {"x": np.arange(10)})
    head, *_, foot = sapwood("show", tmp_path / "ntuple.root").out.splitlines()
    assert head.split()[0] == "field" and head.split()[-3:] == ["pages", "mean", "page"]
    assert foot.split()[:2] == ["1", "field"]


def test_show_json(sapwood: Callable[..., Any], path: Path) -> None:
    document = sapwood("show", f"{path}:Events", "--json").json
    with uproot.open(path) as file:
        tree = file["Events"]
        rows = {row["name"]: row for row in document["branches"]}
        assert list(rows) == tree.keys()
        for name, branch in tree.items():
            row = rows[name]
            assert row["type"] == branch.typename
            assert row["entries"] == branch.num_entries
            assert row["compressed_bytes"] == branch.compressed_bytes
            assert row["uncompressed_bytes"] == branch.uncompressed_bytes
            assert row["baskets"] == branch.num_baskets == 4
            assert row["mean_basket_bytes"] == branch.compressed_bytes / 4
    assert document["total"]["compressed_bytes"] == sum(row["compressed_bytes"] for row in rows.values())


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("size", "compressed_bytes"),
        ("uncompressed", "uncompressed_bytes"),
        ("unpacked", "uncompressed_bytes"),  # its former name
        ("ratio", "ratio"),
        ("baskets", "baskets"),
    ],
)
def test_show_sorted(sapwood: Callable[..., Any], path: Path, sort: str, key: str) -> None:
    values = [
        row[key] for row in sapwood("show", f"{path}:Events", "--sort", sort, "--json").json["branches"]
    ]
    assert values == sorted(values, reverse=True) and len(values) == 5


def test_show_filtered(sapwood: Callable[..., Any], path: Path) -> None:
    lines = sapwood("show", f"{path}:Events", "--filter", "M*", "--sort", "name").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["MET_pt", "Muon_pt", "2"]


def test_the_only_tree_needs_no_name(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "one.root") as file:
        file.mktree("lonely", {"x": "int32"}).extend({"x": [1, 2]})
    assert sapwood("show", tmp_path / "one.root", "--json").json["tree"].startswith("/lonely")


def test_a_file_may_have_any_name(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "nano.dat")
    assert sapwood("show", f"{tmp_path}/nano.dat:dir/small", "--json").json["entries"] == 3


def test_head(sapwood: Callable[..., Any], path: Path, events: dict[str, Any]) -> None:
    done = sapwood("head", f"{path}:Events", "-n", "3", "run", "Muon_pt", "run * 2")
    lines = done.out.splitlines()
    assert lines[0].split() == ["run", "Muon_pt", "run", "*", "2"]
    assert len(lines) == 4
    assert lines[3].split()[0] == "2" and lines[3].split()[-1] == "4"
    assert lines[1].count("[") == 1


def test_head_json(sapwood: Callable[..., Any], path: Path, events: dict[str, Any]) -> None:
    document = sapwood("head", f"{path}:Events", "-n", "5", "--json").json
    assert document["entries"] == 5
    for name, values in events.items():
        assert document["columns"][name] == values[:5].tolist()


def test_head_refuses_a_filter_beside_columns(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("head", f"{path}:Events", "Muon_pt", "--filter", "zzz*")
    assert (done.code, done.out) == (2, "")
    assert "'Muon_pt' and --filter cannot be combined" in done.err


@pytest.mark.parametrize("command", ["show {}", "head {}", "convert {} - --to csv"])
def test_a_filter_that_no_branch_matches_is_refused(
    sapwood: Callable[..., Any], path: Path, command: str
) -> None:
    done = sapwood(*command.format(f"{path}:Events").split(), "--filter", "zzz*")
    assert done.code == 2 and not done.out
    assert "no branch matches --filter 'zzz*'; list them with 'sapwood show " in done.err


def test_head_cut_and_filter(sapwood: Callable[..., Any], path: Path) -> None:
    document = sapwood(
        "head", f"{path}:Events", "--filter", "run", "--cut", "run % 2 == 1", "-n", "6", "--json"
    ).json
    assert document["columns"] == {"run": [1, 3, 5, 7, 9, 11]}


def test_ls_of_names_with_colons(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "colons.root") as file:
        file.mktree("A::B", {"x": "int32"}).extend({"x": [1]})
        file.mktree("plain", {"x": "int32"}).extend({"x": [1, 2]})
    keys = sapwood("ls", tmp_path / "colons.root", "--json").json["keys"]
    assert [(key["name"], key["tree"]["entries"]) for key in keys] == [("A::B", 1), ("plain", 2)]


def test_show_an_object(sapwood: Callable[..., Any]) -> None:
    data = Path(__file__).parents[2] / "data" / "objects"
    done = sapwood("show", f"{data / 'histograms.root'}:labelled")
    assert done.code == 0 and done.out.splitlines()[0] == "TH1D"
    assert "  fLabels: ['muon', 'electron', 'tau']" in done.out.replace("    f", "  f")
    document = sapwood("show", f"{data / 'objects.root'}:vector", "--json").json
    assert document["class"] == "TLorentzVector" and document["skipped"] == []
    assert document["value"] == {"fP": {"fX": 1.0, "fY": 2.0, "fZ": 3.0}, "fE": 4.0}
    assert sapwood("show", f"{data / 'objects.root'}:map").out.splitlines() == [
        "3 items",
        "  none: []",
        "  one: [1.]",
        "  two: [1.5 2.5]",
    ]
    assert sapwood("head", f"{data / 'objects.root'}:map").code == 2


def test_show_the_members_of_a_branch(sapwood: Callable[..., Any]) -> None:
    source = f"{Path(__file__).parents[2] / 'data' / 'trees' / 'split.root'}:tree/whole."
    lines = sapwood("show", source).out.splitlines()
    assert lines[2].startswith("whole. ") and lines[3].startswith("  id ")
    members = sapwood("show", source, "--json").json["members"]
    assert {"name": "lead.pt", "type": "double"} in members
