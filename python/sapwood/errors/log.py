"""What happened at the sources of a file: for reports, and for the exception that ends a read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..display.printable import shows_printable

FIRST_LINES, MOST_LINES = 6, 20


class SourceEvent(NamedTuple):
    """Something that happened at a source of a file. ``str()`` is a line without secrets."""

    seconds: float
    """When it happened, for the last time if it was more than once; since opening began."""
    server: str | None
    """``host:port``, if it is known."""
    event: str
    """What happened: "opened", "failed", "redirected", "retried", "switched", "left", "resumed", "refused" or
    "duplicated"."""
    text: str
    """The same in words; may be empty."""
    times: int = 1
    """Times that it happened in a row."""

    @shows_printable
    def __str__(self) -> str:
        words = [f"{self.seconds:.1f} s:", self.server, self.event]
        if self.times > 1:
            words.append(f"{self.times} times")
        line = " ".join(word for word in words if word)
        return f"{line}: {self.text}" if self.text else line

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return self._asdict()


def log_lines(log: Sequence[SourceEvent]) -> list[str]:
    """A line for each event; of a long log, only for the first and the last ones."""
    if len(log) <= MOST_LINES:
        return [str(event) for event in log]
    last = log[FIRST_LINES - MOST_LINES + 1 :]
    between = f"… {len(log) - FIRST_LINES - len(last)} more …"
    return [*map(str, log[:FIRST_LINES]), between, *map(str, last)]
