"""Preparation of the machine, so that its memory management does not distort measurements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOUCHED_BYTES = 3 << 30


def touch_memory() -> None:
    """Makes sure that the machine has free memory for the next program.

    A virtual machine may have returned free pages to its host. The first process that needs them again, even
    for the page cache, waits for the host, up to 1 s per GB; later ones do not.
    """
    program = (
        f"import mmap; memory = mmap.mmap(-1, {TOUCHED_BYTES}); memory.madvise(mmap.MADV_HUGEPAGE); "
        f"memory[::4096] = bytes({TOUCHED_BYTES // 4096})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def load_file(path: Path) -> None:
    """Reads a file, so that it is in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
