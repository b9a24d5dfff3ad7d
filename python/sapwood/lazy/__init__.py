"""Columns that are read when they are touched, and what is learned of it for the next job."""

from __future__ import annotations

from .chunks import LazyChunks
from .events import Event, Events
from .profile import Profile
from .reader import Caching

__all__ = ["Caching", "Event", "Events", "LazyChunks", "Profile"]
