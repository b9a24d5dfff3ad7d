"""Numbers of interactions: how many background events each bunch of a crossing gets."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, UsageError

Draw = Callable[[np.random.RandomState, tuple[int, int]], NDArray[np.int64]]
"""Draws the number of interactions of each bunch, from the shape (crossings, bunches)."""

Opened = Callable[[str], Any]

MOST = 1_000_000
"""The most interactions in a bunch, far beyond any accelerator: more is a mistake of units."""


def interactions(number: Any, mean: Any, opened: Opened) -> Draw:
    """The distribution of the number of interactions.

    Args:
        number: each bunch has its own number, from this distribution.
        mean: each crossing has its own mean, from this distribution; the number in each of its bunches is
            Poisson-distributed around it.
        opened: opens what ``"file.root:name"`` names.

    Raises:
        ArgumentTypeError: this is no distribution.
        UsageError: it is a wrong one, or both or neither are given.
    """
    if (number is None) == (mean is None):
        raise UsageError("give either 'number' or 'mean' to overlay")
    if mean is None:
        numbers = _numbers("number", number, opened)
        return lambda random, shape: _checked("number", numbers(random, shape), shape).astype(np.int64)
    means = _means("mean", mean, opened)

    def draw(random: np.random.RandomState, shape: tuple[int, int]) -> NDArray[np.int64]:
        expected = _checked("mean", means(random, (shape[0], 1)), shape)
        return random.poisson(expected, shape).astype(np.int64)

    return draw


_Sample = Callable[[np.random.RandomState, tuple[int, int]], Any]


def _numbers(name: str, given: Any, opened: Opened) -> _Sample:
    """A distribution of whole numbers. Those inside a bin of a histogram are equally likely."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return lambda random, shape: given
    if (bins := _histogram(name, given, opened)) is not None:
        weights, edges = bins
        # Edges are sums of widths, so they may be a little off a whole number.
        whole = np.ceil(edges - 1e-9).astype(np.int64)
        first, last = whole[:-1], whole[1:]
        if np.any((weights > 0) & (first == last)):
            raise UsageError(f"the histogram for {name!r} has a bin without a whole number")
        values = np.concatenate([np.arange(*pair) for pair in zip(first, last, strict=True)])
        sizes = last - first
        place = _chosen(np.repeat(weights / np.maximum(sizes, 1), sizes))
        return lambda random, shape: values[place(random, shape)]
    return given if callable(given) else _chosen(_weights(name, given))


def _means(name: str, given: Any, opened: Opened) -> _Sample:
    """A distribution of numbers. Those inside a bin of a histogram are equally likely."""
    if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
        return lambda random, shape: given
    if (bins := _histogram(name, given, opened)) is not None:
        weights, edges = bins
        place, widths = _chosen(weights), np.diff(edges)

        def inside(random: np.random.RandomState, shape: tuple[int, int]) -> NDArray[np.float64]:
            chosen = place(random, shape)
            return np.asarray(edges[chosen] + widths[chosen] * random.random_sample(shape))

        return inside
    return given if callable(given) else _chosen(_weights(name, given))


def _histogram(name: str, given: Any, opened: Opened) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Weights and edges of the bins of a histogram, here or in a file; None for anything else."""
    if isinstance(given, (str, os.PathLike)):
        found = opened(os.fspath(given))
        if not hasattr(found, "to_numpy"):
            raise UsageError(f"{os.fspath(given)} is not a histogram; name one, as in 'pileup.root:pileup'")
        given = found
    bins = given.to_numpy() if hasattr(given, "to_numpy") else None
    if not isinstance(bins, tuple):
        return None
    if len(bins) != 2:
        raise UsageError(f"the histogram for {name!r} must have one axis, not {len(bins) - 1}")
    edges = np.asarray(bins[1], np.float64)
    if not (edges[0] >= -0.5 and edges[-1] <= MOST):
        raise UsageError(
            f"the histogram for {name!r} must be of numbers of interactions, from 0 to at most {MOST:,}, "
            f"but its axis goes from {edges[0]:g} to {edges[-1]:g}"
        )
    return _weights(name, bins[0]), np.maximum(edges, 0) if name == "mean" else edges


def _weights(name: str, given: Any) -> NDArray[np.float64]:
    """Probabilities, in any unit."""
    try:
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        weights = np.empty((0, 0))
    if weights.ndim != 1:
        raise ArgumentTypeError(
            f"{name!r} must be a number, a list of probabilities, a histogram, the file of one "
            f"('pileup.root:pileup'), or a function, not {given!r}"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise UsageError(f"the probabilities of {name!r} must be at least 0, and not all 0")
    return weights


def _chosen(weights: NDArray[np.float64]) -> Callable[[np.random.RandomState, Any], NDArray[np.int64]]:
    """Draws the place of a weight, as often as it is heavy."""
    edges = np.cumsum(weights)
    edges /= edges[-1]
    return lambda random, shape: np.searchsorted(edges, random.random_sample(shape), side="right")


def _checked(name: str, drawn: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Numbers of this shape, after a check; functions of the user may return anything."""
    try:
        values = np.broadcast_to(np.asarray(drawn), shape)
    except ValueError:
        raise UsageError(
            f"the function for {name!r} must return an array of the shape it is given, not {np.shape(drawn)}"
        ) from None
    if values.dtype.kind not in ("iu" if name == "number" else "iuf"):
        kind = "whole numbers" if name == "number" else "numbers"
        raise ArgumentTypeError(f"the function for {name!r} must return {kind}, not {values.dtype}")
    if values.size and not (values.min() >= 0 and values.max() <= MOST):
        raise UsageError(f"{name!r} must be from 0 to {MOST:,}, but is {values.min()} to {values.max()}")
    return values
