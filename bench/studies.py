"""Sweeps of layouts: the studies CMS 2015 on a MiniAOD-like file and ATLAS 2018 on an xAOD-like one, with a
check whether their findings still hold; and the usual sweeps of `sapwood tune` on a NanoAOD-like file, and on
two small real files of the corpus (in `files` of the folder that SAPWOOD_CORPUS names).

    python bench/studies.py [--only nano,cms2015,atlas2018] [--plots FOLDER] [--markdown FILE] [--json FILE]

The reports are written next to the file of `--json`. An interrupted run resumes where it stopped.
`make bench-studies STUDIES=cms2015` measures one study, and replaces only its tables.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import results

from sapwood import tune
from sapwood.display.units import counted, human_bytes
from sapwood.studies.charts import standalone
from sapwood.studies.tune.figures import charts
from sapwood.studies.tune.points import ALL, Workload

MINUTES_AT_MOST = 15
SKIPPED = (0.5, 0.1, 0.01)
"""The shares of branches and of events in the tables of skipping."""
SHORT_RUN = "The sample is small, or the run is incomplete: sizes are exact, CPU seconds are uncertain."


@dataclass(frozen=True)
class Run:
    """A run of `sapwood tune`: the input, its tree, and the options."""

    file: str
    tree: str
    study: str | None = None
    sample: int | None = None
    repeats: int = 2
    budget: float = 60.0 * (MINUTES_AT_MOST - 2)


RUNS = {
    "nano": Run("nano_zstd5", "Events", sample=5_000),
    "cms2015": Run("edm_zlib5", "Events", "cms2015"),
    "atlas2018": Run("xaod_study", "CollectionTree", "atlas2018"),
}
REAL = {
    "physlite": Run("coffea__PHYSLITE_example", "CollectionTree", repeats=10, budget=180.0),
    "nano_2015": Run("skhep__nanoAOD_2015_CMS_Open_Data_ttbar", "Events", repeats=10, budget=180.0),
}
RUNS |= REAL
TITLES = {
    "nano": "NanoAOD-like",
    "cms2015": "CMS 2015",
    "atlas2018": "ATLAS 2018",
    "physlite": "A real PHYSLITE file",
    "nano_2015": "A real NanoAOD file",
}
FIGURES = {
    "nano": {
        "Size and time to read all": "layout-compression",
        "Reading rate and cluster size": "layout-clusters",
        "Memory of reader and writer, by cluster size": "layout-memory",
    },
    "cms2015": {
        "Size and time to read all": "layout-miniaod",
        "Baskets: size and time to read all": "layout-baskets",
    },
    "atlas2018": {
        "Reading some of the events": "layout-events",
        "Reading some of the branches": "layout-branches",
    },
}


def measured(name: str, run: Run, options: argparse.Namespace) -> tune.Tuning:
    """Measures, and writes the report."""
    begin = time.monotonic()
    folder: Path = options.out
    inputs = Path(os.environ["SAPWOOD_CORPUS"]) / "files" if name in REAL else options.data
    found = tune.run(
        f"{inputs / run.file}.root:{run.tree}",
        study=run.study,
        sample=run.sample if options.sample is None else options.sample,
        repeats=run.repeats,
        budget=run.budget if options.budget is None else options.budget,
        threads=2 if run.study else 1,
        work=folder / f"{name}.work",
    )
    # On a machine with other load, CPU times are stable, but wall times are not.
    found = replace(found, clock="cpu_seconds")
    tune.save(found, folder / f"{name}.html", overwrite=True)
    # The next run starts from scratch; only an interrupted run resumes.
    shutil.rmtree(folder / f"{name}.work", ignore_errors=True)
    seconds = time.monotonic() - begin
    found.machine["minutes"] = round(seconds / 60, 1)
    whole = "" if found.is_whole else ", incomplete"
    print(f"{name}: {len(found.points)} layouts in {seconds:.0f} s{whole}", file=sys.stderr, flush=True)
    return found


def tables(name: str, found: tune.Tuning, sample_was_chosen: bool) -> Iterator[tuple[str, str]]:
    """The tables of a run, by title."""
    yield f"{TITLES[name]}: sample", subject(found, sample_was_chosen)
    if found.findings:
        yield f"{TITLES[name]}: findings", "\n".join(findings(found))
    if found.recommendations:
        yield f"{TITLES[name]}: recommendations", "\n".join(goals(found))
    yield f"{TITLES[name]}: layouts", "\n".join(layouts(found))
    if len(rows := list(skipping(found))) > 3:
        yield f"{TITLES[name]}: skipping", "\n".join(rows)


def subject(found: tune.Tuning, sample_was_chosen: bool) -> str:
    """The sample, the date and the machine."""
    machine = found.machine
    size = human_bytes(found.subject["uncompressed_bytes"])
    parts = f"{found.subject['entries']:,} entries ({size} uncompressed), {len(found.points)} layouts"
    threads = counted(machine["threads"], "thread")
    repeats = sorted({len(one.writes) for one in found.points if one.is_whole})
    often = " or ".join("once" if number == 1 else f"{number} times" for number in repeats)
    short = sample_was_chosen or not found.is_whole
    caution = f" {SHORT_RUN}" if short else ""
    return (
        f"Measured on {parts}, each {often}, in {machine['minutes']} minutes, {found.date}; "
        f"{threads}, {machine['processor']}, {machine['cores']} cores.{caution}"
    )


def findings(found: tune.Tuning) -> Iterator[str]:
    yield "| then | now | holds | why |\n| --- | --- | --- | --- |"
    for one in found.findings:
        yield f"| {one.then} | {one.now} | {one.holds} | {one.why} |"


def goals(found: tune.Tuning) -> Iterator[str]:
    yield "| goal | layout | why |\n| --- | --- | --- |"
    for one in found.recommendations:
        yield f"| {one.goal.title}: {one.goal.rule} | {one.best.point.label} | {one.reason} |"


def layouts(found: tune.Tuning) -> Iterator[str]:
    # The least times, as in the findings: other load on the machine only adds.
    clock = "CPU s" if found.clock == "cpu_seconds" else "s"
    yield (
        f"| layout | size | write, {clock} | read all, {clock} | {found.analysis_name}, {clock} "
        "| writer, MB | reader, MB |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for one in found.points:
        read, memory = one.read(found.clock, ALL), one.read("peak_bytes", ALL)
        if not one.is_whole or read is None or memory is None:
            continue
        writer, analysis = one.write("peak_bytes").median, one.read(found.clock, found.analysis)
        some = "-" if analysis is None else f"{analysis.least:.2f}"
        yield (
            f"| {one.point.label} | {human_bytes(one.size)} | {one.write(found.clock).least:.2f} "
            f"| {read.least:.2f} | {some} | {writer / 1e6:.0f} | {memory.median / 1e6:.0f} |"
        )


def skipping(found: tune.Tuning) -> Iterator[str]:
    """The time to read some branches, or some events at random, relative to all; by algorithm."""
    ways = [Workload(branches=share) for share in SKIPPED] + [Workload(events=share) for share in SKIPPED]
    names = [f"{share:.0%} of the {what}" for what in ("branches", "events") for share in SKIPPED]
    yield f"| layout | {' | '.join(names)} |"
    yield "| --- |" + " ---: |" * len(names)
    for one in (found.today, *found.sweep("algorithm and skipping")):
        whole, parts = one.read(found.clock, ALL), [one.read(found.clock, way) for way in ways]
        if whole is not None and any(parts):
            cells = ["-" if part is None else f"{part.least / whole.least:.0%}" for part in parts]
            yield f"| {one.point.label} | {' | '.join(cells)} |"


def plot(name: str, found: tune.Tuning, folder: Path) -> None:
    """Draws the figures of a run that appear in the documents."""
    for title, _, svg in charts(found):
        if file := FIGURES.get(name, {}).get(title):
            (folder / f"{file}.svg").write_text(standalone(svg, title), encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = results.parser(__doc__)
    parser.add_argument(
        "--only",
        default=",".join(name for name in RUNS if name not in REAL),
        help=f"some of {', '.join(RUNS)}",
    )
    parser.add_argument("--sample", type=int, help="entries of each sample; by default those of the run")
    parser.add_argument("--budget", type=float, help="seconds for each run")
    parser.add_argument("--plots", type=Path, help="draw the figures of the documents into this folder")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(RUNS):
        parser.error(f"unknown runs: {', '.join(sorted(unknown))}")
    if set(options.only) & set(REAL) and "SAPWOOD_CORPUS" not in os.environ:
        parser.error("real files are in the corpus: set SAPWOOD_CORPUS to its folder")
    options.out = options.json.parent if options.json else Path("build/bench")
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def main() -> None:
    options = arguments()
    texts: dict[str, str] = {}
    # Earlier results of other runs are kept.
    document = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for name in options.only:
        found = measured(name, RUNS[name], options)
        document[name] = {**found.to_dict(), "sample_was_chosen": options.sample is not None}
        texts |= dict(tables(name, found, options.sample is not None))
        if options.plots:
            plot(name, found, options.plots)
    results.publish(options, texts, document)


if __name__ == "__main__":
    main()
