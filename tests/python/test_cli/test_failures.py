"""A failure prints one line on standard error and sets an exit code for scripts."""

from __future__ import annotations

import json
import os
import shutil
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood import errors
from sapwood.cli import _run


@pytest.fixture
def damaged(path: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "damaged.root"
    copy.write_bytes(path.read_bytes()[:200])
    return copy


def test_each_kind_of_error_has_its_code() -> None:
    codes = {code: _run.exit_code(cls("x")) for code, cls in errors.by_code().items()}
    assert codes["missing"] == codes["not-found"] == 3
    assert codes["corrupt"] == codes["unsupported"] == codes["truncated"] == 4
    assert codes["timeout"] == codes["network"] == codes["server"] == 5
    assert codes["usage"] == 2
    assert codes["limit"] == codes["io"] == 1


def test_no_such_file(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    done = sapwood("ls", tmp_path / "none.root")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("sapwood: ") and "none.root" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_output_of_merge_that_comes_last_is_noticed(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, force: tuple[str, ...]
) -> None:
    one, other, new = tmp_path / "one.root", tmp_path / "other.root", tmp_path / "new.root"
    shutil.copyfile(path, one)
    shutil.copyfile(path, other)
    done = sapwood("merge", one, other, new, *force)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"the output comes first, as in 'sapwood merge {new} {one}" in done.err
    assert one.read_bytes() == other.read_bytes() == path.read_bytes() and not new.exists()
    assert sapwood("merge", new, one, other).code == 0
    assert sapwood("merge", one, other, new, *force).code == (0 if force else 2)


@pytest.mark.parametrize("command", ["ls", "show", "head", "verify", "doctor", "catalog search"])
def test_a_name_that_is_not_utf_8_is_wrong_usage(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path, command: str
) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.root")
    shutil.copyfile(path, odd)
    catalog = ("--catalog", tmp_path / "catalog.db") if command.startswith("catalog") else ()
    done = sapwood(*command.split(), odd, *catalog)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert r"bad\udcff.root" in done.err and "is not valid text (UTF-8): rename the file" in done.err


def test_an_option_that_is_not_utf_8_is_not_shown(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("ls", path, "--header", "Authorization: secret\udcff")
    assert (done.code, done.err) == (2, "sapwood: headers is not valid text (UTF-8)\n")


def test_no_such_branch_names_the_nearest(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("head", f"{path}:Events", "Muon_tp")
    assert done.code == 3
    assert "'Muon_pt'" in done.err


def test_no_such_tree(sapwood: Callable[..., Any], path: Path) -> None:
    assert sapwood("show", f"{path}:Evens").code == 3


def test_damaged_and_foreign_files(sapwood: Callable[..., Any], damaged: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.root"
    foreign.write_text("not a ROOT file\n" * 100)
    for file in (damaged, foreign):
        done = sapwood("ls", file)
        assert done.code == 4, done.err
        assert file.name in done.err


def test_connection_refused(sapwood: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = sapwood("ls", f"http://127.0.0.1:{port}/a.root", "--deadline", "5")
    assert done.code == 5, done.err


def test_the_deadline_passes(sapwood: Callable[..., Any]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        done = sapwood("ls", f"http://127.0.0.1:{silent.getsockname()[1]}/a.root", "--deadline", "0.3")
    assert done.code == 5, done.err


def test_usage(sapwood: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    assert sapwood("show").code == 2
    assert sapwood("show", path, "--sort", "colour").code == 2
    assert sapwood("convert", f"{path}:Events", tmp_path / "a.parquet", "--entries", "ten").code == 2
    assert sapwood("convert", f"{path}:Events", tmp_path / "a.unknown").code == 2


def test_several_trees_must_be_chosen_from(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("show", path)
    assert done.code == 2
    assert "Events" in done.err and "dir/small" in done.err


def test_with_json_the_error_is_a_document(sapwood: Callable[..., Any], path: Path) -> None:
    done = sapwood("show", f"{path}:Evens", "--json")
    assert done.code == 3
    error = json.loads(done.out)["error"]
    assert error["code"] == "missing" and "Evens" in error["message"]
    assert set(error) == {"message", "code", "url", "offset", "branch", "hint"}


def test_warnings_are_one_line_without_code(capsys: pytest.CaptureFixture[str]) -> None:
    def warn(as_json: bool = False) -> None:
        warnings.warn("left out: 'x' (TH1F)", errors.BranchSkippedWarning, stacklevel=1)

    _run.command(warn)()
    assert capsys.readouterr().err == "sapwood: left out: 'x' (TH1F)\n"


def test_mistakes_of_our_own_keep_their_traceback() -> None:
    def fail(as_json: bool = False) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _run.command(fail)()


def test_an_expression_that_is_none(sapwood: Callable[..., Any], path: Path) -> None:
    for arguments in (["MET_pt +"], ["--cut", "MET_pt >"]):
        done = sapwood("head", f"{path}:Events", *arguments)
        assert done.code == 2 and "MET_pt" in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("repack", "{}"), "Missing argument: give IN... OUT "),
        (("layout", "{}"), "Missing argument: give FILE[:PATH]... OUT.svg "),
        (("head", "{}:Events", "Muon_*"), "--filter 'Muon_*'"),
        (("stripe", "create", "{}.set", "--from", "{}"), "(or give tree= in Python)"),
        (("cache", "ls"), "-d on the command line"),
        (("show", "{}"), "is a directory, not a file: name its files with a glob, such as"),
        (("verify", "{}"), "is a directory, not a file: name its files with a glob, such as"),
        (("repack", "{}", "{}.out", "--compression", "zstd:99"), "a level from 1 to 9"),
        (("layout", "{}:Events", "{}.md"), "the output is an SVG picture"),
        (("monitor", "--web", "no.invalid", "--listen", "127.0.0.1:0"), "another address with --web"),
    ],
)
def test_messages_say_what_to_give(
    sapwood: Callable[..., Any],
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("SAPWOOD_CACHE", raising=False)
    file = tmp_path if words in (("show", "{}"), ("verify", "{}")) else path
    done = sapwood(*(word.format(file) for word in words))
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert said in done.err


def test_a_port_that_is_in_use_is_named(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = sapwood("catalog", "serve", "--catalog", tmp_path / "catalog.db", "--web", place)
    assert done.code == 2 and f"cannot listen at {place}" in done.err and "--web" in done.err


def test_a_chain_without_its_source_is_not_found(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    done = sapwood("bench", "chain", tmp_path / "none.root")
    assert (done.code, done.out) == (3, "") and "no such file" in done.err


def test_clearing_a_file_that_is_not_cached_says_so(sapwood: Callable[..., Any], tmp_path: Path) -> None:
    url = "https://example.org/none.root"
    assert sapwood("cache", "clear", url, "-d", tmp_path).out == f"nothing was cached of {url}\n"
