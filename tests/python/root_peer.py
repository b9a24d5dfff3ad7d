"""Real ROOT as the judge of files that were written: that of `make servers`, or of SAPWOOD_BENCH_PYTHON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("root_values.py")
_COMPARISON = Path(__file__).with_name("root_compare.py")
END_OF_FILE = "=== end of a file ==="  # of root_objects.py
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


class Judge:
    """A process of ROOT that compares files, see `root_compare.py`: another one after it has ended."""

    def __init__(self, python: str) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None

    def compare(self, one: Path, other: Path, trees: Sequence[str], times: int = 1) -> dict[str, Any] | None:
        """What ROOT finds, by tree; nothing if it does not survive these files."""
        if self._process is None:
            command = [self.python, "-W", "ignore", str(_COMPARISON)]
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True, env=_environment()
            )
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([str(one), str(other), list(trees), times]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self.close()
            return None
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def _environment() -> dict[str, str]:
    """The package of this checkout is not for that Python."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def read_by_root(*paths: Path) -> list[dict[str, Any]]:
    """What ROOT reads in files: objects by path, trees as lists of values by branch. It must not complain.

    Numbers of an entry are a list, whatever their shape.
    """
    return _reported_by_root(_SCRIPT, *paths)


def rntuples_by_root(path: Path, *names: str) -> list[dict[str, Any]]:
    """What ROOT reads in RNTuples: description, types by field, and entries. It must not complain."""
    return _reported_by_root(_SCRIPT.with_name("root_rntuple.py"), path, *names)


def split_by_root(*paths: Path) -> list[dict[str, Any]]:
    """What ROOT reads in the tree ``T`` of files, by members of split objects. It must not complain."""
    return _reported_by_root(_SCRIPT.with_name("root_split.py"), *paths)


def write_by_root(script: str, path: Path) -> None:
    """Lets a script beside this file write a file."""
    command = [needs_root(), "-W", "ignore", str(_SCRIPT.with_name(script)), str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=_environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]


Digests = dict[str, dict[str, list[str]]]
"""By tree and branch, a digest of the object in each entry."""


def compile_by_root(python: str, classes: Path, path: Path) -> None:
    """Lets ROOT compile the classes that a file describes into a new folder."""
    _objects(python, classes, "compile", path)


def dictionary_by_root(python: str, name: str, classes: Path) -> None:
    """Compiles classes of `tests/conformance/objects`, by the name of their header, into a new folder."""
    script = _SCRIPT.parents[1] / "conformance" / "objects" / "make.py"
    command = [python, "-W", "ignore", str(script), name, "--classes", str(classes)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=_environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]


def objects_by_root(
    python: str, classes: Path, files: Iterable[tuple[Path, Sequence[str]]]
) -> list[Digests | None]:
    """The objects that one process of ROOT reads in trees of files.

    Nothing for a file of which it complains, and for all from one on that it does not survive.
    """
    named = [(str(path), list(trees)) for path, trees in files]
    done = _objects(python, classes, "read", json.dumps(named))
    found: list[Digests | None] = [json.loads(line) for line in done.stdout.splitlines()]
    for index, said in enumerate(done.stderr.split(END_OF_FILE)[: len(found)]):
        if "Error in" in said:
            found[index] = None
    return found + [None] * (len(named) - len(found))


def _objects(python: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [python, "-W", "ignore", str(_SCRIPT.with_name("root_objects.py")), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=_environment()
    )


def _reported_by_root(script: Path, *paths: Path | str) -> list[dict[str, Any]]:
    command = [needs_root(), "-W", "ignore", str(script), *map(str, paths)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=_environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == "", done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
