"""Converts histograms into those of boost-histogram and hist."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .axis import Axis
    from .histogram import Histogram


def to_boost(
    histogram: Histogram,
    metadata: Mapping[str, str] | None = None,
    axis_metadata: Mapping[str, str] | None = None,
) -> Any:
    """A ``boost_histogram.Histogram`` with the same bins and contents: see :meth:`Histogram.to_boost`."""
    bh = _package("boost_histogram", "boost-histogram")
    filled = bh.Histogram(*(_axis(bh, axis) for axis in histogram.axes), storage=_storage(bh, histogram))
    for axis, converted in zip(histogram.axes, filled.axes, strict=True):
        converted.__dict__.update(_metadata(axis, axis_metadata))
    # A category axis has no underflow.
    inside = tuple(slice(1 if _categories(axis) else 0, None) for axis in histogram.axes)
    view = filled.view(flow=True)
    if histogram.kind == "MEAN":
        _fill_means(view, histogram, inside)
    elif histogram.weighted:
        view["value"] = histogram.values(flow=True)[inside]
        view["variance"] = histogram.variances(flow=True)[inside]
    else:
        view[...] = histogram.values(flow=True)[inside]
    filled.__dict__.update(_metadata(histogram, metadata))
    return filled


def to_hist(
    histogram: Histogram,
    metadata: Mapping[str, str] | None = None,
    axis_metadata: Mapping[str, str] | None = None,
) -> Any:
    """A ``hist.Hist`` with the same bins and contents: see :meth:`Histogram.to_boost`."""
    return _package("hist", "hist").Hist(to_boost(histogram, metadata, axis_metadata))


def _metadata(described: Histogram | Axis, members: Mapping[str, str] | None) -> dict[str, Any]:
    """The values of members by the names that they get; without names, the name and the title."""
    if members is None:
        return {"name": described.name or "", "label": described.title or ""}
    return {name: described.member(member) for name, member in members.items()}


def _axis(bh: Any, axis: Axis) -> Any:
    categories = _categories(axis)
    if categories:
        return bh.axis.StrCategory(categories, overflow=True)
    if axis.variable:
        return bh.axis.Variable(axis.edges())
    return bh.axis.Regular(axis.num_bins, axis.low, axis.high)


def _categories(axis: Axis) -> list[str] | None:
    """The labels as unique names of categories, or None; a bin without a label gets its number."""
    names = [label or str(number) for number, label in enumerate(axis.labels() or [], start=1)]
    return names if names and len(set(names)) == len(names) else None


def _storage(bh: Any, histogram: Histogram) -> Any:
    if histogram.kind == "MEAN":
        return bh.storage.WeightedMean()
    if histogram.weighted:
        return bh.storage.Weight()
    return bh.storage.Int64() if histogram.values().dtype.kind == "i" else bh.storage.Double()


def _fill_means(view: Any, histogram: Any, inside: tuple[slice, ...]) -> None:
    weights = histogram.sums_of_weights(flow=True)[inside]
    view["sum_of_weights"] = weights
    view["sum_of_weights_squared"] = histogram.sums_of_weights(flow=True, squared=True)[inside]
    view["value"] = histogram.values(flow=True)[inside]
    spread = histogram.errors(flow=True, error_mode="s")[inside]
    view["_sum_of_weighted_deltas_squared"] = np.asarray(spread**2 * weights)


def _package(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        message = f"this needs the package {package!r}; run 'pip install {package}'"
        raise ModuleNotFoundError(message, name=module) from None
