"""Records a job: every read and every request, in one file for all its processes."""

from __future__ import annotations

import atexit
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import _core
from ..display.printable import printable
from ..errors import ReadError, SapwoodError, UsageError
from ..errors.core import core_errors
from ..options.outputs import RECORDING, check_output
from ..options.paths import check_exists
from ..options.whole_file import part_of, take_place

VARIABLE = "SAPWOOD_TRACE"
"""The environment variable with the path of the recording, which child processes inherit."""
MAGIC = b"SWT"
"""The first bytes of a recording, in all versions."""


@contextmanager
def trace(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Records all reads in a ``with`` block, including those of threads and of processes started in it.

    >>> import sapwood
    >>> with sapwood.trace("job.swt"):                               # doctest: +SKIP
    ...     sapwood.open("file.root:Events").arrays(["Muon_pt"])

    ``sapwood trace show`` prints the contents of the file, and ``sapwood replay`` computes the cost of the
    same reads over another link or with another policy. The file contains URLs without secrets, names of
    trees and columns, offsets and times, but no data.

    Args:
        path: a local path. The recording is complete at the end of the block.
        overwrite: whether to replace an existing file.

    Yields:
        The absolute path of the recording.

    Raises:
        UsageError: if this process is already recording, if the file exists and ``overwrite`` is False, or if
            the path has the suffix of another format.
        ReadError: if the recording is incomplete and would replace an existing file.
    """
    if _core.trace_is_on():
        raise UsageError(
            "this process is already recording; a process can write only one recording at a time"
        )
    target = Path(check_output(path, RECORDING, overwrite=overwrite)).absolute()
    with recording_to(target, overwrite=overwrite) as part:
        before = os.environ.get(VARIABLE)
        begin(part)
        os.environ[VARIABLE] = str(part)
        try:
            yield target
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before
            _core.trace_stop()


@contextmanager
def recording_to(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yields a temporary file, which replaces ``target`` at the end unless nothing was recorded."""
    part = part_of(target)
    part.touch()
    try:
        yield part
    finally:
        # The recording of a job that failed is just as useful, so it is kept.
        if not part.stat().st_size:
            part.unlink()
        elif target.exists() and not _is_whole(part):
            message = f"{target} is unchanged because the new recording is incomplete (is the disk full?)"
            raise ReadError(f"{message}; the incomplete recording is in {part}", url=str(target))
        else:
            take_place(part, target, overwrite=overwrite)


def _is_whole(recording: Path) -> bool:
    try:
        return not summary(recording)["unreadable_bytes"]
    except SapwoodError:
        return False


def summary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The contents of a recording, process by process: files, operations, requests, bytes and waits."""
    path = os.fspath(path)
    if not os.path.exists(path):
        check_exists(path)
    with core_errors():
        document: dict[str, Any] = json.loads(_core.trace_summary(path))
    return document


def begin(path: Path) -> None:
    """Appends records to a file until the process ends; forked processes do the same."""
    _core.trace_start(str(path), Path(sys.argv[0]).name if sys.argv else "")
    atexit.register(_core.trace_flush)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_flush_when_workers_end)


def follow_environment() -> None:
    """Starts to record if the environment variable is set; called at the first import of sapwood."""
    path = os.environ.get(VARIABLE)
    if path:
        try:
            _check_continued(Path(path))
            begin(Path(path))
        except (OSError, UsageError) as error:
            # Otherwise, the core and child processes would use it.
            del os.environ[VARIABLE]
            warnings.warn(printable(f"recording is off: {error}"), RuntimeWarning, stacklevel=2)


def _check_continued(path: Path) -> None:
    """Raises a UsageError if an existing file is not a recording, because records would be appended to it."""
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except FileNotFoundError:
        return
    if start not in (b"", MAGIC):
        raise UsageError(f"{path} exists and is not a recording")


def _flush_when_workers_end() -> None:
    """Registers a finalizer: workers of ``multiprocessing`` skip ``atexit``, but run their own finalizers."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and _core.trace_is_on():
        util.register_after_fork(_core, _finalize)


def _finalize(_: object) -> None:
    from multiprocessing.util import Finalize

    Finalize(None, _core.trace_flush, exitpriority=0)
