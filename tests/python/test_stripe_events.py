"""Entries of datasets are found by luminosity block, and by run, luminosity block and event number."""

import json
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood import stripe

pytest.importorskip("uproot")
import uproot


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 entries in runs of 100 and luminosity blocks of 10, appended twice: each event is there twice."""
    folder = tmp_path_factory.mktemp("events")
    entries = np.arange(300)
    with uproot.recreate(folder / "in.root") as file:
        types = {"run": "uint32", "luminosityBlock": "uint32", "event": "uint64"}
        numbers = (entries // 100 + 1, entries % 100 // 10, entries)
        columns = zip(types.items(), numbers, strict=True)
        file.mktree("Events", types).extend({name: column.astype(kind) for (name, kind), column in columns})
        file.mktree("Plain", {"number": "int32"}).extend({"number": entries.astype("int32")})
    stripe.create(folder / "dataset", f"{folder / 'in.root'}:Events").append(f"{folder / 'in.root'}:Events")
    stripe.create(folder / "plain", f"{folder / 'in.root'}:Plain")
    return folder / "dataset"


def test_masks_choose_entries(dataset: Path, tmp_path: Path) -> None:
    mask = {2: [(0, 0), (5, 7)], 3: [(9, 99)], 7: [(1, 1)]}
    once = [(100, 110), (150, 180), (290, 300)]
    wanted = once + [(first + 300, end + 300) for first, end in once]
    assert stripe.select(dataset, mask) == wanted
    text = json.dumps(mask)
    (tmp_path / "mask.json").write_text(text)
    assert stripe.select(dataset, tmp_path / "mask.json", version=2) == wanted[: len(once)]
    events = sapwood.open(dataset)["event"].array(entry_start=150, entry_stop=180, library="np")
    np.testing.assert_array_equal(events, np.arange(150, 180))
    assert stripe.select(dataset, {}) == []


def test_events_are_found(dataset: Path) -> None:
    found = stripe.find(dataset, [(1, 2, 25), (3, 0, 200), (1, 2, 24_000), (9, 0, 0)])
    assert found == [[25, 325], [200, 500], [], []]


@pytest.mark.parametrize("mask", [{"x": [[1, 2]]}, {1: [[2, 1]]}, {1: [[1]]}])
def test_an_invalid_mask_is_reported(dataset: Path, mask: dict[str, list[list[int]]]) -> None:
    with pytest.raises(ValueError, match="luminosity blocks"):
        stripe.select(dataset, mask)


def test_a_dataset_that_does_not_name_its_events_is_reported(dataset: Path) -> None:
    with pytest.raises(sapwood.errors.KeyInFileError, match="does not say which events"):
        stripe.select(dataset.with_name("plain"), {1: [[1, 2]]})
