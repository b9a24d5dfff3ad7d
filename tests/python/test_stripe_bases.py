"""Datasets with objects in several locations, each with options of its own."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import s3_server

import sapwood
from sapwood import errors, stripe


def write(path: Path, first: int) -> str:
    """A file with events."""
    with sapwood.recreate(path) as file:
        events = np.arange(first, first + 100)
        run = np.full(100, 1, dtype="u4")
        file["Events"] = {"run": run, "luminosityBlock": run, "event": events.astype("u8"), "met": events / 2}
        file["Runs"] = {"run": np.array([first], dtype="u4")}
    return f"{path}:Events"


def files(place: Path) -> int:
    return sum(path.is_file() for path in place.rglob("*"))


def test_objects_are_in_several_locations(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    dataset = stripe.create(here, write(tmp_path / "a.root", 0))
    with pytest.raises(errors.UsageError, match="not a base"):
        dataset.append(write(tmp_path / "b.root", 100), base=str(there))
    dataset.add_base(f"{there}/")
    before = files(here)
    dataset.append(write(tmp_path / "b.root", 100), base=str(there))
    # Only the version, and its entry in the log.
    assert files(here) == before + 2 and files(there) >= 4
    with sapwood.open(here) as tree:
        assert tree["met"].array(library="np").tolist() == [event / 2 for event in range(200)]
        assert tree.file["Runs"]["run"].array(library="np").tolist() == [0, 100]
    assert dataset.find(1, 1, 150) == [150]
    assert dataset.verify().wrong == ()
    assert dataset.export(tmp_path / "out.root").entries == 200
    lost = next(path for path in (there / "d").rglob("*") if path.is_file())
    lost.unlink()
    (wrong, *_) = dataset.verify().wrong
    assert wrong.object.endswith(lost.name) and str(there) in wrong.object


def test_options_of_places_are_checked_and_not_shown(tmp_path: Path) -> None:
    place = tmp_path / "data"
    stripe.create(place, write(tmp_path / "a.root", 0))
    secret = {"access_key_id": "me", "secret_access_key": "hunter2"}
    with sapwood.open(place, storage_rules={"s3://other/": secret}) as tree:
        assert "hunter2" not in repr(tree.file.options)
        with pytest.raises(errors.UsageError) as caught:
            pickle.dumps(tree)
        assert "hunter2" not in str(caught.value)
    with sapwood.open(place, storage_rules={"s3://other/": {"profile": "other"}}) as tree:
        assert pickle.loads(pickle.dumps(tree)).num_entries == 100
    with pytest.raises(TypeError, match="did you mean 'profile'"):
        sapwood.open(place, storage_rules={"s3://other/": {"profil": "x"}})
    with pytest.raises(errors.UsageError, match="two halves"):
        sapwood.open(place, storage_rules={"s3://other/": {"access_key_id": "me"}})


@pytest.mark.skipif(s3_server.missing() is not None, reason="there is no S3 server here")
def test_each_place_is_reached_with_its_own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "S3_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    place, base = tmp_path / "data", "s3://data/far/ttbar"
    stripe.create(place, write(tmp_path / "a.root", 0)).add_base(base)
    with s3_server.s3_server() as server:
        names = {
            "AWS_ENDPOINT_URL": "endpoint",
            "AWS_ENDPOINT_URL_S3": "endpoint",
            "AWS_REGION": "region",
            "AWS_ACCESS_KEY_ID": "access_key_id",
            "AWS_SECRET_ACCESS_KEY": "secret_access_key",
        }
        own = {names[name]: value for name, value in server.variables.items() if name in names}
        rules = {"s3://data/": own}
        stripe.open(place, storage_rules=rules).append(write(tmp_path / "b.root", 100), base=base)
        with sapwood.open(place, storage_rules=rules) as tree:
            assert tree["met"].array(library="np").tolist() == [event / 2 for event in range(200)]
        assert stripe.open(place, storage_rules=rules).verify().wrong == ()
        for path in (path for path in place.rglob("*") if path.is_file()):
            assert own["secret_access_key"].encode() not in path.read_bytes()
