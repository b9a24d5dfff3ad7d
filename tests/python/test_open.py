"""Opening files, and finding objects in them."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import uuid
from pathlib import Path

import pytest

import sapwood
from sapwood import errors


def test_a_file_is_a_mapping_of_its_objects(events_file: Path) -> None:
    with sapwood.open(events_file) as file:
        assert file.keys() == ["Events;1", "dir;1", "dir/sub;1", "dir/sub/Runs;1"]
        assert file.keys(recursive=False) == ["Events;1", "dir;1"]
        assert file.keys(cycle=False, filter_classname="TTree") == ["Events", "dir/sub/Runs"]
        assert file.keys(filter_name="*Runs") == ["dir/sub/Runs;1"]
        assert file.classnames()["dir;1"] == "TDirectory"
        assert [type(value).__name__ for value in file.values()] == [
            "Tree",
            "SubDirectory",
            "SubDirectory",
            "Tree",
        ]
        assert list(file) == file.keys() and len(file) == 4
        assert "Events" in file and "dir/sub/Runs;1" in file and "Events;2" not in file and 3 not in file


def test_the_same_keys_as_uproot(events_file: Path) -> None:
    uproot = pytest.importorskip("uproot")
    ours, theirs = sapwood.open(events_file), uproot.open(events_file)
    for options in ({}, {"recursive": False}, {"cycle": False}, {"filter_name": "/.*un.*/"}):
        assert ours.keys(**options) == theirs.keys(**options)
        assert ours.classnames(**options) == theirs.classnames(**options)
    assert str(ours.uuid) == str(theirs.file.uuid)
    assert ours["dir"].keys() == theirs["dir"].keys()
    assert ours["dir/sub"].object_path == theirs["dir/sub"].object_path == "/dir/sub/"
    assert ours["dir/sub/Runs"].object_path == theirs["dir/sub/Runs"].object_path
    assert ours["dir"].path == theirs["dir"].path == ("dir",)


def test_names_with_several_cycles_stand_once_without_them(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "x.root") as file:
        for text in ("first", "second"):
            file["text"] = file["dir/text"] = text
        file["other"] = "third"
    ours, theirs = (library.open(tmp_path / "x.root") for library in (sapwood, uproot))
    for options in ({}, {"recursive": False}, {"filter_name": "*ext"}):
        assert ours.keys(**options) == theirs.keys(**options)
        assert ours.keys(cycle=False, **options) == theirs.keys(cycle=False, **options)
    assert ours["dir"].keys(cycle=False) == ["text"]
    assert {name: str(text) for name, text in ours.items(cycle=False, filter_classname="TObjString")} == {
        "text": "second",
        "dir/text": "second",
        "other": "third",
    }


def test_paths_may_have_cycles_of_directories(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "x.root") as file:
        file.mktree("a/b/t", {"x": [1]})
        file["a/b/text"] = "first"
        file["a/b/text"] = "second"
    ours, theirs = (library.open(tmp_path / "x.root") for library in (sapwood, uproot))
    for path in ("a;1/b/t;1", "a;1/b;1/t", "/a/b;1/t", "a;1/b", "a;1/b;1/text;1", "a;1/b/text", "a;1/b;1"):
        assert path in ours and path in theirs and ours[path] is not None
        assert ours.key(path).class_name == ours.classname_of(path) == theirs.key(path).classname()
    for path in ("a;2/b/t", "a;1/b;2/t", "a;1/b/text;3", "a;1/none", "a;1/b;1/t;2"):
        assert path not in ours and path not in theirs
        with pytest.raises(sapwood.errors.KeyInFileError):
            ours[path]
    assert ours["a;1/b;1/t;1/x"].array().to_list() == [1]


@pytest.mark.parametrize(
    "name", ["Events", "Events;1", "/Events", "dir/sub/Runs", "dir/sub/Runs;1", "/dir/sub/Runs/"]
)
def test_a_tree_by_its_path(events_file: Path, name: str) -> None:
    tree = sapwood.open(events_file)[name]
    assert isinstance(tree, sapwood.Tree)
    assert tree.num_entries == (1000 if "Events" in name else 5)
    assert tree.object_path == ("/Events;1" if "Events" in name else "/dir/sub/Runs;1")


def test_to_look_up_a_few_branches_does_not_list_all(tmp_path: Path) -> None:
    path, names = tmp_path / "wide.root", [f"column{number}" for number in range(100)]
    with sapwood.recreate(path) as file:
        file.mktree("t", dict.fromkeys(names, "i4")).extend({name: [1, 2] for name in names})
    with sapwood.open(f"{path}:t") as tree:
        first = tree["column7"]
        assert tree["column7"] is first and tree["/column7"] is first
        assert "branches" not in vars(tree.lookup)
        assert [tree[name].name for name in names] == names
        assert "branches" in vars(tree.lookup)
        assert tree["column7"] is first and tree.branches[7] is first
        assert len({id(tree[name]) for name in names}) == 100


def test_paths_go_on_into_trees_and_down_directories(events_file: Path) -> None:
    file = sapwood.open(events_file)
    assert file["Events/met"].name == "met"
    assert file["dir/sub/Runs/run"].name == "run"
    assert file["dir"]["sub"]["Runs"].num_entries == 5
    assert file["dir"]["sub/Runs"].parent.object_path == "/dir/sub/"
    assert file["dir/sub"].parent.path == ("dir",)
    assert isinstance(sapwood.open(f"{events_file}:dir"), sapwood.Directory)
    assert isinstance(sapwood.open(f"{events_file}:Events/met"), sapwood.Branch)


@pytest.mark.parametrize(
    "name", ["events", "Events;7", "dir/sub/Run", "dir/nothing/x", "Events/nothing", "", "/"]
)
def test_a_missing_object_names_the_nearest(events_file: Path, name: str) -> None:
    with pytest.raises(errors.KeyInFileError) as caught:
        sapwood.open(events_file)[name]
    assert str(events_file) in str(caught.value)
    if name == "events":
        assert "'Events'" in str(caught.value)
    assert sapwood.open(events_file).get(name) is None


def test_keys_tell_class_and_title(events_file: Path) -> None:
    file = sapwood.open(events_file)
    assert file.classname_of("Events") == "TTree"
    assert file.title_of("dir/sub/Runs") == "the runs"
    key = file.key("Events")
    assert 0 < key.offset < file.size and key.cycle == 1
    with pytest.raises(KeyError):
        file.key("Events/met")


@pytest.mark.parametrize("kind", ["str", "Path", "dict", "bytes", "BytesIO", "open file", "mmap", "relative"])
def test_every_way_to_say_which_file(events_file: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = events_file.read_bytes()
    with open(events_file, "rb") as handle:
        monkeypatch.chdir(events_file.parent)
        files = {
            "str": str(events_file),
            "Path": events_file,
            "dict": {events_file: None},
            "bytes": data,
            "BytesIO": io.BytesIO(data),
            "open file": handle,
            "mmap": mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ),
            "relative": "events.root",
        }
        with sapwood.open(files[kind]) as file:
            assert file["Events"]["run"].array(library="np").tolist() == list(range(1000))
            assert file.size == len(data)


def test_a_dict_opens_the_object(events_file: Path) -> None:
    assert sapwood.open({events_file: "dir/sub/Runs"}).num_entries == 5


def test_home_is_expanded(events_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(events_file.parent))
    assert sapwood.open("~/events.root:Events").num_entries == 1000


def test_a_missing_file_is_the_error_that_everybody_knows(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        sapwood.open(tmp_path / "nothing.root")
    assert isinstance(caught.value, errors.FileNotFoundError)
    assert caught.value.errno == 2 and caught.value.filename.endswith("nothing.root")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_a_permission_error(events_file: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.root"
    secret.write_bytes(events_file.read_bytes())
    secret.chmod(0)
    with pytest.raises(PermissionError):
        sapwood.open(secret)


@pytest.mark.parametrize("content", [b"", b"root", b"hello world" * 100, b"PAR1" * 1000])
def test_other_files_than_root_files_are_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.root"
    path.write_bytes(content)
    with pytest.raises(errors.CorruptFileError) as caught:
        sapwood.open(path)
    assert "x.root" in str(caught.value)


def test_facts_about_the_file(events_file: Path) -> None:
    file = sapwood.open(events_file)
    assert isinstance(file.uuid, uuid.UUID) and file.hex_uuid == str(file.uuid)
    assert file.file is file and file["dir"].file is file and file["Events"].file is file
    assert file.file_path == str(events_file) and file.size == events_file.stat().st_size
    assert str(file.compression) == "ZSTD-3"
    assert file.root_version_tuple >= (6, 0, 0) and file.root_version.startswith("6.")
    assert isinstance(file.streamers, list)
    assert str(events_file) in repr(file)


def test_closing(events_file: Path) -> None:
    with sapwood.open(events_file) as file:
        tree = file["Events"]
        kept = tree["met"].array(library="np")
        assert not file.closed
    assert file.closed and kept.sum() > 0
    for read in (lambda: file["Events"], lambda: tree.arrays("met"), lambda: next(tree.iterate("met"))):
        with pytest.raises(errors.ClosedFileError):
            read()
    for name in ("Events", "Events/met"):
        with sapwood.open(f"{events_file}:{name}") as found:
            pass
        assert found.file.closed
    file.close()


def test_objects_are_pickled_by_where_they_are(events_file: Path) -> None:
    file = sapwood.open(events_file, threads=1)
    for thing in (file, file["dir/sub/Runs"], file["Events"]["met"]):
        copy = pickle.loads(pickle.dumps(thing))
        assert type(copy) is type(thing) and repr(copy) == repr(thing)
    assert pickle.loads(pickle.dumps(file["Events"])).file.options.threads == 1
    assert len(pickle.dumps(file["Events"])) < 1000
    with pytest.raises(errors.UsageError, match="Python object"):
        pickle.dumps(sapwood.open(io.BytesIO(events_file.read_bytes())))


def test_headers_are_neither_shown_nor_pickled(events_file: Path) -> None:
    file = sapwood.open(events_file, headers={"Authorization": "Bearer sesame"})
    assert "sesame" not in repr(file) + repr(file.options)
    with pytest.raises(errors.UsageError, match="never pickled"):
        pickle.dumps(file)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"deadline": -1}, ValueError),
        ({"deadline": float("nan")}, ValueError),
        ({"deadline": "soon"}, TypeError),
        ({"threads": 0}, ValueError),
        ({"threads": 1.5}, TypeError),
        ({"dedline": 1}, TypeError),
        ({"custom_classes": {}}, TypeError),
    ],
)
def test_options_are_checked(events_file: Path, options: dict[str, object], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        sapwood.open(events_file, **options)


def test_options_of_uproot_do_no_harm(events_file: Path) -> None:
    file = sapwood.open(events_file, array_cache=None, object_cache=10, num_workers=4, timeout=20)
    assert file.options.deadline == 20


def test_threads_of_the_environment(events_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_THREADS", "2")
    assert sapwood.open(events_file).options.threads == 2
    assert sapwood.open(events_file, threads=1).options.threads == 1
    monkeypatch.setenv("SAPWOOD_THREADS", "many")
    with pytest.raises(errors.UsageError, match="SAPWOOD_THREADS"):
        sapwood.open(events_file)


def test_a_report_counts_what_was_read(events_file: Path) -> None:
    file = sapwood.open(events_file)
    before = file.report()
    file["Events"]["met"].array(library="np")
    after = file.report()
    assert after.requests > 0 and after.baskets == before.baskets + 4
    assert after.decompressed_bytes >= before.decompressed_bytes + 4000
    assert after.fetched_bytes == after.wanted_bytes + after.overread_bytes
    assert before.fetched_bytes == before.overread_bytes > 0
    assert after.unplanned_reads == 0
    assert set(after.to_dict()) >= {"requests", "wait_seconds", "file_path"}
    assert "round trips" in str(after)
    assert all(asked <= answered and size > 0 for asked, answered, _, size in file.trace())


def test_a_name_can_hold_colons(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "colons.root"
    with uproot.recreate(path) as file:
        file.mktree("A::B", {"x": "int32"}).extend({"x": [1, 2, 3]})
        file.mktree("dir/C", {"x": "int32"}).extend({"x": [4]})
    file = sapwood.open(path)
    assert "A::B" in file and file["A::B"]["x"].array(library="np").tolist() == [1, 2, 3]
    assert file["dir:C"].num_entries == 1
