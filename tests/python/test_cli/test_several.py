"""Options for servers reach them from every command, and globs stand for the files that they match."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from http_fake import FakeServer, answer

from sapwood import recreate

KEY = "x-key"

COMMANDS = {
    "ls": ["URL"],
    "show": ["URL:Events"],
    "head": ["URL:Events", "run"],
    "hist": ["URL:Events", "run"],
    "diff": ["URL:Events", "URL:Events"],
    "convert": ["URL:Events", "OUT.csv", "run"],
    "report": ["URL:Events", "run"],
    "layout": ["URL:Events", "OUT.svg"],
    "doctor": ["URL"],
    "verify": ["URL"],
    "repack": ["URL", "OUT.root"],
    "slim": ["URL", "OUT.root", "--keep", "run"],
    "skim": ["URL", "OUT.root", "--cut", "run < 5"],
    "merge": ["OUT.root", "URL"],
}


@pytest.fixture
def server(path: Path) -> Iterator[FakeServer]:
    """Serves a file only to those who send a header."""
    with FakeServer(path.read_bytes()) as server:
        server.behave = lambda request: None if request.headers.get(KEY) == "a:b" else answer("403 Forbidden")
        yield server


def words(name: str, server: FakeServer, folder: Path) -> list[str]:
    given = [
        one.replace("URL", f"{server.url}/a.root").replace("OUT", str(folder / "out"))
        for one in COMMANDS[name]
    ]
    return [name, *given]


@pytest.mark.parametrize("name", COMMANDS)
def test_headers_and_caches_reach_the_server(
    sapwood: Callable[..., Any], server: FakeServer, tmp_path: Path, name: str
) -> None:
    assert sapwood(*words(name, server, tmp_path)).code != 0
    cache = tmp_path / "cache"
    done = sapwood(*words(name, server, tmp_path), "--header", f"{KEY}: a:b", "--cache", cache)
    assert done.code == 0, done.err
    if name not in ("verify", "doctor"):
        assert sapwood("cache", "ls", "-d", cache, "--json").json["files"]


# Doctor tries the given location, two files have no common replica, and those of a list are prefixes.
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"doctor", "diff", "merge"}))
def test_replicas_serve_where_the_first_location_does_not(
    sapwood: Callable[..., Any], server: FakeServer, path: Path, tmp_path: Path, name: str
) -> None:
    done = sapwood(*words(name, server, tmp_path), "--replica", path)
    assert done.code == 0, done.err


def test_a_header_that_is_none_is_refused_and_not_shown(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("ls", path, "--header", "secret")
    assert done.code == 2
    assert "NAME:VALUE" in done.err and "secret" not in done.err


@pytest.fixture
def folder(path: Path, tmp_path: Path) -> Path:
    for name in ("a1.root", "a2.root"):
        shutil.copy(path, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("command", [["ls"], ["show"], ["doctor"]])
def test_globs_stand_for_files(sapwood: Callable[..., Any], folder: Path, command: list[str]) -> None:
    inside = ":Events" if command == ["show"] else ""
    done = sapwood(*command, f"{folder}/a*.root{inside}")
    assert done.code == 0, done.err
    headings = [line for line in done.out.splitlines() if line.startswith(str(folder)) and line.endswith(":")]
    assert headings == [f"{folder}/a1.root{inside}:", f"{folder}/a2.root{inside}:"]
    assert len(sapwood(*command, f"{folder}/a*.root{inside}", "--json").json["files"]) == 2
    missing = sapwood(*command, f"{folder}/b*.root{inside}")
    assert missing.code == 3 and "no file matches" in missing.err


def test_ranges_of_entries_go_across_files(sapwood: Callable[..., Any], folder: Path) -> None:
    source = f"{folder}/a*.root:Events"

    def runs(entries: str, *more: str) -> list[int]:
        found: list[int] = sapwood("head", source, "run", "--entries", entries, "--json", *more).json[
            "columns"
        ]["run"]
        return found

    assert runs("998:1002") == [998, 999, 0, 1]
    assert runs("-3:") == [997, 998, 999]
    assert runs("1500:", "-n", "2") == [500, 501]
    assert runs("0:", "-n", "3", "--cut", "run > 997") == [998, 999, 998]
    assert runs(":0") == []
    target = folder / "out.csv"
    assert sapwood("convert", source, target, "run", "--entries", "999:1001").code == 0
    assert target.read_text().split() == ['"run"', "999", "0"]
    assert sapwood("report", source, "run", "--json").json["baskets"] == 8
    assert sapwood("hist", source, "run", "--json").json["entries"] == 2000


def test_a_file_that_cannot_be_read_does_not_hide_the_others(
    sapwood: Callable[..., Any], folder: Path
) -> None:
    (folder / "a0.root").write_bytes(b"no")
    done = sapwood("show", *(f"{folder}/a{i}.root:Events" for i in range(3)))
    assert done.code == 4
    assert done.out.count("\nMuon_pt ") == 2 and len(done.err.splitlines()) == 1


def test_names_with_wildcards_that_exist_are_files(sapwood: Callable[..., Any], folder: Path) -> None:
    (folder / "a1.root").rename(folder / "a[1].root")
    assert sapwood("head", f"{folder}/a[1].root:Events", "run").code == 0


@pytest.fixture
def unlike(tmp_path: Path) -> Path:
    """Pairs of trees: in `a`, the second one has a further column; in `b`, the first one has."""
    columns = {"x": np.arange(3.0), "y": np.arange(3)}
    for name, kept in {"a1": "x", "a2": "xy", "b1": "xy", "b2": "x"}.items():
        with recreate(tmp_path / f"{name}.root") as file:
            file["t"] = {column: columns[column] for column in kept}
    return tmp_path


def test_files_give_the_columns_of_the_first_one(sapwood: Callable[..., Any], unlike: Path) -> None:
    shown = sapwood("head", f"{unlike}/a*.root:t", "--json")
    assert shown.json["columns"] == {"x": [0, 1, 2, 0, 1, 2]}
    assert sapwood("convert", f"{unlike}/a*.root:t", unlike / "a.npz").code == 0
    with np.load(unlike / "a.npz") as written:
        assert {name: written[name].tolist() for name in written} == {"x": [0, 1, 2, 0, 1, 2]}


@pytest.mark.parametrize("command", ["head", "convert"])
@pytest.mark.parametrize("filters", [[], ["--filter", "*"]])
def test_a_file_that_lacks_a_column_is_named(
    sapwood: Callable[..., Any], unlike: Path, command: str, filters: list[str]
) -> None:
    output = [unlike / "b.npz"] if command == "convert" else []
    failed = sapwood(command, f"{unlike}/b*.root:t", *output, *filters)
    assert failed.code == 3
    assert "no branch 'y' in" in failed.err and "b2.root" in failed.err
    assert not (unlike / "b.npz").exists()
