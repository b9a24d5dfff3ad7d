"""Measurements in separate processes: the task and the result are JSON documents."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_CLASS = re.compile(r"^sapwood\.errors\.\w+: ")
"""The class of an exception, with which Python begins the last line of a traceback."""


class MeasurementError(Exception):
    """A measurement that could not be made."""


def run_module(
    module: str, task: Mapping[str, Any], deadline: float, within: Sequence[str] = ()
) -> dict[str, Any]:
    """Runs a module that calls :func:`serve`, in a new process with the ``threads`` of the task.

    ``within`` is the beginning of a command that runs it.

    Raises:
        MeasurementError: if the process fails, or takes longer than the deadline in seconds.
    """
    try:
        done = subprocess.run(
            [*within, sys.executable, "-m", module],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            env={**os.environ, "SAPWOOD_THREADS": str(task["threads"])},
            timeout=deadline,
        )
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"not finished after {deadline:.0f} s") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise MeasurementError(
            _CLASS.sub("", lines[-1]) if lines else f"exited with status {done.returncode}"
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def serve(measure: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Reads a task from standard input, and prints the result."""
    print(json.dumps(measure(json.load(sys.stdin)), allow_nan=False))
