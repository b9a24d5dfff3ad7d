"""What the machine itself does to measurements, and what is done about it."""

from __future__ import annotations

import subprocess
import sys

TOUCHED_BYTES = 3 << 30


def touch_memory() -> None:
    """Makes sure that the machine has memory at hand for the next program, whoever it is.

    A virtual machine may have given free pages back to its host: the first process to want them again, be
    it for files in the page cache, then waits for the host, up to 1 s per GB, and the next one does not.
    """
    program = (
        f"import mmap; memory = mmap.mmap(-1, {TOUCHED_BYTES}); memory.madvise(mmap.MADV_HUGEPAGE); "
        f"memory[::4096] = bytes({TOUCHED_BYTES // 4096})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
