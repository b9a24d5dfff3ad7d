"""The entry point `sapwood`, as installed with the package."""

from __future__ import annotations

import importlib.util
import sys
from types import TracebackType


def main() -> None:
    """Runs the command line, and exits with its code."""
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"sapwood: the command line needs {' and '.join(missing)}: pip install 'sapwood[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    # Before Typer is imported, which keeps this hook and calls it.
    sys.excepthook = _show_mistake
    from ._app import app

    app(prog_name="sapwood")


def _show_mistake(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints the traceback of a mistake in sapwood itself. Its message may quote names from a file, too."""
    import traceback

    from .._printable import printable_lines

    print(printable_lines("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)
