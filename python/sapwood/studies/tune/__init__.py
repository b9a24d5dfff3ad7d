"""Measures which layout is best for a file, on a sample of it, and recommends layouts in a report."""

from .goals import GOALS, Goal, Recommendation
from .harness import Progress
from .points import Point, Sweep, Workload, sweeps
from .results import Figure, Measured
from .studies import STUDIES, Finding, Study
from .tuning import Tuning, run, save

__all__ = [
    "GOALS",
    "STUDIES",
    "Figure",
    "Finding",
    "Goal",
    "Measured",
    "Point",
    "Progress",
    "Recommendation",
    "Study",
    "Sweep",
    "Tuning",
    "Workload",
    "run",
    "save",
    "sweeps",
]
