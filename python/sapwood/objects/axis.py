"""Axes of histograms: their edges and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from .instance import Instance


@dataclass(frozen=True)
class Traits:
    """What an axis is like, in the words of the UHI protocol.

    Attributes:
        circular: whether its end is its beginning; never in ROOT.
        discrete: whether bins have labels rather than edges that mean something.
    """

    circular: bool = False
    discrete: bool = False


class Axis(Instance):
    """A ``TAxis``.

    It is a sequence of its bins, without underflow and overflow: ``axis[i]`` is (low edge, high edge) or, if
    bins have labels, a label. The members of the C++ object are under :attr:`members`.
    """

    def __init__(
        self, class_name: str, members: Mapping[str, Any], skipped: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(class_name, members, skipped)
        self.num_bins = int(members["fNbins"])

    @property
    def low(self) -> float:
        """Where the first bin begins."""
        return float(self._members["fXmin"])

    @property
    def high(self) -> float:
        """Where the last bin ends."""
        return float(self._members["fXmax"])

    @property
    def width(self) -> float:
        """The mean width of a bin."""
        return (self.high - self.low) / self.num_bins

    @cached_property
    def variable(self) -> bool:
        """Whether the bins are given by their edges and can differ in width."""
        return len(array_of(self._members.get("fXbins"))) == self.num_bins + 1

    @cached_property
    def _labels(self) -> list[str] | None:
        listed = self._members.get("fLabels")
        if not listed:
            return None
        labels = [""] * self.num_bins
        for position, label in enumerate(listed):
            # A label belongs to the bin that is its identity, whatever its place in the list.
            number = getattr(label, "unique_id", 0) or position + 1
            if 1 <= number <= self.num_bins:
                labels[number - 1] = str(label)
        return labels

    @property
    def traits(self) -> Traits:
        """What the axis is like, in the words of the UHI protocol."""
        return Traits(discrete=self._labels is not None)

    def labels(self, flow: bool = False) -> list[str] | None:
        """The labels of the bins, or None if there are none; a bin without a label has an empty one."""
        if self._labels is None:
            return None
        return ["underflow", *self._labels, "overflow"] if flow else list(self._labels)

    def edges(self, flow: bool = False) -> NDArray[np.float64]:
        """The edges of the bins, one more than bins; with ``flow``, from minus to plus infinity."""
        if self.variable:
            edges = np.array(array_of(self._members["fXbins"]), dtype=np.float64)
        else:
            edges = np.linspace(self.low, self.high, self.num_bins + 1)
        return np.concatenate(([-np.inf], edges, [np.inf])) if flow else edges

    def intervals(self, flow: bool = False) -> NDArray[np.float64]:
        """The low and high edge of each bin: an array of bins x 2."""
        edges = self.edges(flow)
        return np.stack((edges[:-1], edges[1:]), axis=1)

    def centers(self, flow: bool = False) -> NDArray[np.float64]:
        """The middle of each bin."""
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
        place = index + self.num_bins if index < 0 else index
        if not 0 <= place < self.num_bins:
            raise IndexError(f"bin {index} of an axis of {self.num_bins} bins")
        if self._labels is not None:
            return self._labels[place]
        low, high = self.intervals()[place]
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
        return f"<Axis {self.num_bins} {kind} bins from {self.low:g} to {self.high:g}>"


def array_of(value: Any) -> NDArray[Any]:
    """The numbers of a ``TArray``, however it came; none if there is no array."""
    if isinstance(value, Instance):
        value = value.members.get("fArray")
    return np.asarray(value) if value is not None else np.empty(0)
