"""Runs measurements, each in a process of its own: in rounds, within a budget, on top of a journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .journal import Journal, Record
from .points import Point, Sweep, Workload, workloads_by_point


@dataclass(frozen=True)
class Task:
    """One measurement of one layout in one round; without a workload, it is written."""

    point: Point
    workload: Workload | None
    round: int

    @property
    def kind(self) -> str:
        """What the process is to do."""
        if self.workload is None:
            return "write"
        return "link" if self.workload.over else "read"

    @property
    def key(self) -> str:
        """A name that is the same in every run."""
        what = self.workload.key if self.workload else "write"
        return f"{self.point.key}.{what}.{self.round}"

    def record(self) -> Record:
        """What the journal says of it, but for the result."""
        workload = self.workload.to_dict() if self.workload else None
        return {
            "key": self.key,
            "kind": self.kind,
            "point": self.point.to_dict(),
            "workload": workload,
            "round": self.round,
        }


@dataclass
class Progress:
    """How far a run is. ``left`` is in seconds, from what was measured so far."""

    done: int = 0
    total: int = 0
    label: str = ""
    left: float | None = None


@dataclass
class Harness:
    """What all measurements of a run have in common.

    Attributes:
        samples: the file that layouts are made from, by variant.
        tree: the path of the tree in it.
        work: a folder for the layouts; each is removed when it has been read.
        journal: where measurements are kept.
        repeats: how often each is made.
        threads: that write and read.
        budget: seconds for all of it; None for no bound. Layouts that are begun are measured to their end.
        via: a URL, at which the folder ``work`` is served: reading goes there, over a real link.
        deadline: seconds that one measurement may take.
        expansion: stored bytes of the sample for each stored byte of the file that it was taken from.
        tell: called as it goes on.
    """

    samples: Mapping[str, Path]
    tree: str
    work: Path
    journal: Journal
    repeats: int = 3
    threads: int = 1
    budget: float | None = None
    via: str | None = None
    deadline: float = 3600.0
    expansion: float = 1.0
    tell: Callable[[Progress], None] = lambda _: None
    _begin: float = field(default_factory=time.monotonic)
    _spent: float = 0.0
    _made: int = 0

    def run(self, sweeps: Sequence[Sweep], rounds: int | None = None, share: float = 1.0) -> bool:
        """Measures what is not in the journal; False if the budget did not suffice for all of it.

        Args:
            sweeps: what is measured; first all of it once, then again.
            rounds: how often; by default as often as there are repeats.
            share: of the budget that may be used up when this is done.
        """
        wanted = workloads_by_point(sweeps)
        layouts = [
            [Task(point, workload, number) for workload in (None, *workloads)]
            for number in range(self.repeats if rounds is None else rounds)
            for point, workloads in wanted.items()
        ]
        missing = [tasks for tasks in layouts if any(task.key not in self.journal for task in tasks)]
        total = sum(task.key not in self.journal for tasks in missing for task in tasks)
        progress = Progress(total=total)
        for tasks in missing:
            if self._is_over(share):
                return False
            for task in self._of_point(tasks):
                progress.label = task.point.label
                progress.done += 1
                progress.left = self._spent / self._made * (total - progress.done)
                self.tell(progress)
        return True

    def _is_over(self, share: float) -> bool:
        return self.budget is not None and time.monotonic() - self._begin > share * self.budget

    def _of_point(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """Writes a layout, reads it by its workloads, and removes it; yields what was measured newly."""
        self.work.mkdir(parents=True, exist_ok=True)
        target = self.work / f"{tasks[0].point.key}.root"
        try:
            failed = ""
            for task in tasks:
                is_new = task.key not in self.journal
                # Where the measurement of writing is known, and one of reading is not, it is written again.
                if not is_new and task.workload is not None:
                    continue
                begin = time.monotonic()
                record = task.record() | self._outcome(task, target, failed)
                if task.workload is None:
                    failed = record.get("error", "")
                if is_new:
                    self.journal.add(record)
                    self._spent += time.monotonic() - begin
                    self._made += 1
                    yield task
        finally:
            target.unlink(missing_ok=True)

    def _outcome(self, task: Task, target: Path, failed: str) -> Record:
        if failed:
            return {"error": f"was not written: {failed}"}
        try:
            return {"result": self._measured(task, target)}
        except MeasurementError as error:
            return {"error": str(error)}

    def _measured(self, task: Task, target: Path) -> dict[str, Any]:
        wanted: dict[str, Any] = {"kind": task.kind, "tree": self.tree, "threads": self.threads}
        if task.workload is None:
            source = self.samples[task.point.variant]
            options = task.point.options(self.expansion)
            wanted |= {"source": str(source), "target": str(target), "options": options}
        else:
            url = f"{self.via.rstrip('/')}/{target.name}" if self.via else str(target)
            # The same branches and entries of every layout, others in every round.
            wanted |= {"url": url, "workload": task.workload.to_dict(), "seed": task.round}
        return measured(wanted, self.threads, self.deadline)


class MeasurementError(Exception):
    """A measurement that could not be made."""


def measured(task: Mapping[str, Any], threads: int, deadline: float) -> dict[str, Any]:
    """Measures in a process of its own.

    Raises:
        MeasurementError: if it fails, or takes longer than the deadline.
    """
    command = [sys.executable, "-m", "sapwood.studies.tune.measure", json.dumps(task)]
    environment = {**os.environ, "SAPWOOD_THREADS": str(threads)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=deadline)
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"not done after {deadline:.0f} s") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise MeasurementError(lines[-1] if lines else f"ended with status {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
