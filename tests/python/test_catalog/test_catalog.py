"""The catalogue: adding, refreshing, searching and forgetting datasets, in SQLite and PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.catalog import Catalog
from sapwood.errors import ConflictError, KeyInFileError, UsageError

DATA = "s3://bucket/data"


def names(found: list[Any]) -> list[str]:
    return [one.name for one in found]


def test_a_dataset_is_recognised_by_its_identity(family: Any, catalogue: Catalog) -> None:
    data = catalogue["data"]
    assert (data.tree, data.version, data.entries, data.products) == ("Events", 3, 3000, 3)
    assert data.nbytes == 3000 * (10 + 17 + 24) and data.objects == 9
    assert data.locations == (DATA,) and data.tags == {"spring": 2}
    assert catalogue[DATA] == catalogue[f"{DATA}/"] == data
    assert [(one.name, one.version, one.since, one.until) for one in catalogue.products("data")] == [
        ("Jet", 3, 3, None),
        ("Muon", 1, 1, None),
        ("run", 1, 1, None),
    ]
    json.dumps(data.to_dict())


def test_products_of_an_older_version(family: Any, catalogue: Catalog) -> None:
    assert {one.name: one.version for one in catalogue.products("data", version=2)} == {
        "Muon": 1,
        "Jet": 1,
        "run": 1,
    }
    everything = catalogue.products("data", history=True)
    assert [(one.name, one.since, one.until) for one in everything if one.name == "Jet"] == [
        ("Jet", 1, 3),
        ("Jet", 3, None),
    ]


def test_versions_have_inputs_without_secrets_and_tags(family: Any, catalogue: Catalog) -> None:
    newest, appended, created = catalogue.versions("data")
    assert [one.operation for one in (newest, appended, created)] == ["replace", "append", "create"]
    assert appended.tags == ("spring",) and appended.entries == 3000 and appended.parent == 1
    assert [one.url for one in created.inputs] == [
        "root://example.org//data/a.root:Events",
        "/data/b.root:Events",
    ]
    assert catalogue.versions("dimuon")[0].inputs[0].dataset == "data"


def test_datasets_are_found_by_name_place_and_product(family: Any, catalogue: Catalog) -> None:
    assert names(catalogue.datasets()) == ["data", "dimuon", "trained"]
    assert names(catalogue.datasets("MUON")) == ["dimuon"]
    assert names(catalogue.datasets("bucket")) == ["data", "dimuon"]
    assert names(catalogue.datasets("d*")) == ["data", "dimuon"]
    assert names(catalogue.datasets("d?ta")) == ["data"]
    assert names(catalogue.datasets(product="Jet")) == ["data"]
    assert names(catalogue.datasets(product="Jet*")) == ["data", "trained"]
    assert names(catalogue.datasets(product="Jet", at_least=4)) == []
    assert names(catalogue.datasets(limit=1, offset=1)) == ["dimuon"]
    assert catalogue.count(product="Muon") == 3
    # What databases take for wildcards is a letter here.
    assert names(catalogue.datasets("d%")) == names(catalogue.datasets("dat_")) == []


def test_which_datasets_have_a_product_at_a_version(family: Any, catalogue: Catalog) -> None:
    found = catalogue.having("Jet*")
    assert [(one.dataset, one.url, one.product.version) for one in found] == [
        ("data", DATA, 3),
        ("trained", "/local/trained", 1),
    ]
    assert [one.dataset for one in catalogue.having("Jet*", at_least=2)] == ["data"]
    family.commit(DATA, "drop", {"Muon": 1})
    catalogue.refresh("data")
    assert [one.dataset for one in catalogue.having("Jet*")] == ["trained"]


def test_dependencies_of_datasets(family: Any, catalogue: Catalog) -> None:
    below = [(one.steps, one.dataset, one.version, one.of_version) for one in catalogue.descendants("data")]
    assert below == [(1, "dimuon", "v1", "v3"), (1, "trained", "v1", "spring"), (2, "trained", "v1", "v1")]
    above = [
        (one.steps, one.dataset or one.url, one.version, one.of) for one in catalogue.ancestors("trained")
    ]
    assert above == [
        (1, "dimuon", "v1", "trained"),
        (1, "data", "spring", "trained"),
        (1, "s3://elsewhere/calibration", "v7", "trained"),
        (2, "root://example.org//data/a.root:Events", None, "data"),
        (2, "/data/b.root:Events", None, "data"),
        (2, "data", "v3", "dimuon"),
    ]


def test_datasets_made_of_each_other_are_listed_once(datasets: Any, catalogue: Catalog) -> None:
    datasets.commit("/a", "create", {"x": 1}, inputs=("/b@v1",))
    datasets.commit("/b", "create", {"x": 1}, inputs=("/a@v1",))
    catalogue.add("/a"), catalogue.add("/b")
    assert [one.dataset for one in catalogue.ancestors("a")] == ["b", "a"]
    assert [one.dataset for one in catalogue.descendants("a")] == ["b", "a"]


def test_a_refresh_reads_only_what_is_new(family: Any, catalogue: Catalog) -> None:
    family.commit(DATA, "append", {"Muon": 1, "Jet": 3, "run": 1}, entries=4000)
    family.commit(DATA, "add", {"Muon": 1, "Jet": 3, "run": 1, "Jet2": 5}, entries=4000)
    family.asked.clear()
    refreshed = {one.name: (one.before, one.version) for one in catalogue.refresh()}
    assert refreshed == {"data": (3, 5), "dimuon": (1, 1), "trained": (1, 1)}
    assert [version for url, version in family.asked if url == DATA] == [None, 4]
    assert catalogue["data"].entries == 4000 and catalogue["data"].products == 4
    assert {one.name: one.nbytes for one in catalogue.products("data")}["Muon"] == 40_000
    family.asked.clear()
    catalogue.refresh("data")
    assert family.asked == [(DATA, None)]


def test_versions_that_had_expired_before_they_were_seen(datasets: Any, catalogue: Catalog) -> None:
    for version in range(1, 5):
        datasets.commit(DATA, "replace", {"Muon": version})
        datasets.histories[DATA][-1][0]["oldest"] = 3
    datasets.expired = {(DATA, 1), (DATA, 2)}
    catalogue.add(DATA)
    assert [(one.version, one.entries, one.expired) for one in catalogue.versions("data")] == [
        (4, 1000, False),
        (3, 1000, False),
        (2, None, True),
        (1, None, True),
    ]


def test_one_that_cannot_be_looked_at_keeps_no_other(family: Any, catalogue: Catalog) -> None:
    family.commit("/local/trained", "append", {"Muon": 1, "Jet2": 1})
    del family.histories[DATA]
    failed, _, trained = catalogue.refresh()
    assert failed.version == 3 and "no dataset" in str(failed.error)
    assert trained.version == 2 and trained.error is None


def test_a_copy_is_a_further_place_of_the_same_dataset(family: Any, catalogue: Catalog) -> None:
    for what in (family.histories, family.identities):
        what["gs://copy/data"] = what[DATA]
    assert catalogue.add("gs://copy/data").locations == (DATA, "gs://copy/data")
    assert len(catalogue.datasets()) == 3
    # It is looked at where it can be.
    del family.histories[DATA]
    assert catalogue.refresh("data")[0].error is None
    catalogue.forget(DATA)
    assert catalogue["data"].locations == ("gs://copy/data",)


def test_another_dataset_is_not_taken_for_the_one_before(family: Any, catalogue: Catalog) -> None:
    family.identities[DATA] = "another"
    del family.histories[DATA]
    family.commit(DATA, "create", {"Muon": 1})
    assert isinstance(catalogue.refresh("data")[0].error, ConflictError)
    with pytest.raises(ConflictError, match="another dataset at s3://bucket/data"):
        catalogue.add(DATA)


def test_another_history_is_refused(family: Any, catalogue: Catalog) -> None:
    history = family.histories[DATA]
    del history[2:]
    error = catalogue.refresh("data")[0].error
    assert isinstance(error, ConflictError) and "another history" in str(error)
    family.commit(DATA, "replace", {"Muon": 3})
    family.commit(DATA, "replace", {"Muon": 4})
    assert isinstance(catalogue.refresh("data")[0].error, ConflictError)
    assert catalogue["data"].version == 3


def test_names_are_not_given_twice(family: Any, catalogue: Catalog) -> None:
    family.commit("/other/data", "create", {"x": 1})
    with pytest.raises(ConflictError, match="another dataset named 'data'"):
        catalogue.add("/other/data")
    assert catalogue.add("/other/data", name="other").name == "other"
    assert len(catalogue.datasets()) == 4
    assert catalogue.add("/other/data").name == "other"


def test_forgotten_datasets_leave_nothing_behind(family: Any, catalogue: Catalog) -> None:
    catalogue.forget("data")
    with pytest.raises(KeyInFileError, match="no dataset 'data' in the catalogue"):
        catalogue["data"]
    assert catalogue.having("Jet") == []
    assert [one.dataset for one in catalogue.ancestors("dimuon")] == [None]
    assert catalogue.add(DATA).version == 3


def test_urls_with_secrets_are_refused(datasets: Any, catalogue: Catalog) -> None:
    with pytest.raises(UsageError) as caught:
        catalogue.add("s3://key:secret@bucket/data")
    assert "secret@" not in str(caught.value) and "key" not in str(caught.value).split("give keys")[0]


def test_no_secret_is_in_the_database(datasets: Any, tmp_path: Path) -> None:
    parameters = {"source": "see https://me:hunter2@example.org/x?token=hunter2 for more"}
    inputs = ("https://me:hunter2@example.org/a.root?sig=hunter2",)
    datasets.commit("/data", "create", {"x": 1}, inputs=inputs, parameters=parameters)
    with Catalog(tmp_path / "c.sqlite") as catalogue:
        catalogue.add("/data")
        assert "example.org/x" in catalogue.versions("data")[0].parameters["source"]
    assert b"hunter2" not in (tmp_path / "c.sqlite").read_bytes()
