"""Recording what a job does: every read and every request, in a file that all its processes share."""

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
from ..options.whole_file import part_of, take_place

VARIABLE = "SAPWOOD_TRACE"
"""The environment variable that names the file which a process, and those that it starts, record to."""
MAGIC = b"SWT"
"""What a recording begins with, of any version."""


@contextmanager
def trace(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Records what is read in a ``with`` block: also by threads, and by processes that are started in it.

    >>> import sapwood
    >>> with sapwood.trace("job.swt"):                               # doctest: +SKIP
    ...     sapwood.open("file.root:Events").arrays(["Muon_pt"])

    ``sapwood trace show`` tells what is in the file, ``sapwood replay`` what the same reads would cost over
    another link or by another policy. It holds URLs without secrets, names of trees and columns, offsets and
    times: nothing of the data.

    Args:
        path: a local path. The recording is there at the end of the block.
        overwrite: whether an existing file is replaced.

    Yields:
        The path.

    Raises:
        UsageError: if this process records already, the file exists and is not to be replaced, or it has the
            suffix of another format.
    """
    if _core.trace_is_on():
        raise UsageError("this process records already: one recording holds all that it reads")
    place = Path(check_output(path, RECORDING, overwrite=overwrite)).absolute()
    with recording_to(place, overwrite=overwrite) as part:
        before = os.environ.get(VARIABLE)
        begin(part)
        os.environ[VARIABLE] = str(part)
        try:
            yield place
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before
            _core.trace_stop()


@contextmanager
def recording_to(place: Path, *, overwrite: bool) -> Iterator[Path]:
    """A file beside it to record to, which takes its place at the end, unless nothing was recorded."""
    part = part_of(place)
    part.touch()
    try:
        yield part
    finally:
        # What a job read before it failed is worth as much.
        if not part.stat().st_size:
            part.unlink()
        elif place.exists() and not _is_whole(part):
            message = f"{place} is unchanged: the new recording is incomplete, as on a full disk"
            raise ReadError(f"{message}; what there is of it is in {part}", url=str(place))
        else:
            take_place(part, place, overwrite=overwrite)


def _is_whole(recording: Path) -> bool:
    try:
        return not summary(recording)["unreadable_bytes"]
    except SapwoodError:
        return False


def summary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a recording tells, process by process: files, operations, requests, bytes and waits."""
    with core_errors():
        document: dict[str, Any] = json.loads(_core.trace_summary(os.fspath(path)))
    return document


def begin(path: Path) -> None:
    """Records to a file, behind what is in it, until the process ends; its forks record there, too."""
    _core.trace_start(str(path), Path(sys.argv[0]).name if sys.argv else "")
    atexit.register(_core.trace_flush)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_flush_at_the_end_of_workers)


def follow_environment() -> None:
    """Records where the environment says, from the first import of sapwood on."""
    path = os.environ.get(VARIABLE)
    if path:
        try:
            _check_continued(Path(path))
            begin(Path(path))
        except (OSError, UsageError) as error:
            # The core would follow it as well.
            del os.environ[VARIABLE]
            warnings.warn(printable(f"nothing is recorded: {error}"), RuntimeWarning, stacklevel=2)


def _check_continued(path: Path) -> None:
    """Raises a UsageError for a file with other content: a recording would be appended to it."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except FileNotFoundError:
        return
    if begins not in (b"", MAGIC):
        raise UsageError(f"{path} exists and is not a recording")


def _flush_at_the_end_of_workers() -> None:
    """Workers of `multiprocessing` end without `atexit`, but not without their own finalizers."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and _core.trace_is_on():
        util.register_after_fork(_core, _finalize)


def _finalize(_: object) -> None:
    from multiprocessing.util import Finalize

    Finalize(None, _core.trace_flush, exitpriority=0)
