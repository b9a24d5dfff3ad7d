"""The exceptions of sapwood.

.. code-block:: text

    SapwoodError
    ├── FileNotFoundError     not-found    also the builtin FileNotFoundError
    ├── PermissionError       permission   also the builtin PermissionError
    ├── UsageError            usage        also ValueError
    │   ├── ArgumentTypeError usage        also TypeError
    │   └── ExpressionError   usage        also SyntaxError; has the expression and the column
    ├── KeyInFileError        missing      also KeyError; suggests similar keys
    ├── UnsupportedTypeError  unsupported  also NotImplementedError; names the C++ type
    ├── CorruptFileError      corrupt      also OSError and ValueError
    │   ├── NotRootError      not-root
    │   ├── TruncatedError    truncated
    │   └── ChecksumError     checksum
    ├── FileChangedError      changed      also OSError
    ├── ReadError             io           also OSError
    ├── ServerError           server       also OSError
    ├── NetworkError          network      also ConnectionError (an OSError)
    ├── DeadlineError         timeout      also TimeoutError (an OSError)
    ├── MemoryLimitError      limit        also MemoryError
    ├── ClosedFileError       closed       also OSError and ValueError
    ├── CancelledError        cancelled
    ├── ConflictError         conflict
    └── CommitUnknownError    commit-unknown

The word in the second column is the exception's ``code``. It never changes, so programs may rely on it.
"""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable
from typing import ClassVar

from ..display.printable import printable, shows_printable
from .log import SourceEvent, log_lines

__all__ = [
    "ArgumentTypeError",
    "BranchSkippedWarning",
    "CancelledError",
    "ChecksumError",
    "ClosedFileError",
    "CommitUnknownError",
    "ConflictError",
    "CorruptFileError",
    "DeadlineError",
    "ExpressionError",
    "FileChangedError",
    "FileNotFoundError",
    "FileSkippedWarning",
    "KeyInFileError",
    "MemberSkippedWarning",
    "MemoryLimitError",
    "NetworkError",
    "NotRootError",
    "PermissionError",
    "ProfileWarning",
    "ReadError",
    "SapwoodError",
    "SapwoodWarning",
    "ServerError",
    "TruncatedError",
    "UnsupportedTypeError",
    "UsageError",
    "by_code",
]


class SapwoodError(Exception):
    r"""The base class of all exceptions that sapwood raises.

    ``str()`` is a sentence that says what failed, where, and what to do. Control characters and invisible
    characters in it are escaped, such as ``\x1b``. For programs, its parts are attributes, with names
    unescaped:

    - ``code``: a stable word for the kind of failure;
    - ``url``: the file, without passwords, tokens and query values, or None;
    - ``offset``: the byte offset in the file, or None;
    - ``branch``: the path of the branch, or None;
    - ``hint``: how to resolve the error, also part of the sentence, or None;
    - ``log``: the earlier events at the file's sources, a tuple of :class:`~sapwood.report.SourceEvent`;
      empty if there were none. Python prints it below the traceback, too.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        url: str | None = None,
        offset: int | None = None,
        branch: str | None = None,
        hint: str | None = None,
    ) -> None:
        if hint is not None and hint not in message:
            message = f"{message}; {hint}"
        super().__init__(message)
        self.message = message
        self.url = url
        self.offset = offset
        self.branch = branch
        self.hint = hint
        self.log: tuple[SourceEvent, ...] = ()

    @property
    def story(self) -> tuple[SourceEvent, ...]:
        """The former name of ``log``."""
        return self.log

    @story.setter
    def story(self, log: tuple[SourceEvent, ...]) -> None:
        self.log = log

    def add_log(self, log: Iterable[SourceEvent]) -> None:
        """Adds the earlier events at the sources, also as a note below the traceback."""
        self.log = tuple(log)
        if self.log:
            lines = "\n  ".join(["Events at the sources:", *log_lines(self.log)])
            self.__notes__ = [*getattr(self, "__notes__", ()), lines]

    @shows_printable
    def __str__(self) -> str:
        return self.message


class FileNotFoundError(SapwoodError, builtins.FileNotFoundError):
    """The file or object does not exist."""

    code = "not-found"


class PermissionError(SapwoodError, builtins.PermissionError):
    """The file or object exists, but these credentials do not allow reading it."""

    code = "permission"


class UsageError(SapwoodError, ValueError):
    """An argument is invalid."""

    code = "usage"


class ArgumentTypeError(UsageError, TypeError):
    """An argument has the wrong type, or an option with this name does not exist."""


class ExpressionError(UsageError, SyntaxError):
    """An expression, cut, alias or regular expression is malformed, or cannot be computed.

    ``expression`` is its text. ``column`` is the position of the mistake in it, counted in characters from 1,
    or None if there is no single position.
    """

    def __init__(
        self,
        message: str,
        *,
        expression: str = "",
        column: int | None = None,
        url: str | None = None,
        offset: int | None = None,
        branch: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, url=url, offset=offset, branch=branch, hint=hint)
        # Python's tracebacks show this attribute of a SyntaxError instead of str().
        self.msg = printable(self.message)
        self.expression = expression
        self.column = column


class KeyInFileError(SapwoodError, KeyError):
    """The file has no such key, or the tree has no such branch.

    ``key`` is the name that was looked up, and ``keys`` is a list of the most similar names that exist, the
    best first.
    """

    code = "missing"

    def __init__(
        self,
        message: str,
        *,
        key: str = "",
        keys: Iterable[str] = (),
        url: str | None = None,
        offset: int | None = None,
        branch: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, url=url, offset=offset, branch=branch, hint=hint)
        self.key = key
        self.keys = list(keys)

    @classmethod
    def not_found(cls, what: str, key: str, existing: Iterable[str], place: str) -> KeyInFileError:
        """The error for a ``what`` (key, branch, …) named ``key`` that ``place`` does not have."""
        names = list(dict.fromkeys(existing))
        near = nearest(key, names)
        message = f"no {what} {key!r} in {place}"
        if near:
            message += f"; {did_you_mean(near)}"
        elif names:
            rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
            message += f"; available: {', '.join(map(repr, names[:5]))}{rest}"
        else:
            message += ", which is empty"
        return cls(message, key=key, keys=near, url=place)


class UnsupportedTypeError(SapwoodError, NotImplementedError):
    """The file is valid, but sapwood cannot read this part of it. ``typename`` is the C++ type, or None."""

    code = "unsupported"
    typename: str | None = None


class CorruptFileError(SapwoodError, OSError, ValueError):
    """The bytes violate the file format."""

    code = "corrupt"


class NotRootError(CorruptFileError):
    """The bytes are not a ROOT file."""

    code = "not-root"


class TruncatedError(CorruptFileError):
    """The file is shorter than its own headers say."""

    code = "truncated"


class ChecksumError(CorruptFileError):
    """A checksum in the file does not match its data."""

    code = "checksum"


class FileChangedError(SapwoodError, OSError):
    """The file changed while it was being read."""

    code = "changed"


class ReadError(SapwoodError, OSError):
    """The operating system, or a Python file object, failed to read."""

    code = "io"


class ServerError(SapwoodError, OSError):
    """The server answered with an error, or violated its protocol."""

    code = "server"


class NetworkError(SapwoodError, ConnectionError):
    """The connection failed."""

    code = "network"


class DeadlineError(SapwoodError, TimeoutError):
    """The deadline passed."""

    code = "timeout"


class MemoryLimitError(SapwoodError, MemoryError):
    """The request would need more memory than allowed."""

    code = "limit"


class ClosedFileError(SapwoodError, OSError, ValueError):
    """The file was closed."""

    code = "closed"


class CancelledError(SapwoodError):
    """The read was interrupted."""

    code = "cancelled"


class ConflictError(SapwoodError):
    """Another writer changed the same part of a dataset first. Your change was not made."""

    code = "conflict"


class CommitUnknownError(SapwoodError):
    """Whether a change to a dataset was made is unknown: its answer and that of the retry were lost.

    Nothing was deleted. To find out, run the same job again: each job makes its change only once.
    """

    code = "commit-unknown"


class SapwoodWarning(UserWarning):
    """The base class of sapwood's warnings. ``str()`` escapes control characters and invisible characters."""

    @shows_printable
    def __str__(self) -> str:
        return super().__str__()


class BranchSkippedWarning(SapwoodWarning):
    """A result lacks branches that cannot be read; you did not ask for them by name."""


class MemberSkippedWarning(SapwoodWarning):
    """An object lacks members that cannot be read, and has no attribute ``skipped`` to list them."""


class FileSkippedWarning(SapwoodWarning):
    """A loop with ``on_error="skip"`` skipped a file or the rest of it; its report counts what was lost."""


class ProfileWarning(SapwoodWarning):
    """The profile of an analysis could not be read or saved; reading continues without it."""


_BY_CODE: dict[str, type[SapwoodError]] = {
    cls.code: cls
    for cls in (
        FileNotFoundError,
        PermissionError,
        UsageError,
        KeyInFileError,
        UnsupportedTypeError,
        CorruptFileError,
        NotRootError,
        TruncatedError,
        ChecksumError,
        FileChangedError,
        ReadError,
        ServerError,
        NetworkError,
        DeadlineError,
        MemoryLimitError,
        ClosedFileError,
        CancelledError,
        ConflictError,
        CommitUnknownError,
    )
}


def by_code() -> dict[str, type[SapwoodError]]:
    """A new dict of the exception class for each code."""
    return dict(_BY_CODE)


def nearest(name: str, existing: Iterable[str], count: int = 5, cutoff: float = 0.5) -> list[str]:
    """The names most similar to ``name``, best first; letter case is ignored.

    >>> nearest("muon_pt", ["Muon_pt", "Muon_eta", "run"])
    ['Muon_pt', 'Muon_eta']
    """
    folded: dict[str, list[str]] = {}
    for candidate in existing:
        folded.setdefault(candidate.casefold(), []).append(candidate)
    close = difflib.get_close_matches(name.casefold(), folded, n=count, cutoff=cutoff)
    return [candidate for key in close for candidate in folded[key]][:count]


def did_you_mean(names: Iterable[str]) -> str:
    """The end of an error message that suggests names.

    >>> did_you_mean(["Events"]), did_you_mean(["Events", "Events2", "Event"])
    ("did you mean 'Events'?", "did you mean 'Events', 'Events2' or 'Event'?")
    """
    *first, last = map(repr, names)
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
