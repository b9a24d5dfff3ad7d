"""`sapwood doctor`: its steps as text and as JSON, and the exit code of the first failure."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sapwood

pytest.importorskip("typer")


def doctor(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from sapwood.cli.main import main; main()", "doctor", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, **variables}, check=False
    )


def steps(answer: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in json.loads(answer.stdout)["steps"]}


def test_a_sound_file(events_file: Path) -> None:
    answer = doctor(f"{events_file}:Events")
    assert answer.returncode == 0, answer.stderr
    assert "ROOT file" in answer.stdout and "written by ROOT" in answer.stdout
    found = steps(doctor(str(events_file), "--json"))
    assert [step["outcome"] for step in found.values()] == ["passed", *["skipped"] * 4, *["passed"] * 3]
    assert found["open"]["facts"]["bytes"] == str(events_file.stat().st_size)
    assert all(step["seconds"] >= 0 for step in found.values())


def test_the_version_comes_first(events_file: Path) -> None:
    assert doctor(str(events_file)).stdout.splitlines()[0] == f"sapwood {sapwood.__version__}"
    assert json.loads(doctor(str(events_file), "--json").stdout)["version"] == sapwood.__version__


@pytest.mark.parametrize(
    ("target", "code", "step"),
    [
        ("/no/such/file.root", 3, "open"),
        ("http://127.0.0.1:1/f.root", 5, "connection"),
        ("s3://localhost:1/bucket/f.root", 5, "connection"),
        ("gopher://host/f.root", 4, "url"),
    ],
)
def test_the_exit_code_is_that_of_the_first_failure(target: str, code: int, step: str) -> None:
    answer = doctor(target, "--json")
    assert answer.returncode == code
    failed = [name for name, one in steps(answer).items() if one["outcome"] == "failed"]
    assert failed == [step]
    assert steps(answer)[step]["error"]["code"]
    assert json.loads(answer.stdout)["ok"] is False


def test_other_files_than_root_files(tmp_path: Path) -> None:
    file = tmp_path / "notes.root"
    file.write_text("these are notes")
    answer = doctor(str(file))
    assert answer.returncode == 4
    assert "these are notes" in answer.stdout


def test_credentials_are_named_and_never_shown() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    url = f"https://user:passw0rd@127.0.0.1:{port}/f.root?token=qu3ry"
    answer = doctor(url, "--json", BEARER_TOKEN="b3arer", X509_USER_PROXY="/no/such/proxy")
    facts = steps(answer)["credentials"]["facts"]
    assert facts["bearer token in BEARER_TOKEN"] == "usable"
    assert "unusable" in facts.values()
    for secret in ("passw0rd", "qu3ry", "b3arer"):
        assert secret not in answer.stdout + answer.stderr


def test_no_step_takes_longer_than_its_deadline() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        start = time.monotonic()
        answer = doctor(f"http://127.0.0.1:{listener.getsockname()[1]}/f.root", "--deadline", "0.5", "--json")
        assert time.monotonic() - start < 10
    assert answer.returncode == 5
    failed = steps(answer)["open"]
    assert failed["error"]["code"] == "timeout" and 0.4 < failed["seconds"] < 1.5
