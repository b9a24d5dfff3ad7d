"""What callers say: which files, how they are reached, and where results may be written."""

from __future__ import annotations

from .reading import OpenOptions

__all__ = ["OpenOptions"]
