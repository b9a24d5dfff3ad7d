"""`sapwood trace`: records the reads of a job, and shows a recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ..display.units import counted
from ._options import Force, Json
from ._output import Column, complain, numbers, print_json, print_line, print_table
from ._run import command

PARTS = ("opening", "waiting", "decompressing", "decoding", "writing", "compressing", "other")
"""The parts of the time or the CPU time of a process, in the order in which they are shown."""


@command
def trace(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="The command to run, or 'show' and a recording."),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT.swt", help="The recording."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Record all reads and new files of a command, or show a recording.

    \b
    sapwood trace -o job.swt -- python analysis.py
    sapwood trace show job.swt

    A recording includes the reads of child processes.
    """
    from ..errors import UsageError

    if output is not None:
        raise typer.Exit(_run(arguments, output, force))
    if len(arguments) != 2 or arguments[0] != "show":
        raise UsageError("use 'sapwood trace -o FILE -- COMMAND' or 'sapwood trace show FILE'")
    _show(Path(arguments[1]), as_json)


def _run(arguments: list[str], output: str, force: bool) -> int:
    import subprocess

    from ..options.outputs import RECORDING, check_output
    from ..report.tracing import VARIABLE, recording_to

    place = Path(check_output(output, RECORDING, inputs=arguments, overwrite=force)).absolute()
    with recording_to(place, overwrite=force) as part:
        environment = os.environ | {VARIABLE: str(part)}
        code = subprocess.run(arguments, env=environment, check=False).returncode
        if part.stat().st_size == 0:
            complain(f"sapwood: {output} was not written: the command read nothing with sapwood")
    # For a process that was ended by a signal, the exit code is that of a shell.
    return code if code >= 0 else 128 - code


def _show(path: Path, as_json: bool) -> None:
    from ..report.tracing import summary

    recorded = summary(path)
    if as_json:
        print_json(recorded)
        return
    processes: list[dict[str, Any]] = recorded["processes"]
    for process in processes:
        print_line(
            f"{process['program'] or 'process'} ({process['process']}): {process['seconds']:.2f} s, "
            f"{process['waited']:.2f} s of them waiting; {counted(process['requests'], 'request')}, "
            f"{counted(process['bytes'], 'byte')}"
        )
        for what, shares in (("time", process["wall"]), ("CPU time", process["cpu"])):
            if shares and shares["seconds"]:
                print_line(f"  {what}: {_shares(shares)}")
    print_line()
    rows = [
        [
            file["url"],
            f"{file['opening']['requests'] + file['reading']['requests']:,}",
            f"{file['opening']['bytes'] + file['reading']['bytes']:,}",
            f"{file['reading']['failed']:,}",
            ", ".join(file["reading"]["bytes_by_server"]) or file["server"] or "-",
        ]
        for process in processes
        for file in process["files"]
    ]
    titles = [Column("file", last=1), *numbers("requests", "bytes", "failed")]
    print_table([*titles, Column("servers", last=1)], rows)
    print_line()
    rows = [
        [
            operation["kind"],
            operation["tree"],
            f"{len(operation['columns']):,}",
            _entries(operation["entries"]),
            f"{operation['baskets']:,}",
            f"{operation['bytes']:,}",
            f"{operation['seconds']:.3f}",
            f"{operation['waited']:.3f}",
        ]
        for process in processes
        for operation in process["operations"]
    ]
    titles = numbers("columns", "entries", "baskets", "bytes", "seconds", "waited")
    print_table([Column("read"), Column("tree"), *titles], rows)
    rows = [
        [write["url"], f"{write['entries']:,}", f"{write['size']:,}", f"{write['seconds']:.3f}"]
        for process in processes
        for write in process["writes"]
    ]
    if rows:
        print_line()
        print_table([Column("written", last=1), *numbers("entries", "bytes", "seconds")], rows)
    if recorded["unreadable_bytes"]:
        print_line()
        print_line(f"{counted(recorded['unreadable_bytes'], 'byte')} of the recording cannot be read")


def _shares(times: dict[str, float]) -> str:
    """The shares of a time, such as "12 % waiting, 88 % other"; those below 0.05 % are left out."""
    shares = {name: 100 * times.get(name, 0.0) / times["seconds"] for name in PARTS}
    return ", ".join(f"{share:.1f} % {name}" for name, share in shares.items() if share >= 0.05)


def _entries(ranges: list[list[int]]) -> str:
    return f"{min(a for a, _ in ranges)}:{max(b for _, b in ranges)}" if ranges else "-"
