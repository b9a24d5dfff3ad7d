"""Graphs (points with errors) and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import KeyInFileError, UsageError
from .axis import array_of
from .instance import Instance

_AXES = "xyz"


class Graph(Instance):
    """A graph: ``TGraph``, ``TGraphErrors``, ``TGraphAsymmErrors``, ``TGraph2D``, …"""

    @property
    def num_points(self) -> int:
        """The number of points."""
        return int(self._members["fNpoints"])

    @property
    def axis_names(self) -> tuple[str, ...]:
        """``("x", "y")`` or ``("x", "y", "z")``."""
        return tuple(letter for letter in _AXES if f"f{letter.upper()}" in self._members)

    @property
    def has_errors(self) -> bool:
        """Whether the points have errors."""
        return any(name in self._members for name in ("fEX", "fEXlow"))

    def values(self, axis: str = "both") -> Any:
        """The coordinates of the points: one value per point.

        Args:
            axis: "x", "y" or "z" for one array; "both" (the default) or "all" for a tuple with an
                array for each axis.

        Raises:
            KeyInFileError: if the graph has no such axis.
        """
        if axis in {"both", "all"}:
            return tuple(self.values(letter) for letter in self.axis_names)
        if axis not in self.axis_names:
            raise KeyInFileError.not_found("axis", axis, self.axis_names, self.class_name)
        return self._points(f"f{axis.upper()}")

    def errors(self, which: str, axis: str = "both") -> Any:
        """The errors of the points: one value per point.

        Args:
            which: "low", "high", "mean" (of low and high) or "diff" (high minus low). For symmetric errors,
                the first three are equal.
            axis: "x", "y" or "z" for one array; "both" (the default) or "all" for a tuple with an
                array for each axis.

        Raises:
            KeyInFileError: if the graph has no such axis.
            UsageError: if the graph has no errors, or ``which`` is invalid.
        """
        if which not in {"low", "high", "mean", "diff"}:
            raise UsageError(f"'which' must be 'low', 'high', 'mean' or 'diff', not {which!r}")
        if axis in {"both", "all"}:
            return tuple(self.errors(which, letter) for letter in self.axis_names)
        if axis not in self.axis_names:
            raise KeyInFileError.not_found("axis", axis, self.axis_names, self.class_name)
        if not self.has_errors:
            raise UsageError(f"a {self.class_name} has no errors")
        low, high = self._low_and_high(f"fE{axis.upper()}")
        return {"low": low, "high": high}.get(which, (low + high) / 2 if which == "mean" else high - low)

    def _low_and_high(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if name in self._members:
            return self._points(name), self._points(name)
        return self._points(f"{name}low"), self._points(f"{name}high")

    def _points(self, name: str) -> NDArray[Any]:
        points = array_of(self._members.get(name))
        if points.ndim == 2:  # TGraphMultiErrors has one row for each kind of error.
            return np.asarray(points.sum(axis=0))
        return points[: self.num_points]

    def __len__(self) -> int:
        return len(self._members)

    @shows_printable
    def __repr__(self) -> str:
        return f"<{self.class_name} {self.name!r} of {counted(self.num_points, 'point')}>"


def is_graph(class_name: str, members: Mapping[str, Any]) -> bool:
    """Whether an object with these members is a graph."""
    return {"fNpoints", "fX", "fY"} <= set(members) and "fGraphs" not in members


class Parameter(Instance):
    """A ``TParameter``: a number with a name."""

    @property
    def value(self) -> Any:
        """The number."""
        return self._members["fVal"]

    @shows_printable
    def __repr__(self) -> str:
        return f"<{self.class_name} {self.name!r}: {self.value!r}>"
