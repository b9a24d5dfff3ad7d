"""`sapwood merge`: several files into one."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from ._output import print_json
from ._run import command
from ._writing import Layout, Output, Target, Trees


class Schema(str, Enum):
    """What to do where the branches of trees differ."""

    STRICT = "strict"
    INTERSECTION = "intersection"


@command
def merge(
    target: Target,
    sources: Annotated[list[str], typer.Argument(metavar="IN...", help="Files, URLs, globs or datasets.")],
    *,
    layout: Layout,
    schema: Annotated[
        Schema, typer.Option(help="Where branches differ: fail, or write only those that all files have.")
    ] = Schema.STRICT,
    only_tree: Trees = None,
    output: Output,
) -> None:
    """Write several files into one. Compression stays unchanged unless you set it.

    \b
    sapwood merge all.root part-*.root
    """
    from ..writing.repacking import merge as write

    written = output.write(
        target, write, sources, schema=schema.value, trees=only_tree or None, **layout.arguments()
    )
    if output.as_json:
        print_json(written)
