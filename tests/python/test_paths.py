"""The ways to name files."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import sapwood
from sapwood import errors
from sapwood.options.paths import FileSpec, several_files, single_file, split_object_path

SPLITS = [
    ("a.root", ("a.root", None)),
    ("a.root:Tree", ("a.root", "Tree")),
    ("a.ROOT:dir/Tree;2", ("a.ROOT", "dir/Tree;2")),
    ("a.root.1:Tree", ("a.root.1", "Tree")),
    ("a.root.12", ("a.root.12", None)),
    ("a.root: /dir//Tree/ ", ("a.root", "dir/Tree")),
    ("a.dat:Tree", ("a.dat:Tree", None)),
    ("C:\\a.root:Tree", ("C:\\a.root", "Tree")),
    ("https://host:8888/a.root", ("https://host:8888/a.root", None)),
    ("https://host:8888/a.root:Tree", ("https://host:8888/a.root", "Tree")),
    ("root://user@host:1094//a.root:Tree", ("root://user@host:1094//a.root", "Tree")),
    ("root://proxy//root://origin//a.root:T", ("root://proxy//root://origin//a.root", "T")),
    ("a.root:RNT:Tree", ("a.root", "RNT:Tree")),
    ("simplecache::https://h/a.root:T", ("simplecache::https://h/a.root", "T")),
    ("zip://a.root:T::https://h/b.zip", ("zip://a.root::https://h/b.zip", "T")),
]


@pytest.mark.parametrize(("text", "expected"), SPLITS)
def test_split(text: str, expected: tuple[str, str | None]) -> None:
    assert split_object_path(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in SPLITS])
def test_split_as_uproot_does(text: str) -> None:
    util = pytest.importorskip("uproot")._util
    assert split_object_path(text) == util.file_object_path_split(text)


def test_a_path_object_is_never_split() -> None:
    assert single_file(Path("a.root:Tree")) == FileSpec("a.root:Tree")


def test_a_path_object_that_folded_a_url_is_repaired() -> None:
    assert single_file(Path("https://host/a.root")) == FileSpec("https://host/a.root")


def test_a_dict_names_the_object_and_is_never_split() -> None:
    assert single_file({"a.dat:x": "Tree"}) == FileSpec("a.dat:x", "Tree")
    assert single_file({"a.root": None}) == FileSpec("a.root")
    assert single_file({"a.root": {"object_path": "Tree"}}) == FileSpec("a.root", "Tree")


def test_open_wants_one_file() -> None:
    for several in ({"a.root": "T", "b.root": "T"}, ["a.root"], {}):
        with pytest.raises(errors.UsageError):
            single_file(several)


def test_file_objects_and_bytes_are_files() -> None:
    handle = io.BytesIO(b"root")
    assert single_file(handle).file is handle
    assert single_file(b"root").file == b"root"
    with pytest.raises(TypeError):
        single_file(3)


def test_globs_are_sorted_and_keep_the_object(tmp_path: Path) -> None:
    for name in ("b.root", "a.root", "c.txt"):
        (tmp_path / name).touch()
    assert several_files(f"{tmp_path}/*.root:Tree") == [
        FileSpec(f"{tmp_path}/a.root", "Tree"),
        FileSpec(f"{tmp_path}/b.root", "Tree"),
    ]
    assert several_files(tmp_path / "?.root") == [
        FileSpec(f"{tmp_path}/a.root"),
        FileSpec(f"{tmp_path}/b.root"),
    ]
    assert several_files({f"{tmp_path}/{{b,a}}.root": "T"}) == [
        FileSpec(f"{tmp_path}/b.root", "T"),
        FileSpec(f"{tmp_path}/a.root", "T"),
    ]


def test_a_file_whose_name_looks_like_a_glob_is_found(tmp_path: Path) -> None:
    (tmp_path / "a[1].root").touch()
    assert several_files(f"{tmp_path}/a[1].root:T") == [FileSpec(f"{tmp_path}/a[1].root", "T")]


def test_a_list_may_name_a_file_twice() -> None:
    assert several_files(["a.root:T", Path("b.root"), "a.root:T"]) == [
        FileSpec("a.root", "T"),
        FileSpec("b.root"),
        FileSpec("a.root", "T"),
    ]


def test_steps_are_pairs_or_edges() -> None:
    target = {"object_path": "T", "steps": [[0, 10], [10, 20]], "num_entries": 20, "uuid": "x"}
    expected = FileSpec("a.root", "T", ((0, 10), (10, 20)))
    assert several_files({"a.root": target}) == [expected]
    assert several_files({"a.root": {"object_path": "T", "steps": [0, 10, 20]}}) == [expected]
    with pytest.raises(errors.UsageError):
        several_files({"a.root": {"object_path": "T", "steps": [[5, 3]]}})
    with pytest.raises(errors.UsageError, match="step_size"):
        several_files({"a.root": {"step_size": 3}})


def test_nothing_found_is_an_error_of_the_usual_kind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        several_files(f"{tmp_path}/*.root:T")
    with pytest.raises(errors.FileNotFoundError):
        several_files([])


def test_queries_are_not_globs() -> None:
    assert several_files("https://host/a.root?x=*") == [FileSpec("https://host/a.root?x=*")]


def test_open_of_a_glob_names_the_functions_that_take_one(tmp_path: Path) -> None:
    with pytest.raises(errors.FileNotFoundError, match=r"sapwood\.iterate and sapwood\.concatenate take"):
        sapwood.open(tmp_path / "*.root")


def test_open_of_a_directory_suggests_a_glob(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match=r"is a directory, not a file: .*\*\.root"):
        sapwood.open(tmp_path)
