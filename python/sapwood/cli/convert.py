"""`sapwood convert`: a tree as a file of another format, in steps that fit in memory."""

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
from ._options import Columns, Cut, Entries, Filter, Force, Reading, Tree, entry_range
from ._output import output_or_standard, print_json, print_line
from ._run import command

if TYPE_CHECKING:
    from ._writers import Writer


@command
def convert(
    source: Tree,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="A .parquet, .feather, .arrow, .npz or .csv file, or '-' for standard output."
        ),
    ],
    columns: Columns = None,
    filter_name: Filter = None,
    cut: Cut = None,
    entries: Entries = None,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="The format; by default that of the extension.")
    ] = None,
    step_size: Annotated[
        str, typer.Option(help="Memory, or number of entries, per step. Each step is a row group.")
    ] = "100 MB",
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Write a tree to parquet, feather, npz or csv, in bounded memory.

    \b
    sapwood convert nano.root:Events muons.parquet --filter 'Muon_*' --cut 'nMuon >= 2'

    The output file appears once it is complete; if the command fails, there is none.
    """
    from ..options.outputs import TABLES
    from ._target import open_tree
    from ._writers import format_of, standard_output, writer

    file_format = format_of(output, to)
    inputs = [source, reading.replica]
    place = output_or_standard(output, TABLES[file_format], inputs, force, reading.as_json)
    if place is None:
        opened = functools.partial(standard_output, file_format)
    else:
        opened = functools.partial(writer, place, file_format, overwrite=force)
    start, stop = entry_range(entries)
    began = time.monotonic()
    with open_tree(source, reading) as tree:
        selection = {"filter_name": filter_name, "entry_start": start, "entry_stop": stop, "library": "arrow"}
        step = int(step_size) if step_size.isdecimal() and len(step_size) < 19 else step_size
        batches = tree.iterate(columns or None, cut, step_size=step, report=True, **selection)
        with _progress(tree, start, stop, quiet=reading.as_json) as advance:
            written, names = _write(tree, batches, opened, columns, cut, selection, advance)
        document = {
            "file": tree.file.file_path,
            "tree": tree.object_path,
            "output": output,
            "format": file_format,
            "entries": written,
            "columns": names,
            "bytes": 0 if place is None else os.path.getsize(place),
            "seconds": time.monotonic() - began,
            "read": tree.file.report().to_dict(),
        }
    if reading.as_json:
        print_json(document)
    elif place is not None and sys.stdout.isatty():
        shape = f"{counted(written, 'entry', 'entries')}, {counted(len(names), 'column')}"
        size, seconds = human_bytes(document["bytes"]), document["seconds"]
        print_line(f"{output}: {shape}, {size} in {seconds:.1f} s")


def _write(
    tree: Any,
    batches: Iterator[Any],
    opened: Callable[[Any], contextlib.AbstractContextManager[Writer]],
    columns: list[str] | None,
    cut: str | None,
    selection: dict[str, Any],
    advance: Callable[[int], None],
) -> tuple[int, list[str]]:
    """Writes all batches; returns the number of entries and the names of the columns."""
    first = next(batches, None)
    if first is None:
        # Without entries, the columns still have types.
        empty = tree.arrays(columns or None, cut, **{**selection, "entry_start": 0, "entry_stop": 0})
        with opened(empty.schema) as sink:
            sink.write(empty)
        return 0, empty.column_names
    written = 0
    with opened(first[0].schema) as sink:
        for table, report in itertools.chain([first], batches):
            sink.write(table)
            written += table.num_rows
            advance(report.tree_entry_stop - report.tree_entry_start)
    return written, first[0].column_names


@contextlib.contextmanager
def _progress(tree: Any, start: int | None, stop: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; yields a function that takes entries."""
    if quiet or not sys.stderr.isatty():
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
