"""Progress of a long loop: a line in a terminal or a notebook, rewritten a few times per second."""

from __future__ import annotations

import importlib
import shutil
import sys
import time
from typing import Any

from .bars import characters_for
from .markup import escape
from .printable import printable
from .units import counted, human_bytes

EVERY = 0.2
"""Seconds between two updates."""
_WIDTH = 20


class ProgressLine:
    """Shows how far a loop is: files, entries, bytes per second, and the share of time that it waits.

    In a notebook, it is a line below the cell; otherwise, a line on standard error, which is rewritten if
    that is a terminal, and printed at the end if not.
    """

    def __init__(self, files: int) -> None:
        self._files = files
        self._begin = self._shown = time.monotonic()
        self._handle = _notebook_line()
        self._characters = characters_for(getattr(sys.stderr, "encoding", None))

    def update(
        self, files: int, entries: int, fetched_bytes: int, waited: float, *, at_end: bool = False
    ) -> None:
        """Shows new figures, unless the last ones are younger than :data:`EVERY` seconds."""
        now = time.monotonic()
        if not at_end and now - self._shown < EVERY:
            return
        self._shown = now
        seconds = max(now - self._begin, 1e-9)
        filled = round(_WIDTH * files / self._files) if self._files else _WIDTH
        bar = self._characters.bars[-1] * filled + self._characters.bars[0] * (_WIDTH - filled)
        side = self._characters.side
        text = (
            f"{side}{bar}{side} {files:,}/{counted(self._files, 'file')}, {entries:,} entries, "
            f"{human_bytes(fetched_bytes / seconds)}/s, {min(1.0, waited / seconds):.0%} waiting"
        )
        self._show(printable(text), at_end)

    def _show(self, text: str, at_end: bool) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}, raw=True)
        elif sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{text[:width]:<{width}}" + ("\n" if at_end else ""))
            sys.stderr.flush()
        elif at_end:
            sys.stderr.write(text + "\n")


def _notebook_line() -> Any:
    """A display in the notebook that runs this; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Any = importlib.import_module("IPython.display").display
    return display({"text/plain": "", "text/html": ""}, raw=True, display_id=True)
