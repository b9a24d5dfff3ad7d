"""Histograms: the bin contents, variances and axes of TH1, TH2 and TH3."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display.printable import shows_printable
from ..display.units import counted
from ..errors import CorruptFileError, KeyInFileError, SapwoodError, UnsupportedTypeError
from .axis import Axis, array_of
from .boost import to_boost, to_hist
from .instance import Instance

_AXES = ("fXaxis", "fYaxis", "fZaxis")


class Histogram(Instance):
    """A histogram (``TH1D``, ``TH2F``, …).

    It implements the UHI protocol, so ``mplhep`` and other libraries can plot it directly. All arrays have
    one dimension per axis. With ``flow=True``, each dimension begins with the underflow and ends with the
    overflow.

    >>> counts, edges = file["h_mass"].to_numpy()                                    # doctest: +SKIP
    """

    def __init__(
        self, class_name: str, members: Mapping[str, Any], skipped: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(class_name, members, skipped)
        self._dimension = dimension(members)

    @property
    def kind(self) -> str:
        """``"COUNT"`` if bins hold sums of weights, or ``"MEAN"`` if they hold means of another quantity."""
        return "COUNT"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, in the order x, y, z."""
        return tuple(self._members[name] for name in _AXES[: self._dimension])

    def axis(self, axis: int | str = 0) -> Axis:
        """An axis by number, counted from 0, or by letter ("x", "y" or "z").

        Raises:
            KeyInFileError: if there is no such axis.
        """
        letters = "xyz"[: self._dimension]
        if isinstance(axis, str):
            if len(axis) == 1 and axis in letters:
                return self.axes[letters.index(axis)]
        elif -self._dimension <= axis < self._dimension:
            return self.axes[axis]
        raise KeyInFileError.not_found("axis", str(axis), letters, f"{self.class_name} {self.name!r}")

    @property
    def weighted(self) -> bool:
        """Whether the histogram stores the sums of squared weights (``fSumw2``)."""
        return len(self._squares) > 0

    def values(self, flow: bool = False) -> NDArray[Any]:
        """The bin contents, with the dtype in which the histogram stores them.

        Raises:
            CorruptFileError: if the number of contents does not match the axes.
            UnsupportedTypeError: if the entries are still in the histogram's buffer, and not in bins.
        """
        return self._shaped(self._contents, flow)

    def variances(self, flow: bool = False) -> NDArray[np.float64]:
        """The squares of the bin errors: the sums of squared weights or, without these, the bin contents."""
        if self.weighted:
            return self._shaped(self._squares, flow)
        return np.abs(self.values(flow).astype(np.float64))

    def errors(self, flow: bool = False) -> NDArray[np.float64]:
        """The bin errors."""
        return np.sqrt(self.variances(flow))

    def counts(self, flow: bool = False) -> NDArray[np.float64]:
        """The effective number of entries in each bin; without weights, the bin contents."""
        values = self.values(flow).astype(np.float64)
        if not self.weighted:
            return values
        variances = self.variances(flow)
        return ratio(values**2, variances, variances > 0)

    def edges(self, axis: int | str = 0, flow: bool = False) -> NDArray[np.float64]:
        """The bin edges of an axis: see :meth:`Axis.edges`."""
        return self.axis(axis).edges(flow)

    def to_numpy(self, flow: bool = False, dd: bool = False) -> tuple[Any, ...]:
        """The bin contents and edges, in the form that ``numpy.histogram`` returns.

        Args:
            flow: whether to include underflow and overflow. Default: False.
            dd: True for (contents, (edges, …)), as returned by ``numpy.histogramdd``; False, the default, for
                (contents, edges, …).
        """
        edges = tuple(axis.edges(flow) for axis in self.axes)
        return (self.values(flow), edges) if dd else (self.values(flow), *edges)

    def to_boost(
        self, metadata: Mapping[str, str] | None = None, axis_metadata: Mapping[str, str] | None = None
    ) -> Any:
        """The histogram as a ``boost_histogram.Histogram``; needs the package boost-histogram.

        Args:
            metadata: the attributes that the result gets, and the members of the histogram with their values.
                Default: ``{"name": "fName", "label": "fTitle"}``.
            axis_metadata: the same for each axis.

        Raises:
            KeyInFileError: if there is no such member.
        """
        return to_boost(self, metadata, axis_metadata)

    def to_hist(
        self, metadata: Mapping[str, str] | None = None, axis_metadata: Mapping[str, str] | None = None
    ) -> Any:
        """The same as a ``hist.Hist``; needs the package hist. Takes the arguments of :meth:`to_boost`."""
        return to_hist(self, metadata, axis_metadata)

    @cached_property
    def _contents(self) -> NDArray[Any]:
        contents = array_of(contents_of(self._members))
        if len(contents) != self._cells:
            values, bins = counted(len(contents), "value"), counted(self._cells, "bin")
            raise CorruptFileError(f"{self.class_name} {self.name!r} has {values} for {bins}")
        buffered = array_of(self._members.get("fBuffer"))
        if len(buffered) and buffered[0] != 0:
            raise UnsupportedTypeError(
                f"{self.class_name} {self.name!r} was written before its entries were filled into bins",
                hint='call TH1::BufferEmpty() before writing; the entries are in member("fBuffer")',
            )
        return contents

    @property
    def _cells(self) -> int:
        return int(np.prod([axis.num_bins + 2 for axis in self.axes]))

    @property
    def _squares(self) -> NDArray[Any]:
        squares = array_of(self._members.get("fSumw2"))
        return squares if len(squares) == self._cells else squares[:0]

    def _shaped(self, values: NDArray[Any], flow: bool) -> NDArray[Any]:
        # The bin number increases along x first, but in C order, the last dimension varies fastest.
        shape = [axis.num_bins + 2 for axis in reversed(self.axes)]
        shaped = values.reshape(shape).T
        return shaped if flow else shaped[(slice(1, -1),) * len(shape)]

    def _repr_html_(self) -> str:
        from ..display.notebook import notebook_table, table_or_text

        def table() -> str:
            rows = [
                (letter, axis.title or "", axis.num_bins, f"{axis.low:.6g}", f"{axis.high:.6g}")
                for letter, axis in zip("xyz", self.axes, strict=False)
            ]
            title = f"{self.class_name} {self.name or ''}" + (f": {self.title}" if self.title else "")
            total = f"sum of bins {self.values().sum():,.6g}" if self.kind == "COUNT" else "means"
            return notebook_table(title, ["axis", "title", "bins", "low", "high"], rows, total)

        return table_or_text(self, table, SapwoodError)

    @shows_printable
    def __repr__(self) -> str:
        bins = " x ".join(str(axis.num_bins) for axis in self.axes)
        return f"<{self.class_name} {self.name!r} of {bins} {'bin' if bins == '1' else 'bins'}>"


def is_histogram(members: Mapping[str, Any]) -> bool:
    """Whether an object with these members is a TH1 with an array of bins, unlike TH1K and TH2Poly."""
    needed = {"fNcells", "fSumw2", *_AXES}
    return needed <= set(members) and contents_of(members) is not None and "fKOrd" not in members


def dimension(members: Mapping[str, Any]) -> int:
    """The number of axes in use. A TH1 has all three, so members that only TH2 and TH3 have decide."""
    return 3 if "fTsumwxz" in members else 2 if "fTsumwxy" in members else 1


def contents_of(members: Mapping[str, Any]) -> Any:
    """The array of the bins, from the base class TArrayC, S, I, L, L64, F or D."""
    names = (name for name in members if name == "fArray" or name.startswith("TArray"))
    return next((members[name] for name in names), None)


def ratio(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64], where: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The quotient; 0 where ``where`` is false, by default where the denominator is 0."""
    defined = denominator != 0 if where is None else where
    return np.divide(numerator, denominator, out=np.zeros_like(numerator, dtype=np.float64), where=defined)
