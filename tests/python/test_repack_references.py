"""Objects that refer to each other inside an entry: they do so in files of any layout, as ROOT reads them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import sapwood

sys.path.append(str(Path(__file__).parent))
from references import differences
from root_peer import needs_root, objects_by_root, write_by_root

pytest.importorskip("awkward")


@pytest.fixture(scope="module")
def lists_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lists of histograms, texts and arrays, some of which stand in a list twice."""
    path = tmp_path_factory.mktemp("references") / "lists.root"
    write_by_root("root_lists.py", path)
    return path


def test_root_reads_the_same_objects_in_every_layout(lists_file: Path, tmp_path: Path) -> None:
    assert list(differences(needs_root(), lists_file, ["T"], tmp_path)) == []


def test_a_skim_of_single_entries_keeps_its_references(lists_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    sapwood.repack(lists_file, target, cut="number % 3 == 1")
    before, after = (objects_by_root(needs_root(), path, ["T"]) for path in (lists_file, target))
    assert before is not None
    assert after == {"T": {name: digests[1::3] for name, digests in before["T"].items()}}


def test_a_dataset_keeps_references_on_their_way_to_a_file(lists_file: Path, tmp_path: Path) -> None:
    dataset = sapwood.stripe.create(tmp_path / "dataset", lists_file, tree="T")
    dataset.export(tmp_path / "out.root")
    before, after = (objects_by_root(needs_root(), path, ["T"]) for path in (lists_file, tmp_path / "out.root"))
    assert before == after is not None
