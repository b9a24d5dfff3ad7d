"""`sapwood bench`: measures the speed of this machine and its stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from ._options import Connection, Force, Json
from ._output import Column, numbers, print_json, print_table
from ._run import command

TEXTS = 3
"""The number of text columns, which come first in the table."""

app = typer.Typer(
    help="Measure the speed of this machine and of the stores that it uses.", no_args_is_help=True
)


@app.command()
@command
def chain(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="FILE[:TREE] or a URL, a dataset of stripes, a flat file (.pds), or empty:1000.",
        ),
    ],
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            metavar="OUTPUT",
            help="none, sink (stripes that are discarded), OUT.root, OUT.pds, or a directory or bucket for "
            "datasets. Repeatable; by default none.",
        ),
    ] = None,
    chain: Annotated[
        str, typer.Option(metavar="read|full", help="The stages of the chain; by default both are measured.")
    ] = "read,full",
    lanes: Annotated[str, typer.Option(metavar="N,…", help="Batches that are processed at once.")] = "1",
    threads: Annotated[
        str, typer.Option("--threads", "-j", metavar="N,…", help="Threads that the lanes share.")
    ] = "1",
    batch: Annotated[str, typer.Option(metavar="N,…", help="Events per batch.")] = "144",
    stripe_size: Annotated[
        str, typer.Option(metavar="SIZE,…", help="Bytes per object of a dataset, such as 128kB,512kB.")
    ] = "1MiB",
    groups: Annotated[
        str,
        typer.Option(
            metavar="yes|no", help="Whether small products share objects: yes, no, or both (yes,no)."
        ),
    ] = "yes",
    most_entries: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The most events to process.")
    ] = None,
    compression: Annotated[
        str | None, typer.Option(metavar="NAME:LEVEL", help="Compression of the output; by default zstd:5.")
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each point.")] = 1,
    page: Annotated[
        str | None, typer.Option("-o", metavar="OUT.html", help="A page with charts, or OUT.json for JSON.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
    *,
    connection: Connection,
) -> None:
    """Measure the events per second of a processing chain.

    \b
    sapwood bench chain nano.root:Events --output sink --lanes 1,2,4 --threads 1,2 -o chain.html

    read: read, decompress, deserialize; full: also serialize, compress, write. Every run is a separate
    process. Each dataset gets its own directory below OUTPUT, and stays there.
    """
    from ..options.outputs import REPORT, check_output
    from ..options.paths import check_exists, split_object_path
    from ..studies import chain as chains
    from ..studies.chain.page import COLUMNS, row
    from ..studies.chain.running import EMPTY, Chain

    for name in () if connection.replica else source:
        if not name.startswith(EMPTY):
            check_exists(os.path.expanduser(split_object_path(name)[0]))
    if page is not None:
        check_output(page, REPORT, inputs=[source, connection.replica, output], overwrite=force)
    found = chains.measure(
        source,
        output or ["none"],
        chains=cast(Sequence[Chain], _of(chain, ("read", "full"))),
        batches=_numbers(batch),
        stripe_sizes=_texts(stripe_size),
        group=[text == "yes" for text in _of(groups, ("yes", "no"))],
        lanes=_numbers(lanes),
        threads=_numbers(threads),
        entries=most_entries,
        compression=compression,
        repeats=repeats,
        overwrite=force,
        **connection.open_options,
    )
    if page is not None:
        chains.save(found, page, overwrite=force)
    if as_json:
        print_json(found.to_dict())
    else:
        columns = [*map(Column, COLUMNS[:TEXTS]), *numbers(*COLUMNS[TEXTS:])]
        print_table(columns, [row(one) for one in found.measurements])
    if any(one.error for one in found.measurements):
        raise typer.Exit(1)


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    """A list of positive integers.

    >>> _numbers("1,2, 4")
    [1, 2, 4]
    """
    parts = _texts(text)
    if not parts or not all(part.isascii() and part.isdecimal() and int(part) for part in parts):
        raise typer.BadParameter(f"{text!r} is not a list of positive numbers such as 1,2,4")
    return [int(part) for part in parts]


def _of(text: str, known: Sequence[str]) -> list[str]:
    """A list of known words."""
    parts = _texts(text)
    if not parts or not set(parts) <= set(known):
        raise typer.BadParameter(f"{text!r} is not a list of {', '.join(known)}")
    return parts
