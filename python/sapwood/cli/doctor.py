"""`sapwood doctor`: tries the steps of opening a file, to show which one fails."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ._options import Json
from ._output import Column, print_json, print_line, print_table
from ._run import EXIT_CODES, FAILED, command

_SIGNS = {"passed": "ok", "noted": "note", "failed": "FAILED", "skipped": "-"}


@command
def doctor(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, URL or dataset.")],
    as_json: Json = False,
    longest: Annotated[
        float, typer.Option("--deadline", metavar="SECONDS", min=0.1, help="The time limit of each step.")
    ] = 10.0,
) -> None:
    """Try each step of opening a file, to find the one that fails.

    \b
    sapwood doctor https://example.org/nano.root

    The steps are server, connection, TLS, credentials and bytes. It prints the source of credentials, but
    never the credentials themselves. It reads only the metadata of the file; 'sapwood verify' checks every
    byte.
    """
    steps = _steps(source, longest)
    failure = next((step["error"] for step in steps if step["error"] is not None), None)
    if as_json:
        print_json({"ok": failure is None, "steps": steps})
    else:
        _print(steps)
        if failure is None and steps[-1]["name"] == "ROOT file":
            print_line("Only the metadata was read; to check every byte, use 'sapwood verify FILE'.")
    if failure is not None:
        raise typer.Exit(EXIT_CODES.get(failure["code"], FAILED))


def _steps(source: str, longest: float) -> list[dict[str, Any]]:
    from .. import _core
    from ..errors.core import core_errors, translated
    from ..options.paths import CATALOGUED, split_object_path
    from ._run import describe

    file, _ = split_object_path(source)
    if file.startswith(CATALOGUED):
        from ..opening.catalogued import catalogued

        file, _ = catalogued(file)
    with core_errors():
        steps = _core.diagnose(file, longest=longest)
    for step in steps:
        error = step["error"]
        if error is not None:
            known = translated(error)
            step["error"] = {"code": known.code, **describe(known)}
    return steps


def _print(steps: list[dict[str, Any]]) -> None:
    rows = []
    for step in steps:
        time = "" if step["outcome"] == "skipped" else f"{step['seconds'] * 1000:.1f} ms"
        rows.append([step["name"], _SIGNS[step["outcome"]], time, step["detail"]])
        rows += [["", "", "", f"  {name}: {value}"] for name, value in step["facts"].items()]
    columns = [
        Column("step", style="bold"),
        Column("result"),
        Column("time", right=True),
        Column("details", last=True),
    ]
    print_table(columns, rows)
