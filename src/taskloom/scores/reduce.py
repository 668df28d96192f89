"""From units to numbers: weighted means, for one or for many resamples at once."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def weights_or_ones(units: Array, weights: Array | None) -> Array:
    """Give the weights of each resample, one row each; without any, every unit counts once."""
    return np.ones((1, len(units))) if weights is None else np.atleast_2d(np.asarray(weights, dtype=np.float64))


def ratio(above: Array, below: Array) -> Array:
    """Divide, with NaN where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, above / below)


def mean(units: Array, weights: Array | None = None) -> Array:
    """Average units of width one: (n, 1) and (r, n) give (r,); NaN units are left out, and NaN stands for no units.

    >>> mean(np.array([[1.0], [0.0], [0.0]]), np.array([[1, 1, 0], [0, 0, 0]]))
    array([0.5, nan])
    """
    known = ~np.isnan(units[:, 0])
    weighed = weights_or_ones(units, weights)[:, known]
    return ratio(weighed @ units[known, 0], weighed.sum(1))


def means(units: Array, weights: Array) -> Array:
    """Average several rows of units that are all known, each in every resample: (m, n) and (r, n) give (m, r).

    >>> means(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), np.array([[1, 1, 0]]))
    array([[0.5],
           [1. ]])
    """
    return ratio(units @ weights.T, weights.sum(1))


def sums(units: Array, weights: Array | None = None) -> Array:
    """Add up units of any width: (n, d) and (r, n) give (r, d)."""
    return weights_or_ones(units, weights) @ units


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Give the interval of a share of n (Wilson 1927), which has a width even where the share is 0 or 1.

    >>> wilson(1.0, 100, 0.95)
    (0.963..., 1.0)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return max(0.0, middle - reach), min(1.0, middle + reach)
