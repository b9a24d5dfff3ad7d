"""Split objects are reassembled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sapwood
from sapwood.errors import UsageError

TREES = Path(__file__).resolve().parents[1] / "data" / "trees"
ak = pytest.importorskip("awkward")


@pytest.fixture
def tree() -> Iterator[sapwood.Tree]:
    """The same objects, split and unsplit."""
    with sapwood.open(TREES / "split.root")["tree"] as opened:
        yield opened


def test_split_objects_are_as_if_they_were_not_split(tree: sapwood.Tree) -> None:
    split, whole = tree["split."].array(), tree["whole."].array()
    assert split.to_list() == whole.to_list()
    assert split[3].tracks.hits.to_list() == [[0, 3]] * 3
    assert ak.parameters(split)["__record__"] == ak.parameters(whole)["__record__"] == "Event"


def test_parts_of_split_objects_are_put_together(tree: sapwood.Tree) -> None:
    whole = tree["whole."].array(entry_stop=10)
    assert tree["split.lead"].array(entry_stop=10).to_list() == whole.lead.to_list()
    assert tree["split.tracks"].array(entry_stop=10).to_list() == whole.tracks.to_list()
    assert tree["split.tracks"].fields == ["id", "pt", "start", "hits", "layers"]


def test_a_clones_array_is_its_counts_and_its_records_are_asked_for(tree: sapwood.Tree) -> None:
    labels = tree["split.labels"]
    assert labels.item_class == "TNamed" and not labels.is_group
    assert labels.array(entry_stop=5).to_list() == [0, 1, 2, 3, 0]
    assert labels.records.array().to_list() == tree["whole."].array().labels.to_list()
    assert labels.records.fields == ["fName", "fTitle"]
    assert tree["split.tracks"].records is tree["split.tracks"]


def test_members_of_the_unsplit_are_those_of_the_split(tree: sapwood.Tree) -> None:
    for name in ("id", "name", "lead.pt", "lead.start.x", "tracks.id", "tracks.start.y", "tracks.layers"):
        assert tree[f"whole.{name}"].array().to_list() == tree[f"split.{name}"].array().to_list(), name
    together = tree.arrays(["whole.tracks.pt", "whole.lead.id", "whole.tracks.hits"])
    assert together["whole.tracks.pt"].to_list() == tree["split.tracks.pt"].array().to_list()
    assert together["whole.lead.id"].to_list() == tree["split.lead.id"].array().to_list()


def test_steps_give_the_same_as_the_whole(tree: sapwood.Tree) -> None:
    names = ["split.", "whole.tracks.pt"]
    steps = list(tree.iterate(names, step_size=17))
    assert ak.concatenate(steps).to_list() == tree.arrays(names).to_list()


@pytest.mark.parametrize("library", ["np", "pd", "arrow"])
def test_other_libraries_take_them_too(tree: sapwood.Tree, library: str) -> None:
    pytest.importorskip({"np": "numpy", "pd": "pandas", "arrow": "pyarrow"}[library])
    array = tree["split.tracks"].array(entry_stop=4, library=library)
    assert [len(item) for item in array] == [0, 1, 2, 3]


def test_collections_of_the_corpus_have_equal_lengths(corpus: Path) -> None:
    with sapwood.open(corpus / "skhep__uproot-issue513.root")["Delphes"] as tree:
        jets = tree["Jet"].records.array()
        assert ak.num(jets).to_list() == tree["Jet"].array().to_list()
        assert jets.PT.to_list() == tree["Jet.PT"].array().to_list()


def test_lists_that_do_not_fit_are_refused(tree: sapwood.Tree) -> None:
    from sapwood.arrays.column import BuiltColumn
    from sapwood.query.assemble import column_of, readable_leaves

    tracks = tree["split.tracks"]
    leaves = readable_leaves(tracks)
    read = tree.core.read([leaf.request for leaf in leaves], 0, 10)
    columns = {leaf.key: column for leaf, column in zip(leaves, read, strict=True)}
    first = columns[leaves[0].key]
    columns[leaves[0].key] = BuiltColumn(first.form, 10, [first.buffers[0] * 2, *first.buffers[1:]])
    with pytest.raises(UsageError, match="differ in length"):
        column_of(tracks, columns)
