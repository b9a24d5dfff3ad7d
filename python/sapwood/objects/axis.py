"""Axes of histograms: their edges and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from ..display.units import counted
from .instance import Instance


@dataclass(frozen=True)
class Traits:
    """The properties of an axis, as defined by the UHI protocol.

    Attributes:
        circular: whether the axis is circular; never in ROOT.
        discrete: whether bins are identified by labels instead of edges.
    """

    circular: bool = False
    discrete: bool = False


class Axis(Instance):
    """A ``TAxis``: a sequence of its bins, without underflow and overflow.

    ``axis[i]`` is the pair (low edge, high edge) or, if bins have labels, the label. :attr:`members` holds
    the members of the C++ object.
    """

    def __init__(
        self, class_name: str, members: Mapping[str, Any], skipped: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(class_name, members, skipped)
        self.num_bins = int(members["fNbins"])

    @property
    def low(self) -> float:
        """The lower edge of the first bin."""
        return float(self._members["fXmin"])

    @property
    def high(self) -> float:
        """The upper edge of the last bin."""
        return float(self._members["fXmax"])

    @property
    def width(self) -> float:
        """The mean width of a bin."""
        return (self.high - self.low) / self.num_bins

    @cached_property
    def variable(self) -> bool:
        """Whether the axis stores the edges of its bins, which can then differ in width."""
        return len(array_of(self._members.get("fXbins"))) == self.num_bins + 1

    @cached_property
    def _labels(self) -> list[str] | None:
        listed = self._members.get("fLabels")
        if not listed:
            return None
        labels = [""] * self.num_bins
        for position, label in enumerate(listed):
            # The unique ID of a label is the number of its bin, in any order of the list.
            number = getattr(label, "unique_id", 0) or position + 1
            if 1 <= number <= self.num_bins:
                labels[number - 1] = str(label)
        return labels

    @property
    def traits(self) -> Traits:
        """The properties of the axis, as defined by the UHI protocol."""
        return Traits(discrete=self._labels is not None)

    def labels(self, flow: bool = False) -> list[str] | None:
        """The labels of the bins, or None if no bin has one; a bin without a label has the label "".

        With ``flow=True``, "underflow" and "overflow" are included.
        """
        if self._labels is None:
            return None
        return ["underflow", *self._labels, "overflow"] if flow else list(self._labels)

    def edges(self, flow: bool = False) -> NDArray[np.float64]:
        """The edges of the bins, an array of one more item than bins.

        With ``flow=True``, minus and plus infinity are included.
        """
        if self.variable:
            edges = np.array(array_of(self._members["fXbins"]), dtype=np.float64)
        else:
            edges = np.linspace(self.low, self.high, self.num_bins + 1)
        return np.concatenate(([-np.inf], edges, [np.inf])) if flow else edges

    def intervals(self, flow: bool = False) -> NDArray[np.float64]:
        """The low and high edges of the bins, an array of shape (bins, 2)."""
        edges = self.edges(flow)
        return np.stack((edges[:-1], edges[1:]), axis=1)

    def centers(self, flow: bool = False) -> NDArray[np.float64]:
        """The center of each bin."""
        edges = self.edges(flow)
        return (edges[:-1] + edges[1:]) / 2

    def widths(self, flow: bool = False) -> NDArray[np.float64]:
        """The width of each bin."""
        return np.diff(self.edges(flow))

    def __len__(self) -> int:
        return self.num_bins

    def __getitem__(self, index: int | str) -> Any:
        if isinstance(index, str):
            return self.member(index)
        position = index + self.num_bins if index < 0 else index
        if not 0 <= position < self.num_bins:
            raise IndexError(f"bin {index} is out of range: the axis has {counted(self.num_bins, 'bin')}")
        if self._labels is not None:
            return self._labels[position]
        low, high = self.intervals()[position]
        return float(low), float(high)

    def __iter__(self) -> Iterator[Any]:
        if self._labels is not None:
            return iter(self._labels)
        return iter([(low, high) for low, high in self.intervals().tolist()])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        return np.array_equal(self.edges(), other.edges()) and self._labels == other._labels

    __hash__ = None

    @shows_printable
    def __repr__(self) -> str:
        kind = "labelled" if self._labels is not None else "variable" if self.variable else "regular"
        return f"<Axis {counted(self.num_bins, f'{kind} bin')} from {self.low:g} to {self.high:g}>"


def array_of(value: Any) -> NDArray[Any]:
    """The numbers of a ``TArray`` object or of its array; empty for None."""
    if isinstance(value, Instance):
        value = value.members.get("fArray")
    return np.asarray(value) if value is not None else np.empty(0)
