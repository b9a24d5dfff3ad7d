"""How many windows are decoded ahead: as many as measured times ask for, within a budget of memory."""

from __future__ import annotations

import math
from collections.abc import Callable

# The weight of the latest time in a mean: windows, and what is done with them, change.
_LATEST = 0.25


class Depth:
    """The number of windows to decode ahead of the one in use.

    One is enough if decoding takes no longer than the use of a window. If it takes longer, enough are
    decoded at the same time that one is ready whenever one is used up; but no more than there are threads,
    which would gain nothing, and no more than fit in the budget.
    """

    def __init__(self, threads: int, budget: int) -> None:
        self._threads, self._budget = threads, budget
        self._decoding = self._using = 0.0

    def note_decoding(self, seconds: float) -> None:
        """Takes note of the time to decode a window, per entry."""
        self._decoding = _mean(self._decoding, seconds)

    def note_use(self, seconds: float) -> None:
        """Takes note of the time that a window was in use, without waiting for columns, per entry."""
        self._using = _mean(self._using, seconds)

    def windows(self, window_bytes: Callable[[], float]) -> int:
        """The number for windows of this many decoded bytes."""
        wanted = min(self._threads, math.ceil(self._decoding / self._using) if self._using else 1)
        if wanted <= 1:
            return 1
        return max(1, min(wanted, int(self._budget // max(1.0, window_bytes()))))


def _mean(before: float, latest: float) -> float:
    return before + _LATEST * (latest - before) if before else latest
