"""The exceptions of sapwood.

.. code-block:: text

    SapwoodError
    ├── FileNotFoundError     not-found    also the builtin FileNotFoundError
    ├── PermissionError       permission   also the builtin PermissionError
    ├── UsageError            usage        also ValueError
    ├── KeyInFileError        missing      also KeyError; names the nearest keys
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

The word in the middle is the exception's ``code``: it never changes, programs may rely on it.
"""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Sequence
from typing import ClassVar

from ..display.printable import shows_printable
from .log import SourceEvent, log_lines

__all__ = [
    "BranchSkippedWarning",
    "CancelledError",
    "ChecksumError",
    "ClosedFileError",
    "CommitUnknownError",
    "ConflictError",
    "CorruptFileError",
    "DeadlineError",
    "FileChangedError",
    "FileNotFoundError",
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
    """Whatever sapwood raises.

    ``str()`` is a sentence that names the place, with control characters and invisible characters of names
    written out, such as ``\x1b``. The parts of it are attributes for programs, with names as they are:

    - ``code``: a stable word for the kind of failure;
    - ``url``: the file, without passwords, tokens and query values, or None;
    - ``offset``: the byte offset in the file, or None;
    - ``branch``: the branch, or None;
    - ``hint``: what to do about it, or None;
    - ``log``: what happened at the sources of the file before, as :class:`~sapwood.report.SourceEvent`;
      empty if nothing did. It stands below the traceback, too.
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
        super().__init__(message)
        self.message = message
        self.url = url
        self.offset = offset
        self.branch = branch
        self.hint = hint
        self.log: tuple[SourceEvent, ...] = ()

    @property
    def story(self) -> tuple[SourceEvent, ...]:
        """The same as ``log``, by the name that it had before."""
        return self.log

    @story.setter
    def story(self, log: tuple[SourceEvent, ...]) -> None:
        self.log = log

    def tell(self, log: Iterable[SourceEvent]) -> None:
        """Adds what happened at the sources before, also as a note."""
        self.log = tuple(log)
        if self.log:
            lines = "\n  ".join(["What happened at the sources:", *log_lines(self.log)])
            self.__notes__ = [*getattr(self, "__notes__", ()), lines]

    @shows_printable
    def __str__(self) -> str:
        return self.message


class FileNotFoundError(SapwoodError, builtins.FileNotFoundError):
    """The file or object does not exist."""

    code = "not-found"


class PermissionError(SapwoodError, builtins.PermissionError):
    """The file or object exists, but may not be read with these credentials."""

    code = "permission"


class UsageError(SapwoodError, ValueError):
    """An argument makes no sense."""

    code = "usage"


class KeyInFileError(SapwoodError, KeyError):
    """The file has no such key, or the tree no such branch.

    ``key`` is what was looked for, ``keys`` are the nearest names that exist.
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
            message += f"; did you mean {one_of(near)}?"
        elif names:
            rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
            message += f"; available: {', '.join(map(repr, names[:5]))}{rest}"
        else:
            message += ", which is empty"
        return cls(message, key=key, keys=near, url=place)


class UnsupportedTypeError(SapwoodError, NotImplementedError):
    """The file is fine, but sapwood cannot read this part of it. ``typename`` is the C++ type, if known."""

    code = "unsupported"
    typename: str | None = None


class CorruptFileError(SapwoodError, OSError, ValueError):
    """The bytes break a rule of the format."""

    code = "corrupt"


class NotRootError(CorruptFileError):
    """The bytes are not a ROOT file."""

    code = "not-root"


class TruncatedError(CorruptFileError):
    """The file ends before something that it announces."""

    code = "truncated"


class ChecksumError(CorruptFileError):
    """A checksum in the file does not agree with its data."""

    code = "checksum"


class FileChangedError(SapwoodError, OSError):
    """The file changed while it was read."""

    code = "changed"


class ReadError(SapwoodError, OSError):
    """The operating system, or the file object that was given, refused to read."""

    code = "io"


class ServerError(SapwoodError, OSError):
    """The server answered with an error or against its protocol."""

    code = "server"


class NetworkError(SapwoodError, ConnectionError):
    """The connection failed."""

    code = "network"


class DeadlineError(SapwoodError, TimeoutError):
    """The deadline passed."""

    code = "timeout"


class MemoryLimitError(SapwoodError, MemoryError):
    """The request would take more memory than is allowed."""

    code = "limit"


class ClosedFileError(SapwoodError, OSError, ValueError):
    """The file was closed."""

    code = "closed"


class CancelledError(SapwoodError):
    """The read was interrupted."""

    code = "cancelled"


class ConflictError(SapwoodError):
    """Somebody else changed the same part of a dataset first; nothing was changed here."""

    code = "conflict"


class CommitUnknownError(SapwoodError):
    """Nobody can say whether a change of a dataset was made: the answer was lost, and so was the next.

    Nothing was deleted. The same job, run again, finds out: a change is made once by each job.
    """

    code = "commit-unknown"


class SapwoodWarning(UserWarning):
    """Whatever sapwood warns of. Control characters and invisible characters of names are written out."""

    @shows_printable
    def __str__(self) -> str:
        return super().__str__()


class BranchSkippedWarning(SapwoodWarning):
    """Branches that cannot be read were left out of a result that did not ask for them by name."""


class MemberSkippedWarning(SapwoodWarning):
    """Members that cannot be read were left out of an object that has no place to tell it."""


class ProfileWarning(SapwoodWarning):
    """A profile of what an analysis uses could not be read or saved; reading goes on without it."""


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
    """The exception for every code."""
    return dict(_BY_CODE)


def nearest(name: str, existing: Iterable[str], count: int = 5) -> list[str]:
    """The names most similar to ``name``, best first; letter case is ignored.

    >>> nearest("muon_pt", ["Muon_pt", "Muon_eta", "run"])
    ['Muon_pt', 'Muon_eta']
    """
    folded: dict[str, list[str]] = {}
    for candidate in existing:
        folded.setdefault(candidate.casefold(), []).append(candidate)
    close = difflib.get_close_matches(name.casefold(), folded, n=count, cutoff=0.5)
    return [candidate for key in close for candidate in folded[key]][:count]


def one_of(names: Sequence[str]) -> str:
    """The names as alternatives in a sentence.

    >>> one_of(["pt", "eta", "phi"])
    "'pt', 'eta' or 'phi'"
    """
    quoted = [repr(name) for name in names]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
