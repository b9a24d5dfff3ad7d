"""Events at the sources of a file: for reports, and for the exception that ends a read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..display.printable import shows_printable

FIRST_LINES, MAX_LINES = 6, 20


class SourceEvent(NamedTuple):
    """An event at a source of a file. ``str()`` is one line, without secrets."""

    seconds: float
    """Time since opening began, in seconds; the last time if the event happened several times."""
    server: str | None
    """``host:port``, or None if it is unknown."""
    event: str
    """The kind of event: "opened", "failed", "redirected", "retried", "switched", "left", "resumed",
    "refused" or "duplicated"."""
    text: str
    """Details; may be empty."""
    times: int = 1
    """How many times in a row it happened."""

    @shows_printable
    def __str__(self) -> str:
        words = [f"{self.seconds:.1f} s:", self.server, self.event]
        if self.times > 1:
            words.append(f"{self.times} times")
        line = " ".join(word for word in words if word)
        return f"{line}: {self.text}" if self.text else line

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, fit for JSON."""
        return self._asdict()


def log_lines(log: Sequence[SourceEvent]) -> list[str]:
    """A line for each event; for a long log, only for the first and last events."""
    if len(log) <= MAX_LINES:
        return [str(event) for event in log]
    last = log[FIRST_LINES - MAX_LINES + 1 :]
    between = f"… {len(log) - FIRST_LINES - len(last)} more …"
    return [*map(str, log[:FIRST_LINES]), between, *map(str, last)]
