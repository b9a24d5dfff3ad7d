"""`sapwood doctor`: tries the steps of opening a file, to show which one fails."""

from __future__ import annotations

from typing import Any

import typer

from ._options import Access, Files
from ._output import Column, print_line, print_table
from ._run import EXIT_CODES, FAILED, command
from ._several import for_each

LONGEST = 10.0
"""Seconds that each step may take, unless you give a deadline."""

_SIGNS = {"passed": "ok", "noted": "note", "failed": "FAILED", "skipped": "-"}


@command
def doctor(
    sources: Files,
    *,
    access: Access,
) -> None:
    """Try each step of opening a file, to find the one that fails.

    \b
    sapwood doctor https://example.org/nano.root

    The steps are server, connection, TLS, credentials and bytes. It prints the source of credentials, but
    never the credentials themselves. It reads only the metadata of the file; 'sapwood verify' checks every
    byte. Without --deadline, each step may take 10 seconds.
    """
    from .._core import __version__

    failures: list[dict[str, Any]] = []
    if not access.as_json:
        print_line(f"sapwood {__version__}")

    def diagnosed(source: str) -> dict[str, Any]:
        steps = _steps(source, access)
        failure = next((step["error"] for step in steps if step["error"] is not None), None)
        if failure is not None:
            failures.append(failure)
        if not access.as_json:
            _print(steps)
            if failure is None and steps[-1]["name"] == "ROOT file":
                print_line("Only the metadata was read; to check every byte, use 'sapwood verify FILE'.")
        return {"version": __version__, "ok": failure is None, "steps": steps}

    for_each(sources, access, diagnosed)
    if failures:
        raise typer.Exit(EXIT_CODES.get(failures[0]["code"], FAILED))


def _steps(source: str, access: Access) -> list[dict[str, Any]]:
    from .. import _core
    from ..errors.core import core_errors, translated
    from ..options.paths import CATALOGUED, split_object_path
    from ._run import describe

    settings = access.settings
    file, _ = split_object_path(source)
    if file.startswith(CATALOGUED):
        from ..opening.catalogued import catalogued

        file, _ = catalogued(file)
    given = settings.for_core(settings.replicas_of(file))
    with core_errors():
        steps = _core.diagnose(file, longest=settings.deadline or LONGEST, options=given)
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
        Column("details", last=1),
    ]
    print_table(columns, rows)
