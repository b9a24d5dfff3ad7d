"""What sapwood read for uproot, and what it left to uproot and why."""

from __future__ import annotations

import logging
import os
from collections import Counter

from .. import _core
from ..display.printable import printable
from ..options.paths import is_url

LOGGER = logging.getLogger("sapwood.uproot")

COUNTS: Counter[str] = Counter()
"""Trees that sapwood opened, columns that it read, and what was left to uproot."""


def is_strict() -> bool:
    """Whether each thing that is left to uproot is logged."""
    return os.environ.get("SAPWOOD_UPROOT", "").casefold() == "strict"


def left(what: str, file_path: str, why: object) -> None:
    """Notes that uproot reads a part of a file itself. Secrets in its URL are not logged."""
    COUNTS["left"] += 1
    if is_strict():
        place = _core.redact(file_path) if is_url(file_path) else file_path
        LOGGER.warning("%s", printable(f"left to uproot: {what} of {place}, because {why}"))
