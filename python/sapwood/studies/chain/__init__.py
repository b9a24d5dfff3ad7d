"""How fast can events be processed? The chain from a source to an output, in lanes, measured."""

from .running import ChainReport, run
from .sweep import ChainPoint, Measurement, Sweep, measure, save

__all__ = ["ChainPoint", "ChainReport", "Measurement", "Sweep", "measure", "run", "save"]
