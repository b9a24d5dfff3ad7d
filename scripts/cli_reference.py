"""Writes docs/reference/command-line.md: the help of each command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from typer.main import get_command
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
    group: Any = get_command(app)
    commands: list[tuple[str, ...]] = []
    for name, one in group.commands.items():
        commands += [(name,), *((name, inside) for inside in getattr(one, "commands", ()))]
    sections = (f"## sapwood {' '.join(one)}\n\n{help_of(*one)}" for one in commands)
    parts = ["# Command line\n", help_of(), *sections]
    return "\n".join(parts)


def main() -> int:
    PAGE.write_text(reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
