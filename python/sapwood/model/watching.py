"""Registers open files with monitoring, which is imported only when it is in use."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _core
    from .file import File


def watch(file: File, core: _core.File, began: float) -> Callable[[], None]:
    """Registers a file with monitoring, if monitoring is on.

    Args:
        file: the file.
        core: its compiled counterpart, which holds the counters.
        began: when opening began, in seconds of ``time.monotonic``.

    Returns:
        A function to call when the file is closed.
    """
    _from_environment(os.environ.get("SAPWOOD_MONITORING", ""))
    hub = sys.modules.get("sapwood.monitoring._hub")
    if hub is None or not hub.HUB.exporters:
        return _nothing
    ended: Callable[[], None] = hub.HUB.watch(file, core, began)
    return ended


@lru_cache(maxsize=1)
def _from_environment(exporters: str) -> None:
    if exporters:
        from ..monitoring._environment import begin

        begin(exporters)


def _nothing() -> None:
    """Does nothing: monitoring is off."""
