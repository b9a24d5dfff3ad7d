"""The messages that the page of frequent errors quotes are those that sapwood raises."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import stripe
from sapwood.cli.main import main
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
    lambda tree: sapwood.open("nano.root", heders={}),
    lambda tree: sapwood.open("http://127.0.0.1:9/nano.root", deadline=5),
    lambda tree: sapwood.open("http://no-such-host.invalid/nano.root", deadline=5),
    lambda tree: tree.arrays(["Muon_ptt"]),
    lambda tree: tree.arrays(["Muon_pt +"]),
    lambda tree: tree.arrays(["nMuon"], library="xx"),
    lambda tree: tree.arrays(["nMuon"], library="pd", how="zip"),
    lambda tree: sapwood.example("nano.root"),
    lambda tree: stripe.open("none"),
    lambda tree: stripe.create("set", "nano.root:Events"),
    lambda tree: sapwood.open("set@v99"),
    lambda tree: stripe.open("set").append("other.root:Events"),
    lambda tree: sapwood.open("catalog:ttbar"),
]
BY_SERVERS = (
    *("tests/python/test_credentials.py", "tests/python/test_wheel.py"),
    *("crates/credentials/src/access.rs", "crates/credentials/src/finding.rs"),
    "crates/source/src/http/client.rs",
    "crates/rntuple/src/anchor.rs",
)
"""Where the messages are that only servers provoke: their tests, and the code of rare ones."""
NAMES = {"ConflictError"}


def without_packages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """The messages for those who have not installed pandas, Typer and Rich."""
    with monkeypatch.context() as context:
        context.setattr(importlib.util, "find_spec", lambda name, package=None: None)
        with sapwood.open("nano.root:Events") as tree, pytest.raises(ImportError) as raised:
            tree.arrays(["nMuon"], library="pd")
        yield str(raised.value)
        with pytest.raises(SystemExit):
            main()
        yield capsys.readouterr().err


def test_the_quoted_messages_are_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content = Path(sapwood.example("nano.root")).read_bytes()
    Path("short.root").write_bytes(content[: len(content) // 2])
    Path("notes.txt").write_text("not a file of ROOT\n" * 100)
    with sapwood.recreate("other.root") as new:
        new["Events"] = {"x": np.arange(3)}
    stripe.create("set", "nano.root:Events", cut="nMuon > 5")
    monkeypatch.setenv("SAPWOOD_CATALOG", str(tmp_path / "catalog.sqlite"))
    messages = [*without_packages(monkeypatch, capsys)]
    with sapwood.open("nano.root:Events") as tree:
        for call in CALLS:
            with pytest.raises(SapwoodError) as raised:
                call(tree)
            messages.append(str(raised.value))
    elsewhere = [(ROOT / name).read_text() for name in BY_SERVERS]
    quotes = QUOTED.findall((ROOT / "docs" / "faq.md").read_text())
    assert len(quotes) > 25
    for quoted in quotes:
        pattern = re.escape(quoted).replace("…", ".*")
        assert quoted in NAMES or any(re.search(pattern, text) for text in [*messages, *elsewhere]), quoted
