"""`sapwood merge`: several files into one."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from ._options import Deadline, Force, Json, Threads
from ._run import command
from ._writing import BasketSize, ClusterEntries, ClusterSize, Compression, Target, Trees, size, tell


class Schema(str, Enum):
    """What to do where the branches of trees differ."""

    STRICT = "strict"
    INTERSECTION = "intersection"


@command
def merge(
    target: Target,
    sources: Annotated[
        list[str], typer.Argument(metavar="IN...", help="Files, URLs or globs; also datasets.")
    ],
    compression: Compression = None,
    basket_size: BasketSize = None,
    cluster_size: ClusterSize = None,
    cluster_entries: ClusterEntries = None,
    schema: Annotated[
        Schema, typer.Option(help="Where branches differ: fail, or write those that all have.")
    ] = Schema.STRICT,
    only_tree: Trees = None,
    force: Force = False,
    as_json: Json = False,
    deadline: Deadline = None,
    threads: Threads = None,
) -> None:
    """Write several files into one. Compression stays as it is, unless another is asked for.

    \b
    sapwood merge all.root part-*.root
    """
    from ..writing.repacking import merge as write

    tell(
        target,
        as_json,
        lambda: write(
            sources,
            target,
            compression=compression,
            basket_size=size(basket_size),
            cluster_size=size(cluster_size),
            cluster_entries=cluster_entries,
            schema=schema.value,
            trees=only_tree or None,
            overwrite=force,
            deadline=deadline,
            threads=threads,
        ),
    )
