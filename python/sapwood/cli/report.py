"""`sapwood report`: reads columns, discards them, and reports the cost."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from ._options import Entries, Force, Reading, TreesAndColumns, entry_range
from ._output import print_json, print_text
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
    """Read columns, and report the cost: requests, bytes, waits, rates.

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
    read, wall, cpu = 0, time.perf_counter(), time.process_time()
    for found, start, stop in trees(sources, reading, entry_range(entries)):
        read_and_drop(found.tree, select(found, columns or None).leaf_branches, start, stop)
        files.append(found.file)
        read += stop - start
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    cost: Any = sum(file.report() for file in files)
    rates = {
        "entries": read,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "entries_per_second": read / wall,
        "fetched_bytes_per_second": cost.fetched_bytes / wall,
        "decompressed_bytes_per_cpu_second": cost.decompressed_bytes / max(cpu, 1e-9),
    }
    if svg is not None:
        cost.save(svg, overwrite=force)
    if reading.as_json:
        print_json({**json.loads(cost.to_json()), **rates})
        return
    print_text(str(cost))
    megabytes = (
        rates[name] / 1e6 for name in ("fetched_bytes_per_second", "decompressed_bytes_per_cpu_second")
    )
    print_text(
        f"  {read:,} entries in {wall:.3g} s ({cpu:.3g} s of CPU time): {read / wall:,.0f} entries/s\n"
        "  data rate: {:,.1f} MB/s fetched; {:,.1f} MB decompressed per CPU second".format(*megabytes)
    )
