"""Fills a histogram from columns or expressions, in steps of bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedTypeError, UsageError

KEPT = 8_000_000
"""The most numbers that are kept to find the range; with more, the files are read twice."""
MOST_WHOLE_BINS = 100
"""Whole numbers get bins of width 1 up to this many."""

Pairs = Iterator[tuple[NDArray[Any], "NDArray[Any] | None"]]


@dataclass
class Filled:
    """A filled histogram.

    Attributes:
        values: the number of entries in each bin, or the sum of their weights.
        edges: the edges of the bins.
        entries: the number of values, including those outside the bins.
        below, above: those below the first and above the last edge, as in ``values``.
        nan: the number of values that are NaN or, without a given range, infinite.
        mean, std: of the values inside the bins; NaN without any. Negative weights may leave no ``std``.
    """

    values: NDArray[np.float64]
    edges: NDArray[np.float64]
    entries: int = 0
    below: float = 0.0
    above: float = 0.0
    nan: int = 0
    _sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    @property
    def mean(self) -> float:
        """The mean of the values inside the bins."""
        total, first, _ = self._sums
        return first / total if total else float("nan")

    @property
    def std(self) -> float:
        """The standard deviation of the values inside the bins; NaN if negative weights leave none."""
        total, first, second = self._sums
        if not total:
            return float("nan")
        variance = second / total - (first / total) ** 2
        # Rounding may make the variance of equal values slightly negative.
        rounding = 1e-9 * abs(second / total)
        return float("nan") if variance < -rounding else float(np.sqrt(max(variance, 0.0)))

    def fill(self, values: NDArray[Any], weights: NDArray[Any] | None) -> None:
        """Adds values."""
        numbers = values.astype(np.float64, copy=False)
        weights = np.ones(len(numbers)) if weights is None else weights.astype(np.float64, copy=False)
        self.entries += len(numbers)
        known = ~np.isnan(numbers)
        self.nan += int(len(numbers) - known.sum())
        numbers, weights = numbers[known], weights[known]
        low, high = numbers < self.edges[0], numbers > self.edges[-1]
        self.below += float(weights[low].sum())
        self.above += float(weights[high].sum())
        inside = ~(low | high)
        numbers, weights = numbers[inside], weights[inside]
        # NumPy's histogram subtracts running sums: a bin that is NaN, or huge, spoils those after it.
        places = np.searchsorted(self.edges, numbers, side="right") - 1
        last = len(self.values) - 1
        self.values += np.bincount(np.minimum(places, last), weights, minlength=last + 1)
        self._sums[0] += float(weights.sum())
        self._sums[1] += float((weights * numbers).sum())
        self._sums[2] += float((weights * numbers**2).sum())


def fill(read: Callable[[], Pairs], bins: int | None, limits: tuple[float, float] | None) -> Filled:
    """Fills a histogram.

    Args:
        read: starts reading; it yields pairs of values and weights, and may be called twice.
        bins: the number of bins; by default 50, or one for each whole number if there are few.
        limits: the first and the last edge; by default the least and the greatest finite value.
    """
    if limits is not None:
        filled = _empty(*limits, bins or 50)
        for values, weights in read():
            filled.fill(values, weights)
        return filled
    kept: list[tuple[NDArray[Any], NDArray[Any] | None]] = []
    count, least, greatest, whole = 0, np.inf, -np.inf, True
    for values, weights in read():
        finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if len(finite):
            least, greatest = min(least, float(finite.min())), max(greatest, float(finite.max()))
        whole = whole and values.dtype.kind != "f"
        count += len(values)
        if count <= KEPT:
            kept.append((values, weights))
        else:
            kept = []
    if not np.isfinite(least):
        least, greatest = 0.0, 1.0
    if whole and bins is None and greatest - least < MOST_WHOLE_BINS:
        filled = _empty(least - 0.5, greatest + 0.5, int(greatest - least) + 1)
    else:
        if least == greatest:
            least, greatest = least - 0.5, greatest + 0.5
        filled = _empty(least, greatest, bins or 50)
    for values, weights in kept if count <= KEPT else read():
        finite_only = np.isfinite(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
        filled.nan += int(len(values) - finite_only.sum())
        filled.entries += int(len(values) - finite_only.sum())
        filled.fill(values[finite_only], None if weights is None else weights[finite_only])
    return filled


def _empty(low: float, high: float, bins: int) -> Filled:
    return Filled(np.zeros(bins), np.linspace(low, high, bins + 1))


def flat_pairs(values: Any, weights: Any, name: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Values and weights as flat arrays; the weight of an entry counts for each of its values.

    Raises:
        UnsupportedTypeError: the values are not numbers.
        UsageError: the weights are lists of other lengths than the values.
    """
    import awkward as ak

    _check_numbers(values, name)
    if weights is not None:
        _check_numbers(weights, "the weight")
        try:
            values, weights = ak.broadcast_arrays(values, weights)
        except ValueError:
            problem = f"{name} and the weight have different numbers of items in an entry"
            raise UsageError(f"{problem}; give one weight per entry, or one per value") from None
        weights = _flat(weights, "the weight")
    return _flat(values, name), weights


def _flat(array: Any, name: str) -> NDArray[Any]:
    import awkward as ak

    found = np.asarray(ak.drop_none(ak.flatten(array, axis=None)))
    return found.view(np.uint8) if found.dtype.kind == "b" else found


def _check_numbers(array: Any, name: str) -> None:
    import awkward as ak

    if not _has_only_numbers(ak.to_layout(array)):
        kind = array.type if hasattr(array, "layout") else ak.Array(array).type
        raise UnsupportedTypeError(f"{name} has the type {kind}: a histogram needs numbers")


def _has_only_numbers(layout: Any) -> bool:
    """Whether a layout has only numbers and booleans, at any depths of lists."""
    if layout.is_union:
        return all(map(_has_only_numbers, layout.contents))
    if layout.is_list or layout.is_option or layout.is_indexed:
        return layout.parameter("__array__") is None and _has_only_numbers(layout.content)
    return layout.is_unknown or (layout.is_numpy and layout.dtype.kind in "biuf")
