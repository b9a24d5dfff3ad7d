"""`sapwood bench`: how fast this machine and its stores are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

import typer

from ._options import Force, Json
from ._output import Column, print_json, print_table
from ._run import command

TEXTS = 3
"""So many columns of the table are texts."""

app = typer.Typer(help="How fast this machine, and what it reads and writes, are.", no_args_is_help=True)


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
            metavar="PLACE",
            help="none, sink (stripes that nobody keeps), OUT.root, OUT.pds, or where datasets are to be; "
            "may be repeated; by default none.",
        ),
    ] = None,
    chain: Annotated[
        str, typer.Option(metavar="read|full", help="What the chain does; by default both are measured.")
    ] = "read,full",
    lanes: Annotated[str, typer.Option(metavar="N,…", help="Batches that are worked on at once.")] = "1",
    threads: Annotated[
        str, typer.Option("--threads", "-j", metavar="N,…", help="Threads that the lanes share.")
    ] = "1",
    batch: Annotated[str, typer.Option(metavar="N,…", help="Events of a batch.")] = "144",
    target: Annotated[
        str, typer.Option(metavar="SIZE,…", help="Bytes of the objects of datasets, such as 128kB,512kB.")
    ] = "1MiB",
    groups: Annotated[
        str, typer.Option(metavar="yes|no", help="Whether small products share objects; or both: yes,no.")
    ] = "yes",
    entries: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Events that are taken at most.")
    ] = None,
    compression: Annotated[
        str | None, typer.Option(metavar="NAME:LEVEL", help="Of what is written; by default zstd:5.")
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="How often each point is run.")] = 1,
    page: Annotated[
        str | None, typer.Option("-o", metavar="OUT.html", help="A page with charts; OUT.json for JSON.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the processing chain: events per second, from a source to an output.

    \b
    sapwood bench chain nano.root:Events --output sink --lanes 1,2,4 --threads 1,2 -o chain.html

    read: read, decompress, deserialise; full: also serialise, compress, write. Every point is a process of
    its own. Datasets are written below PLACE, each at a place of its own, and stay there.
    """
    from ..options.outputs import REPORT, check_output
    from ..studies import chain as chains
    from ..studies.chain.page import COLUMNS, row
    from ..studies.chain.running import Chain

    if page is not None:
        check_output(page, REPORT, inputs=[source, output], overwrite=force)
    found = chains.measure(
        source,
        output or ["none"],
        chains=cast(Sequence[Chain], _of(chain, ("read", "full"))),
        batches=_numbers(batch),
        stripe_sizes=_texts(target),
        group=[text == "yes" for text in _of(groups, ("yes", "no"))],
        lanes=_numbers(lanes),
        threads=_numbers(threads),
        entries=entries,
        compression=compression,
        repeats=repeats,
        overwrite=force,
    )
    if page is not None:
        chains.save(found, page, overwrite=force)
    if as_json:
        print_json(found.to_dict())
    else:
        columns = [Column(name, right=i >= TEXTS) for i, name in enumerate(COLUMNS)]
        print_table(columns, [row(one) for one in found.measurements])
    if any(one.error for one in found.measurements):
        raise typer.Exit(1)


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    """Numbers from 1 on.

    >>> _numbers("1,2, 4")
    [1, 2, 4]
    """
    parts = _texts(text)
    if not parts or not all(part.isascii() and part.isdecimal() and int(part) for part in parts):
        raise typer.BadParameter(f"{text!r} is no list of numbers such as 1,2,4")
    return [int(part) for part in parts]


def _of(text: str, known: Sequence[str]) -> list[str]:
    """Words of a list."""
    parts = _texts(text)
    if not parts or not set(parts) <= set(known):
        raise typer.BadParameter(f"{text!r} is none of {', '.join(known)}")
    return parts
