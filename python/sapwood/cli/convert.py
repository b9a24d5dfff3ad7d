"""`sapwood convert`: a tree into another kind of file, in steps that fit in memory."""

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
from ..display.units import human_bytes
from ._options import Columns, Deadline, Entries, Filter, Force, Json, Replica, Threads, Tree, entry_range
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
            metavar="OUT", help="A .parquet, .feather, .arrow, .npz or .csv file; '-' for standard output."
        ),
    ],
    columns: Columns = None,
    filter_name: Filter = None,
    cut: Annotated[str | None, typer.Option(help="Only entries for which this expression is true.")] = None,
    entries: Entries = None,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="The format, if the extension does not say.")
    ] = None,
    step_size: Annotated[
        str, typer.Option(help="Memory (or number of entries) per step: a row group.")
    ] = "100 MB",
    force: Force = False,
    as_json: Json = False,
    replica: Replica = None,
    deadline: Deadline = None,
    threads: Threads = None,
) -> None:
    """Write a tree to parquet, feather, npz or csv, in bounded memory.

    \b
    sapwood convert nano.root:Events muons.parquet --filter 'Muon_*' --cut 'nMuon >= 2'

    The output appears when it is complete, or not at all.
    """
    from ..options.outputs import TABLES
    from ._target import open_tree
    from ._writers import format_of, standard_output, writer

    file_format = format_of(output, to)
    place = output_or_standard(output, TABLES[file_format], [source, replica], force, as_json)
    if place is None:
        opened = functools.partial(standard_output, file_format)
    else:
        opened = functools.partial(writer, place, file_format, overwrite=force)
    start, stop = entry_range(entries)
    began = time.monotonic()
    with open_tree(source, deadline, threads, replica) as tree:
        selection = {"filter_name": filter_name, "entry_start": start, "entry_stop": stop, "library": "arrow"}
        step = int(step_size) if step_size.isdigit() else step_size
        batches = tree.iterate(columns or None, cut, step_size=step, report=True, **selection)
        with _progress(tree, start, stop, quiet=as_json) as advance:
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
    if as_json:
        print_json(document)
    elif place is not None and sys.stdout.isatty():
        size, seconds = human_bytes(document["bytes"]), document["seconds"]
        print_line(f"{output}: {written:,} entries, {len(names)} columns, {size} in {seconds:.1f} s")


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
        # No entries: the columns have their types all the same.
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
    """A bar with speed and time left on standard error, if that is a terminal; takes entries."""
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
