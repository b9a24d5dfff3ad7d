"""Tasks of clusters: small, without secrets, planned without opening files, and reading what they name."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from testkit import needs_testkit, serving

import sapwood
from sapwood.integrations.clusters import tasks
from sapwood.integrations.clusters.tasks import EntryTask, plan, read_task
from sapwood.opening.pool import POOL


def together(planned: Any) -> Any:
    return np.concatenate([read_task(task, planned.reading)["met"] for task in planned.tasks()])


@pytest.mark.parametrize("steps", [{"step_size": 300}, {"step_size": "2 kB"}, {"steps_per_file": 7}])
def test_tasks_read_every_entry_once(steps: Any, events_file: Path) -> None:
    planned = plan([events_file] * 2, ["met"], tree="Events", library="np", **steps)
    with sapwood.open(events_file) as file:
        expected = file["Events"]["met"].array(library="np")
    assert np.array_equal(together(planned), np.concatenate([expected, expected]))
    assert len(planned.tasks()) > 4


@pytest.mark.parametrize("form", ["path", "text", "dict"])
def test_files_are_named_as_everywhere(form: str, events_file: Path) -> None:
    files = {
        "path": str(events_file.parent / "ev*.root:Events"),
        "text": f"{events_file}:Events",
        "dict": {str(events_file): {"object_path": "Events", "steps": [[0, 10], [500, 510]]}},
    }[form]
    planned = plan(files, ["met"], cut="run >= 5", library="np")
    assert len(together(planned)) == (15 if form == "dict" else 995)


def test_ten_thousand_files_are_planned_in_a_second_without_opening_one() -> None:
    urls = [f"root://example.invalid//store/data/Run3/NANOAOD/v1/file_{at:06d}.root" for at in range(10_000)]
    start, opened = time.process_time(), POOL.opened
    planned = plan(urls, ["Jet_pt"] * 100, tree="Events", steps_per_file=1)
    found = planned.tasks()
    assert time.process_time() - start < 1
    assert len(found) == 10_000 and POOL.opened == opened
    assert len(pickle.dumps(found[9])) < 300 and len(pickle.dumps(found)) < 2_000_000


@needs_testkit
def test_a_process_opens_a_file_once_for_all_its_tasks(events_file: Path) -> None:
    with serving(events_file.parent) as server:
        planned = plan(
            f"{server.url}/{events_file.name}", ["met"], tree="Events", step_size=100, library="np"
        )
        found, before = planned.tasks(), POOL.opened
        read_task(found[0], planned.reading)
        server.counts_since()
        for task in found[1:]:
            read_task(task, planned.reading)
        assert POOL.opened == before + 1 and server.counts_since()["requests"] <= len(found)


def test_a_file_that_became_shorter_is_an_error(events_file: Path) -> None:
    task = EntryTask(str(events_file), "Events", 900, 1100)
    with pytest.raises(
        sapwood.errors.FileChangedError, match="had at least 1100 when the tasks were planned"
    ):
        read_task(task, plan(events_file).reading)


def test_secrets_are_refused_with_the_way_to_send_them(events_file: Path) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("https://example.org/f.root", {"headers": {"Authorization": "Bearer s3cr3t"}}),
        ("s3://bucket/f.root", {"key": "AKIA", "secret": "s3cr3t"}),
        ("https://example.org/f.root?authz=s3cr3t", {}),
        ("https://me:s3cr3t@example.org/f.root", {}),
    ]
    for url, options in cases:
        with pytest.raises(ValueError, match=r"BEARER_TOKEN_FILE.*WorkerEnvironment") as found:
            plan(url, tree="Events", **options)
        assert "s3cr3t" not in str(found.value)
    file = sapwood.open(events_file, headers={"Authorization": "Bearer s3cr3t"})
    with file, pytest.raises(ValueError, match="WorkerEnvironment"):
        pickle.dumps(file)


def test_wrong_arguments_are_refused(events_file: Path) -> None:
    with pytest.raises(TypeError, match="need paths or URLs"):
        plan(b"root")
    with pytest.raises(ValueError, match="'steps_per_file' must be at least 1"):
        plan(events_file, steps_per_file=0)
    with pytest.raises(ValueError, match="rules"):
        plan(events_file, replicas=lambda name: [])
    with pytest.raises(ValueError, match="is not a tree"):
        plan(events_file, tree="dir").tasks()


def test_the_first_task_of_a_process_waits_a_random_time(
    events_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(tasks, "_STARTED", [])
    monkeypatch.setattr(tasks.time, "sleep", pauses.append)
    planned = plan(events_file, ["met"], tree="Events", steps_per_file=3, spread=60)
    for task in planned.tasks():
        read_task(task, planned.reading)
    assert len(pauses) == 1 and 0 < pauses[0] < 60
    with pytest.raises(ValueError, match="'spread' must be between"):
        plan(events_file, spread=-1)


def test_a_tree_is_parsed_once_for_all_tasks_of_an_open_file(events_file: Path) -> None:
    with sapwood.open(events_file) as file:
        assert tasks.tree_at(file, "Events") is tasks.tree_at(file, "Events")
    assert not file.kept_trees
