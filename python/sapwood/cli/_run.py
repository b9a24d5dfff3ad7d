"""The frame around every command: a failure becomes one line on standard error and an exit code."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import typer

from ._groups import ungrouped
from ._output import complain, print_line

FAILED, USAGE, NOT_FOUND, UNREADABLE, UNREACHABLE = 1, 2, 3, 4, 5

EXIT_CODES = {
    "usage": USAGE,
    "not-found": NOT_FOUND,
    "missing": NOT_FOUND,
    "not-root": UNREADABLE,
    "corrupt": UNREADABLE,
    "truncated": UNREADABLE,
    "checksum": UNREADABLE,
    "changed": UNREADABLE,
    "unsupported": UNREADABLE,
    "timeout": UNREACHABLE,
    "network": UNREACHABLE,
    "server": UNREACHABLE,
}
"""The exit code for the ``code`` of an exception; any other is 1."""

_FILTER = re.compile(r"\bfilter_name=(?=')")
"""An argument in Python for which messages have the option of the command line."""


def command(function: Callable[..., None], trouble: int | None = None) -> Callable[..., None]:
    """Makes a function a command: an exception of sapwood is printed in one line, without a traceback.

    ``trouble`` is the exit code for all exceptions of a command whose own codes have another meaning.
    """
    flat = ungrouped(function)

    @functools.wraps(flat)
    def run(**options: Any) -> None:
        try:
            with _warnings_in_one_line():
                flat(**options)
        except BrokenPipeError:
            raise
        except Exception as error:
            code = exit_code(error)
            if code is None:
                raise
            if options.get("as_json"):
                print_line(json.dumps({"error": describe(error)}))
            complain(f"sapwood: {_FILTER.sub('--filter ', str(error))}")
            for line in _log(error):
                complain(f"  {line}")
            raise typer.Exit(trouble or code) from None

    return run


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Prints warnings about skipped branches and unused profiles in one line, without a source location."""
    from ..errors import BranchSkippedWarning, ProfileWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", BranchSkippedWarning)
        warnings.simplefilter("always", ProfileWarning)
        warnings.showwarning = lambda message, *_: complain(f"sapwood: {message}")
        yield


@contextlib.contextmanager
def listening(place: str, option: str) -> Iterator[None]:
    """Says which address a server cannot have, and which option names another one."""
    from ..errors import SapwoodError, UsageError

    try:
        yield
    except OSError as error:
        if isinstance(error, SapwoodError):
            raise
        hint = f"choose another address with {option}"
        raise UsageError(f"cannot listen at {place}: {error.strerror or error}; {hint}", hint=hint) from None


def wait_for_interrupt() -> None:
    """Lets the servers of this process work until Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
    print_line("stopped")


def exit_code(error: Exception) -> int | None:
    """The exit code for a failure, or None if the failure is a bug in sapwood."""
    from ..errors import SapwoodError

    if isinstance(error, SapwoodError):
        return EXIT_CODES.get(error.code, FAILED)
    # Unwritable files, and libraries that are not installed.
    return FAILED if isinstance(error, (OSError, ImportError)) else None


def describe(error: Exception) -> dict[str, Any]:
    """A failure as JSON."""
    names = ("code", "url", "offset", "branch", "hint")
    document = {"message": str(error)} | {name: getattr(error, name, None) for name in names}
    document |= {name: getattr(error, name) for name in ("expression", "column") if hasattr(error, name)}
    log = getattr(error, "log", ())
    return document | ({"log": [event.to_dict() for event in log]} if log else {})


def _log(error: Exception) -> list[str]:
    from ..errors.log import log_lines

    return log_lines(getattr(error, "log", ()))
