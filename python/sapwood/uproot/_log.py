"""What sapwood read for uproot, and what it left to uproot and why."""

from __future__ import annotations

import logging
import os
from collections import Counter

LOGGER = logging.getLogger("sapwood.uproot")

COUNTS: Counter[str] = Counter()
"""Trees that sapwood opened, columns that it read, and what was left to uproot."""


def is_strict() -> bool:
    """Whether each thing that is left to uproot is logged."""
    return os.environ.get("SAPWOOD_UPROOT", "").casefold() == "strict"


def left(what: str, why: object) -> None:
    """Notes that uproot does something itself."""
    COUNTS["left"] += 1
    if is_strict():
        LOGGER.warning("left to uproot: %s, because %s", what, why)
