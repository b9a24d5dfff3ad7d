"""`sapwood trace`: records what a job reads, and shows what was recorded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import Force, Json
from ._output import Column, complain, print_json, print_line, print_table
from ._run import command


@command
def trace(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="The command to run; or 'show' and a recording."),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT.swt", help="The recording."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run a command, and record all that it and the processes it starts read; or show a recording.

    \b
    sapwood trace -o job.swt -- python analysis.py
    sapwood trace show job.swt
    """
    from ..errors import UsageError

    if output is not None:
        raise typer.Exit(_run(arguments, output, force))
    if len(arguments) != 2 or arguments[0] != "show":
        raise UsageError("either 'sapwood trace -o FILE -- COMMAND' or 'sapwood trace show FILE'")
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
            complain(f"sapwood: {output} is not written: the command read nothing with sapwood")
    # As a shell tells of a process that a signal ended.
    return code if code >= 0 else 128 - code


def _show(path: Path, as_json: bool) -> None:
    from ..report.tracing import summary

    told = summary(path)
    if as_json:
        print_json(told)
        return
    processes: list[dict[str, Any]] = told["processes"]
    for process in processes:
        print_line(
            f"{process['program'] or 'process'} ({process['process']}): {process['seconds']:.2f} s, of which "
            f"{process['waited']:.2f} s waited; {process['requests']:,} requests, {process['bytes']:,} bytes"
        )
    print_line()
    files = [(process, file) for process in processes for file in process["files"]]
    rows = [
        [
            file["url"],
            f"{file['opening']['requests'] + file['reading']['requests']:,}",
            f"{file['opening']['bytes'] + file['reading']['bytes']:,}",
            f"{file['reading']['failed']:,}",
            ", ".join(file["reading"]["bytes_by_server"]) or file["server"] or "-",
        ]
        for _, file in files
    ]
    titles = [Column("requests", right=True), Column("bytes", right=True), Column("failed", right=True)]
    print_table([Column("file", breaks=True), *titles, Column("servers", breaks=True)], rows)
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
    names = ["columns", "entries", "baskets", "bytes", "seconds", "waited"]
    print_table([Column("read"), Column("tree"), *(Column(name, right=True) for name in names)], rows)
    if told["unreadable_bytes"]:
        print_line()
        print_line(f"{told['unreadable_bytes']:,} bytes at the end or in between cannot be read")


def _entries(ranges: list[list[int]]) -> str:
    return f"{min(a for a, _ in ranges)}:{max(b for _, b in ranges)}" if ranges else "-"
