"""Many processes write one dataset, are killed, and fork; with the log in the store or in a database."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stripe_faults_work as work

import sapwood
from sapwood import stripe

pytest.importorskip("awkward")
WRITERS = 8


@pytest.fixture(params=["objects", "sqlite", "postgresql"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the log is: empty for the store of the dataset, else the URL of a database."""
    if request.param == "objects":
        yield ""
        return
    pytest.importorskip("sqlalchemy")
    if request.param == "sqlite":
        yield str(tmp_path / "log.sqlite")
        return
    with request.getfixturevalue("postgres").database() as url:
        yield url


@pytest.fixture
def place(log: str, tmp_path: Path) -> str:
    """A dataset with job 0."""
    made = str(tmp_path / "ttbar")
    stripe.create(made, work.write(tmp_path, 0), batch=20, log=work.log_of(log))
    return made


def test_eight_writers_at_once(place: str, log: str) -> None:
    jobs = list(range(1, WRITERS + 1))
    with work.writers(place, [jobs[number::WRITERS] for number in range(WRITERS)], log=log):
        pass
    work.check(place, [0, *jobs], log)


def test_writers_that_are_killed_leave_nothing_half_done(place: str, log: str) -> None:
    jobs = list(range(1, 6))
    for job in jobs:
        with work.writers(place, [[job, *jobs]], log=log) as (process,):
            if job % 2:
                process.stdout.readline()
            process.kill()
    with work.writers(place, [jobs, jobs], log=log):
        pass
    work.check(place, [0, *jobs], log)


def forked(place: str, log: str, folder: str, job: int, results: Any) -> None:
    """In a process that was forked after the parent had read and written."""
    version = work.append(place, log, Path(folder), job)
    results.put((job, version, work.jobs_of(place, log)))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forks_of_a_writer_write_and_read(place: str, log: str, tmp_path: Path) -> None:
    work.append(place, log, tmp_path, 1)
    assert work.jobs_of(place, log) == [0, 1]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [
        context.Process(target=forked, args=(place, log, str(tmp_path), job, results)) for job in (2, 3, 4)
    ]
    for process in processes:
        process.start()
    appended = [results.get(timeout=2 * work.PATIENCE) for _ in processes]
    for process in processes:
        process.join(2 * work.PATIENCE)
        assert process.exitcode == 0
    assert sorted(job for job, *_ in appended) == [2, 3, 4]
    assert all(job in found and found[:2] == [0, 1] for job, _, found in appended)
    work.append(place, log, tmp_path, 5)
    work.check(place, [0, 1, 2, 3, 4, 5], log)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forks_never_choose_the_same_names(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "parent.root") as file:
        file["text"] = "the generator is in use"

    def write(path: Path) -> bytes:
        with sapwood.recreate(path) as file:
            file["text"] = "hello"
        return bytes(sapwood.open(path).uuid.bytes)

    found = set()
    for number in range(4):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                os.write(writer, write(tmp_path / f"{number}.root"))
                status = 0
            os._exit(status)
        os.close(writer)
        with os.fdopen(reader, "rb") as answer:
            found.add(answer.read())
        assert os.waitpid(child, 0)[1] == 0
    assert len(found) == 4 and all(len(one) == 16 for one in found)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_leaves_the_file_of_its_parent(tmp_path: Path) -> None:
    file = sapwood.recreate(tmp_path / "a.root")
    file["first"] = "hello"
    context = multiprocessing.get_context("fork")
    child = context.Process(target=signal.getsignal, args=(signal.SIGINT,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    file["second"] = "again"
    file.close()
    assert sapwood.open(tmp_path / "a.root").keys(cycle=False) == ["first", "second"]
