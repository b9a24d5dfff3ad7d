"""Lazy reading: columns are read when you touch them, and profiles record which ones a job used."""

from __future__ import annotations

from .chunks import LazyChunks
from .event import Event
from .event_chunk import EventChunk
from .events import Events
from .profile import Profile
from .reader import Caching

__all__ = ["Caching", "Event", "EventChunk", "Events", "LazyChunks", "Profile"]
