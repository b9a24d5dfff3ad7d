"""Real datasets: in the catalogue, and with their log in a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import _core, stripe
from sapwood.catalog import Catalog, DatabaseLog
from sapwood.errors import FileNotFoundError, KeyInFileError

WRITING: dict[str, Any] = {
    "compression": None,
    "stripe_size": None,
    "batch": 100,
    "group": True,
    "pad": 0,
    "threads": None,
    "who": "ada",
    "job": None,
    "parameters": {"campaign": "spring"},
}


@pytest.fixture
def dataset(events_file: Path, tmp_path: Path) -> _core.Stripes:
    """A dataset of the events."""
    stripes = _core.Stripes(str(tmp_path / "events"))
    stripes.create("Events", [(str(events_file), {})], WRITING)
    return stripes


def test_what_a_dataset_says_of_itself(dataset: _core.Stripes, tmp_path: Path, events_file: Path) -> None:
    dataset.tag("spring", "latest")
    told = stripe.describe(tmp_path / "events")
    newest = told["version"]
    assert (told["tree"], told["entries"], told["tags"]) == ("Events", 1000, {"spring": newest})
    assert told["made"]["who"] == "ada" and told["made"]["parameters"]["campaign"] == "spring"
    assert any(events_file.name in one for one in told["made"]["inputs"])
    products = {one["name"]: one for one in told["products"]}
    assert {"met", "Jet", "vertex"} <= products.keys()
    assert all(one["entries"] == 1000 and one["bytes"] > 0 for one in products.values())
    data = [path for path in (tmp_path / "events" / "d").rglob("*") if path.is_file()]
    stored = sum(path.stat().st_size for path in data)
    assert 0.5 * stored < sum(one["bytes"] for one in products.values()) < stored
    assert 0 < told["objects"] <= len(data)
    short = stripe.describe(tmp_path / "events", version="spring", sizes=False)
    assert short["snapshot"] == told["snapshot"] and short["products"][0]["bytes"] is None
    entries = stripe.log(tmp_path / "events")
    assert [one["n"] for one in entries] == list(range(1, newest + 1))
    assert stripe.log(tmp_path / "events", after=newest) == []
    with pytest.raises(KeyInFileError):
        stripe.describe(tmp_path / "events", version=99)
    with pytest.raises(FileNotFoundError):
        stripe.describe(tmp_path / "nothing")


def test_a_dataset_is_catalogued_as_it_changes(
    dataset: _core.Stripes, tmp_path: Path, database: str, events_file: Path
) -> None:
    place = str(tmp_path / "events")
    with Catalog(database) as catalogue:
        added = catalogue.add(place)
        assert (added.name, added.entries, added.tree) == ("events", 1000, "Events")
        assert added.identity == stripe.describe(place)["dataset"]
        dataset.append([(str(events_file), {})], WRITING)
        dataset.drop(["met"], None)
        assert catalogue.refresh()[0].error is None
        now = catalogue["events"]
        assert now.version == added.version + 2 and now.entries == 2000
        assert now.products == added.products - 1 and now.objects is not None
        assert now.nbytes == sum(one.nbytes or 0 for one in catalogue.products("events"))
        dropped = [one for one in catalogue.products("events", history=True) if one.until is not None]
        assert [(one.name, one.until) for one in dropped] == [("met", now.version)]
        versions = catalogue.versions("events")
        assert [one.operation for one in versions][:2] == ["drop", "append"]
        assert any(events_file.name in one.url for one in catalogue.ancestors("events"))


def test_a_copy_is_the_same_dataset(dataset: _core.Stripes, tmp_path: Path, database: str) -> None:
    dataset.copy(_core.Stripes(str(tmp_path / "copy")))
    with Catalog(database) as catalogue:
        catalogue.add(tmp_path / "events")
        copied = catalogue.add(tmp_path / "copy")
        assert copied.name == "events" and len(copied.locations) == 2


def test_the_log_of_a_dataset_may_lie_in_a_database(tmp_path: Path, database: str, events_file: Path) -> None:
    place = str(tmp_path / "events")
    with DatabaseLog(database, "events") as log:
        stripes = _core.Stripes(place, log=log)
        stripes.create("Events", [(str(events_file), {})], WRITING)
        stripes.append([(str(events_file), {})], WRITING)
        newest = log.newest()
        assert newest is not None and newest[0] == stripes.version("latest")
        assert not (tmp_path / "events" / "log").exists()
        assert stripe.describe(place, log=log)["entries"] == 2000
        assert [one["n"] for one in stripe.log(place, log=log)] == list(range(1, newest[0] + 1))
        assert stripes.verify("latest", 1.0, 0)[3] == []
        with Catalog(database) as catalogue:
            assert catalogue.add(place, log=log).entries == 2000
            stripes.drop(["met"], None)
            assert catalogue.refresh("events", log=log)[0].error is None
            assert catalogue["events"].version == newest[0] + 1
        with sapwood.open(place, log=log) as tree, sapwood.open(f"{place}@v2", log=log) as before:
            assert tree.num_entries == 2000 and before.num_entries == 1000
            assert len(tree["run"].array(library="np")) == 2000 and "met" not in tree.keys()
        stripes.export("v2" if newest[0] > 2 else "latest", str(tmp_path / "out.root"), "out.root", None)
    with pytest.raises(FileNotFoundError, match="log of this dataset is not in its store"):
        stripe.describe(place)
