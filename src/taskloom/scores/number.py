"""Answers that are numbers: squared error and three correlations, each for many resamples at once.

A unit is the gold number and the predicted one; what could not be parsed is NaN, is left out, and is counted elsewhere.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core import Answer
from . import reduce as reduced
from .reduce import Array

BLOCK = 1 << 22  # numbers in a block of work, to keep memory small


def _pair(gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
    right = gold[0]
    numbers = (right, answer)
    if all(isinstance(n, int | float) and abs(n) <= sys.float_info.max for n in numbers):
        return float(right), float(answer)  # type: ignore[arg-type]
    return math.nan, math.nan


def _known(units: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """Leave out what was not parsed."""
    units = np.asarray(units, dtype=np.float64)
    known = ~np.isnan(units).any(1)
    return units[known, 0], units[known, 1], reduced.weights_or_ones(units, weights)[:, known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mse:
    """Mean squared error; the smaller the better."""

    name: ClassVar[str] = "mse"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = False

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Average the squared differences."""
        gold, found, weighed = _known(units, weights)
        return reduced.ratio(weighed @ (gold - found) ** 2, weighed.sum(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pearson:
    """Linear correlation; NaN where either side is constant."""

    name: ClassVar[str] = "pearson"
    version: ClassVar[int] = 1

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Correlate the numbers themselves."""
        gold, found, weighed = _known(units, weights)
        return _in_blocks(weighed, lambda part: _correlation(gold, found, part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spearman:
    """Correlation of ranks, ties sharing theirs; NaN where either side is constant."""

    name: ClassVar[str] = "spearman"
    version: ClassVar[int] = 1

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Correlate the ranks that the numbers have in each resample."""
        gold, found, weighed = _known(units, weights)
        return _in_blocks(weighed, lambda part: _correlation(_ranks(gold, part), _ranks(found, part), part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kendall:
    """Kendall's tau-b: pairs in the same order less pairs in the other, ties allowed for; NaN where one is constant."""

    name: ClassVar[str] = "tau-b"
    version: ClassVar[int] = 1

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Compare all pairs; each counts as often as its two items do."""
        gold, found, weighed = _known(units, weights)
        if weights is None:
            return np.array([_plain_tau(gold, found)])
        places = [np.unique(side, return_inverse=True)[1].astype(np.float64) for side in (gold, found)]
        orders = [np.sign(side[:, None] - side[None, :]) for side in places]  # (n, n)
        agree, ours, theirs = orders[0] * orders[1], orders[0] ** 2, orders[1] ** 2

        def of_block(part: Array) -> Array:
            same, differ, vary = (((part @ matrix) * part).sum(1) for matrix in (agree, ours, theirs))
            return reduced.ratio(same, np.sqrt(differ * vary))

        return _in_blocks(weighed, of_block)


def _plain_tau(gold: Array, found: Array) -> float:
    from scipy.stats import kendalltau  # n log n, where all pairs would not fit

    if len(gold) < 2 or len(set(gold)) < 2 or len(set(found)) < 2:
        return math.nan
    return float(kendalltau(gold, found).statistic)


def _correlation(ours: Array, theirs: Array, weights: Array) -> Array:
    """Correlate two sides, each (n,) or (r, n), row by row of the weights; NaN where either is constant."""
    one, other = _centred(ours, weights), _centred(theirs, weights)
    both, square, other_square = ((weights * a * b).sum(1) for a, b in ((one, other), (one, one), (other, other)))
    return reduced.ratio(both, np.sqrt(square * other_square))


def _centred(side: Array, weights: Array) -> Array:
    """Bring what counts in each row to a range of one about its mean, so that no square overflows or vanishes.

    Halves are taken since the range of the largest numbers is no number; a constant has no range and gives NaN.
    """
    counts = weights > 0
    with np.errstate(invalid="ignore"):  # rows in which nothing counts
        low = np.where(counts, side, np.inf).min(1, keepdims=True) / 2
        high = np.where(counts, side, -np.inf).max(1, keepdims=True) / 2
        placed = reduced.ratio(np.where(counts, side / 2, low) - low, high - low)
    return np.asarray(placed - reduced.ratio((weights * placed).sum(1, keepdims=True), weights.sum(1, keepdims=True)))


def _ranks(values: Array, weights: Array) -> Array:
    """Rank values, smallest first, where each stands as often as its weight says: (n,) and (r, n) give (r, n)."""
    _, inverse = np.unique(values, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.flatnonzero(np.diff(inverse[order], prepend=-1))
    tied = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(tied, axis=1) - (tied - 1) / 2
    return np.asarray(middle[:, inverse], dtype=np.float64)


def _in_blocks(weights: Array, work: Callable[[Array], Array]) -> Array:
    rows = max(1, BLOCK // max(1, weights.shape[1]))
    if not weights.shape[1]:
        return np.full(len(weights), np.nan)
    return np.concatenate([work(weights[at : at + rows]) for at in range(0, len(weights), rows)])
