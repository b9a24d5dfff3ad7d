"""`sapwood layout`: a picture of the baskets of a tree, and of those that a read touches."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..display.units import counted
from ._options import Entries, Files, Force, Reading, entry_range
from ._output import output_or_standard, print_line, print_text
from ._run import command
from ._several import for_each_output


@command
def layout(
    sources: Files,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT.svg",
            help="The picture, '-' for standard output, or a directory, for a picture of each file.",
        ),
    ],
    read: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,…", help="Read these branches, and mark the baskets that were read."),
    ] = None,
    entries: Entries = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Draw the baskets of a tree, and mark those that a read touches.

    \b
    sapwood layout nano.root:Events nano.svg --read Muon_pt,Muon_eta --entries :50000

    Entries run downwards and branches across. Each rectangle is a basket, or a page of an RNTuple; the width
    of a branch is its bytes.
    """
    columns = [name.strip() for name in read.split(",") if name.strip()] if read else []

    def draw_one(source: str, place: str) -> dict[str, Any]:
        return _draw(source, place, columns, entry_range(entries), force, reading)

    for_each_output(sources, output, reading, ".svg", draw_one)


def _draw(
    source: str,
    output: str,
    columns: list[str],
    entries: tuple[int | None, int | None],
    force: bool,
    reading: Reading,
) -> dict[str, Any]:
    """Draws one tree; returns what was drawn."""
    from ..options.outputs import SVG
    from ..options.whole_file import write_whole
    from ..report.layout import draw, layout_of
    from ._target import open_tree

    place = output_or_standard(output, SVG, [source, reading.replica], force, reading.as_json)
    with open_tree(source, reading, "--read") as tree:
        picture = layout_of(tree, columns, *entries)
    if place is None:
        print_text(draw(picture))
    else:
        write_whole(place, draw(picture), overwrite=force)
    if not reading.as_json and place is not None and sys.stdout.isatty():
        drawn = picture.counted_columns(len(picture.branches))
        print_line(f"{output}: {counted(picture.num_baskets, picture.piece)} of {drawn}")
    return {
        "file": tree.file.file_path,
        "tree": tree.object_path,
        "output": output,
        "branches": len(picture.branches),
        "baskets": picture.num_baskets,
        "read": sorted(picture.wanted),
        "baskets_read": picture.num_read,
        "bytes_fetched": sum(nbytes for _, nbytes in picture.fetched),
    }
