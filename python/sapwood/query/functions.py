"""The functions that expressions may call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _where(condition: Any, yes: Any, no: Any) -> Any:
    if _is_awkward(condition) or _is_awkward(yes) or _is_awkward(no):
        import awkward as ak

        if isinstance(yes, str) or isinstance(no, str):
            # Awkward Array would take the letters for items.
            raise TypeError("where() chooses between numbers, not between texts")
        return ak.where(condition, yes, no)
    return np.where(condition, yes, no)


def _is_awkward(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "awkward"


def _elementwise(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of the standard library's math module, applied to each number at any depth of lists."""
    over_numpy = np.vectorize(function, otypes=[np.float64])

    def over_any(values: Any) -> Any:
        if not _is_awkward(values):
            return over_numpy(values)
        import awkward as ak

        def numbers(layout: Any, **_: Any) -> Any:
            if layout.is_numpy:
                return ak.contents.NumpyArray(over_numpy(layout.data))
            return None

        return ak.transform(numbers, values)

    return over_any


def _gamma(value: float) -> float:
    try:
        return math.gamma(value)
    except (ValueError, OverflowError):
        return math.inf if value > 0 else math.nan


def _log_gamma(value: float) -> float:
    try:
        return math.lgamma(value)
    except ValueError:
        return math.inf


def _per_entry(name: str) -> Callable[[Any], Any]:
    """A reduction of each entry's lists to one number, such as ROOT's ``Sum$``."""

    def reduce(values: Any) -> Any:
        import awkward as ak

        array = ak.Array(values)
        if array.ndim == 1:
            return ak.ones_like(array, dtype=np.int64) if name == "num" else array
        if name == "num":
            return ak.num(array, axis=1)
        while array.ndim > 1:
            array = getattr(ak, name)(array, axis=-1)
        return array

    return reduce


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.absolute,
    "absolute": np.absolute,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "arccos": np.arccos,
    "arccosh": np.arccosh,
    "arcsin": np.arcsin,
    "arcsinh": np.arcsinh,
    "arctan": np.arctan,
    "arctan2": np.arctan2,
    "arctanh": np.arctanh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "conj": np.conjugate,
    "conjugate": np.conjugate,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.absolute,
    "factorial": _elementwise(lambda value: _gamma(round(value) + 1.0)),
    "floor": np.floor,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "gamma": _elementwise(_gamma),
    "hypot": np.hypot,
    "imag": np.imag,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "lgamma": _elementwise(_log_gamma),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "max": np.maximum,
    "maximum": np.maximum,
    "min": np.minimum,
    "minimum": np.minimum,
    "neg": np.negative,
    "nextafter": np.nextafter,
    "pow": np.power,
    "real": np.real,
    "rint": np.rint,
    "round": np.round,
    "signbit": np.signbit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _elementwise(_gamma),
    "trunc": np.trunc,
    "where": _where,
    "Sum_dollar": _per_entry("sum"),
    "Min_dollar": _per_entry("min"),
    "Max_dollar": _per_entry("max"),
    "Length_dollar": _per_entry("num"),
    "Any_dollar": _per_entry("any"),
    "All_dollar": _per_entry("all"),
}
"""Functions by name, with both the C and the NumPy name; ``Sum_dollar`` stands for ROOT's ``Sum$``."""


def arguments_of(name: str) -> tuple[int, int]:
    """The least and the most arguments that a function takes.

    NumPy's functions would write their result into a further argument.
    """
    function = FUNCTIONS[name]
    if isinstance(function, np.ufunc):
        return function.nin, function.nin
    return {"round": (1, 2), "where": (3, 3)}.get(name, (1, 1))
