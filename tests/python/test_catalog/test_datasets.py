"""Real datasets in the catalogue, and with their log in a database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import sapwood
from sapwood import stripe
from sapwood.catalog import Catalog, DatabaseLog
from sapwood.errors import FileNotFoundError, KeyInFileError


@pytest.fixture
def events(events_file: Path) -> str:
    """The tree that datasets are made of."""
    return f"{events_file}:Events"


@pytest.fixture
def dataset(events: str, tmp_path: Path) -> stripe.Dataset:
    """A dataset of the events."""
    return stripe.create(tmp_path / "events", events, batch=100, who="ada", parameters={"campaign": "spring"})


def test_the_description_of_a_dataset(dataset: stripe.Dataset, tmp_path: Path, events_file: Path) -> None:
    dataset.tag("spring")
    document = stripe.describe(tmp_path / "events")
    newest = document["version"]
    assert (document["tree"], document["entries"], document["tags"]) == ("Events", 1000, {"spring": newest})
    assert document["made"]["who"] == "ada" and document["made"]["parameters"]["campaign"] == "spring"
    assert any(events_file.name in one for one in document["made"]["inputs"])
    products = {one["name"]: one for one in document["products"]}
    assert {"met", "Jet", "vertex"} <= products.keys()
    assert all(one["entries"] == 1000 and one["bytes"] > 0 for one in products.values())
    data = [path for path in (tmp_path / "events" / "d").rglob("*") if path.is_file()]
    stored = sum(path.stat().st_size for path in data)
    assert 0.5 * stored < sum(one["bytes"] for one in products.values()) < stored
    assert 0 < document["objects"] <= len(data)
    short = stripe.describe(tmp_path / "events", version="spring", sizes=False)
    assert short["snapshot"] == document["snapshot"] and short["products"][0]["bytes"] is None
    entries = stripe.log(tmp_path / "events")
    assert [one["n"] for one in entries] == list(range(1, newest + 1))
    assert stripe.log(tmp_path / "events", after=newest) == []
    with pytest.raises(KeyInFileError):
        stripe.describe(tmp_path / "events", version=99)
    with pytest.raises(FileNotFoundError):
        stripe.describe(tmp_path / "nothing")


def test_a_dataset_is_catalogued_as_it_changes(
    dataset: stripe.Dataset, tmp_path: Path, database: str, events: str
) -> None:
    place = str(tmp_path / "events")
    with Catalog(database) as catalogue:
        added = catalogue.add(place)
        assert (added.name, added.entries, added.tree) == ("events", 1000, "Events")
        assert added.identity == stripe.describe(place)["dataset"]
        dataset.append(events)
        dataset.drop("met")
        assert catalogue.refresh()[0].error is None
        now = catalogue["events"]
        assert now.version == added.version + 2 and now.entries == 2000
        assert now.products == added.products - 1 and now.objects is not None
        assert now.nbytes == sum(one.nbytes or 0 for one in catalogue.products("events"))
        dropped = [one for one in catalogue.products("events", history=True) if one.until is not None]
        assert [(one.name, one.until) for one in dropped] == [("met", now.version)]
        versions = catalogue.versions("events")
        assert [one.operation for one in versions][:2] == ["drop", "append"]
        assert any("events.root" in one.url for one in catalogue.ancestors("events"))


def test_a_product_that_was_computed_was_made_of_the_version_that_was_read(
    dataset: stripe.Dataset, tmp_path: Path
) -> None:
    read = dataset.version()
    made = dataset.add_product("twice", lambda events: {"twice": 2 * events["met"]}, ["met"]).version
    with Catalog(tmp_path / "catalog.sqlite") as catalogue:
        catalogue.add(dataset.url)
        computed = catalogue.versions("events")[0]
        assert [(one.dataset, one.version) for one in computed.inputs] == [("events", f"v{read}")]
        assert computed.parameters["columns"] == "met"
        assert [one.dataset for one in catalogue.having("twice", at_least=made)] == ["events"]


def test_a_copy_is_the_same_dataset(dataset: stripe.Dataset, tmp_path: Path, database: str) -> None:
    dataset.copy_to(tmp_path / "copy")
    with Catalog(database) as catalogue:
        catalogue.add(tmp_path / "events")
        copied = catalogue.add(tmp_path / "copy")
        assert copied.name == "events" and len(copied.locations) == 2


def test_the_log_of_a_dataset_may_be_in_a_database(tmp_path: Path, database: str, events: str) -> None:
    place = str(tmp_path / "events")
    with DatabaseLog(database, "events") as log:
        dataset = stripe.create(place, events, log=log)
        dataset.append(events)
        newest = log.newest()
        assert newest is not None and newest[0] == dataset.version()
        assert not (tmp_path / "events" / "log").exists()
        assert stripe.describe(place, log=log)["entries"] == 2000
        assert [one["n"] for one in stripe.log(place, log=log)] == list(range(1, newest[0] + 1))
        assert dataset.verify().wrong == ()
        with Catalog(database) as catalogue:
            assert catalogue.add(place, log=log).entries == 2000
            dataset.drop("met")
            assert catalogue.refresh("events", log=log)[0].error is None
            assert catalogue["events"].version == newest[0] + 1
        with sapwood.open(place, log=log) as tree, sapwood.open(f"{place}@v2", log=log) as before:
            assert tree.num_entries == 2000 and before.num_entries == 1000
            assert len(tree["run"].array(library="np")) == 2000 and "met" not in tree
        assert dataset.export(tmp_path / "out.root", version=2).entries == 1000
    with pytest.raises(FileNotFoundError, match="log of this dataset is not in its store"):
        stripe.describe(place)


def test_a_log_is_named_by_the_url_of_its_database(tmp_path: Path, database: str, events: str) -> None:
    place = tmp_path / "events"
    dataset = stripe.create(place, events, log=database)
    dataset.append(events)
    assert not (place / "log").exists()
    assert stripe.open(place, log=database).version() == dataset.version()
    assert stripe.describe(place, log=database)["entries"] == 2000
    assert len(stripe.log(place, log=database)) == dataset.version()
    with sapwood.open(f"{place}@v2", log=database) as tree:
        assert tree.num_entries == 1000
    with pytest.raises(FileNotFoundError, match="no dataset at"):
        stripe.open(tmp_path / "nothing", log=database)
    # Two datasets in one database do not know of each other.
    assert stripe.create(tmp_path / "other", events, log=database).version() == 2


def test_a_tree_that_is_not_there_leaves_nothing(tmp_path: Path, database: str, events_file: Path) -> None:
    with pytest.raises(KeyInFileError):
        stripe.create(tmp_path / "events", f"{events_file}:Evnts", log=database)
    assert stripe.create(tmp_path / "events", f"{events_file}:Events", log=database).version() == 2


def test_the_catalogue_remembers_where_a_log_is(
    tmp_path: Path, database: str, events: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "events")
    dataset = stripe.create(place, events, log=database)
    with Catalog(database) as catalogue:
        catalogue.add(place, name="ttbar", log=database)
        dataset.append(events)
        (refreshed,) = catalogue.refresh()
        assert refreshed.error is None and refreshed.version == dataset.version()
        where, options = catalogue.place("ttbar")
        assert where == place and options["log"].dataset == dataset.describe()["dataset"]
    monkeypatch.setenv("SAPWOOD_CATALOG", database)
    assert sapwood.open("catalog:ttbar").num_entries == 2000
    assert sapwood.open("catalog:ttbar", version=2).num_entries == 1000
    with pytest.raises(KeyInFileError, match="ttbar"):
        sapwood.open("catalog:ttba")


def test_a_catalogue_of_the_second_version_learns_of_logs(tmp_path: Path, events: str) -> None:
    place, path = tmp_path / "events", tmp_path / "catalog.sqlite"
    stripe.create(place, events)
    with Catalog(path) as catalogue:
        catalogue.add(place)
    with sqlite3.connect(path) as connection:
        for column in ("log_url", "log_name"):
            connection.execute(f"ALTER TABLE sapwood_locations DROP COLUMN {column}")
        connection.execute("UPDATE sapwood_catalog SET version = 2")
    with Catalog(path) as catalogue:
        assert catalogue.refresh()[0].error is None and catalogue.place("events") == (str(place), {})


def test_the_log_of_another_dataset_is_reported(
    dataset: stripe.Dataset, tmp_path: Path, database: str
) -> None:
    with pytest.raises(FileNotFoundError, match="log of this dataset is in its store"):
        stripe.open(dataset.url, log=database)
