"""Translates errors of the compiled core into the exceptions of :mod:`sapwood.errors`."""

from __future__ import annotations

import errno
import os
from types import TracebackType

from .. import _core, errors
from .log import SourceEvent


class core_errors:
    """A context manager that raises errors of the core as exceptions of :mod:`sapwood.errors`."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, _core.CoreError):
            raise translated(error) from None


def translated(error: _core.CoreError) -> errors.SapwoodError:
    """The public exception for an error of the core."""
    code, message, url, offset, branch, hint, *log = error.args
    kind = errors.by_code().get(code, errors.SapwoodError)
    exception = kind(message, url=url, offset=offset, branch=branch, hint=hint)
    exception.add_log(SourceEvent(*event) for event in (log[0] if log else ()))
    if isinstance(exception, (errors.FileNotFoundError, errors.PermissionError)):
        number = errno.ENOENT if isinstance(exception, errors.FileNotFoundError) else errno.EACCES
        exception.errno, exception.strerror, exception.filename = number, os.strerror(number), url
    return exception
