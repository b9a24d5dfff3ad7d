"""`sapwood tune`: which layout is best for a file, measured on a sample of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..display.printable import printable
from ._options import Force, Json, Tree
from ._output import Column, print_json, print_line, print_table
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
            help="What the file is for: archive, derivation, disk or wan; may be repeated; by default all.",
        ),
    ] = None,
    dimension: Annotated[
        list[str] | None,
        typer.Option(
            "--dimension",
            metavar="NAME",
            help="What is varied: compression, basket-size, cluster-size, event-skipping, events, split; "
            "may be repeated; by default all.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,…",
            help="What an analysis reads, by name or glob; by default a tenth of the branches.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Entries to measure with; by default 20,000, or 300 MB of them."),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Such as 10m or 2h; 'none' for no bound.")
    ] = "10m",
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="How often each thing is measured.")] = 3,
    threads: Annotated[
        int, typer.Option("--threads", "-j", metavar="N", min=1, help="Threads that write and read.")
    ] = 1,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT.html", help="The report; OUT.json for JSON.")
    ] = "tune.html",
    force: Force = False,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Repeat a study in place of the usual sweeps: cms2015 or atlas2018."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="The same events in another file, such as one that is split differently; may be repeated.",
        ),
    ] = None,
    via: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where OUT.work/layouts is served: read over this real link."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure which layout is best for a file, on a sample of it, and write a report.

    \b
    sapwood tune nano.root:Events --goal wan --columns 'Muon_*' --budget 10m -o report.html

    Compression, sizes of baskets and of clusters are tried; a run that was stopped goes on where it was.
    """
    from ..options.outputs import REPORT, check_output
    from ..studies import tune as tuning

    seconds, variants = _seconds(budget), _variants(variant or ())
    place = check_output(output, REPORT, inputs=[source, variants.values()], overwrite=force)
    with _progress() as tell:
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
            variants=variants,
            tell=tell,
        )
    tuning.save(found, place, overwrite=force)
    if as_json:
        print_json({"output": output, **found.to_dict()})
        return
    if found.findings:
        told = [(one.then, one.now, "yes" if one.agrees else "no") for one in found.findings]
        print_table([Column("then", breaks=True), Column("now", breaks=True), Column("holds")], told)
    titles = [Column("goal"), Column("layout"), Column("command", breaks=True)]
    rows = [
        [one.goal.name, one.best.point.label, one.command or "(as it is)"] for one in found.recommendations
    ]
    if rows:
        print_table(titles, rows)
    more = "" if found.is_whole else "; not all was measured: run it again with --force to continue"
    print_line(f"{output}: {len(found.points)} layouts{more}")


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


def _seconds(text: str) -> float | None:
    """A time: 90s, 10m, 2h; a plain number is seconds.

    >>> _seconds("10m"), _seconds("90"), _seconds("none")
    (600.0, 90.0, None)
    """
    import re

    if text == "none":
        return None
    found = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a time such as 90s, 10m or 2h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A line that tells what is done and what is left; on a terminal only."""
    import sys

    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    texts = TextColumn("{task.fields[left]}"), TextColumn("{task.description}", markup=False)
    with Bar(BarColumn(), MofNCompleteColumn(), *texts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def tell(now: Progress) -> None:
            left = "" if now.left is None else f"{now.left // 60:.0f}:{now.left % 60:02.0f} left"
            bar.update(
                task, completed=now.done, total=now.total or None, description=printable(now.label), left=left
            )

        yield tell
