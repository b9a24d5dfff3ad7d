"""Options for servers reach them from every command, and globs stand for the files that they match."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from http_fake import FakeServer, answer

from sapwood import open as open_file
from sapwood import recreate, trace

pytestmark = pytest.mark.usefixtures("few_layouts")

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
    "tune": [
        *("URL:Events", "-o", "OUT.html", "--sample", "20", "--repeats", "1", "--budget", "1s"),
        *("--dimension", "event-skipping", "--goal", "disk"),
    ],
    "bench chain": ["URL:Events", "--chain", "read"],
    "replay": ["RECORDING", "--source", "URL", "--policy", "default"],
    "stripe create": ["OUT", "--from", "URL:Events"],
}
KEEPS_NOTHING = {"doctor", "verify", "replay"}
"""Commands that read a file past its cache, to check or measure its server."""


@pytest.fixture
def server(path: Path) -> Iterator[FakeServer]:
    """Serves a file only to those who send a header."""
    with FakeServer(path.read_bytes()) as server:
        server.behave = lambda request: None if request.headers.get(KEY) == "a:b" else answer("403 Forbidden")
        yield server


@pytest.fixture
def recording(path: Path, tmp_path: Path) -> Path:
    with trace(tmp_path / "job.swt") as place:
        open_file(f"{path}:Events").arrays(["run"])
    return place


@pytest.fixture
def words(server: FakeServer, tmp_path: Path, recording: Path) -> Callable[[str], list[str]]:
    """The arguments of a command."""
    places = {"URL": f"{server.url}/a.root", "OUT": str(tmp_path / "out"), "RECORDING": str(recording)}

    def given(name: str) -> list[str]:
        found = name.split()
        for word in COMMANDS[name]:
            for placeholder, place in places.items():
                word = word.replace(placeholder, place)
            found.append(word)
        return found

    return given


@pytest.mark.parametrize("name", COMMANDS)
def test_headers_and_caches_reach_the_server(
    sapwood: Callable[..., Any], words: Callable[[str], list[str]], tmp_path: Path, name: str
) -> None:
    assert sapwood(*words(name)).code != 0
    cache = tmp_path / "cache"
    keep = [] if name == "replay" else ["--cache", cache]
    done = sapwood(*words(name), "--header", f"{KEY}: a:b", *keep)
    assert done.code == 0, done.err
    if name not in KEEPS_NOTHING:
        assert sapwood("cache", "ls", "-d", cache, "--json").json["files"]


# Doctor tries the given location, two files have no common replica, those of a list are prefixes, and the
# replicas of a replay are links.
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"doctor", "diff", "merge", "replay"}))
def test_replicas_serve_where_the_first_location_does_not(
    sapwood: Callable[..., Any], words: Callable[[str], list[str]], path: Path, name: str
) -> None:
    done = sapwood(*words(name), "--replica", path)
    assert done.code == 0, done.err


def test_a_header_that_is_none_is_refused_and_not_shown(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("ls", path, "--header", "secret")
    assert done.code == 2
    assert "NAME:VALUE" in done.err and "secret" not in done.err


def test_sources_of_more_entries_are_reached_with_a_header(
    sapwood: Callable[..., Any], server: FakeServer, path: Path, tmp_path: Path
) -> None:
    place = tmp_path / "dataset"
    assert sapwood("stripe", "create", place, "--from", f"{path}:Events").code == 0
    more = ["stripe", "append", place, "--from", f"{server.url}/a.root:Events"]
    assert sapwood(*more).code != 0
    done = sapwood(*more, "--header", f"{KEY}: a:b")
    assert done.code == 0, done.err
    assert sapwood("stripe", "show", place, "--json").json["entries"] == 2000


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


def test_several_files_precede_the_columns(sapwood: Callable[..., Any], folder: Path) -> None:
    files = [f"{folder}/a1.root:Events", f"{folder}/a2.root:Events"]
    shown = sapwood("head", *files, "run", "run + 1", "--entries", "999:1001", "--json").json
    assert shown["columns"] == {"run": [999, 0], "run + 1": [1000, 1]}
    assert sapwood("report", *files, "run", "--json").json["baskets"] == 8
    assert sapwood("hist", *files, "run", "--json").json["entries"] == 2000
    both = folder / "both.csv"
    assert sapwood("convert", *files, both, "run", "--entries", "999:1001").code == 0
    assert both.read_text().split() == ['"run"', "999", "0"]
    as_url = [*files, f"file://{both}", "run", "--force"]
    assert sapwood("convert", *as_url, "--json").json["entries"] == 2000
    without = sapwood("convert", *files)
    assert without.code == 2 and "no output" in without.err and "a2.root" in without.err
    an_input = sapwood("convert", *files, folder / "a2.root")
    assert an_input.code == 2 and "no output" in an_input.err
    two = sapwood("hist", *files, "run", "MET_pt")
    assert two.code == 2 and "one expression" in two.err


@pytest.mark.parametrize("command", ["repack", "slim", "skim", "layout"])
def test_a_directory_gets_an_output_for_each_file(
    sapwood: Callable[..., Any], folder: Path, command: str
) -> None:
    inside = ":Events" if command == "layout" else ""
    more = {"slim": ["--keep", "run"], "skim": ["--cut", "run < 5"]}.get(command, [])
    place = folder / "new"
    missing = sapwood(command, f"{folder}/a*.root{inside}", place, *more)
    assert missing.code == 2 and "directory" in missing.err and not place.exists()
    place.mkdir()
    done = sapwood(
        command, *(f"{folder}/{name}.root{inside}" for name in ("a1", "a2")), place, "--json", *more
    )
    assert done.code == 0, done.err
    suffix = ".svg" if command == "layout" else ".root"
    outputs = [str(place / f"{name}{suffix}") for name in ("a1", "a2")]
    assert [one["output"] for one in done.json["files"]] == outputs
    assert sorted(map(str, place.iterdir())) == outputs
    again = sapwood(command, f"{folder}/a*.root{inside}", place, *more)
    assert again.code == 2 and again.err.count("exists") == 2


def test_inputs_with_the_same_name_are_refused(sapwood: Callable[..., Any], folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "new").mkdir()
    shutil.copy(folder / "a1.root", folder / "b" / "a1.root")
    done = sapwood("repack", folder / "a1.root", folder / "b" / "a1.root", folder / "new")
    assert done.code == 2 and "a1.root" in done.err
    assert list((folder / "new").iterdir()) == []


def test_a_directory_of_inputs_is_not_written_over(sapwood: Callable[..., Any], folder: Path) -> None:
    before = (folder / "a1.root").read_bytes()
    assert sapwood("repack", folder / "a1.root", folder, "--force").code == 2
    assert (folder / "a1.root").read_bytes() == before


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
