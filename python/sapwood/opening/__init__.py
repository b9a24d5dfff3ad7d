"""Files that users name, opened: one, many as one, and those that are mixed in."""

from __future__ import annotations

from .single import open

__all__ = ["open"]
