"""`sapwood tune`: the best layout for a file, measured on a sample of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..display.printable import printable
from ..display.units import counted
from ._options import Connection, Force, Json, Tree, duration
from ._output import Column, can_show_progress, print_json, print_line, print_table
from ._run import command

if TYPE_CHECKING:
    from ..studies.tune import Progress


@command
def tune(
    source: Tree,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            "--goal",
            metavar="NAME",
            help="The purpose of the file: archive, derivation, disk or wan. Repeatable; by default all.",
        ),
    ] = None,
    dimension: Annotated[
        list[str] | None,
        typer.Option(
            "--dimension",
            metavar="NAME",
            help="The parameter to vary: compression, basket-size, cluster-size, event-skipping, events, "
            "format or split. Repeatable; by default all.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,…",
            help="The branches that an analysis reads, by name or glob; by default a tenth of all.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Entries of the sample; by default 20,000, but at most 300 MB."),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="The most time to use, such as 10m or 2h, or 'none'.")
    ] = "10m",
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Repeats of each measurement.")] = 3,
    threads: Annotated[
        int, typer.Option("--threads", "-j", metavar="N", min=1, help="Threads for writing and reading.")
    ] = 1,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT.html", help="The report, or OUT.json for JSON.")
    ] = "tune.html",
    force: Force = False,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Repeat a published study instead of the usual sweeps: cms2015 or atlas2018."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="A file with the same events, for example with another split level. Repeatable.",
        ),
    ] = None,
    functions: Annotated[
        bool,
        typer.Option("--functions", help="Also sample the CPU time by function, with Linux's perf."),
    ] = False,
    via: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The URL that serves OUT.work/layouts, to read over a real link."),
    ] = None,
    as_json: Json = False,
    *,
    connection: Connection,
) -> None:
    """Measure which layout is best for a file, and write a report.

    \b
    sapwood tune nano.root:Events --goal wan --columns 'Muon_*' --budget 10m -o report.html

    On a sample of the file, it varies compression, basket size and cluster size. To resume a run that was
    interrupted, run the same command again; to continue one whose budget is used up, add --force.
    """
    from ..options.outputs import REPORT, check_output
    from ..studies import tune as tuning

    seconds, variants = None if budget == "none" else duration(budget), _variants(variant or ())
    inputs = [source, connection.replica, variants.values()]
    place = check_output(output, REPORT, inputs=inputs, overwrite=force)
    with _progress() as progress:
        found = tuning.run(
            source,
            columns=[name.strip() for name in (columns or "").split(",") if name.strip()],
            goals=goal or (),
            dimensions=dimension or (),
            sample=sample,
            budget=seconds,
            repeats=repeats,
            threads=threads,
            work=Path(place).with_suffix(".work"),
            via=via,
            study=study,
            functions=functions,
            variants=variants,
            tell=progress,
            **connection.open_options,
        )
    tuning.save(found, place, overwrite=force)
    if as_json:
        print_json({"output": output, **found.to_dict()})
        return
    if found.findings:
        findings = [(one.then, one.now, one.holds) for one in found.findings]
        print_table([Column("then", last=1), Column("now", last=1), Column("holds")], findings)
    titles = [Column("goal"), Column("layout"), Column("command", last=1)]
    rows = [
        [one.goal.name, one.best.point.label, one.command or "(unchanged)"] for one in found.recommendations
    ]
    if rows:
        print_table(titles, rows)
    more = "" if found.is_whole else "; the budget is used up: run the command again with --force to continue"
    print_line(f"{output}: {counted(len(found.points), 'layout')}{more}")


def _variants(texts: Iterable[str]) -> dict[str, str]:
    """Files by their names.

    >>> _variants(["split=a.root"])
    {'split': 'a.root'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise typer.BadParameter(f"{text!r} is not NAME=FILE")
        if name in found:
            raise typer.BadParameter(f"two variants are named {name!r}: {found[name]} and {file}")
        found[name] = file
    return found


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A progress bar with the number of measurements and the time left; on a terminal only."""
    if not can_show_progress():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    texts = TextColumn("{task.fields[left]}"), TextColumn("{task.description}", markup=False)
    with Bar(BarColumn(), MofNCompleteColumn(), *texts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def advance(now: Progress) -> None:
            left = "" if now.left is None else f"{now.left // 60:.0f}:{now.left % 60:02.0f} left"
            bar.update(
                task, completed=now.done, total=now.total or None, description=printable(now.label), left=left
            )

        yield advance
