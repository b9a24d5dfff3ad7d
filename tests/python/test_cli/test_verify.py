"""`sapwood verify`: output as text and as JSON, and exit codes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapwood as library


@pytest.fixture
def broken(path: Path, tmp_path: Path) -> Path:
    """The file with zeros in the first basket of `run`."""
    with library.open(f"{path}:Events") as tree:
        _, _, offset, nbytes, _ = tree["run"].baskets[0]
    copy = tmp_path / "broken.root"
    shutil.copy(path, copy)
    with copy.open("r+b") as file:
        file.seek(offset)
        file.write(bytes(nbytes))
    return copy


def test_a_sound_file_is_one_line_and_exit_code_0(sapwood: Callable[..., Any], path: Path) -> None:
    outcome = sapwood("verify", path)
    assert outcome.code == 0
    assert outcome.out.startswith(f"{path}: sound (") and outcome.out.count("\n") == 2


def test_damage_is_reported_with_place_and_cost_and_exit_code_4(
    sapwood: Callable[..., Any], path: Path, broken: Path
) -> None:
    outcome = sapwood("verify", path, broken)
    assert outcome.code == 4
    assert f"{path}: sound" in outcome.out and f"{broken}: DAMAGED (1 place)" in outcome.out
    assert "Events;1 run basket 0" in outcome.out and "0:250" in outcome.out
    assert "0:250 (250 of 1,000)" in outcome.out
    assert "2 files, 1 damaged, 0 not fully checked" in outcome.out


def test_json_has_findings_and_lost_entries(sapwood: Callable[..., Any], broken: Path) -> None:
    outcome = sapwood("verify", broken, "--json")
    assert outcome.code == 4 and outcome.json["ok"] is False
    (file,) = outcome.json["files"]
    (finding,) = file["findings"]
    assert (finding["branch"], finding["basket"], finding["entries"]) == ("run", 0, [0, 250])
    lost = {tree["path"]: tree["lost"] for tree in file["trees"]}
    assert lost == {"Events": {"run": [[0, 250]]}, "dir/small": {}}


def test_a_tree_may_be_chosen(sapwood: Callable[..., Any], broken: Path) -> None:
    assert sapwood("verify", f"{broken}:dir/small").code == 0
    assert sapwood("verify", f"{broken}:Events").code == 4


def test_a_file_that_is_not_there_does_not_keep_others_from_being_checked(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path
) -> None:
    outcome = sapwood("verify", tmp_path / "none.root", path)
    assert outcome.code == 3
    assert f"{path}: sound" in outcome.out and "no such file" in outcome.err


def test_doctor_points_at_verify(sapwood: Callable[..., Any], broken: Path) -> None:
    outcome = sapwood("doctor", broken)
    assert outcome.code == 0 and "sapwood verify" in outcome.out


def test_a_dataset_is_refused_with_the_command_that_checks_it(
    sapwood: Callable[..., Any], path: Path, tmp_path: Path
) -> None:
    assert sapwood("stripe", "create", tmp_path / "ds", "--from", f"{path}:Events").code == 0
    outcome = sapwood("verify", tmp_path / "ds")
    assert outcome.code == 2 and "sapwood stripe verify" in outcome.err
