"""The messages that the page of frequent errors quotes are those that sapwood raises."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import sapwood
from sapwood.errors import SapwoodError

ROOT = Path(__file__).parents[2]
QUOTED = re.compile(r"^\| `([^`]+)`", re.MULTILINE)

Call = Callable[[Any], Any]
CALLS: list[Call] = [
    lambda tree: sapwood.open("nano.rot"),
    lambda tree: sapwood.concatenate("none*.root:Events", ["x"]),
    lambda tree: sapwood.open("nano.root:Evnts"),
    lambda tree: sapwood.open("notes.txt"),
    lambda tree: sapwood.open("short.root")["Events"],
    lambda tree: sapwood.open("tuple.root:t"),
    lambda tree: sapwood.open("nano.root", heders={}),
    lambda tree: sapwood.open("http://127.0.0.1:9/nano.root", deadline=5),
    lambda tree: sapwood.open("http://no-such-host.invalid/nano.root", deadline=5),
    lambda tree: tree.arrays(["Muon_ptt"]),
    lambda tree: tree.arrays(["Muon_pt +"]),
    lambda tree: tree.arrays(["nMuon"], library="xx"),
    lambda tree: tree.arrays(["nMuon"], library="pd", how="zip"),
    lambda tree: sapwood.example("nano.root"),
]
BY_SERVERS = ("the server answered 403", "pip install 'sapwood[xrootd]'")
"""Messages that the tests of credentials and of the wheel provoke."""


def test_the_quoted_messages_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = Path(sapwood.example("nano.root")).read_bytes()
    Path("short.root").write_bytes(content[: len(content) // 2])
    Path("notes.txt").write_text("not a file of ROOT\n" * 100)
    with uproot.recreate("tuple.root") as file:
        file.mkrntuple("t", {"x": np.arange(3)})
    messages = []
    with sapwood.open("nano.root:Events") as tree:
        for call in CALLS:
            with pytest.raises(SapwoodError) as raised:
                call(tree)
            messages.append(str(raised.value))
    for quoted in QUOTED.findall((ROOT / "docs" / "faq.md").read_text()):
        if not quoted.startswith(BY_SERVERS):
            pattern = re.escape(quoted).replace("…", ".*")
            assert any(re.search(pattern, message) for message in messages), quoted
