"""`sapwood --help` starts fast, and the entry point names missing packages."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEAVY = {"numpy", "rich", "pyarrow", "awkward", "pandas", "sapwood._core"}
HELP = "import sys; sys.argv = ['sapwood', '--help']; from sapwood.cli.main import main; main()"


def cpu_seconds(codes: list[str], bytecode: Path) -> list[float]:
    """Processor times of Python processes that run some codes in turns; the best of several for each.

    All have their bytecode in a directory, whether or not Python may write it elsewhere.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    times: list[list[float]] = [[] for _ in codes]
    for code, seconds in list(zip(codes, times, strict=True)) * 6:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [min(seconds) for seconds in times]


def test_help_imports_nothing_heavy() -> None:
    code = f"import atexit; atexit.register(lambda: print('HEAVY', {HEAVY!r} & set(sys.modules))); {HELP}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.rstrip().endswith("HEAVY set()")


def test_a_command_imports_no_other_command() -> None:
    code = f"import atexit; atexit.register(lambda: print('sapwood.cli.stripe' in sys.modules)); {HELP}"
    code = code.replace("'--help'", "'ls', '--help'")
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "sapwood ls [OPTIONS]" in done.stdout
    assert done.stdout.rstrip().endswith("False")


def test_help_takes_little_more_than_typer(tmp_path: Path) -> None:
    # Relative to Typer alone: machines differ, and may be busy.
    # The help of all commands has their options made, which takes 2.0 to 2.6 times as long.
    help_of_all, typer = cpu_seconds([HELP, "import typer"], tmp_path)
    assert help_of_all < 3.5 * typer


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
