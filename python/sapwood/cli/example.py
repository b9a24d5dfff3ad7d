"""`sapwood example`: writes a file to try things on."""

from __future__ import annotations

from typing import Annotated

import typer

from ..display.units import counted
from ._options import Force
from ._output import print_line
from ._run import command


@command
def example(
    target: Annotated[str, typer.Argument(metavar="OUT.root", help="The file to write.")] = "nano.root",
    events: Annotated[
        int, typer.Option("--events", "-n", metavar="N", min=0, help="How many events.")
    ] = 50_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random numbers.")] = 1,
    force: Force = False,
) -> None:
    """Write an example like CMS's NanoAOD, with made-up collisions.

    \b
    sapwood example nano.root
    sapwood head nano.root:Events -n 5 Muon_pt Muon_charge
    """
    from ..options.outputs import ROOT, check_output
    from ..writing.example import example

    target = check_output(target, ROOT, inputs=[], overwrite=force)
    example(target, events=events, seed=seed, overwrite=force)
    print_line(f"{target}: {counted(events, 'event')} in the tree Events")
