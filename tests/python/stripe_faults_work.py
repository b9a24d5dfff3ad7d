"""Work on datasets whose contents follow from numbers: what tests of faults do, and processes of them.

    python stripe_faults_work.py PLACE LOG JOB…    appends the events of jobs, and says so for each

Job *n* appends events 50 *n* to 50 *n* + 49. What fails is done again, by the same job.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sapwood
from sapwood import errors, stripe

REPOSITORY = Path(__file__).resolve().parents[2]
EVENTS = 50
"""Events of a job."""
PATIENCE = 240.0
"""Seconds after which something hangs that should not."""
PASSING = (
    errors.NetworkError,
    errors.ServerError,
    errors.DeadlineError,
    errors.ConflictError,
    errors.CommitUnknownError,
)
"""What may happen where servers die: to be done again."""


def events_of(jobs: list[int]) -> np.ndarray:
    """The numbers of the events of jobs, in their order."""
    return np.concatenate([np.arange(EVENTS * job, EVENTS * (job + 1)) for job in jobs] or [np.arange(0)])


def columns(events: np.ndarray) -> dict[str, Any]:
    """The columns of events: nothing in them is left to chance."""
    import awkward as ak

    counts = events % 4
    return {
        "run": np.full(len(events), 7, dtype="u4"),
        "luminosityBlock": (events // 10).astype("u4"),
        "event": events.astype("u8"),
        "met": np.sqrt(events + 1.0),
        "Jet_pt": ak.unflatten(np.repeat(events * 1.5, counts), counts),
    }


def write(folder: Path, job: int) -> str:
    """The file of a job."""
    path = folder / f"{job}.root"
    if not path.exists():
        with sapwood.recreate(path) as file:
            file["Events"] = columns(events_of([job]))
    return f"{path}:Events"


@functools.cache
def log_of(database: str) -> Any:
    """The log in a database; none if it is in the store."""
    if not database:
        return None
    from sapwood.catalog import DatabaseLog

    return DatabaseLog(database, "faults")


def again(work: Any) -> Any:
    """Does it until it is done; what passes is no reason to give up."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except PASSING:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def append(place: str, database: str, folder: Path, job: int) -> int:
    """Appends the events of a job; the version."""

    def once() -> int:
        dataset = stripe.open(place, log=log_of(database), deadline=60)
        return dataset.append(write(folder, job), batch=20, job=(f"job {job}", 1)).version

    return int(again(once))


def jobs_of(place: str, database: str = "", version: int | None = None) -> list[int]:
    """The jobs whose events a version has, in their order; everything else that it says is right."""
    import awkward as ak

    dataset = stripe.open(place, log=log_of(database), deadline=60)
    arrays = dataset.tree(version).arrays()
    found = ak.to_numpy(arrays["event"]).astype("i8")
    jobs = [int(first) // EVENTS for first in found[::EVENTS]]
    assert np.array_equal(found, events_of(jobs))
    for name, expected in columns(found).items():
        assert ak.array_equal(arrays[name], expected), name
    return jobs


@contextlib.contextmanager
def writers(place: str, jobs: list[list[int]], *, log: str = "", servers: Any = ()) -> Iterator[list[Any]]:
    """Processes that append the events of jobs, each some of them; all succeed, or are killed."""
    with contextlib.ExitStack() as stack:
        all_of_them = []
        for number, mine in enumerate(jobs):
            variables = servers[number % len(servers)].variables if servers else {}
            command = [sys.executable, __file__, place, log, *map(str, mine)]
            pipe, environment = subprocess.PIPE, {**os.environ, **variables}
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
            stack.enter_context(process)
            stack.callback(process.kill)
            all_of_them.append(process)
        for process in all_of_them:
            assert process.stdout and process.stdout.readline() == "ready\n"
        for process in all_of_them:
            assert process.stdin
            process.stdin.close()
        yield all_of_them
        for process in all_of_them:
            assert process.wait(2 * PATIENCE) in (0, -signal.SIGKILL)


def check(place: str, jobs: list[int], log: str = "") -> None:
    """All jobs are there, each once, in every version; nothing is left over, and all is there after that."""
    dataset = stripe.open(place, log=log_of(log))
    entries = dataset.log()
    assert [entry["n"] for entry in entries] == list(range(1, dataset.version() + 1))
    order = jobs_of(place, log)
    assert sorted(order) == sorted(jobs)
    # Version 1 is empty, and each further one has one job more.
    assert len(entries) == 1 + len(order)
    # Clocks of stores may tell seconds: what was written in this one is not deleted.
    time.sleep(1.05 - time.time() % 1)
    dataset.gc(grace_days=0, alone=True, dry_run=False)
    assert dataset.gc(grace_days=0, alone=True).objects == ()
    assert dataset.verify().wrong == ()
    for version in range(2, dataset.version() + 1):
        assert jobs_of(place, log, version) == order[: version - 1]


def main(place: str, database: str, *jobs: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("ready", flush=True)
        sys.stdin.readline()
        for job in map(int, jobs):
            print(append(place, database, Path(folder), job), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
