"""Real ROOT as the judge of files that were written: that of `make servers`, or of SAPWOOD_BENCH_PYTHON."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("root_values.py")
_INSTALLED = Path(__file__).parents[2] / "build/cern-root/bin/python"


@cache
def python_with_root() -> str | None:
    """A Python that can import ROOT, if one was named or installed."""
    python = os.environ.get("SAPWOOD_BENCH_PYTHON") or str(_INSTALLED)
    if not os.path.exists(python):
        return None
    done = subprocess.run([python, "-W", "ignore", "-c", "import ROOT"], capture_output=True, check=False)
    return python if done.returncode == 0 else None


def needs_root() -> str:
    """The Python that has ROOT; without one, the test is skipped."""
    python = python_with_root()
    if python is None:
        pytest.skip("no ROOT: make servers, or set SAPWOOD_BENCH_PYTHON to a Python that can import it")
    return python


def read_by_root(*paths: Path) -> list[dict[str, Any]]:
    """What ROOT reads in files: objects by path, trees as lists of values by branch. It must not complain.

    Numbers of an entry are a list, whatever their shape.
    """
    command = [needs_root(), "-W", "ignore", str(_SCRIPT), *map(str, paths)]
    # The package of this checkout is not for that Python.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == "", done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
