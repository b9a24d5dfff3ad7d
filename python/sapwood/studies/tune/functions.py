"""The CPU time of a process by function, as Linux's perf samples it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import UsageError
from ..process import MeasurementError

PROGRAM = "perf"
FREQUENCY = 997
"""Samples per second of CPU time: a prime, so that they do not keep step with anything."""
LEAST, MOST = 0.5, 25
"""The least share in percent, and the largest number, of functions to keep."""
SEPARATOR = "|"
DEADLINE = 300.0
"""Seconds that perf may take to show a recording, or to sample a process that does nothing."""
NAMELESS = "(functions without names)"
"""All functions of a library that was stripped, as in sapwood's wheel."""


class FunctionTime(NamedTuple):
    """The CPU time of one function, without that of the functions that it calls."""

    percent: float
    """Its share of the samples of the process, in percent."""
    function: str
    """Its name."""
    library: str
    """The file that it is in."""


def check_profiler() -> None:
    """Samples a process that does nothing.

    Raises:
        UsageError: if perf is not installed, or may not sample.
    """
    if shutil.which(PROGRAM) is None:
        raise UsageError(f"the time by function cannot be measured: {PROGRAM} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = [*recorder(Path(folder, "perf.data")), sys.executable, "-c", ""]
        try:
            _run(command)
        except MeasurementError as error:
            raise UsageError(f"the time by function cannot be measured: {error}") from None


def recorder(recording: Path) -> list[str]:
    """The beginning of a command that is sampled."""
    return [PROGRAM, "record", "--quiet", "--freq", str(FREQUENCY), "--output", str(recording), "--"]


def functions(recording: Path) -> tuple[FunctionTime, ...]:
    """The functions of a recording, those with the most samples first.

    Raises:
        MeasurementError: if perf cannot read it.
    """
    show = [PROGRAM, "report", "--stdio", "--no-children", "--quiet", "--input", str(recording)]
    show += ["--fields", "overhead,dso,sym", "--field-separator", SEPARATOR]
    return parsed(_run(show))


def _run(command: list[str]) -> str:
    """What perf prints.

    Raises:
        MeasurementError: if it fails, or takes too long.
    """
    options: dict[str, Any] = {"capture_output": True, "text": True, "errors": "replace", "timeout": DEADLINE}
    try:
        done = subprocess.run(command, check=False, **options)
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{PROGRAM} {command[1]} took more than {DEADLINE:.0f} s") from None
    if done.returncode:
        why = " ".join(done.stderr.split())[:200]
        raise MeasurementError(f"{PROGRAM} {command[1]} failed: {why}")
    return str(done.stdout)


def parsed(text: str) -> tuple[FunctionTime, ...]:
    """The lines of perf's report.

    >>> parsed("  12.50|libz.so|[.] inflate_fast\\n\\n   0.80|[kernel]|[k] clear_page\\n")[0]
    FunctionTime(percent=12.5, function='inflate_fast', library='libz.so')
    """
    found: list[FunctionTime] = []
    nameless: dict[str, float] = {}
    for line in text.splitlines():
        share, *names = line.split(SEPARATOR, 2)
        if len(names) == 2:
            library, function = (name.strip() for name in names)
            # Whether it is of the kernel can be seen from the library.
            plain = function.removeprefix("[.] ").removeprefix("[k] ")
            percent = float(share.strip().rstrip("%"))
            if plain.startswith("0x"):
                nameless[library] = nameless.get(library, 0.0) + percent
            else:
                found.append(FunctionTime(percent, plain, library))
    found += [FunctionTime(round(percent, 2), NAMELESS, library) for library, percent in nameless.items()]
    return tuple(sorted((one for one in found if one.percent >= LEAST), reverse=True)[:MOST])
