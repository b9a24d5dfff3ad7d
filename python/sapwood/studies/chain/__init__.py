"""Measures how fast events can be processed by a chain from a source to an output."""

from .running import ChainReport, run
from .sweep import ChainPoint, Measurement, Sweep, measure, save

__all__ = ["ChainPoint", "ChainReport", "Measurement", "Sweep", "measure", "run", "save"]
