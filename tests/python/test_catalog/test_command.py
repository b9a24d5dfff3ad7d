"""`sapwood catalog`: output as text and as JSON."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from sapwood.cli._app import app

DATA = "s3://bucket/data"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `sapwood catalog` with a catalogue of its own; its exit code, and what it prints."""
    monkeypatch.setenv("SAPWOOD_CATALOG", str(tmp_path / "c.sqlite"))

    def call(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["catalog", *arguments])
        return done.exit_code, done.output

    return call


@pytest.fixture
def filled(run: Run, datasets: Any) -> Any:
    """Two datasets, the second made of the first."""
    datasets.commit(DATA, "create", {"Muon": 1, "Jet": 1}, inputs=("/data/a.root:Events",))
    datasets.commit(DATA, "replace", {"Muon": 1, "Jet": 2})
    datasets.commit("/local/skim", "create", {"Muon": 1}, inputs=(f"{DATA}@v2",), entries=10)
    code, shown = run("add", DATA, "/local/skim")
    assert code == 0 and "skim" in shown
    return datasets


def test_an_empty_catalogue_is_listed(run: Run) -> None:
    code, shown = run("ls")
    assert code == 0 and shown.split() == [
        "dataset",
        "version",
        "products",
        "entries",
        "size",
        "changed",
        "location",
    ]
    assert json.loads(run("ls", "--json")[1]) == {"datasets": []}


def test_datasets_are_listed_and_searched(filled: Any, run: Run) -> None:
    assert [line.split()[:4] for line in run("ls")[1].splitlines()[1:]] == [
        ["data", "v2", "2", "1,000"],
        ["skim", "v1", "1", "10"],
    ]
    assert "skim" not in run("search", "bucket")[1]
    found = json.loads(run("search", "--product", "Jet", "--at-least", "2", "--json")[1])
    assert [one["name"] for one in found["datasets"]] == ["data"]
    assert [(one["dataset"], one["product"]["version"]) for one in found["products"]] == [("data", 2)]
    assert run("search", "-p", "Muon")[1].count("Muon") == 2


def test_a_dataset_is_shown(filled: Any, run: Run) -> None:
    code, shown = run("show", "data")
    assert code == 0 and DATA in shown and "Jet" in shown and "replace" in shown
    document = json.loads(run("show", "data", "--version", "1", "--json")[1])
    assert {one["name"]: one["version"] for one in document["products"]} == {"Muon": 1, "Jet": 1}
    assert [one["version"] for one in document["versions"]] == [2, 1]


def test_lineage(filled: Any, run: Run) -> None:
    code, shown = run("lineage", "data")
    assert code == 0 and "/data/a.root:Events" in shown and "skim@v1" in shown
    document = json.loads(run("lineage", "skim", "--json")[1])
    assert [one["steps"] for one in document["ancestors"]] == [1, 2] and document["descendants"] == []


def test_a_refresh_tells_what_is_new_and_what_failed(filled: Any, run: Run) -> None:
    filled.commit("/local/skim", "append", {"Muon": 1})
    del filled.histories[DATA]
    code, shown = run("refresh")
    assert code == 1
    assert re.search(r"skim +v1 +v2", shown) and "no dataset at s3://bucket/data" in shown


def test_missing_objects_are_reported_in_a_line(filled: Any, run: Run) -> None:
    code, shown = run("show", "dta")
    assert code == 3 and "did you mean 'data'?" in shown and "Traceback" not in shown
    assert run("forget", "data")[0] == 0
    assert run("show", "data")[0] == 3


def test_a_password_is_never_shown(run: Run) -> None:
    url = "postgresql://ada:hunter2@127.0.0.1:9/nowhere"
    code, shown = run("ls", "--catalog", url, "--json")
    assert code == 5 and "127.0.0.1:9" in shown and "hunter2" not in shown and "ada" not in shown


def test_without_sqlalchemy_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['sqlalchemy'] = None; from sapwood.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "catalog", "ls"], capture_output=True, text=True)
    assert done.returncode == 1 and "pip install 'sapwood[catalog]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_is_served_until_it_is_interrupted(filled: Any, tmp_path: Path) -> None:
    # Jobs in the background of a shell, such as a whole test run may be, are started with Ctrl-C ignored.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; from sapwood.cli.main import main; main()"
    command = [sys.executable, "-c", code, "catalog", "serve", "--web", "127.0.0.1:0"]
    where = ["--catalog", str(tmp_path / "c.sqlite")]
    with subprocess.Popen([*command, *where], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            url = running.stdout.readline().split()[1]
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert b"2 datasets in the catalogue" in answer.read()
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=20)
            assert said.strip() == "stopped" and running.returncode == 0
        finally:
            running.kill()


def test_other_databases_than_catalogues_are_refused(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("nothing of a database, but long enough that it could be one\n" * 100)
    code, shown = run("ls", "--catalog", str(other))
    assert code == 4 and "notes.txt" in shown
    assert run("ls", "--catalog", "mysql://host/x")[0] == 2
