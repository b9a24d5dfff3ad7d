"""Profile histograms: the mean of a quantity in each bin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .axis import array_of
from .histogram import Histogram, ratio

# The values of TProfile's EErrorType, and ROOT's letters for them.
_ERROR_MODES = {"": 0, "s": 1, "i": 2, "g": 3}


class Profile(Histogram):
    """A profile histogram (``TProfile``, ``TProfile2D``, ``TProfile3D``): one mean per bin.

    Its errors are computed as in ROOT, depending on the error mode: ``""`` for the error of the mean, ``"s"``
    for the spread, ``"i"`` for the error of the mean of integers, and ``"g"`` for the error of the mean of
    values with weights 1/σ².
    """

    @property
    def kind(self) -> str:
        """``"MEAN"``."""
        return "MEAN"

    @property
    def error_mode(self) -> str:
        """The error mode with which the profile was made: "", "s", "i" or "g"."""
        number = int(self._members["fErrorMode"])
        return next((letter for letter, mode in _ERROR_MODES.items() if mode == number), "")

    def values(self, flow: bool = False) -> NDArray[np.float64]:
        """The mean in each bin; 0 for an empty bin."""
        return self._shaped(ratio(self._contents, self._weights), flow)

    def counts(self, flow: bool = False) -> NDArray[np.float64]:
        """The effective number of entries in each bin."""
        return self._shaped(self._effective, flow)

    def sums_of_weights(self, flow: bool = False, squared: bool = False) -> NDArray[np.float64]:
        """The sum of the weights in each bin; with ``squared=True``, the sum of their squares."""
        return self._shaped(self._weights_squared if squared else self._weights, flow)

    def effective_entries(self, flow: bool = False) -> NDArray[np.float64]:
        """Alias of :meth:`counts`."""
        return self.counts(flow)

    def variances(self, flow: bool = False, error_mode: str | int | None = None) -> NDArray[np.float64]:
        """The squares of the errors."""
        return self.errors(flow, error_mode) ** 2

    def errors(self, flow: bool = False, error_mode: str | int | None = None) -> NDArray[np.float64]:
        """The errors of the means.

        Args:
            flow: whether to include underflow and overflow. Default: False.
            error_mode: "", "s", "i" or "g", or ROOT's number for it. Default: the profile's own mode.

        Raises:
            UsageError: if the error mode is invalid.
        """
        mode = self.error_mode if error_mode is None else error_mode
        number = _ERROR_MODES.get(mode, -1) if isinstance(mode, str) else mode
        if number not in _ERROR_MODES.values():
            raise UsageError(f"unknown error mode {error_mode!r}; use '', 's', 'i' or 'g'")
        return self._shaped(np.where(self._weights == 0, 0, self._errors(number)), flow)

    def _errors(self, mode: int) -> NDArray[np.float64]:
        weights, effective = self._weights, self._effective
        if mode == 3:
            return ratio(np.ones_like(weights), np.sqrt(np.abs(weights)))
        mean = ratio(self._contents, weights)
        spread = np.sqrt(np.abs(ratio(self._squares, weights) - mean**2))
        if mode == 1:
            return spread
        root = np.sqrt(effective)
        if mode == 2:
            # Rounding to integers adds a spread of 1/√12, which remains if all integers are equal.
            return np.where(spread != 0, ratio(spread, root), ratio(np.ones_like(root), np.sqrt(12) * root))
        return ratio(spread, root)

    @property
    def _weights(self) -> NDArray[np.float64]:
        """The sums of weights of all bins."""
        return self._of_all_bins("fBinEntries")

    @property
    def _weights_squared(self) -> NDArray[np.float64]:
        """The sums of squared weights of all bins; if they are not stored, all weights are 1."""
        squares = array_of(self._members.get("fBinSumw2"))
        return squares if len(squares) == self._cells else self._weights

    @property
    def _effective(self) -> NDArray[np.float64]:
        squares = self._weights_squared
        return ratio(self._weights**2, squares, squares > 0)

    def _of_all_bins(self, name: str) -> NDArray[Any]:
        values = array_of(self._members.get(name))
        return values if len(values) == self._cells else np.zeros(self._cells)
