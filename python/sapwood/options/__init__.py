"""Options of callers: which files, how to reach them, and where results may be written."""

from __future__ import annotations

from .reading import OpenOptions

__all__ = ["OpenOptions"]
