"""Profiles: they are saved, added up, and never cause failures."""

from __future__ import annotations

import gc
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import Profile, errors
from sapwood.lazy.profile import MAX_WINDOWS, profile_folder, profile_path, schema_digest

SCHEMA = "0f2e41bd"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of its own for every test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sapwood" / "profiles"


def test_names_and_paths(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert profile_path("z-peak") == cache / "z-peak.json"
    assert profile_path("here/z-peak") == Path("here/z-peak")
    assert profile_path("z.json") == Path("z.json")
    assert profile_path(Path("z")) == Path("z")
    for name in ("", "..", "a b", "naïve?", "-"[:0]):
        with pytest.raises(errors.UsageError, match="invalid profile name"):
            profile_path(name)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert profile_folder() == Path("/home/somebody/.cache/sapwood/profiles")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert profile_folder() == Path("/home/somebody/.cache/sapwood/profiles")


def test_saved_and_loaded(cache: Path) -> None:
    profile = Profile.load("z-peak")
    assert profile.trees == [] and profile.name == "z-peak"
    profile.add("Events", SCHEMA, {"Muon_pt": (10, 10), "Jet_pt": (1, 10), "MET_pt": (0, 10)})
    assert not cache.exists()
    profile.save()
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == ["z-peak.json"]
    again = Profile.load("z-peak")
    assert again.shares("Events", SCHEMA) == {"Muon_pt": 1.0, "Jet_pt": 0.1}
    assert again.shares("Events", "another") == {} == again.shares("Runs", SCHEMA)
    profile.save()
    assert Profile.load("z-peak").trees == again.trees


def test_jobs_add_up() -> None:
    first, second = Profile.load("jobs"), Profile.load("jobs")
    first.add("Events", SCHEMA, {"a": (10, 10)})
    second.add("Events", SCHEMA, {"a": (0, 10), "b": (5, 10)})
    second.add("Events", "another schema", {"a": (1, 1)})
    first.save()
    second.save()
    first.save()
    found = Profile.load("jobs")
    assert found.shares("Events", SCHEMA) == {"a": 0.5, "b": 0.5}
    assert found.shares("Events", "another schema") == {"a": 1.0}
    assert second.shares("Events", SCHEMA) == {"a": 0.5, "b": 0.5}


def test_several_processes_at_once() -> None:
    code = (
        "from sapwood import Profile\n"
        "for i in range(20):\n"
        "    profile = Profile.load('busy')\n"
        f"    profile.add('Events', {SCHEMA!r}, {{'a': (1, 2)}})\n"
        "    profile.save()\n"
    )
    jobs = [subprocess.Popen([sys.executable, "-W", "error", "-c", code]) for _ in range(4)]
    assert [job.wait(60) for job in jobs] == [0] * 4
    [use] = Profile.load("busy").trees
    assert use.columns == {"a": (80, 160)}


def test_old_counts_fade() -> None:
    profile = Profile.load("old")
    profile.add("Events", SCHEMA, {"a": (MAX_WINDOWS, MAX_WINDOWS), "rare": (1, MAX_WINDOWS)})
    profile.save()
    profile.add("Events", SCHEMA, {"a": (0, MAX_WINDOWS), "rare": (0, MAX_WINDOWS)})
    profile.save()
    [use] = Profile.load("old").trees
    assert use.columns == {"a": (MAX_WINDOWS // 2, MAX_WINDOWS)}


def test_merging() -> None:
    one, two = Profile(), Profile()
    one.add("Events", SCHEMA, {"a": (1, 2)})
    two.add("Events", SCHEMA, {"a": (1, 2), "b": (1, 4)})
    one.merge(two)
    assert one.shares("Events", SCHEMA) == {"a": 0.5, "b": 0.25}
    one.save()
    out = io.StringIO()
    one.show(out)
    assert "50.0% of     4 windows  a" in out.getvalue() and "in memory" in out.getvalue()
    assert "1 tree, 2 columns" in repr(one)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": "something else"}',
        '{"format": "sapwood profile", "version": 99, "trees": []}',
        '{"format": "sapwood profile", "version": 1}',
        '{"format": "sapwood profile", "version": 1, "trees": [5]}',
        '{"format": "sapwood profile", "version": 1, "trees": [{"tree": "t", "schema": "s", "columns": []}]}',
        '{"format": "sapwood profile", "version": 1, "trees": '
        '[{"tree": "t", "schema": "s", "columns": {"a": [2, 1]}}]}',
        '{"format": "sapwood profile", "version": 1, "trees": '
        '[{"tree": "t", "schema": "s", "columns": {"a": [1]}}]}',
        "[" * 100_000,
        "\xff\xfe",
    ],
)
def test_a_damaged_file_is_reported_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "damaged.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.warns(errors.ProfileWarning, match="ignored the profile"):
        profile = Profile.load(path)
    assert profile.trees == []
    profile.add("Events", SCHEMA, {"a": (1, 1)})
    with pytest.warns(errors.ProfileWarning, match="cannot save"):
        profile.save()
    assert path.read_bytes() == text.encode("latin-1")


def test_a_failed_save_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    profile = Profile(tmp_path / "file" / "profile.json")
    profile.add("Events", SCHEMA, {"a": (1, 1)})
    with pytest.warns(errors.ProfileWarning, match="cannot save"):
        profile.save()


def test_nothing_is_left_behind(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = Profile.load("full")
    profile.add("Events", SCHEMA, {"a": (1, 1)})

    def no_space(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.warns(errors.ProfileWarning, match="No space"):
        profile.save()
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_the_schema_of_a_tree(events_file: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "two.root") as file:
        file.mktree("one", {"a": "f4", "b": "i4"}).extend({"a": [1], "b": [1]})
        file.mktree("two", {"b": "i4", "a": "f4"}).extend({"a": [1], "b": [1]})
        file.mktree("three", {"a": "f8", "b": "i4"}).extend({"a": [1], "b": [1]})
    with sapwood.open(tmp_path / "two.root") as file:
        one, two, three = (schema_digest(file[name]) for name in ("one", "two", "three"))
    assert one == two != three and len(one) == 16


def test_the_digest_of_a_schema_never_changes(events_file: Path) -> None:
    """Saved profiles would be lost."""
    with sapwood.open(events_file) as file:
        for tree in (file["Events"], file["dir/sub/Runs"]):
            branches = tree.iteritems()
            lines = sorted(f"{branch.path}\t{branch.typename}" for _, branch in branches)
            expected = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
            assert schema_digest(tree) == tree.schema == expected


def test_learned_by_events_and_used_by_the_next_job(events_file: Path) -> None:
    with sapwood.open(f"{events_file}:Events") as tree:
        for event in tree.events(profile="job"):
            if event.met > 30:
                _ = event.Muon_pt
        digest = schema_digest(tree)
    saved = Profile.load("job").shares("Events", digest)
    assert set(saved) == {"met", "Muon_pt"} and all(share == 1.0 for share in saved.values())
    with sapwood.open(f"{events_file}:Events") as tree:
        chunks = tree.lazy(profile="job")
        assert chunks[0].run[0] == 0
        chunks.close()
        chunks.close()
    assert set(Profile.load("job").shares("Events", digest)) == {"met", "Muon_pt", "run"}
    assert Profile.load("job").shares("Events", digest)["met"] < 1


@pytest.mark.parametrize("end", ["loop", "close", "collect", "file", "exit"])
def test_when_it_is_saved(events_file: Path, cache: Path, end: str) -> None:
    code = f"""
import gc, os, sapwood
tree = sapwood.open({str(events_file)!r} + ":Events")
events = tree.events(profile="end")
events[0].met
end = {end!r}
if end == "loop":
    for event in events:
        pass
elif end == "close":
    events.close()
elif end == "collect":
    del events
    gc.collect()
elif end == "file":
    tree.close()
if end != "exit":
    print(os.path.exists({str(cache / "end.json")!r}))
    os._exit(0 if os.path.exists({str(cache / "end.json")!r}) else 1)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
    assert json.loads((cache / "end.json").read_text())["trees"][0]["columns"] == {"met": [1, 1]}


def test_a_profile_is_an_object_too(events_file: Path) -> None:
    profile = Profile()
    with sapwood.open(f"{events_file}:Events") as tree:
        found = tree.arrays(virtual=True, profile=profile)
        assert len(found.met) == 1000
        float(found.met[5])
        assert set(profile.shares("Events", schema_digest(tree))) == {"met"}
        del found
        gc.collect()
    [use] = profile.trees
    touched, seen = use.columns["met"]
    assert touched == seen
