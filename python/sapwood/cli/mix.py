"""`sapwood mix`: pile-up for signal events, or a premixed pool of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any

import typer

from ..display.units import counted, human_bytes
from ._options import Entries, Filter, entry_range
from ._output import print_json, print_line
from ._run import command
from ._several import each_once, trees
from ._writing import Output, Target


class Mode(str, Enum):
    """The order in which events of the pool are taken."""

    SEQUENTIAL = "sequential"
    RANDOM_CLUSTERS = "random-clusters"


@command
def mix(
    pool: Annotated[
        str,
        typer.Argument(
            metavar="POOL[:TREE]",
            help="The background: a file, URL or glob in quotes, and the tree inside. You can omit the only "
            "tree.",
        ),
    ],
    target: Target,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random numbers: one per sample.")
    ],
    signal: Annotated[
        str | None,
        typer.Option(metavar="FILE[:TREE]", help="The signal: a file, a URL, or a glob in quotes."),
    ] = None,
    number: Annotated[
        str | None,
        typer.Option(
            metavar="DISTRIBUTION", help="Number of background events, drawn for each bunch: see above."
        ),
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="DISTRIBUTION",
            help="Mean of that number, drawn for each event; each bunch draws a Poisson number.",
        ),
    ] = None,
    bunches: Annotated[
        str | None,
        typer.Option(
            metavar="START:STOP", help="Bunches that count, such as -12:4; by default only bunch 0."
        ),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="The order of the files and clusters of the pool.")] = (
        Mode.RANDOM_CLUSTERS
    ),
    filter_name: Filter = None,
    signal_filter: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Only branches of the signal with these names.")
    ] = None,
    entries: Entries = None,
    prefix: Annotated[
        str, typer.Option(metavar="NAME", help="The beginning of the names of the background's branches.")
    ] = "pileup",
    tree_name: Annotated[
        str | None,
        typer.Option(
            "--tree", metavar="PATH", help="The tree in OUT; by default that of the signal, or Events."
        ),
    ] = None,
    step: Annotated[
        int, typer.Option(metavar="N", min=1, help="Signal events that are in memory at a time.")
    ] = 100,
    compression: Annotated[
        str, typer.Option(metavar="ALGORITHM[:LEVEL]", help="zstd:5, lzma, lz4:9, zlib:1 or none.")
    ] = "zstd:5",
    *,
    output: Output,
) -> None:
    """Mix background events of a pool into signal events.

    \b
    sapwood mix 'minbias/*.root:Events' out.root --signal ttbar.root:Events --seed 1 --mean 35
    sapwood mix 'minbias/*.root' premixed.root --entries 0:10000 --seed 1 --mean pileup.root:pileup
    sapwood mix premixed.root out.root --signal ttbar.root --seed 2

    A DISTRIBUTION is a number; the probabilities of 0, 1, 2, …, as in 0.1,0.6,0.3; or a histogram,
    FILE:NAME. Without --signal, --entries says which crossings OUT gets, for a premixed pool. Without
    --number and --mean, POOL is premixed, and each signal event gets one of its events. The background of
    an event depends on the seed and its number, so that jobs can share a sample with --entries.
    """
    from ..opening.background import Background
    from ..options.outputs import ROOT, check_output
    from ..writing.file import create, recreate

    began = time.monotonic()
    inputs = [one for one in (pool, signal, number, mean, output.replica) if one is not None]
    target = check_output(target, ROOT, inputs=inputs, overwrite=output.force)
    numbers = entry_range(entries)
    how: dict[str, Any] = {
        "number": _distribution(number, "--number"),
        "mean": _distribution(mean, "--mean"),
        "prefix": prefix,
    }
    if bunches is not None:
        how["bunches"] = range(*_whole(bunches, "--bunches"))
    if signal is None:
        if entries is None:
            raise typer.BadParameter("START:STOP is needed without --signal", param_hint="--entries")
        steps = _crossings(range(*_whole(entries, "--entries (needed without --signal)")), step)
    else:
        steps = _signal(signal, signal_filter, numbers, step, output)
    columns = {"filter_name": filter_name, "filter_branch": each_once(filter_name)}
    options = {"seed": seed, "mode": mode.value, **columns, **output.open_options}
    written = background = 0
    with (
        Background(pool, **options) as events,
        (recreate if output.force else create)(
            target, compression=compression, threads=output.threads
        ) as file,
    ):
        tree: Any = None
        for name, primaries, first in steps:
            mixed = events.mix(primaries, first, **how)
            if tree is None:
                tree = file.mktree(tree_name or name)
            tree.extend(mixed)
            written += len(mixed)
            background += int(sum(mixed[f"n{prefix}"]))
    document = {
        "output": target,
        "tree": tree.name,
        "entries": written,
        "background_events": background,
        "columns": tree.keys(),
        "bytes": os.path.getsize(target),
        "seconds": time.monotonic() - began,
    }
    if output.as_json:
        print_json(document)
    elif sys.stdout.isatty():
        shape = f"{counted(written, 'entry', 'entries')}, {counted(background, 'background event')}"
        print_line(f"{target}: {shape}, {human_bytes(document['bytes'])} in {document['seconds']:.1f} s")


_Step = tuple[str, Any, int]
"""The name of a tree, signal events or how many there would be, and the number of the first one."""


def _crossings(numbers: range, step: int) -> Iterator[_Step]:
    """Steps without signal; at least one, for the types."""
    for first in range(numbers.start, max(numbers.stop, numbers.start + 1), step):
        yield "Events", max(min(step, numbers.stop - first), 0), first


def _signal(
    signal: str, filter_name: str | None, numbers: tuple[int | None, int | None], step: int, output: Output
) -> Iterator[_Step]:
    """Steps of the signal, numbered across its files; at least one, for the types."""
    before, is_first = 0, True
    for tree, start, stop in trees([signal], output, numbers):
        if start < stop or is_first:
            name = tree.object_path.partition(";")[0]
            columns = {"filter_name": filter_name, "filter_branch": each_once(filter_name)}
            read = {**columns, "entry_start": start, "entry_stop": stop}
            if start == stop:
                yield name, tree.arrays(**read), before + start
            for events, report in tree.iterate(step_size=step, report=True, **read):
                yield name, events, before + report.tree_entry_start
            is_first = False
        before += tree.num_entries


def _distribution(text: str | None, option: str) -> Any:
    """A number, a list of probabilities, or the name of a histogram.

    >>> [_distribution(text, "--mean") for text in ("40", "35.5", "0.5,0.5", "pileup.root:h")]
    [40, 35.5, [0.5, 0.5], 'pileup.root:h']
    """
    for kind in (int, float, _floats):
        try:
            return None if text is None else kind(text)
        except ValueError:
            continue
    if text is not None and ":" not in text:
        raise typer.BadParameter(
            f"{text!r} is no number, no list such as 0.5,0.5, and no histogram FILE:NAME", param_hint=option
        )
    return text


def _floats(text: str) -> list[float]:
    return [float(one) for one in text.split(",")]


def _whole(text: str, option: str) -> tuple[int, int]:
    """START:STOP, both given and in order."""
    start, stop = entry_range(text)
    if start is None or stop is None or start > stop:
        raise typer.BadParameter(f"must be START:STOP, with both numbers, not {text!r}", param_hint=option)
    return start, stop
