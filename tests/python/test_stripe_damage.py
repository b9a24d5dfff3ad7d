"""With any object of a dataset damaged in any way, reads are exact or raise a typed error."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server
import stripe_faults_work as work

import sapwood
from sapwood import errors, stripe

ak = pytest.importorskip("awkward")
TYPED = (
    errors.CorruptFileError,
    errors.UnsupportedTypeError,
    errors.FileNotFoundError,
    errors.KeyInFileError,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Versions of 50 and 100 events; then other jets; then no met, and a tag."""
    folder = tmp_path_factory.mktemp("damage")
    history(folder / "ttbar", folder)
    return folder / "ttbar"


def history(place: Path, folder: Path, log: Any = None) -> None:
    """Makes it."""
    dataset = stripe.create(place, work.write(folder, 0), batch=20, stripe_size="1 kB", log=log)
    dataset.append(work.write(folder, 1), batch=20, stripe_size="1 kB")
    with sapwood.recreate(folder / "jets.root") as file:
        columns = work.columns(work.events_of([0, 1])[::-1])
        file["Events"] = columns | {"Jet_pt": 2 * columns["Jet_pt"]}
    dataset.add(f"{folder}/jets.root:Events", "Jet", batch=20)
    dataset.drop("met")
    dataset.tag("golden")


def flip(content: bytes, lottery: random.Random) -> bytes:
    place = lottery.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << lottery.randrange(8)]) + content[place + 1 :]


def flip_in_front(content: bytes, lottery: random.Random) -> bytes:
    return flip(content[:64], lottery) + content[64:]


def truncate(content: bytes, lottery: random.Random) -> bytes:
    return content[: lottery.randrange(len(content))]


def lengthen(content: bytes, lottery: random.Random) -> bytes:
    return content + lottery.randbytes(lottery.randrange(1, 100))


def scramble(content: bytes, lottery: random.Random) -> bytes:
    """As a disk does that writes a block elsewhere."""
    place = lottery.randrange(len(content))
    return content[:place] + lottery.randbytes(16) + content[place + 16 :]


def lose(content: bytes, lottery: random.Random) -> None:
    return None


DAMAGES: list[Callable[[bytes, random.Random], bytes | None]]
DAMAGES = [flip, flip_in_front, truncate, lengthen, scramble, lose]


def put(path: Path, content: bytes | None) -> None:
    """Puts another file in the place of an object."""
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)


@cache
def expected(version: int | str | None) -> dict[str, Any]:
    """What a version has."""
    events = np.arange(50 if version == 2 else 100)
    columns = work.columns(events) | {"nJet_pt": (events % 4).astype("i4")}
    if version in (4, "golden", None):
        columns["Jet_pt"] = 2 * columns["Jet_pt"]
    if version in ("golden", None):
        del columns["met"]
    return columns


def exact(place: Path | str, version: int | str | None, log: Any = None) -> None:
    """What a version has is as it was written."""
    tree = stripe.open(place, log=log, deadline=60).tree(version)
    arrays = tree.arrays()
    assert set(arrays.fields) == set(expected(version))
    for name, values in expected(version).items():
        assert ak.array_equal(arrays[name], values), name


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_datasets_read_exactly_or_raise_a_typed_error(
    damage: Callable[[bytes, random.Random], bytes | None], whole: Path, tmp_path: Path
) -> None:
    place = tmp_path / "ttbar"
    shutil.copytree(whole, place)
    lottery = random.Random(8)
    refused = 0
    for path in sorted(path for path in place.rglob("*") if path.is_file()):
        key, content = str(path.relative_to(place)), path.read_bytes()
        for _ in range(1 if damage is lose else 3):  # how it is lost is not drawn
            put(path, damage(content, lottery))
            for version in (2, 3, 4, "golden", None):
                try:
                    exact(place, version)
                except TYPED as error:
                    refused += 1
                    assert key != "hint"
                    said = f"{error} {error.url}"
                    assert path.name in said or key.split("/")[0] in ("fmt", "log", "ref"), f"{key}: {said}"
            put(path, content)
        exact(place, "golden")
    assert refused > 20


@pytest.mark.skipif(s3_server.missing() is not None, reason="no S3 server")
def test_damaged_buckets_read_exactly_or_raise_a_typed_error(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lottery, refused = random.Random(10), 0
    with s3_server.s3_server() as server:
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        place = Path(server.command[-1], server.bucket, "ttbar")
        shutil.copytree(whole, place)
        paths = sorted(path for path in place.rglob("*") if path.is_file())
        for number, path in enumerate(paths):
            key, content = str(path.relative_to(place)), path.read_bytes()
            for damage in DAMAGES[number % 3 :: 3]:
                put(path, damage(content, lottery))
                for version in (3, None):
                    try:
                        exact("s3://data/ttbar", version)
                    except TYPED as error:
                        refused += 1
                        said = f"{error} {error.url}"
                        assert key != "hint" and "s3://data/ttbar" in said, f"{key}: {said}"
            put(path, content)
        exact("s3://data/ttbar", "golden")
    assert refused > len(paths) // 2


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_damaged_logs_in_databases_read_exactly_or_raise_a_typed_error(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from sapwood.catalog import DatabaseLog
    from sapwood.history import schema as _schema

    with contextlib.ExitStack() as stack:
        url = str(tmp_path / "log.sqlite")
        if database == "postgresql":
            url = stack.enter_context(request.getfixturevalue("postgres").database())
        place, table = tmp_path / "ttbar", _schema.commits
        log = stack.enter_context(DatabaseLog(url, "damage"))
        history(place, tmp_path, log)
        lottery, refused = random.Random(11), 0
        for number in range(1, 6):
            content = log.read(number)
            assert content is not None
            row = (table.c.dataset == log.dataset) & (table.c.number == number)
            # Without its last entry, a log is what it was before.
            for damage in DAMAGES if number < 5 else DAMAGES[:-1]:
                damaged = damage(content, lottery)
                with log._database.writing() as connection:
                    if damaged is None:
                        connection.execute(sqlalchemy.delete(table).where(row))
                    else:
                        connection.execute(sqlalchemy.update(table).where(row).values(entry=damaged))
                for version in (2, 3, 4, "golden", None):
                    try:
                        exact(place, version, log)
                    except TYPED as error:
                        refused += 1
                        assert error.url in (log.url, str(place)), error
                with log._database.writing() as connection:
                    connection.execute(sqlalchemy.delete(table).where(row))
                assert log.create(number, content)
        for version in (2, 3, 4, "golden", None):
            exact(place, version, log)
        assert refused > 30


def test_an_error_names_product_events_and_object(whole: Path, tmp_path: Path) -> None:
    place = tmp_path / "ttbar"
    shutil.copytree(whole, place)
    lost = [path for path in (place / "d").rglob("*") if path.is_file()]
    for path in lost:
        path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(errors.CorruptFileError, match=r"entries \d+.*'Jet'") as caught:
        stripe.open(place).tree()["Jet_pt"].array()
    assert any(path.name in f"{caught.value} {caught.value.url}" for path in lost)


# What is behind the bytes that a version refers to is not of the dataset.
@pytest.mark.parametrize("damage", [damage for damage in DAMAGES if damage is not lengthen])
def test_damage_of_what_a_version_refers_to_is_found(
    damage: Callable[[bytes, random.Random], bytes | None], whole: Path, tmp_path: Path
) -> None:
    place = tmp_path / "ttbar"
    shutil.copytree(whole, place)
    lottery = random.Random(9)
    dataset = stripe.open(place)
    newest = stripe.describe(place)["snapshot"]
    for path in [*sorted(place.glob("d/*/*")), place / "snap" / newest]:
        content = path.read_bytes()
        damaged = damage(content, lottery)
        put(path, damaged)
        found = 0
        for version in (3, 4, 5):
            try:
                found += len(dataset.verify(version).wrong)
            except TYPED:
                found += 1
        assert found or damaged == content, path
        put(path, content)
    assert all(dataset.verify(version).wrong == () for version in (3, 4, 5))
