"""`sapwood layout`: a picture of the baskets of a tree, and of what a read touches."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ._options import Deadline, Entries, Force, Json, Replica, Threads, Tree, entry_range
from ._output import output_or_standard, print_json, print_line, print_text
from ._run import command


@command
def layout(
    source: Tree,
    output: Annotated[str, typer.Argument(metavar="OUT.svg", help="The picture; '-' for standard output.")],
    read: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,…", help="Read these branches, and show which baskets that touched."),
    ] = None,
    entries: Entries = None,
    force: Force = False,
    as_json: Json = False,
    replica: Replica = None,
    deadline: Deadline = None,
    threads: Threads = None,
) -> None:
    """Draw the baskets of a tree, and what a read touches.

    \b
    sapwood layout nano.root:Events nano.svg --read Muon_pt,Muon_eta --entries :50000

    Entries go downwards, branches across, each as wide as its bytes; one rectangle is one basket.
    """
    from ..options.outputs import SVG
    from ..options.whole_file import write_whole
    from ..report.layout import draw, layout_of
    from ._target import open_tree

    place = output_or_standard(output, SVG, [source, replica], force, as_json)
    start, stop = entry_range(entries)
    columns = [name.strip() for name in read.split(",") if name.strip()] if read else []
    with open_tree(source, deadline, threads, replica) as tree:
        picture = layout_of(tree, columns, start, stop)
    if place is None:
        print_text(draw(picture))
    else:
        write_whole(place, draw(picture), overwrite=force)
    if as_json:
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
        print_line(f"{output}: {picture.num_baskets:,} baskets of {len(picture.branches):,} branches")
