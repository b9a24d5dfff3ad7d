"""`sapwood profile`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood import Profile

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, columns in (("one", {"a": (1, 1)}), ("two", {"a": (0, 1), "b": (1, 2)})):
        profile = Profile.load(name)
        profile.add("Events", "0f2e41bd", columns)
        profile.save()
    return tmp_path / "sapwood" / "profiles"


def test_list(sapwood: Run) -> None:
    lines = sapwood("profile", "ls").out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [["one", "1", "1"], ["two", "1", "1"]]
    found = sapwood("profile", "ls", "--json").json["profiles"]
    assert [(one["name"], one["trees"], one["columns"]) for one in found] == [("one", 1, 1), ("two", 1, 1)]


def test_show(sapwood: Run, profiles: Path) -> None:
    lines = sapwood("profile", "show", "two").out.splitlines()
    assert lines[1].split() == ["50.0%", "2", "b", "Events", "0f2e41bd"]
    by_path = sapwood("profile", "show", profiles / "two.json", "--json").json
    assert by_path["name"] == "two" and by_path["trees"][0]["columns"] == {"b": [1, 2]}


def test_merge_and_forget(sapwood: Run, profiles: Path) -> None:
    assert sapwood("profile", "merge", "one", "two", "--into", "all").code == 0
    assert Profile.load("all").shares("Events", "0f2e41bd") == {"a": 1.0, "b": 0.5}
    assert sapwood("profile", "forget", "one", "all").code == 0
    assert [path.name for path in profiles.glob("*.json")] == ["two.json"]


@pytest.mark.parametrize(
    "command", [["show", "none"], ["forget", "none"], ["merge", "one", "none", "--into", "all"]]
)
def test_one_that_is_not_there(sapwood: Run, command: list[str]) -> None:
    outcome = sapwood("profile", *command)
    assert outcome.code == 3 and "no profile 'none'" in outcome.err


def test_one_that_is_damaged(sapwood: Run, profiles: Path) -> None:
    (profiles / "one.json").write_text("{")
    outcome = sapwood("profile", "show", "one")
    assert outcome.code == 0 and "ignored the profile" in outcome.err


def test_a_name_that_is_none(sapwood: Run) -> None:
    assert sapwood("profile", "show", "a b").code == 2
