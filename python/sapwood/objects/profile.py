"""Profiles: means of a quantity in the bins of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .axis import array_of
from .histogram import Histogram

# EErrorType of TProfile, and the letters that ROOT takes for it.
_ERROR_MODES = {"": 0, "s": 1, "i": 2, "g": 3}


class Profile(Histogram):
    """A profile (``TProfile``, ``TProfile2D``, ``TProfile3D``): a mean per bin.

    Its errors are those that ROOT computes, by the option that the profile was made with or another one:
    ``""`` the error of the mean, ``"s"`` the spread, ``"i"`` the error of the mean of integers, ``"g"`` that
    of values with weights 1/σ².
    """

    @property
    def kind(self) -> str:
        """``"MEAN"``."""
        return "MEAN"

    @property
    def error_mode(self) -> str:
        """The option that the profile was made with: "", "s", "i" or "g"."""
        number = int(self._members["fErrorMode"])
        return next((letter for letter, mode in _ERROR_MODES.items() if mode == number), "")

    def values(self, flow: bool = False) -> NDArray[np.float64]:
        """The mean in each bin; 0 where nothing was filled."""
        return self._shaped(_divided(self._contents, self._weights), flow)

    def counts(self, flow: bool = False) -> NDArray[np.float64]:
        """The effective number of entries in each bin."""
        return self._shaped(self._effective, flow)

    def sums_of_weights(self, flow: bool = False, squared: bool = False) -> NDArray[np.float64]:
        """The sum of the weights in each bin, or that of their squares."""
        return self._shaped(self._weights_squared if squared else self._weights, flow)

    def effective_entries(self, flow: bool = False) -> NDArray[np.float64]:
        """The same as :meth:`counts`."""
        return self.counts(flow)

    def variances(self, flow: bool = False, error_mode: str | int | None = None) -> NDArray[np.float64]:
        """The squares of the errors."""
        return self.errors(flow, error_mode) ** 2

    def errors(self, flow: bool = False, error_mode: str | int | None = None) -> NDArray[np.float64]:
        """The errors of the means.

        Args:
            flow: True to include underflow and overflow.
            error_mode: "", "s", "i" or "g", or ROOT's number for it; by default the profile's own.
        """
        mode = self.error_mode if error_mode is None else error_mode
        number = _ERROR_MODES.get(mode, -1) if isinstance(mode, str) else mode
        if number not in _ERROR_MODES.values():
            raise UsageError(f"a profile has error modes '', 's', 'i' and 'g', but no {error_mode!r}")
        return self._shaped(np.where(self._weights == 0, 0, self._errors(number)), flow)

    def _errors(self, mode: int) -> NDArray[np.float64]:
        weights, effective = self._weights, self._effective
        if mode == 3:
            return _divided(np.ones_like(weights), np.sqrt(np.abs(weights)))
        mean = _divided(self._contents, weights)
        spread = np.sqrt(np.abs(_divided(self._squares, weights) - mean**2))
        if mode == 1:
            return spread
        root = np.sqrt(effective)
        if mode == 2:
            # Integers that are all equal are known to 1/√12: the spread of what was rounded to one.
            return np.where(
                spread != 0, _divided(spread, root), _divided(np.ones_like(root), np.sqrt(12) * root)
            )
        return _divided(spread, root)

    @property
    def _weights(self) -> NDArray[np.float64]:
        """Sums of weights, of all bins."""
        return self._of_all_bins("fBinEntries")

    @property
    def _weights_squared(self) -> NDArray[np.float64]:
        """Sums of squares of weights; of weights, where they were not kept because all are 1."""
        squares = array_of(self._members.get("fBinSumw2"))
        return squares if len(squares) == self._cells else self._weights

    @property
    def _effective(self) -> NDArray[np.float64]:
        return _divided(self._weights**2, self._weights_squared, positive=True)

    def _of_all_bins(self, name: str) -> NDArray[Any]:
        values = array_of(self._members.get(name))
        return values if len(values) == self._cells else np.zeros(self._cells)


def _divided(
    one: NDArray[np.float64], other: NDArray[np.float64], *, positive: bool = False
) -> NDArray[np.float64]:
    """One by the other; 0 where that is 0 (or, if it has to be positive, is not)."""
    where = other > 0 if positive else other != 0
    return np.divide(one, other, out=np.zeros_like(one, dtype=np.float64), where=where)
