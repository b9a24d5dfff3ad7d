"""`sapwood merge`: several files into one."""

from __future__ import annotations

import os
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

    _check_order(target, sources)
    written = output.write(
        target, write, sources, schema=schema.value, trees=only_tree or None, **layout.arguments()
    )
    if output.as_json:
        print_json(written)


def _check_order(target: str, sources: list[str]) -> None:
    """Refuses an output that comes last, as for other commands: --force would replace the first input."""
    from ..errors import UsageError
    from ..options.paths import is_glob, is_url

    last = sources[-1]
    if is_url(last) or is_glob(last) or os.path.exists(last):
        return
    if os.path.isfile(target) and ":" not in last:
        hint = f"the output comes first, as in 'sapwood merge {last} {target}'"
        raise UsageError(f"there is a file {target!r}, but no file {last!r}: {hint}", hint=hint)
