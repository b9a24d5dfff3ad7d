"""`sapwood layout`: a picture of the baskets of a tree, and of those that a read touches."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..display.units import counted
from ._options import Entries, Force, Reading, Tree, entry_range
from ._output import output_or_standard, print_json, print_line, print_text
from ._run import command


@command
def layout(
    source: Tree,
    output: Annotated[
        str, typer.Argument(metavar="OUT.svg", help="The picture, or '-' for standard output.")
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

    Entries run downwards and branches across. Each rectangle is a basket; the width of a branch is its bytes.
    """
    from ..options.outputs import SVG
    from ..options.whole_file import write_whole
    from ..report.layout import draw, layout_of
    from ._target import open_tree

    place = output_or_standard(output, SVG, [source, reading.replica], force, reading.as_json)
    start, stop = entry_range(entries)
    columns = [name.strip() for name in read.split(",") if name.strip()] if read else []
    with open_tree(source, reading) as tree:
        picture = layout_of(tree, columns, start, stop)
    if place is None:
        print_text(draw(picture))
    else:
        write_whole(place, draw(picture), overwrite=force)
    if reading.as_json:
        print_json(
            {
                "file": tree.file.file_path,
                "tree": tree.object_path,
                "output": output,
                "branches": len(picture.branches),
                "baskets": picture.num_baskets,
                "read": sorted(picture.wanted),
                "baskets_read": picture.num_read,
                "bytes_fetched": sum(nbytes for _, nbytes in picture.fetched),
            }
        )
    elif place is not None and sys.stdout.isatty():
        branches = counted(len(picture.branches), "branch", "branches")
        print_line(f"{output}: {counted(picture.num_baskets, 'basket')} of {branches}")
