"""A whole run: take a sample of a file, measure layouts of it, recommend some, and tell of it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ... import _core
from ...errors import UsageError
from ...model.directory import split_cycle
from ...model.tree import Tree
from ...opening.single import open as open_object
from ...options.compression import Compression
from ...options.outputs import REPORT, check_output
from ...options.paths import is_url
from ...options.whole_file import write_whole
from ...query.select import select
from ...writing.repacking import repack
from .goals import GOALS, Goal, Recommendation, combined, recommend
from .harness import Harness, Progress
from .journal import Journal
from .page import page
from .points import ALL, Point, Sweep, Workload, analysis_of, chosen_names, chosen_sweeps, sweeps
from .results import Measured, measured_points
from .studies import Finding, study_named

SAMPLE_ENTRIES, SAMPLE_BYTES = 20_000, 300e6
"""Of the sample, if nobody says how large it is to be: at most so many entries, and uncompressed bytes."""


JOURNAL, SAMPLES, LAYOUTS = "journal.jsonl", "samples", "layouts"
"""What is in the folder for work; the last two are removed at the end."""


@dataclass(frozen=True)
class Tuning:
    """What :func:`run` found.

    Attributes:
        source: the file, without secrets.
        subject: what was measured: tree, number of entries in file and sample, bytes.
        machine: where it was measured.
        today: the layout that the file has, measured as the others are.
        points: all layouts with their measurements.
        sweeps: which of them belong together.
        analysis: how an analysis reads.
        recommendations: for each goal that was asked for.
        repeats: how often each measurement was to be made.
        is_whole: whether the time sufficed for all.
        date: when it was done.
        title: what the report is called.
        findings: of a study, then and now.
        clock: which time the charts show: ``"seconds"``, or ``"cpu_seconds"``, those of processors, as the
            studies did.
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
    clock: str = "seconds"

    @property
    def analysis_name(self) -> str:
        """What an analysis reads, in words."""
        if not self.analysis.columns:
            return f"{self.analysis.branches:.0%} of the branches"
        names = self.analysis.columns
        return names[0] if len(names) == 1 else f"{len(names)} chosen columns"

    def sweep_points(self, name: str) -> Sequence[Point]:
        """The layouts of a sweep."""
        return next((sweep.points for sweep in self.sweeps if sweep.name == name), ())

    def sweep(self, name: str) -> list[Measured]:
        """The layouts of a sweep that were measured, in its order."""
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
        }

    def to_html(self) -> str:
        """The report: one document that needs nothing else."""
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
    tell: Callable[[Progress], None] = lambda _: None,
) -> Tuning:
    """Measures layouts of a sample of a file, and recommends one for each goal.

    >>> found = sapwood.tune.run("nano.root:Events", columns=["Muon_*"], budget=300)    # doctest: +SKIP
    >>> print(found.recommendations[0].command)                                        # doctest: +SKIP
    sapwood repack nano.root out.root --compression lzma:9 --basket-size 1048576

    Args:
        source: a file or URL and, after a colon, the tree in it; it may be left out if it is the only one.
        columns: branches that an analysis reads, by name or glob; by default a tenth of all, drawn at random.
        goals: names of :data:`GOALS`; by default all of them.
        dimensions: what is varied: ``compression``, ``basket-size``, ``cluster-size``, ``event-skipping``,
            ``events``, and ``split`` where there are variants; by default all of it.
        sample: entries that are measured, from the first on; by default 20,000, or what is 300 MB.
        budget: seconds that measuring may take; None for no bound.
        repeats: how often each measurement is made.
        threads: that write and read.
        work: a folder for the sample, the layouts, and the journal of what was measured. If it has one of the
            same file, what is in it is not measured again.
        via: a URL at which that folder is served: layouts are then read from there, over a real link.
        variants: files with the same tree of the same events by name, such as one that is split differently:
            they are measured beside it.
        study: the name of one of :data:`STUDIES`: its sweeps in place of the usual ones, and without
            recommendations, unless goals are named.
        tell: called with the progress.

    Raises:
        UsageError: for a goal, a dimension or a study that is not known, one that is named twice, and a tree
            that has no entries.
        KeyInFileError: for a column that the tree does not have. All of that is looked at before anything is
            measured.
    """
    planned_study = None if study is None else study_named(study)
    chosen = [] if planned_study and not list(goals) else chosen_goals(goals)
    folder, variants, columns = Path(work), variants or {}, tuple(columns)
    if "" in variants:
        raise UsageError("a variant has no name; name it, such as split=FILE")
    with _open(os.fspath(source)) as tree:
        if planned_study and sample is None:
            sample = min(planned_study.entries, tree.num_entries)
        select(tree, list(columns) or None)
        subject = _subject(tree, sample, threads, via, variants)
        base = planned_study.base if planned_study else Point(compression_of(tree))
        path = tree.file.file_path
        expansion = tree.uncompressed_bytes / max(tree.compressed_bytes, 1)
    if planned_study:
        planned = planned_study.sweeps(variants)
    else:
        planned = sweeps(base, columns, subject["entries"], variants)
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
            _take_sample(os.fspath(file), name, samples[variant], subject["entries"], tell)
        harness = Harness(samples, name, layouts, journal, repeats, threads, budget, via, tell=tell)
        harness.expansion = expansion
        found = measure(path, subject, base, columns, chosen, planned, harness)
    if planned_study is None:
        return found
    findings = planned_study.findings(found)
    return replace(found, title=planned_study.title, findings=findings, clock="cpu_seconds")


def measure(
    source: str,
    subject: dict[str, Any],
    base: Point,
    columns: tuple[str, ...],
    goals: Sequence[Goal],
    planned: list[Sweep],
    harness: Harness,
) -> Tuning:
    """The sweeps, then the layouts that have the best of each; and what follows from them."""
    analysis = analysis_of(columns)
    # Once all, then what that says to be good, and only then again: a small budget has a bit of everything.
    harness.run(planned, rounds=1, share=0.7)
    found = measured_points(harness.journal.records.values())
    today = found.get(base)
    if today is None or not today.is_whole:
        why = "; ".join(today.errors) if today else "the budget is too small"
        raise UsageError(f"the layout of today could not be measured: {why}")
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


def _open(source: str) -> Tree:
    """The tree that is named, or the only one of the file."""
    found = open_object(source)
    if isinstance(found, Tree):
        return found
    classes = found.classnames(recursive=True, cycle=False)
    trees = [path for path, name in classes.items() if name in ("TTree", "TNtuple", "TNtupleD")]
    if len(trees) != 1:
        named = f", name one after a colon: {', '.join(trees[:8])}" if trees else ""
        raise UsageError(f"{found.file.file_path} has {len(trees)} trees{named}")
    tree: Tree = found[trees[0]]
    return tree


def _is_plain(workload: Workload, analysis: Workload) -> bool:
    """Whether it is one that goals look at."""
    return workload in (ALL, analysis) or bool(workload.over)


def chosen_goals(names: Iterable[str]) -> list[Goal]:
    """Goals by their names; all, if none is named."""
    known = {goal.name: goal for goal in GOALS}
    return [known[name] for name in chosen_names("goal", names, known) or known]


def compression_of(tree: Tree) -> str:
    """The compression of most bytes of a tree, as ``"zstd:5"``."""
    weights: dict[int, int] = {}
    for branch in tree.core.branches:
        weights[branch.compression] = weights.get(branch.compression, 0) + branch.compressed_bytes
    setting = Compression(max(weights, key=lambda code: weights[code]) if weights else 0)
    algorithm = setting.algorithm.lower()
    if setting.level and algorithm not in ("zlib", "lzma", "lz4", "zstd"):
        # What nobody writes any more is compared as what took its place.
        algorithm = "zlib"
    return f"{algorithm}:{setting.level}" if setting.level else "none"


def _subject(
    tree: Tree, sample: int | None, threads: int, via: str | None, variants: Mapping[str, Any]
) -> dict[str, Any]:
    """What is measured; measurements of something else are no use."""
    if not tree.num_entries:
        raise UsageError(f"{tree.object_path} has no entries, so there is nothing to measure")
    if sample is not None and sample < 1:
        raise UsageError(f"a sample has at least one entry, not {sample}")
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
    source: str, tree: str, target: Path, entries: int, tell: Callable[[Progress], None]
) -> None:
    """The first entries without compression: what layouts are made from, so that only writing takes time."""
    tell(Progress(label=f"taking a sample of {entries:,} entries"))
    target.parent.mkdir(exist_ok=True)
    repack(source, target, compression="none", entries=(0, entries), tree=tree, trees=[tree])


def _check_folder(folder: Path, inputs: Sequence[Any]) -> None:
    """Raises a UsageError if something in the folder is not of an earlier run: it would be removed."""
    for name in (SAMPLES, LAYOUTS):
        place = folder / name
        if place.exists() and not (folder / JOURNAL).exists():
            raise UsageError(
                f"{place} exists and was not made by 'sapwood tune': choose another folder for work"
            )
        for one in map(os.fspath, inputs):
            if not is_url(one) and Path(one).resolve().is_relative_to(place.resolve()):
                raise UsageError(
                    f"{one} is read, and lies in {place}, which is removed: choose another folder"
                )


@contextlib.contextmanager
def _removed(folder: Path) -> Iterator[Path]:
    """Removes a folder in the end."""
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def machine(threads: int) -> dict[str, Any]:
    """Where this runs."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return {"sapwood": _core.__version__, "processor": name, "cores": os.cpu_count() or 1, "threads": threads}


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
    place = check_output(path, REPORT, inputs=inputs, overwrite=overwrite)
    text = found.to_html()
    if place.lower().endswith(".json"):
        text = json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n"
    write_whole(place, text, overwrite=overwrite)
