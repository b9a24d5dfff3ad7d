"""Writes docs/reference/command-line.md: what each command's --help says."""

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


def main() -> int:
    names = [command.callback.__name__ for command in app.registered_commands if command.callback]
    parts = ["# Command line\n", help_of(), *(f"## sapwood {name}\n\n{help_of(name)}" for name in names)]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
