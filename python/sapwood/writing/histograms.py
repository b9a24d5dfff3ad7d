"""Converts histograms to ROOT's classes: TH1, TH2, TH3, and profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedTypeError, UsageError
from ..objects.instance import Instance

Written = tuple[str, str, dict[str, Any]]
"""Class, title and members."""

_LETTERS = "XYZ"
_AXIS_STYLE: dict[str, Any] = {
    "fNdivisions": 510,
    "fAxisColor": 1,
    "fLabelColor": 1,
    "fLabelFont": 42,
    "fLabelOffset": 0.005,
    "fLabelSize": 0.035,
    "fTickLength": 0.03,
    "fTitleOffset": 1.0,
    "fTitleSize": 0.035,
    "fTitleColor": 1,
    "fTitleFont": 42,
    "fFirst": 0,
    "fLast": 0,
    "fBits2": 0,
    "fTimeDisplay": 0,
    "fTimeFormat": "",
    "fModLabs": None,
}
_STYLE: dict[str, Any] = {
    "fLineColor": 602,
    "fLineStyle": 1,
    "fLineWidth": 1,
    "fFillColor": 0,
    "fFillStyle": 1001,
    "fMarkerColor": 1,
    "fMarkerStyle": 1,
    "fMarkerSize": 1.0,
    "fBarOffset": 0,
    "fBarWidth": 1000,
    "fMaximum": -1111.0,
    "fMinimum": -1111.0,
    "fNormFactor": 0.0,
    "fContour": np.empty(0),
    "fOption": "",
    "fFunctions": [],
    "fBufferSize": 0,
    "fBuffer": None,
    "fBinStatErrOpt": 0,
    "fStatOverflows": 2,
}
# Members with sums over bins, and the powers of the coordinates in each sum.
_MOMENTS: list[dict[str, tuple[int, ...]]] = [
    {"fTsumwx": (1,), "fTsumwx2": (2,)},
    {"fTsumwy": (0, 1), "fTsumwy2": (0, 2), "fTsumwxy": (1, 1)},
    {"fTsumwz": (0, 0, 1), "fTsumwz2": (0, 0, 2), "fTsumwxz": (1, 0, 1), "fTsumwyz": (0, 1, 1)},
]


def as_object(value: Any, name: str) -> Written | None:
    """Converts a histogram to the class, title and members of a ROOT object; None for other values.

    Raises:
        UsageError: the number of bins does not match the edges, or edges do not increase.
        UnsupportedTypeError: the histogram has more than three axes.
    """
    if isinstance(value, Instance):
        return _copied(value, name)
    if isinstance(value, tuple) and len(value) >= 2 and hasattr(value[0], "__array__"):
        return _from_numpy(value, name)
    if all(hasattr(value, part) for part in ("axes", "values", "kind")):
        return _from_uhi(value, name)
    return None


def _copied(value: Instance, name: str) -> Written:
    """An object that was read from a file, under a new name."""
    members = {**_plain(value), "fName": name}
    return value.class_name, value.title or "", members


def _plain(value: Any) -> Any:
    """A value as the core expects it: an embedded object is a dict of its members."""
    if isinstance(value, Instance):
        return {member: _member(item) for member, item in value.members.items()}
    return value


def _member(item: Any) -> Any:
    if isinstance(item, list):
        return [_listed(part) for part in item]
    if isinstance(item, np.ndarray):
        return np.ascontiguousarray(item)
    return item.item() if isinstance(item, np.generic) else _plain(item)


def _listed(part: Any) -> tuple[str, Any]:
    """The class and members of an object in a list."""
    if isinstance(part, Instance):
        return part.class_name, _plain(part)
    return "TObjString", {"fString": str(part), "fUniqueID": getattr(part, "unique_id", 0)}


def _from_numpy(value: tuple[Any, ...], name: str) -> Written:
    counts, edges = np.asarray(value[0]), list(value[1:])
    if len(edges) == 1 and isinstance(edges[0], (tuple, list)):
        edges = list(edges[0])
    edges = [np.asarray(edge, dtype=np.float64) for edge in edges]
    if [len(edge) - 1 for edge in edges] != list(counts.shape):
        needed = [size + 1 for size in counts.shape]
        raise UsageError(
            f"{name!r}: bins of shape {counts.shape} need axes with {needed} edges, "
            f"not {[len(edge) for edge in edges]}"
        )
    cells = np.pad(counts, 1)
    axes = [_axis(letter, edge, "", None) for letter, edge in zip(_LETTERS, edges, strict=False)]
    return _histogram(name, "", axes, cells, None)


def _from_uhi(value: Any, name: str) -> Written:
    if len(value.axes) > len(_LETTERS):
        raise UnsupportedTypeError(f"{name!r}: ROOT has no histograms with {len(value.axes)} axes")
    axes, paddings = [], []
    for letter, axis in zip(_LETTERS, value.axes, strict=False):
        traits = getattr(axis, "traits", None)
        under, over = bool(getattr(traits, "underflow", False)), bool(getattr(traits, "overflow", False))
        paddings.append((0 if under else 1, 0 if over else 1))
        edges = np.asarray(axis.edges if not callable(axis.edges) else axis.edges(), dtype=np.float64)
        title = str(getattr(axis, "label", "") or getattr(axis, "name", "") or "")
        axes.append(_axis(letter, edges, title, _labels(axis)))
    title = str(getattr(value, "label", "") or getattr(value, "title", "") or "")
    if str(getattr(value.kind, "value", value.kind)) == "MEAN":
        return _profile(name, title, axes, value, paddings)
    values = np.pad(value.values(flow=True), paddings)
    storage = type(value.storage_type() if hasattr(value, "storage_type") else None).__name__
    weighted = storage.startswith("Weight")
    variances = np.pad(value.variances(flow=True), paddings) if weighted else None
    return _histogram(name, title, axes, values, variances)


def _labels(axis: Any) -> list[str] | None:
    """The names of the bins of a category axis, else None."""
    if not getattr(getattr(axis, "traits", None), "discrete", False):
        return None
    return [str(axis.bin(number)) for number in range(len(axis))]


def _axis(letter: str, edges: NDArray[np.float64], title: str, labels: list[str] | None) -> dict[str, Any]:
    if len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise UsageError("the edges of an axis must increase")
    regular = np.allclose(edges, np.linspace(edges[0], edges[-1], len(edges)), rtol=1e-12, atol=0)
    entries = [
        ("TObjString", {"fString": label, "fUniqueID": number})
        for number, label in enumerate(labels or [], start=1)
    ]
    return {
        **_AXIS_STYLE,
        "fName": f"{letter.lower()}axis",
        "fTitle": title,
        "fNbins": len(edges) - 1,
        "fXmin": float(edges[0]),
        "fXmax": float(edges[-1]),
        "fXbins": np.empty(0) if regular else edges,
        "fLabels": entries or None,
    }


_NO_AXIS = np.array([0.0, 1.0])


def _histogram(
    name: str,
    title: str,
    axes: Sequence[dict[str, Any]],
    values: NDArray[Any],
    variances: NDArray[Any] | None,
) -> Written:
    """A TH1, TH2 or TH3; the arrays include underflow and overflow."""
    dimension = values.ndim
    if not 1 <= dimension <= 3 or len(axes) != dimension:
        raise UnsupportedTypeError(f"{name!r}: ROOT has no histograms with {dimension} axes")
    letter, dtype = _storage(values.dtype)
    weights = values.astype(np.float64)
    squares = weights if variances is None else variances.astype(np.float64)
    members = {
        **_common(name, title, axes, values.size),
        **_moments(axes, weights, squares),
        "fEntries": float(_effective(weights, squares)),
        "fSumw2": np.empty(0) if variances is None else _in_root_order(variances, np.float64),
        "fArray": _in_root_order(values, dtype),
    }
    if dimension > 1:
        members["fScalefactor"] = 1.0
    return f"TH{dimension}{letter}", title, members


def _profile(
    name: str, title: str, axes: Sequence[dict[str, Any]], value: Any, paddings: list[tuple[int, int]]
) -> Written:
    dimension = len(axes)
    view = value.view(flow=True)
    parts = view.dtype.names or ()
    means = np.pad(view["value"], paddings)
    if "sum_of_weights" in parts:
        weights = np.pad(view["sum_of_weights"], paddings)
        weights2 = np.pad(view["sum_of_weights_squared"], paddings)
        deltas = np.pad(view["_sum_of_weighted_deltas_squared"], paddings)
    else:
        weights = weights2 = np.pad(view["count"], paddings)
        deltas = np.pad(view["_sum_of_deltas_squared"], paddings)
    sums, squares = weights * means, deltas + weights * means**2
    inside = (slice(1, -1),) * dimension
    last = "YZT"[dimension - 1].lower()
    members = {
        **_common(name, title, axes, weights.size),
        **_moments(axes, weights, weights2),
        "fEntries": float(_effective(weights, weights2)),
        "fSumw2": _in_root_order(squares, np.float64),
        "fArray": _in_root_order(sums, np.float64),
        "fBinEntries": _in_root_order(weights, np.float64),
        "fErrorMode": 0,
        f"f{last.upper()}min": 0.0,
        f"f{last.upper()}max": 0.0,
        f"fTsumw{last}": float(sums[inside].sum()),
        f"fTsumw{last}2": float(squares[inside].sum()),
        "fBinSumw2": np.empty(0) if weights2 is weights else _in_root_order(weights2, np.float64),
        "fScalefactor": 1.0,
    }
    return "TProfile" if dimension == 1 else f"TProfile{dimension}D", title, members


def _common(name: str, title: str, axes: Sequence[dict[str, Any]], cells: int) -> dict[str, Any]:
    missing = [_axis(letter, _NO_AXIS, "", None) for letter in _LETTERS[len(axes) :]]
    named = dict(zip(("fXaxis", "fYaxis", "fZaxis"), [*axes, *missing], strict=True))
    return {**_STYLE, **named, "fName": name, "fTitle": title, "fNcells": cells}


def _storage(dtype: np.dtype[Any]) -> tuple[str, Any]:
    if dtype == np.float32:
        return "F", np.float32
    if dtype.kind in "iub" and dtype.itemsize <= 2 and dtype != np.uint16:
        return "I", np.int32
    return ("I", np.int32) if dtype == np.int32 else ("D", np.float64)


def _moments(
    axes: Sequence[dict[str, Any]], weights: NDArray[np.float64], squares: NDArray[np.float64]
) -> dict[str, float]:
    """The sums from which ROOT computes means and widths, with all entries at the centers of their bins."""
    inside = weights[(slice(1, -1),) * weights.ndim]
    centers = np.meshgrid(*(_centers(axis) for axis in axes), indexing="ij")
    found = {
        "fTsumw": float(inside.sum()),
        "fTsumw2": float(squares[(slice(1, -1),) * weights.ndim].sum()),
    }
    for moments in _MOMENTS[: weights.ndim]:
        for moment, powers in moments.items():
            terms = inside
            for center, power in zip(centers, powers, strict=False):
                terms = terms * center**power
            found[moment] = float(terms.sum())
    return found


def _centers(axis: dict[str, Any]) -> NDArray[np.float64]:
    edges = axis["fXbins"]
    if not len(edges):
        edges = np.linspace(axis["fXmin"], axis["fXmax"], axis["fNbins"] + 1)
    return np.asarray((edges[:-1] + edges[1:]) / 2)


def _effective(weights: NDArray[np.float64], squares: NDArray[np.float64]) -> float:
    """The effective number of entries."""
    total = squares.sum()
    return float(weights.sum() ** 2 / total) if total > 0 else 0.0


def _in_root_order(cells: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """All bins as a flat array, with x varying fastest."""
    return np.ascontiguousarray(cells.T.reshape(-1), dtype)
