"""A whole run: takes a sample of a file, measures layouts of it, and recommends some."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...display.units import counted
from ...errors import UsageError
from ...model.directory import RNTUPLE_CLASSES, split_cycle
from ...model.tree import Tree
from ...opening.only_tree import only_tree
from ...opening.single import open as open_object
from ...options.compression import Compression
from ...options.paths import is_url
from ...writing.repacking import repack
from ..process import MeasurementError
from ..report import machine, save_report
from .functions import FunctionTime, check_profiler
from .goals import GOALS, Goal, Recommendation, combined, recommend
from .harness import Harness, Progress
from .journal import Journal
from .measure import chosen_columns
from .page import page
from .points import (
    ALL,
    SPLIT_LEVELS,
    Point,
    Sweep,
    Workload,
    analysis_of,
    chosen_names,
    chosen_sweeps,
    sweeps,
)
from .results import Measured, measured_points
from .studies import Finding, study_named

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...options.keywords import OpenKeywords

SAMPLE_ENTRIES, SAMPLE_BYTES = 20_000, 300e6
"""The default size of the sample: at most this many entries and uncompressed bytes."""

JOURNAL, SAMPLES, LAYOUTS = "journal.jsonl", "samples", "layouts"
"""The content of the work folder; the last two are removed at the end."""


@dataclass(frozen=True)
class Tuning:
    """The results of :func:`run`.

    Attributes:
        source: the file, without secrets.
        subject: the measured tree: path, number of entries in file and sample, bytes.
        machine: the machine of the measurements.
        today: the current layout of the file, measured like the others.
        points: all layouts with their measurements.
        sweeps: the sweeps, which group the layouts.
        analysis: the workload of an analysis.
        recommendations: one for each requested goal.
        repeats: the planned number of repeats of each measurement.
        is_whole: whether the budget sufficed for all measurements.
        date: the date of the run.
        title: the title of the report.
        findings: the findings of a study, then and now.
        functions: the CPU time of writing and reading the current layout by function, if it was asked for.
        clock: the time in the charts: ``"seconds"``, or ``"cpu_seconds"`` for CPU time, as in the studies.
    """

    source: str
    subject: dict[str, Any]
    machine: dict[str, Any]
    today: Measured
    points: Sequence[Measured]
    sweeps: Sequence[Sweep]
    analysis: Workload
    recommendations: Sequence[Recommendation]
    repeats: int = 1
    is_whole: bool = True
    date: str = field(default_factory=lambda: time.strftime("%Y-%m-%d"))
    title: str = ""
    findings: Sequence[Finding] = ()
    functions: Mapping[str, Sequence[FunctionTime]] = field(default_factory=dict)
    clock: str = "seconds"

    @property
    def analysis_name(self) -> str:
        """A short description of the columns that an analysis reads."""
        if not self.analysis.columns:
            return f"{self.analysis.branches:.0%} of the branches"
        names = self.analysis.columns
        return names[0] if len(names) == 1 else f"{len(names)} chosen columns"

    def sweep_points(self, name: str) -> Sequence[Point]:
        """The layouts of a sweep."""
        return next((sweep.points for sweep in self.sweeps if sweep.name == name), ())

    def sweep(self, name: str) -> list[Measured]:
        """The measured layouts of a sweep, in its order."""
        by_point = {one.point: one for one in self.points}
        found = [by_point[point] for point in self.sweep_points(name) if point in by_point]
        return [one for one in found if one.is_whole]

    def to_dict(self) -> dict[str, Any]:
        """All figures, fit for JSON."""
        return {
            "source": self.source,
            "subject": self.subject,
            "machine": self.machine,
            "date": self.date,
            "complete": self.is_whole,
            "repeats": self.repeats,
            "analysis": self.analysis.to_dict(),
            "today": self.today.point.to_dict(),
            "recommendations": [one.to_dict() for one in self.recommendations],
            "findings": [one.to_dict() for one in self.findings],
            "sweeps": {sweep.name: [point.label for point in sweep.points] for sweep in self.sweeps},
            "points": [one.to_dict() for one in self.points],
            "functions": {what: [one._asdict() for one in times] for what, times in self.functions.items()},
        }

    def to_html(self) -> str:
        """The report as a self-contained HTML document."""
        return page(self)


def run(
    source: str | os.PathLike[str],
    *,
    columns: Iterable[str] = (),
    goals: Iterable[str] = (),
    dimensions: Iterable[str] = (),
    sample: int | None = None,
    budget: float | None = 600.0,
    repeats: int = 3,
    threads: int = 1,
    work: str | os.PathLike[str] = "sapwood-tune",
    via: str | None = None,
    variants: Mapping[str, str | os.PathLike[str]] | None = None,
    study: str | None = None,
    functions: bool = False,
    tell: Callable[[Progress], None] = lambda _: None,
    deadline: float | None = None,
    **options: Unpack[OpenKeywords],
) -> Tuning:
    """Measures layouts of a sample of a file, and recommends one for each goal.

    >>> found = sapwood.tune.run("nano.root:Events", columns=["Muon_*"], budget=300)    # doctest: +SKIP
    >>> print(found.recommendations[0].command)                                        # doctest: +SKIP
    sapwood repack nano.root out.root --compression lzma:9 --basket-size 1048576

    Args:
        source: a file or URL and, after a colon, the tree in it; you can omit the tree if it is the only one.
        columns: branches that an analysis reads, by name or glob; by default a tenth of all, drawn at random.
        goals: names of :data:`GOALS`; by default all of them.
        dimensions: the parameters to vary: ``compression``, ``basket-size``, ``cluster-size``,
            ``event-skipping``, ``events``, ``format``, ``split`` if there are variants, ``split-level`` if
            there are objects; by default all.
        sample: number of entries of the sample, from the first on; by default 20,000, but at most 300 MB.
        budget: seconds for all measurements; None for no limit.
        repeats: number of repeats of each measurement.
        threads: threads for writing and reading.
        work: a folder for the sample, the layouts, and the journal. Measurements of the same file that are in
            the journal are not repeated.
        via: a URL that serves that folder: layouts are then read from there, over a real link.
        variants: other files with the same tree and events by name, for example with another split level.
        study: the name of one of :data:`STUDIES`, for its sweeps instead of the usual ones; there are no
            recommendations unless you name goals.
        functions: whether to measure the CPU time of writing and reading the current layout by function, with
            Linux's perf.
        tell: called with the progress.
        deadline: seconds that opening the source, or taking a sample of it, may take.
        options: those of :func:`sapwood.open`, for the source; variants have the same, except ``replicas``.

    Raises:
        UsageError: for an unknown or repeated goal, dimension or study, for a tree without entries, and for
            ``functions`` if perf is not there, or may not sample.
        KeyInFileError: for a column that the tree does not have. All checks precede the first measurement.
    """
    planned_study = None if study is None else study_named(study)
    if functions:
        check_profiler()
    chosen = [] if planned_study and not list(goals) else chosen_goals(goals)
    folder, variants, columns = Path(work), variants or {}, tuple(columns)
    if "" in variants:
        raise UsageError("a variant has no name; write, for example, split=FILE")
    with only_tree(open_object(os.fspath(source), deadline=deadline, **options)) as tree:
        if planned_study and sample is None:
            sample = min(planned_study.entries, tree.num_entries)
        chosen_columns(tree, columns)
        subject = _subject(tree, sample, threads, via, variants)
        base = planned_study.base if planned_study else Point(compression_of(tree))
        path = tree.file.file_path
        expansion, other = tree.uncompressed_bytes / max(tree.compressed_bytes, 1), "rntuple"
        if tree.classname in RNTUPLE_CLASSES:
            # Sizes of their clusters refer to the new file.
            expansion, other = 1.0, "ttree"
        levels = SPLIT_LEVELS if _has_objects(tree) else ()
    if planned_study:
        planned = planned_study.sweeps(variants)
    else:
        planned = sweeps(base, columns, subject["entries"], variants, other, levels)
    planned = chosen_sweeps(planned, dimensions)
    _check_folder(folder, [path, *variants.values()])
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / JOURNAL, subject)
    name = subject["tree"]
    with _removed(folder / SAMPLES), _removed(folder / LAYOUTS) as layouts:
        samples: dict[str, Path] = {}
        used = {point.variant for one in planned for point in one.points}
        for variant, file in {"": path, **variants}.items():
            if variant not in used:
                continue
            samples[variant] = folder / SAMPLES / f"{len(samples)}.root"
            tell(Progress(label=f"taking a sample of {counted(subject['entries'], 'entry', 'entries')}"))
            reached = options if file is path else {**options, "replicas": None}
            _take_sample(file, name, samples[variant], subject["entries"], deadline=deadline, **reached)
        harness = Harness(samples, name, layouts, journal, repeats, threads, budget, via, tell=tell)
        harness.expansion = expansion
        found = measure(path, subject, base, columns, chosen, planned, harness)
        if functions:
            found = replace(found, functions=_by_function(harness, base))
    if planned_study is None:
        return found
    findings = planned_study.findings(found)
    return replace(found, title=planned_study.title, findings=findings, clock="cpu_seconds")


def _has_objects(tree: Tree) -> bool:
    """Whether the tree has branches of objects, which have split levels."""
    return any(
        branch.class_name == "TBranchElement" and bool(branch.branches or branch.fields)
        for branch in tree.branches
    )


def measure(
    source: str,
    subject: dict[str, Any],
    base: Point,
    columns: tuple[str, ...],
    goals: Sequence[Goal],
    planned: list[Sweep],
    harness: Harness,
) -> Tuning:
    """Measures the sweeps, then the layouts that combine the best of each; returns the results."""
    analysis = analysis_of(columns)
    # One round of everything, then the promising combinations, then the repeats: a small budget covers all.
    harness.run(planned, rounds=1, share=0.7)
    found = measured_points(harness.journal.records.values())
    today = found.get(base)
    if today is None or not today.is_whole:
        why = "; ".join(today.errors) if today else "the budget is too small"
        raise UsageError(f"the current layout could not be measured: {why}")
    if goals:
        kinds = [
            [found[point] for point in one.points if point in found]
            for one in planned
            if one.name in ("compression", "basket size", "cluster size")
        ]
        together = tuple(dict.fromkeys(combined(goal, kinds, today, analysis) for goal in goals))
        near = next(one.workloads for one in planned if base in one.points)
        plain = tuple(each for each in near if _is_plain(each, analysis))
        planned = [*planned, Sweep("together", together, plain)]
        harness.run(planned[-1:], rounds=1)
    is_whole = harness.run(planned)
    found = measured_points(harness.journal.records.values())
    wanted = {point for one in planned for point in one.points}
    points = [one for point, one in found.items() if point in wanted]
    advice = [recommend(goal, points, found[base], analysis, source) for goal in goals]
    return Tuning(
        source=source,
        subject=subject,
        machine=machine(harness.threads),
        today=found[base],
        points=points,
        sweeps=planned,
        analysis=analysis,
        recommendations=[one for one in advice if one is not None],
        repeats=harness.repeats,
        is_whole=is_whole,
        title=f"Which layout for {source}?",
    )


def _by_function(harness: Harness, point: Point) -> dict[str, tuple[FunctionTime, ...]]:
    try:
        return harness.by_function(point)
    except MeasurementError as error:
        raise UsageError(f"the time by function cannot be measured: {error}") from None


def _is_plain(workload: Workload, analysis: Workload) -> bool:
    """Whether goals use this workload."""
    return workload in (ALL, analysis) or bool(workload.over)


def chosen_goals(names: Iterable[str]) -> list[Goal]:
    """The goals with the given names; by default all."""
    known = {goal.name: goal for goal in GOALS}
    return [known[name] for name in chosen_names("goal", names, known) or known]


def compression_of(tree: Tree) -> str:
    """The compression of most bytes of a tree, such as ``"zstd:5"``."""
    weights: dict[int, int] = {}
    for branch in tree.core.branches:
        weights[branch.compression] = weights.get(branch.compression, 0) + branch.compressed_bytes
    setting = Compression(max(weights, key=lambda code: weights[code]) if weights else 0)
    algorithm = setting.algorithm.lower()
    if algorithm == "old":
        # An obsolete algorithm is compared as its successor.
        algorithm = "zlib"
    return f"{algorithm}:{setting.level}" if setting.level else "none"


def _subject(
    tree: Tree, sample: int | None, threads: int, via: str | None, variants: Mapping[str, Any]
) -> dict[str, Any]:
    """The subject of the journal: measurements of another subject cannot be reused."""
    if not tree.num_entries:
        raise UsageError(f"{tree.object_path} has no entries, so there is nothing to measure")
    if sample is not None and sample < 1:
        raise UsageError(f"a sample must have at least one entry, not {sample}")
    fits = max(1, int(SAMPLE_BYTES / max(tree.uncompressed_bytes / tree.num_entries, 1e-3)))
    entries = min(tree.num_entries, min(SAMPLE_ENTRIES, fits) if sample is None else sample)
    return {
        "file": tree.file.file_path,
        "uuid": str(tree.file.uuid),
        "tree": split_cycle(tree.object_path)[0],
        "num_entries": tree.num_entries,
        "entries": entries,
        "uncompressed_bytes": round(tree.uncompressed_bytes * entries / tree.num_entries),
        "branches": sum(1 for branch in tree.core.branches if branch.num_baskets),
        "threads": threads,
        "via": via,
        "variants": {name: os.fspath(file) for name, file in variants.items()},
        "machine": machine(threads),
    }


def _take_sample(
    source: str | os.PathLike[str], tree: str, target: Path, entries: int, **options: Any
) -> None:
    """Writes the first entries without compression, so that writing layouts needs no decompression."""
    target.parent.mkdir(exist_ok=True)
    repack(
        os.fspath(source), target, compression="none", entry_stop=entries, tree=tree, trees=[tree], **options
    )


def _check_folder(folder: Path, inputs: Sequence[Any]) -> None:
    """Raises a UsageError if the run would remove files that no earlier run wrote."""
    for name in (SAMPLES, LAYOUTS):
        place = folder / name
        if place.exists() and not (folder / JOURNAL).exists():
            raise UsageError(f"{place} exists and was not made by 'sapwood tune'; choose another work folder")
        for one in map(os.fspath, inputs):
            if not is_url(one) and Path(one).resolve().is_relative_to(place.resolve()):
                raise UsageError(
                    f"the input {one} is in {place}, which will be removed; choose another work folder"
                )


@contextlib.contextmanager
def _removed(folder: Path) -> Iterator[Path]:
    """Removes a folder at the end."""
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def save(found: Tuning, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Writes the report, as HTML, or as JSON if the name ends with ".json".

    Args:
        path: a local path.
        overwrite: whether an existing file is replaced.

    Raises:
        UsageError: if the file exists without ``overwrite``, was measured, or has the suffix of another
            format.
    """
    inputs = [found.source, *found.subject.get("variants", {}).values()]
    save_report(found, path, inputs, overwrite=overwrite)
