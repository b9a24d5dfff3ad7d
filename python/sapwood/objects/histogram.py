"""Histograms: bin contents, variances and axes of TH1, TH2 and TH3."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from ..errors import CorruptFileError, KeyInFileError, UnsupportedTypeError
from .axis import Axis, array_of
from .boost import to_boost, to_hist
from .instance import Instance

_AXES = ("fXaxis", "fYaxis", "fZaxis")


class Histogram(Instance):
    """A histogram (``TH1D``, ``TH2F``, …).

    It follows the UHI protocol for plotting: ``mplhep`` and others draw it as it is. All arrays have one
    dimension per axis; with ``flow=True``, they begin with the underflow and end with the overflow.
    """

    def __init__(
        self, class_name: str, members: Mapping[str, Any], skipped: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(class_name, members, skipped)
        self._dimension = dimension(members)

    @property
    def kind(self) -> str:
        """``"COUNT"``: bins hold sums of weights; ``"MEAN"``: bins hold means of a further quantity."""
        return "COUNT"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes: x, y, z."""
        return tuple(self._members[name] for name in _AXES[: self._dimension])

    def axis(self, axis: int | str = 0) -> Axis:
        """An axis by number or by letter: "x", "y" or "z"."""
        letters = "xyz"[: self._dimension]
        if isinstance(axis, str):
            if len(axis) == 1 and axis in letters:
                return self.axes[letters.index(axis)]
        elif -self._dimension <= axis < self._dimension:
            return self.axes[axis]
        raise KeyInFileError.not_found("axis", str(axis), letters, f"{self.class_name} {self.name!r}")

    @property
    def weighted(self) -> bool:
        """Whether the sums of the squares of the weights were kept."""
        return len(self._squares) > 0

    def values(self, flow: bool = False) -> NDArray[Any]:
        """The contents of the bins, in the type that the histogram has them."""
        return self._shaped(self._contents, flow)

    def variances(self, flow: bool = False) -> NDArray[np.float64]:
        """The squares of the errors of the bins: sums of squares of weights, where these were kept."""
        if self.weighted:
            return self._shaped(self._squares, flow)
        return np.abs(self.values(flow).astype(np.float64))

    def errors(self, flow: bool = False) -> NDArray[np.float64]:
        """The errors of the bins."""
        return np.sqrt(self.variances(flow))

    def counts(self, flow: bool = False) -> NDArray[np.float64]:
        """The effective number of entries in each bin; those filled, if there are no weights."""
        values = self.values(flow).astype(np.float64)
        if not self.weighted:
            return values
        return _ratio(values**2, self.variances(flow))

    def edges(self, axis: int | str = 0, flow: bool = False) -> NDArray[np.float64]:
        """The edges of the bins of an axis."""
        return self.axis(axis).edges(flow)

    def to_numpy(self, flow: bool = False, dd: bool = False) -> tuple[Any, ...]:
        """Contents and edges, as ``numpy.histogram`` returns them.

        Args:
            flow: True to include underflow and overflow.
            dd: True for (contents, (edges, …)), as ``numpy.histogramdd`` returns them; False for
                (contents, edges, …).
        """
        edges = tuple(axis.edges(flow) for axis in self.axes)
        return (self.values(flow), edges) if dd else (self.values(flow), *edges)

    def to_boost(self) -> Any:
        """The histogram as a ``boost_histogram.Histogram``; this package has to be installed."""
        return to_boost(self)

    def to_hist(self) -> Any:
        """The histogram as a ``hist.Hist``; this package has to be installed."""
        return to_hist(self)

    @cached_property
    def _contents(self) -> NDArray[Any]:
        contents = array_of(contents_of(self._members))
        if len(contents) != self._cells:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r} has {len(contents)} values in {self._cells} bins"
            )
        self._refuse_buffered()
        return contents

    def _refuse_buffered(self) -> None:
        buffered = array_of(self._members.get("fBuffer"))
        if len(buffered) and buffered[0] != 0:
            raise UnsupportedTypeError(
                f"{self.class_name} {self.name!r} was written before its entries were put into bins",
                hint='they are in member("fBuffer"); ROOT\'s TH1::BufferEmpty() before writing helps',
            )

    @property
    def _cells(self) -> int:
        return int(np.prod([axis.num_bins + 2 for axis in self.axes]))

    @property
    def _squares(self) -> NDArray[Any]:
        squares = array_of(self._members.get("fSumw2"))
        return squares if len(squares) == self._cells else squares[:0]

    def _shaped(self, values: NDArray[Any], flow: bool) -> NDArray[Any]:
        # Bins count along x first: in C's order, the last axis of an array is the one that counts first.
        shape = [axis.num_bins + 2 for axis in reversed(self.axes)]
        shaped = values.reshape(shape).T
        return shaped if flow else shaped[(slice(1, -1),) * len(shape)]

    @shows_printable
    def __repr__(self) -> str:
        bins = " x ".join(str(axis.num_bins) for axis in self.axes)
        return f"<{self.class_name} {self.name!r} of {bins} bins>"


def is_histogram(members: Mapping[str, Any]) -> bool:
    """Whether members are those of a TH1 with its bins in an array (TH1K and TH2Poly have not)."""
    needed = {"fNcells", "fSumw2", *_AXES}
    return needed <= set(members) and contents_of(members) is not None and "fKOrd" not in members


def dimension(members: Mapping[str, Any]) -> int:
    """How many axes count; members of TH2 and TH3 tell, as TH1 keeps all three."""
    return 3 if "fTsumwxz" in members else 2 if "fTsumwxy" in members else 1


def contents_of(members: Mapping[str, Any]) -> Any:
    """The array of the bins: that of the base class TArrayC, S, I, L, L64, F or D."""
    names = (name for name in members if name == "fArray" or name.startswith("TArray"))
    return next((members[name] for name in names), None)


def _ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """One by the other, 0 where that is 0."""
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)
