"""Runs measurements, each in a separate process: in rounds, within a budget, and with a journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..process import MeasurementError, run_module
from .functions import FunctionTime, functions, recorder
from .journal import Journal, Record
from .points import ALL, Point, Sweep, Workload, workloads_by_point


@dataclass(frozen=True)
class Task:
    """One measurement of one layout in one round; without a workload, the layout is written."""

    point: Point
    workload: Workload | None
    round: int

    @property
    def kind(self) -> str:
        """The kind of measurement: "write", "read" or "link"."""
        if self.workload is None:
            return "write"
        return "link" if self.workload.over else "read"

    @property
    def key(self) -> str:
        """A name that is the same in every run."""
        what = self.workload.key if self.workload else "write"
        return f"{self.point.key}.{what}.{self.round}"

    def record(self) -> Record:
        """The record of the journal, without the result."""
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
    """The progress of a run. ``left`` is an estimate in seconds."""

    done: int = 0
    total: int = 0
    label: str = ""
    left: float | None = None


@dataclass
class Harness:
    """The common settings of all measurements of a run.

    Attributes:
        samples: the file that layouts are made from, by variant.
        tree: the path of the tree in it.
        work: a folder for the layouts; each is removed after it has been read.
        journal: stores the measurements.
        repeats: number of rounds.
        threads: threads for writing and reading.
        budget: seconds for the whole run; None for no limit. A layout that has been started is finished.
        via: a URL that serves the folder ``work``, to read over a real link.
        deadline: seconds that one measurement may take.
        expansion: bytes of the sample, which is not compressed, per compressed byte of the original file.
        tell: called with the progress.
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
        """Makes the measurements that are not in the journal; returns False if the budget is used up first.

        Args:
            sweeps: the layouts and workloads; each round measures all of them once.
            rounds: number of rounds; by default ``repeats``.
            share: the fraction of the budget that may be used up at the end.
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
        """Writes a layout, reads it with its workloads, and removes it; yields the new measurements."""
        self.work.mkdir(parents=True, exist_ok=True)
        target = self.work / f"{tasks[0].point.key}.root"
        try:
            failed = ""
            for task in tasks:
                is_new = task.key not in self.journal
                # The layout must be written for a missing read, even if the write was already measured.
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
            return {"error": f"the layout was not written: {failed}"}
        try:
            return {"result": self._measured(task, target)}
        except MeasurementError as error:
            return {"error": str(error)}

    def by_function(self, point: Point) -> dict[str, tuple[FunctionTime, ...]]:
        """The CPU time of writing a layout, and of reading all of it, by function.

        Raises:
            MeasurementError: if it cannot be measured.
        """
        self.work.mkdir(parents=True, exist_ok=True)
        target, recording = self.work / "functions.root", self.work / "functions.perf"
        found = {}
        try:
            for name, workload in (("writing", None), ("reading", ALL)):
                self._measured(Task(point, workload, 0), target, recorder(recording))
                found[name] = functions(recording)
        finally:
            target.unlink(missing_ok=True)
            recording.unlink(missing_ok=True)
        return found

    def _measured(self, task: Task, target: Path, within: Sequence[str] = ()) -> dict[str, Any]:
        order: dict[str, Any] = {"kind": task.kind, "tree": self.tree, "threads": self.threads}
        if task.workload is None:
            source = self.samples[task.point.variant]
            options = task.point.options(self.expansion)
            order |= {"source": str(source), "target": str(target), "options": options}
        else:
            url = f"{self.via.rstrip('/')}/{target.name}" if self.via else str(target)
            # In a round, all layouts are read with the same branches and entries; each round draws others.
            order |= {"url": url, "workload": task.workload.to_dict(), "seed": task.round}
        return run_module("sapwood.studies.tune.measure", order, self.deadline, within)
