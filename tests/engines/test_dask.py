"""Jobs on dask clusters: same bits on any cluster, small tasks, no secrets, and workers that are killed."""

from __future__ import annotations

import operator
import os
import pickle
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_files import ENTRIES, FILES, Served

import sapwood

distributed = pytest.importorskip("distributed")
from distributed import Client, LocalCluster  # noqa: E402


def histogram(events: Any) -> Any:
    counts, _ = np.histogram(events.met.to_numpy(), 50, (0, 500), weights=np.sqrt(events.met.to_numpy()))
    return counts


def slow_histogram(events: Any) -> Any:
    time.sleep(0.05)
    return histogram(events)


def process(events: Any) -> set[int]:
    time.sleep(0.02)
    return {os.getpid()}


def failing(events: Any) -> Any:
    raise RuntimeError("a mistake of the analysis")


def opened(events: Any) -> dict[int, int]:
    from sapwood.opening.pool import POOL

    return {os.getpid(): POOL.opened}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def expected(served: Served) -> Any:
    """By one worker."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return sapwood.dask.map_entries(client, histogram, served.urls, ["met"], tree="Events", step_size=700)


def test_two_workers_give_the_bits_of_one(client: Client, served: Served, expected: Any) -> None:
    for _ in range(2):
        found = sapwood.dask.map_entries(
            client, histogram, served.urls, ["met"], tree="Events", step_size=700
        )
        assert found.tobytes() == expected.tobytes()


def test_a_worker_killed_in_the_middle_changes_nothing(served: Served, expected: Any) -> None:
    killed: list[int] = []
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))

        def progress(done: int, total: int) -> None:
            if done == total // 3 and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        found = sapwood.dask.map_entries(
            client, slow_histogram, served.urls, ["met"], tree="Events", step_size=700, progress=progress
        )
    assert killed and found.tobytes() == expected.tobytes()


def test_both_workers_read_and_each_opens_a_file_once(client: Client, served: Served) -> None:
    assert len(sapwood.dask.map_entries(
        client, process, served.urls, ["run"], tree="Events", step_size=500, combine=operator.or_
    )) == 2  # fmt: skip
    client.restart()
    counts = sapwood.dask.map_entries(
        client, opened, served.urls[:4], ["run"], tree="Events", steps_per_file=10, combine=None
    )
    by_process: dict[int, int] = {}
    for one in counts:
        for pid, number in one.items():
            by_process[pid] = max(by_process.get(pid, 0), number)
    assert len(by_process) == 2 and all(number <= 4 for number in by_process.values())


def test_progress_and_results_in_order(client: Client, served: Served) -> None:
    seen: list[tuple[int, int]] = []
    firsts = sapwood.dask.map_entries(
        client, _first, served.urls, ["run"], tree="Events", step_size=1000, combine=None,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert firsts == list(range(0, FILES * ENTRIES, 1000))
    assert seen[-1] == (len(firsts), len(firsts)) and len(seen) == len(firsts)


def _first(events: Any) -> int:
    return int(events.run[0])


def test_ten_thousand_files_are_submitted_in_a_second(client: Client, monkeypatch: Any) -> None:
    urls = [f"root://example.invalid//store/data/Run3/NANOAOD/v1/file_{at:06d}.root" for at in range(10_000)]
    columns = [f"Jet_variable_{at}" for at in range(200)]
    sent: list[int] = []
    monkeypatch.setattr(client, "_send_to_scheduler", lambda message: sent.append(len(pickle.dumps(message))))
    start = time.perf_counter()
    futures = sapwood.dask.from_files(urls, columns, tree="Events", steps_per_file=1).map(client, histogram)
    seconds = time.perf_counter() - start
    assert len(futures) == 10_000
    assert seconds < 1 and sum(sent) < 10_000_000 and sum(sent) / 10_000 < 1000


def test_the_scheduler_sees_no_secret(
    client: Client, served: Served, monkeypatch: Any, tmp_path: Path
) -> None:
    secret = "s3cr3t-t0ken"
    (tmp_path / "token").write_text(secret)
    monkeypatch.setenv("BEARER_TOKEN", secret)
    messages: list[bytes] = []
    send = client._send_to_scheduler

    def recorded(message: Any) -> None:
        messages.append(pickle.dumps(message))
        send(message)

    monkeypatch.setattr(client, "_send_to_scheduler", recorded)
    client.register_plugin(sapwood.dask.WorkerEnvironment({"BEARER_TOKEN_FILE": str(tmp_path / "token")}))
    futures = sapwood.dask.from_files(served.urls, ["met"], tree="Events", step_size=1000).map(
        client, histogram
    )
    client.gather(futures)
    assert client.run(_token_file).popitem()[1] == str(tmp_path / "token")
    kept = client.run_on_scheduler(_all_tasks)
    assert len(kept) > 10_000 and len(messages) > 1
    for seen in (*messages, kept):
        assert secret.encode() not in seen
    with pytest.raises(ValueError, match="WorkerEnvironment"):
        sapwood.dask.from_files(served.urls, tree="Events", headers={"Authorization": secret})
    for name in ("BEARER_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY"):
        with pytest.raises(ValueError, match="name a file that workers can read") as found:
            sapwood.dask.WorkerEnvironment({name: secret})
        assert secret not in str(found.value)
    for name in ("AWS_WEB_IDENTITY_TOKEN_FILE", "X509_USER_KEY", "GOOGLE_APPLICATION_CREDENTIALS"):
        assert secret not in repr(sapwood.dask.WorkerEnvironment({name: "/a/place"}))


def _token_file() -> str | None:
    return os.environ.get("BEARER_TOKEN_FILE")


def _all_tasks(dask_scheduler: Any) -> bytes:
    return pickle.dumps([task.run_spec for task in dask_scheduler.tasks.values()])


def test_errors_name_the_file_or_the_task(client: Client, served: Served) -> None:
    missing = f"{served.server.url}/none.root"
    with pytest.raises(FileNotFoundError, match=r"none\.root"):
        sapwood.dask.map_entries(client, histogram, [served.urls[0], missing], ["met"], tree="Events")
    with pytest.raises(KeyError, match="'mett'"):
        sapwood.dask.map_entries(client, histogram, served.urls[0], ["mett"], tree="Events", steps_per_file=1)
    with pytest.raises(RuntimeError, match="a mistake of the analysis") as found:
        sapwood.dask.map_entries(client, failing, served.urls[0], ["met"], tree="Events", retries=0)
    assert any("in the task of" in note for note in found.value.__notes__)


def test_hostile_files_fail_alone(client: Client, served: Served, tmp_path: Path) -> None:
    whole = (served.folder / "00.root").read_bytes()
    (tmp_path / "cut.root").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "zeros.root").write_bytes(bytes(1000))
    for name in ("cut", "zeros"):
        with pytest.raises(OSError, match=rf"{name}\.root"):
            sapwood.dask.map_entries(client, histogram, tmp_path / f"{name}.root", ["met"], tree="Events")
    assert sapwood.dask.map_entries(client, histogram, served.urls[0], ["met"], tree="Events").sum() > 0
