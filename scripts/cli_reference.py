"""Writes docs/reference/command-line.md: the help of each command."""

from __future__ import annotations

import sys
from pathlib import Path

from typer.testing import CliRunner

from sapwood.cli._app import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command-line.md"


def help_of(*command: str) -> str:
    """The text of `sapwood COMMAND --help`."""
    result = CliRunner().invoke(app, [*command, "--help"], prog_name="sapwood", env={"COLUMNS": "100"})
    if result.exit_code:
        raise SystemExit(result.output)
    return f"```text\n{result.stdout.strip()}\n```\n"


def reference() -> str:
    """The whole page."""
    commands: list[tuple[str, ...]] = [
        (command.name or command.callback.__name__,)
        for command in app.registered_commands
        if command.callback
    ]
    for group in app.registered_groups:
        inside = group.typer_instance.registered_commands if group.typer_instance else []
        names = [one.name or one.callback.__name__ for one in inside if one.callback]
        commands += [(str(group.name),), *((str(group.name), name) for name in names)]
    sections = (f"## sapwood {' '.join(one)}\n\n{help_of(*one)}" for one in commands)
    parts = ["# Command line\n", help_of(), *sections]
    return "\n".join(parts)


def main() -> int:
    PAGE.write_text(reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
