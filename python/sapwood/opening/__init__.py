"""Opens files: a single file, many files read as one, and background files for overlays."""

from __future__ import annotations

from .single import open

__all__ = ["open"]
