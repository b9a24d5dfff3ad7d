"""Colors and progress bars appear on a terminal, but not in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from sapwood.cli.main import main; main()"]


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal of 120 columns."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment}
    settings = {name: value for name, value in settings.items() if name in environment or name != "NO_COLOR"}
    process = subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 4096):
            written += piece
    except OSError:
        pass  # what Linux answers when the other side of a terminal is gone
    os.close(ours)
    assert process.wait(timeout=60) == 0, written
    return written.decode()


def test_colour_unless_disabled(path: Path) -> None:
    shown = on_a_terminal("show", f"{path}:Events")
    assert "Muon_pt" in shown and "\x1b[36m" in shown
    assert "\x1b[36m" not in on_a_terminal("show", f"{path}:Events", NO_COLOR="1")


def test_convert_tells_its_progress_and_its_result(path: Path, tmp_path: Path) -> None:
    shown = on_a_terminal("convert", f"{path}:Events", str(tmp_path / "a.parquet"), "--step-size", "100")
    assert "MB/s" in shown and "100%" in shown
    assert "1,000 entries" in shown


def test_a_terminal_that_rewrites_no_line_gets_only_the_result(path: Path) -> None:
    shown = on_a_terminal("verify", str(path), TERM="dumb")
    first, last = shown.splitlines()
    assert first.startswith(f"{path}: sound") and last.startswith("1 file, 0 damaged")


def test_verify_shows_its_progress_and_its_result(path: Path) -> None:
    shown = on_a_terminal("verify", str(path))
    assert "nano.root" in shown and "kB" in shown and "sound" in shown


def test_json_on_a_terminal_is_nothing_but_json(path: Path, tmp_path: Path) -> None:
    shown = on_a_terminal("convert", f"{path}:Events", str(tmp_path / "a.parquet"), "--json")
    assert shown.startswith("{") and shown.rstrip().endswith("}") and "\x1b" not in shown


def test_a_reader_that_leaves_early_is_no_failure_of_ours(path: Path) -> None:
    command = " ".join(
        [sys.executable, "-c", "'from sapwood.cli.main import main; main()'", "show", f"{path}:Events"]
    )
    done = subprocess.run(["sh", "-c", f"{command} | true"], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
