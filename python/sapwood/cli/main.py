"""The entry point `sapwood`, as installed with the package."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Runs the command line, and exits with its code."""
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"sapwood: the command line needs {' and '.join(missing)}: pip install 'sapwood[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    from ._app import app

    try:
        app(prog_name="sapwood")
    except Exception as mistake:
        _show(mistake)
        sys.exit(1)


def _show(mistake: Exception) -> None:
    """Prints the traceback of a mistake in sapwood itself, whose message may quote names from a file."""
    import traceback

    from ..display.printable import printable_lines

    print(printable_lines("".join(traceback.format_exception(mistake))), end="", file=sys.stderr)
