"""Real ROOT as the judge of files that were written: that of `make servers`, or of SAPWOOD_BENCH_PYTHON."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("root_values.py")
_COMPARISON = Path(__file__).with_name("root_compare.py")
DEADLINE = 300.0
END_OF_FILE = "=== end of a file ==="  # of root_objects.py
_BUILD = Path(__file__).resolve().parents[2] / "build"
_INSTALLED = _BUILD / "cern-root/bin/python"


@cache
def _version(python: str) -> str | None:
    """The version of ROOT that a Python can import."""
    if not os.path.exists(python):
        return None
    command = [python, "-W", "ignore", "-c", "import ROOT; print(ROOT.gROOT.GetVersion())"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def python_with_root() -> str | None:
    """A Python that can import ROOT, if one was named or installed."""
    python = os.environ.get("SAPWOOD_BENCH_PYTHON") or str(_INSTALLED)
    return python if _version(python) else None


def needs_root() -> str:
    """The Python that has ROOT; without one, the test is skipped."""
    python = python_with_root()
    if python is None:
        pytest.skip("no ROOT: make servers, or set SAPWOOD_BENCH_PYTHON to a Python that can import it")
    return python


class Server:
    """A process that has ROOT, and runs a script beside this file, see `root_server.py`."""

    def __init__(self, python: str, script: Path) -> None:
        self.script = script
        command = [python, "-W", "ignore", str(script.with_name("root_server.py")), script.stem]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=_environment(), start_new_session=True
        )
        atexit.register(self.close)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` does, with what it captures."""
        assert self._process.stdin and self._process.stdout
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in ("out", "err")]
            self._process.stdin.write(json.dumps([arguments, *map(str, paths)]) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], DEADLINE)[0]:
                os.killpg(self._process.pid, signal.SIGKILL)  # also the fork
            answer = self._process.stdout.readline()
            assert answer, f"{self.script.name} does not answer"
            out, err = (path.read_text() if path.exists() else "" for path in paths)
            return subprocess.CompletedProcess([self.script.name, *arguments], int(answer), out, err)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate(timeout=DEADLINE)


@cache
def _server(python: str, script: Path) -> Server:
    return Server(python, script)


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
    done = _with_root(needs_root(), _SCRIPT.with_name(script), path)
    assert done.returncode == 0, done.stderr[-3000:]


Digests = dict[str, dict[str, list[str]]]
"""By tree and branch, a digest of the object in each entry."""


def build_folder(python: str) -> Path:
    """Where programs and classes stay that are compiled for this ROOT: they take longer than their use."""
    place = hashlib.sha256(f"{python} {_version(python)}".encode()).hexdigest()[:12]
    return _BUILD / "root-classes" / place


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process at a time compiles into a folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compiled(build: Path, sources: Iterable[Path], make: Callable[[Path], object]) -> Path:
    """The folder with what is made of files, once for the same content of them."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    folder = build / f"classes_{digest.hexdigest()[:20]}"
    complete = folder / "complete"
    with locked(folder):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            complete.touch()
    return folder


def compile_by_root(python: str, build: Path, path: Path) -> Path:
    """The folder with the classes that a file describes, as ROOT compiles them."""

    def make(folder: Path) -> None:
        done = _with_root(python, script, folder, path)
        assert done.returncode == 0, done.stderr[-3000:]
        folder.mkdir(exist_ok=True)  # where ROOT knows all of them

    script = _SCRIPT.with_name("root_classes.py")
    return _compiled(build, [path, script], make)


def dictionary_by_root(python: str, name: str) -> Path:
    """The folder with compiled classes of `tests/conformance/objects`, by the name of their header."""
    script = _SCRIPT.parents[1] / "conformance" / "objects" / "make.py"
    builder = _SCRIPT.parents[2] / "bench" / "rootbuild.py"

    def make(folder: Path) -> None:
        done = _with_root(python, script, name, "--classes", folder)
        assert done.returncode == 0, done.stderr[-3000:]

    sources = [script, builder, *sorted(script.parent.glob(f"{name}*.h"))]
    return _compiled(build_folder(python), sources, make)


def objects_by_root(
    python: str, classes: Path | None, files: Iterable[tuple[Path, Sequence[str]]]
) -> list[Digests | None]:
    """The objects that one process of ROOT reads in trees of files, with the classes in a folder.

    Nothing for a file of which it complains, and for all from one on that it does not survive.
    """
    named = [(str(path), list(trees)) for path, trees in files]
    script = _SCRIPT.with_name("root_objects.py")
    done = _server(python, script).run(str(classes or ""), json.dumps(named))
    found: list[Digests | None] = [json.loads(line) for line in done.stdout.splitlines()]
    for index, said in enumerate(done.stderr.split(END_OF_FILE)[: len(found)]):
        if "Error in" in said:
            found[index] = None
    return found + [None] * (len(named) - len(found))


def _with_root(python: str, script: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [python, "-W", "ignore", str(script), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=DEADLINE, env=_environment()
    )


def _reported_by_root(script: Path, *paths: Path | str) -> list[dict[str, Any]]:
    done = _server(needs_root(), script).run(*map(str, paths))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == "", done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
