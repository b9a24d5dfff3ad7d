"""Where files that are opened meet monitoring, which is imported only if somebody wants it."""

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
    """Has a file watched whose opening began at that time of ``time.monotonic``.

    What is returned is to be called when it is closed.
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
    """Nobody wants to know."""
