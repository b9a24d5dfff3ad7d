"""`sapwood report`: reads columns, discards them, and reports the cost."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import Entries, Force, Reading, TreesAndColumns, entry_range
from ._output import print_text
from ._run import command
from ._several import trees, trees_and_columns


@command
def report(
    arguments: TreesAndColumns,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="OUT.svg", help="Also draw the requests over time.")
    ] = None,
    entries: Entries = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Read columns, and report the cost: requests, bytes, waits.

    \b
    sapwood report https://example.org/nano.root:Events Muon_pt Muon_eta --svg report.svg
    """
    from ..options.outputs import check_picture
    from ..query.reading import read_and_drop
    from ..query.select import select

    sources, columns = trees_and_columns(arguments)
    if svg is not None:
        check_picture(svg, [sources, reading.replica], force)
    files = []
    for found, start, stop in trees(sources, reading, entry_range(entries)):
        read_and_drop(found.tree, select(found, columns or None).leaf_branches, start, stop)
        files.append(found.file)
    cost = sum(file.report() for file in files)
    if svg is not None:
        cost.save(svg, overwrite=force)
    print_text(cost.to_json() if reading.as_json else str(cost))
