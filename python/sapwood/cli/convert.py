"""`sapwood convert`: trees as a file of another format, in steps that fit in memory."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..display.printable import printable
from ..display.units import counted, human_bytes
from ._options import Cut, Entries, Filter, Force, Reading, entry_range
from ._output import can_show_progress, output_or_standard, print_json, print_line
from ._run import command
from ._several import require_matches, selection, trees, trees_and_columns

if TYPE_CHECKING:
    from ._writers import Writer


@command
def convert(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE[:TREE]... OUT [COLUMN...]",
            help="Files, URLs or globs, and the tree inside; you can omit the only tree. After the first "
            "argument, names with .root and URLs are inputs. Then follow the output (a .parquet, .feather, "
            ".arrow, .npz or .csv file, or '-' for standard output), and branches or expressions, by default "
            "all branches.",
        ),
    ],
    filter_name: Filter = None,
    cut: Cut = None,
    entries: Entries = None,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="The format; by default that of the extension.")
    ] = None,
    step_size: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Memory, or number of entries, per step. Each step is a row group."
        ),
    ] = "100 MB",
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Write trees to parquet, feather, npz or csv, in bounded memory.

    \b
    sapwood convert nano.root:Events muons.parquet --filter 'Muon_*' --cut 'nMuon >= 2'
    sapwood convert a.root:Events b.root:Events both.csv run nMuon

    The output file appears once it is complete; if the command fails, there is none.
    """
    from ..errors import UsageError
    from ..options.outputs import TABLES
    from ._forms import forms
    from ._writers import check_npz, format_of, standard_output, writer

    sources, rest = trees_and_columns(arguments)
    if not rest:
        raise UsageError(f"no output: name a file, such as all.parquet, or '-', after {sources[-1]!r}")
    output, *columns = rest
    file_format = format_of(output, to)
    inputs = [sources, reading.replica]
    place = output_or_standard(output, TABLES[file_format], inputs, force, reading.as_json)
    if place is None:
        opened = functools.partial(standard_output, file_format)
    else:
        opened = functools.partial(writer, place, file_format, overwrite=force)
    began = time.monotonic()
    step = int(step_size) if step_size.isdecimal() and len(step_size) < 19 else step_size
    chosen = {**selection(columns, filter_name), "cut": cut, "library": "arrow"}
    read: list[Any] = []

    def batches() -> Iterator[Any]:
        for tree, start, stop in trees(sources, reading, entry_range(entries)):
            read.append(tree)
            require_matches(tree, chosen["filter_name"])
            if file_format == "npz":
                check_npz(forms(tree, chosen))
            within = {"entry_start": start, "entry_stop": stop}
            with _progress(tree, start, stop, quiet=reading.as_json) as advance:
                batch = None
                for batch, report in tree.iterate(step_size=step, report=True, **chosen, **within):
                    yield batch
                    advance(report.tree_entry_stop - report.tree_entry_start)
                if batch is None:
                    # Without entries, the columns still have types.
                    batch = tree.arrays(**chosen, entry_start=0, entry_stop=0)
                    yield batch
                # All files have the columns of the first one.
                chosen.update({"expressions": batch.column_names, "filter_name": None, "filter_branch": None})

    written, names = _write(batches(), opened)
    document = {
        "file": read[0].file.file_path,
        "tree": read[0].object_path,
        "output": output,
        "format": file_format,
        "entries": written,
        "columns": names,
        "bytes": 0 if place is None else os.path.getsize(place),
        "seconds": time.monotonic() - began,
        "read": sum(tree.file.report() for tree in read).to_dict(),
    }
    if reading.as_json:
        print_json(document)
    elif place is not None and sys.stdout.isatty():
        shape = f"{counted(written, 'entry', 'entries')}, {counted(len(names), 'column')}"
        size, seconds = human_bytes(document["bytes"]), document["seconds"]
        print_line(f"{output}: {shape}, {size} in {seconds:.1f} s")


def _write(
    batches: Iterator[Any], opened: Callable[[Any], contextlib.AbstractContextManager[Writer]]
) -> tuple[int, list[str]]:
    """Writes all batches; returns the number of entries and the names of the columns."""
    first = next(batches)
    written = 0
    with opened(first.schema) as sink:
        for table in itertools.chain([first], batches):
            sink.write(table)
            written += table.num_rows
    return written, first.column_names


@contextlib.contextmanager
def _progress(tree: Any, start: int | None, stop: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; yields a function that takes entries."""
    if quiet or not can_show_progress():
        yield lambda entries: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    began = time.monotonic()
    first, last, _ = slice(start, stop).indices(tree.num_entries)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(printable(tree.name), total=max(last - first, 0), speed="")

        def advance(entries: int) -> None:
            read = tree.file.report().decompressed_bytes
            speed = read / max(time.monotonic() - began, 1e-3) / 1e6
            bar.update(task, advance=entries, speed=f"{speed:,.0f} MB/s")

        yield advance
