"""Translates errors of the compiled core into the exceptions of :mod:`sapwood.errors`."""

from __future__ import annotations

import errno
import os
import re
from types import TracebackType

from .. import _core, errors
from ..display.printable import printable
from .log import SourceEvent

_PLACES = frozenset({"url", "path", "name", "source", "target", "place"})
"""Arguments of the core that name files or what is in them. Others may be secret."""


class core_errors:
    """A context manager that raises errors of the core as exceptions of :mod:`sapwood.errors`."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        _: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, _core.CoreError):
            raise translated(error) from None
        if isinstance(error, UnicodeEncodeError):
            if (name := _refused_argument(error)) in _PLACES:
                raise invalid_text(error.object) from None
            raise errors.UsageError(f"{name or 'an argument'} is not valid text (UTF-8)") from None
        if isinstance(error, (TypeError, OverflowError)) and (name := _refused_argument(error)):
            kind = errors.ArgumentTypeError if isinstance(error, TypeError) else errors.UsageError
            raise kind(f"{name!r} is wrong: {error}") from None


def _refused_argument(error: Exception) -> str | None:
    """The argument that the core could not convert; None for all other errors, such as those of callbacks."""
    # A note since Python 3.11, the beginning of the message before.
    texts = [*getattr(error, "__notes__", ()), str(error)]
    found = (re.match(r"(?:while processing|argument) '(\w+)'", text) for text in texts)
    return next((match[1] for match in found if match), None)


def invalid_text(text: str) -> errors.UsageError:
    """The error for a name of bytes that are not UTF-8: Python has surrogates in their place."""
    shown = _core.redact(printable(text))
    hint = "rename the file, or correct the name"
    return errors.UsageError(f"'{shown}' is not valid text (UTF-8): {hint}", url=shown, hint=hint)


def translated(error: _core.CoreError) -> errors.SapwoodError:
    """The public exception for an error of the core."""
    code, message, url, offset, branch, hint, *log = error.args
    kind = errors.by_code().get(code, errors.SapwoodError)
    exception = kind(message, url=url, offset=offset, branch=branch)
    exception.hint = hint  # which the message has, with escapes
    exception.add_log(SourceEvent(*event) for event in (log[0] if log else ()))
    if isinstance(exception, (errors.FileNotFoundError, errors.PermissionError)):
        number = errno.ENOENT if isinstance(exception, errors.FileNotFoundError) else errno.EACCES
        exception.errno, exception.strerror, exception.filename = number, os.strerror(number), url
    return exception
