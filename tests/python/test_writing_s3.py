"""Writing to s3:// on a real server: an object appears complete or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import s3_server

import sapwood
from sapwood import errors

pytest.importorskip("awkward")

pytestmark = pytest.mark.skipif(
    s3_server.missing() is not None, reason=f"s3:// is not tested: {s3_server.missing()}"
)


def numbers(entries: int) -> dict[str, np.ndarray]:
    """Columns that do not get smaller: 16 bytes an entry."""
    random = np.random.default_rng(1)
    return {name: random.integers(0, 2**63, entries) for name in ("x", "y")}


def test_an_object_is_there_at_the_end(s3: s3_server.Server, tmp_path: Path) -> None:
    # 40 MB: several parts, and directories that are ended after they were sent.
    data, local = numbers(1_250_000), tmp_path / "local.root"
    for place in ("s3://data/out/file.root", str(local)):
        with sapwood.recreate(place, compression="none") as file:
            file["first/text"] = "hello"
            tree = file.mktree("Events", {"x": "int64", "y": "int64"})
            tree.extend({name: values[:600_000] for name, values in data.items()})
            file["second/text"] = "again"
            tree.extend({name: values[600_000:] for name, values in data.items()})
    with sapwood.open("s3://data/out/file.root") as file:
        assert file.keys() == sapwood.open(local).keys()
        assert (file["first/text"], file["second/text"]) == ("hello", "again")
        arrays = file["Events"].arrays(library="np")
    assert all((arrays[name] == values).all() for name, values in data.items())


def test_a_small_object(s3: s3_server.Server) -> None:
    with sapwood.recreate("s3://data/small.root") as file:
        file["text"] = "hello"
    with sapwood.open("s3://data/small.root") as found:
        assert found["text"] == "hello"


def test_an_object_is_replaced_on_demand_only(s3: s3_server.Server, tmp_path: Path) -> None:
    local = tmp_path / "local.root"
    for place in ("s3://data/here.root", str(local)):
        with sapwood.recreate(place) as file:
            file["Events"] = {"x": np.arange(10)}
    for write in (sapwood.repack, lambda source, target: sapwood.merge([source], target)):
        with pytest.raises(errors.UsageError, match="overwrite=True"):
            write(local, "s3://data/here.root")
    with pytest.raises(errors.UsageError, match="exists"):
        sapwood.create("s3://data/here.root")
    sapwood.repack(local, "s3://data/here.root", entry_stop=5, overwrite=True)
    assert sapwood.open("s3://data/here.root:Events").num_entries == 5
    for name in ("s3://data/here.root", "s3a://DATA/here.root", "S3://data/here.root?x=1"):
        with pytest.raises(errors.UsageError, match="is an input"):
            sapwood.repack("s3://data/here.root", name, overwrite=True)
    with sapwood.open("s3://data/here.root"), pytest.raises(errors.UsageError, match="close it"):
        sapwood.recreate("s3://data/here.root")
    sapwood.create("s3://data/new.root").abandon()


def test_an_abandoned_object_does_not_exist(s3: s3_server.Server) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        sapwood.recreate("s3://data/gone.root", compression="none") as file,
    ):
        file["Events"] = numbers(1_000_000)
        raise ZeroDivisionError
    with pytest.raises(errors.FileNotFoundError):
        sapwood.open("s3://data/gone.root")


def test_the_old_object_stays_until_the_end(s3: s3_server.Server) -> None:
    url = "s3://data/kept.root"
    with sapwood.recreate(url) as file:
        file["text"] = "old"
    with sapwood.recreate(url, compression="none") as file:
        file["Events"] = numbers(1_000_000)
        with sapwood.open(url) as old:
            assert old["text"] == "old"
    with sapwood.open(url) as new:
        assert new["Events"].num_entries == 1_000_000


def test_unwritable_targets_are_reported_at_once(
    s3: s3_server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.FileNotFoundError, match="bucket"):
        sapwood.recreate("s3://nowhere/file.root")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrongsecret")
    with pytest.raises(errors.PermissionError) as caught:
        sapwood.recreate("s3://data/file.root")
    assert "wrongsecret" not in str(caught.value) + repr(caught.value.__cause__)


def test_a_server_that_goes_away_is_an_error(s3: s3_server.Server) -> None:
    file = sapwood.recreate("s3://data/lost.root")
    s3.stop()
    file["text"] = "hello"
    with pytest.raises((errors.NetworkError, errors.ServerError)):
        file.close()
