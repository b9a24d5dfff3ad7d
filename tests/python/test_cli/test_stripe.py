"""`sapwood stripe`: the life of a dataset, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood import open as open_tree


@pytest.fixture
def place(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> str:
    place = str(tmp_path / "ttbar")
    assert sapwood("stripe", "create", place, "--from", f"{path}:Events", "--batch", "100").code == 0
    return place


def test_a_dataset_is_shown(sapwood: Callable[..., Any], place: str) -> None:
    assert "Events, 1,000 entries" in sapwood("stripe", "show", place).out
    products = sapwood("stripe", "ls", place, "--json").json["products"]
    assert {"run", "MET", "matrix", "Muon"} <= {one["name"] for one in products}
    versions = sapwood("stripe", "log", place, "--json").json["versions"]
    assert [one["operation"] for one in versions] == ["create", "append"]


def test_nothing_is_deleted_unasked(sapwood: Callable[..., Any], place: str) -> None:
    assert sapwood("stripe", "drop", place, "MET").code == 0
    assert sapwood("stripe", "expire", place, "--newest", "1").code == 0
    assert sapwood("stripe", "gc", place, "--alone", "--grace-days", "0").code == 0
    assert "MET_pt" in open_tree(f"{place}@v2")
    assert sapwood("stripe", "restore", place, "v2").code == 0
    assert "MET_pt" in open_tree(place)


def test_damage_is_a_failure(sapwood: Callable[..., Any], place: str) -> None:
    assert sapwood("stripe", "verify", place).code == 0
    lost = next(path for path in Path(place, "d").rglob("*") if path.is_file())
    lost.unlink()
    done = sapwood("stripe", "verify", place)
    assert done.code == 1 and lost.name in done.err


def test_a_file_comes_out(sapwood: Callable[..., Any], place: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out.root")
    assert sapwood("stripe", "export", place, out, "--json").json["entries"] == 1000
    assert sapwood("stripe", "export", place, out).code == 2
    assert open_tree(f"{out}:Events").num_entries == open_tree(f"{out}:dir/small").num_entries + 997


def test_a_dataset_comes_out_as_an_rntuple(
    sapwood: Callable[..., Any], place: str, path: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "out.root")
    layout = ("--format", "rntuple", "--compression", "lz4:4", "--cluster-entries", "250")
    columns = ("--keep", "run", "--keep", "Muon_pt", "--cut", "run > 0")
    assert sapwood("stripe", "export", place, out, *layout, *columns).code == 0
    with open_tree(f"{out}:Events") as exported, open_tree(f"{path}:Events") as tree:
        assert exported.classname == "ROOT::RNTuple"
        wanted = tree.arrays(["run", "Muon_pt"], cut="run > 0")
        assert len(wanted) > 0
        assert exported.arrays(["run", "Muon_pt"]).tolist() == wanted.tolist()
        assert exported.cluster_starts[1] == 250
        assert str(exported["run"].compression) == "LZ4-4"


def test_a_log_in_a_database_is_named_by_its_url(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlalchemy")
    place, log = str(tmp_path / "ttbar"), ("--log", f"sqlite:///{tmp_path}/logs.sqlite")
    assert sapwood("stripe", "create", place, "--from", f"{path}:Events", *log).code == 0
    assert sapwood("stripe", "tag", place, "gold", *log).code == 0
    assert sapwood("stripe", "drop", place, "MET", *log).code == 0
    assert sapwood("stripe", "verify", place, *log).code == 0
    assert len(sapwood("stripe", "log", place, *log, "--json").json["versions"]) == 3
    without = sapwood("stripe", "show", place)
    assert without.code == 3 and "--log" in without.err
    monkeypatch.setenv("SAPWOOD_CATALOG", str(tmp_path / "catalog.sqlite"))
    assert sapwood("catalog", "add", place, *log).code == 0
    assert sapwood("catalog", "refresh").code == 0
    assert sapwood("ls", "catalog:ttbar").code == 0
    assert sapwood("stripe", "show", "catalog:ttbar").code == 0


def test_bases_are_named_without_secrets(sapwood: Callable[..., Any], place: str, tmp_path: Path) -> None:
    assert sapwood("stripe", "base", place, str(tmp_path / "more")).code == 0
    again = sapwood("stripe", "base", place, str(tmp_path / "more"))
    assert again.code == 2 and "already" in again.err
    secret = sapwood("stripe", "base", place, "s3://me:hunter2@bucket/more")
    assert secret.code == 2 and "hunter2" not in secret.err


def test_all_that_is_in_a_dataset_is_listed(sapwood: Callable[..., Any], place: str, path: Path) -> None:
    listed = sapwood("ls", "-r", place, "--json").json["keys"]
    expected = sapwood("ls", "-r", str(path), "--json").json["keys"]
    names = {(one["name"], one["class"], one["tree"] and one["tree"]["entries"]) for one in expected}
    assert {(one["name"], one["class"], one["tree"] and one["tree"]["entries"]) for one in listed} == names
    (tree,) = sapwood("ls", f"{place}:Events", "--json").json["keys"]
    assert tree["name"] == "Events" and tree["tree"]["entries"] == 1000
    assert tree["tree"]["compression"] is None
    assert sapwood("show", f"{place}:dir/small").code == 0


def test_what_was_appended_is_told_in_a_sentence(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path
) -> None:
    dataset = tmp_path / "dataset"
    sapwood("stripe", "create", dataset, "--from", f"{path}:Events")
    append = ("stripe", "append", dataset, "--from", f"{path}:Events", "--job", "one")
    assert sapwood(*append).out.startswith("wrote version 3: 1,000 entries in ")
    assert "has the entries of this job already: nothing was written" in sapwood(*append).out


def test_expire_names_its_options(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    sapwood("stripe", "create", tmp_path / "dataset", "--from", f"{path}:Events")
    done = sapwood("stripe", "expire", tmp_path / "dataset")
    assert done.code == 2 and "--newest N or --days N" in done.err
