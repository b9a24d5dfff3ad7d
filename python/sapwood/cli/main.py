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

    app(prog_name="sapwood")
