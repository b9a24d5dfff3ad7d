"""Attributes of trees and branches."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import sapwood
from sapwood import errors


@pytest.fixture
def tree(events_file: Path) -> sapwood.Tree:
    return sapwood.open(f"{events_file}:Events")


def test_a_tree_is_a_mapping_of_branches(tree: sapwood.Tree) -> None:
    assert isinstance(tree, Mapping) and isinstance(tree["met"], Mapping)
    assert len(tree) == len(tree.keys()) == len(list(tree)) == len(tree.branches)
    assert tree.items()[0] == (tree.keys()[0], tree.values()[0])
    assert "met" in tree and "/met" in tree and "Met" not in tree and 1 not in tree
    assert tree.get("nothing") is None and tree.get("nothing", 5) == 5
    assert tree[0] is tree.branches[0]
    assert tree["met"] is tree["met"] and len(tree["met"]) == 0 and bool(tree["met"])


def test_a_branch_in_place_of_an_attribute_is_shown_as_an_item(tree: sapwood.Tree) -> None:
    with pytest.raises(AttributeError, match=r"an item, and tree\['met'\]\.array\(\) returns its values"):
        getattr(tree, "met")  # noqa: B009
    with pytest.raises(AttributeError, match=r"^'Tree' object has no attribute 'head'$"):
        getattr(tree, "head")  # noqa: B009
    tree.file.close()
    assert not hasattr(tree, "met")


def test_the_same_listing_as_uproot(tree: sapwood.Tree, events_file: Path) -> None:
    theirs = pytest.importorskip("uproot").open(f"{events_file}:Events")
    for options in (
        {},
        {"recursive": False},
        {"full_paths": False},
        {"filter_name": "Muon_*"},
        {"filter_name": ["met", "/jet/i"]},
        {"filter_typename": "float*"},
        {"filter_branch": lambda branch: "eta" in branch.name},
    ):
        assert tree.keys(**options) == theirs.keys(**options)
        assert tree.typenames(**options) == theirs.typenames(**options)
    assert (tree.name, tree.title, tree.num_entries) == (theirs.name, theirs.title, theirs.num_entries)
    assert (tree.compressed_bytes, tree.uncompressed_bytes) == (
        theirs.compressed_bytes,
        theirs.uncompressed_bytes,
    )
    assert tree.common_entry_offsets() == theirs.common_entry_offsets() == [0, 250, 500, 750, 1000]
    for name, branch in tree.items():
        other = theirs[name]
        for attribute in (
            "title",
            "typename",
            "num_entries",
            "num_baskets",
            "entry_offsets",
            "compressed_bytes",
            "uncompressed_bytes",
            "compression_ratio",
        ):
            assert getattr(branch, attribute) == getattr(other, attribute), (name, attribute)
        assert branch.basket_entry_start_stop(1) == other.basket_entry_start_stop(1) == (250, 500)


def test_branches_know_their_baskets(tree: sapwood.Tree) -> None:
    branch = tree["Muon_pt"]
    assert [(first, entries) for first, entries, *_ in branch.baskets] == [(i * 250, 250) for i in range(4)]
    assert all(offset > 0 and size > 0 and not embedded for _, _, offset, size, embedded in branch.baskets)
    assert branch.count_branch is tree["nMuon"] and tree["met"].count_branch is None
    assert branch.compression.algorithm == "ZSTD"
    assert branch.parent is tree and branch.tree is tree
    assert branch.object_path == "/Events;1:Muon_pt"
    assert repr(branch.interpretation) == "var * float32"
    assert "Muon_pt" in repr(branch) and "float[]" in repr(branch)


def test_awkward_forms_without_reading(tree: sapwood.Tree) -> None:
    pytest.importorskip("awkward")
    requests = tree.file.report().requests
    for branch in tree.values():
        form = branch.interpretation.awkward_form(None)
        assert str(form.type) == repr(branch.interpretation)
    assert tree.file.report().requests == requests
    assert tree["Jet_pt"].array().layout.form == tree["Jet_pt"].interpretation.awkward_form()


def test_a_missing_branch_names_the_nearest(tree: sapwood.Tree) -> None:
    with pytest.raises(errors.KeyInFileError, match="'Muon_pt'") as caught:
        tree["muon_Pt"]
    assert isinstance(caught.value, KeyError) and "Events" in str(caught.value)
    with pytest.raises(TypeError):
        tree[1.5]


def test_show_prints_a_line_per_branch(tree: sapwood.Tree, capsys: pytest.CaptureFixture[str]) -> None:
    tree.show(filter_name="Muon_*")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{'name':<20} | {'typename':<24} | interpretation"
    assert lines[1] == "-" * 20 + "-+-" + "-" * 24 + "-+-" + "-" * 30
    assert lines[2] == f"{'Muon_pt':<20} | {'float[]':<24} | var * float32"
    assert len(lines) == 5
    tree["met"].show()
    assert capsys.readouterr().out.splitlines()[2].startswith("met ")
    out = io.StringIO()
    tree.show(name_width=5, stream=out)
    assert "...ex" in out.getvalue()
    with pytest.raises(ValueError, match="3"):
        tree.show(name_width=2)


def test_split_objects_are_found_by_name_path_and_dots(corpus: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = corpus / "skhep__uproot-issue371.root"
    tree, theirs = sapwood.open(f"{path}:Event"), uproot.open(f"{path}:Event")
    # Where a path occurs twice, ours tells the branches apart.
    assert [re.sub(r"#\d+$", "", name) for name in tree] == theirs.keys()
    assert len(set(tree.keys())) == len(tree.keys())
    assert tree.keys(full_paths=False) == theirs.keys(full_paths=False)
    group = tree[tree.keys(filter_branch=lambda branch: branch.is_group)[0]]
    child = group.branches[0]
    assert tree[child.path] is tree["/" + child.path] is tree[child.name] is group[child.name] is child
    assert tree[child.path.replace("/", ".")] is child
    assert child.parent is group and child.path.startswith(group.path + "/")
    assert child.name in group and group.keys()[0] == child.path[len(group.path) + 1 :]
    assert "/" + child.name not in tree or tree["/" + child.name] is not child


def test_num_entries_for_a_memory_size(tree: sapwood.Tree) -> None:
    few, many = tree.num_entries_for("1 kB"), tree.num_entries_for("10 kB")
    assert 1 <= few < many < 1000
    assert tree.num_entries_for("10 kB", ["met"]) == pytest.approx(2500, rel=0.2)
    assert tree.num_entries_for("10 kB", "met * weight") < tree.num_entries_for("10 kB", "met")
    assert tree.num_entries_for(1) == 1
    assert tree.num_entries_for("10 kB", entry_start=0, entry_stop=10) == pytest.approx(many, rel=0.2)
