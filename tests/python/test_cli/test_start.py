"""`sapwood --help` starts fast, and the entry point names missing packages."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

HEAVY = {"numpy", "rich", "pyarrow", "awkward", "pandas", "sapwood._core"}
HELP = "import sys; sys.argv = ['sapwood', '--help']; from sapwood.cli.main import main; main()"


def cpu_seconds(code: str) -> float:
    """Processor time of a Python process that runs some code; the best of several."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_help_imports_nothing_heavy() -> None:
    code = f"import atexit; atexit.register(lambda: print('HEAVY', {HEAVY!r} & set(sys.modules))); {HELP}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.rstrip().endswith("HEAVY set()")


def test_help_takes_little_more_than_typer() -> None:
    # Relative to Typer alone: machines differ, and may be busy.
    # All commands have their options made, which takes 2.0 to 2.6 times as long.
    assert cpu_seconds(HELP) < 3 * cpu_seconds("import typer") + 0.02


def test_without_typer_the_entry_point_says_what_to_install() -> None:
    # A finder that comes first and denies: as if the package were not there.
    hide = (
        "import importlib.util, sys; find = importlib.util.find_spec; "
        "importlib.util.find_spec = lambda name, *a: None if name == 'typer' else find(name, *a); "
    )
    done = subprocess.run([sys.executable, "-c", hide + HELP], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'sapwood[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_version(sapwood: Callable[..., Any]) -> None:
    from importlib.metadata import version

    assert sapwood("--version").out.strip() == f"sapwood {version('sapwood')}"


def test_every_command_has_help_with_an_example(sapwood: Callable[..., Any]) -> None:
    for command in ("ls", "show", "head", "convert", "layout"):
        shown = sapwood(command, "--help")
        assert shown.code == 0
        assert f"sapwood {command} " in shown.out
        assert "--json" in shown.out
