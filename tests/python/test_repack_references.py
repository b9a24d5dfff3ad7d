"""Objects that refer to each other inside an entry still do so in every layout, as ROOT reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from references import Original
from root_peer import needs_root, write_by_root

from sapwood import stripe

pytest.importorskip("awkward")


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Original:
    """Lists of histograms, texts and arrays, some of which stand in a list twice."""
    folder = tmp_path_factory.mktemp("references")
    write_by_root("root_lists.py", folder / "lists.root")
    return Original(needs_root(), folder / "lists.root", ["T"], folder)


def test_root_reads_the_same_objects_in_every_layout(lists: Original) -> None:
    assert lists.objects is not None
    assert lists.differences() == []


def test_a_skim_of_single_entries_keeps_its_references(lists: Original) -> None:
    layout = lists.written("skimmed", cut="number % 3 == 1")
    expected = lists.expected(replace(layout, chosen=lambda digests: digests[1::3]))
    assert lists.read(layout.path) == expected


def test_a_dataset_keeps_references_on_their_way_to_a_file(lists: Original) -> None:
    dataset = stripe.create(lists.folder / "dataset", lists.path, tree="T")
    dataset.export(lists.folder / "exported.root")
    assert lists.read(lists.folder / "exported.root") == lists.objects
