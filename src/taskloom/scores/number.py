"""Answers that are numbers: squared error and three correlations, each for many resamples at once.

A unit is the gold number and the predicted one; what could not be parsed is NaN, is left out, and is counted elsewhere.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core import Answer
from . import Metric
from . import reduce as reduced
from .reduce import Array

BLOCK = 1 << 20  # numbers in a block of work, to keep memory small


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
class Mse(Metric):
    """Mean squared error; the smaller the better."""

    name: ClassVar[str] = "mse"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = False
    points: ClassVar[bool] = False

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Average the squared differences."""
        gold, found, weighed = _known(units, weights)
        return reduced.ratio(weighed @ (gold - found) ** 2, weighed.sum(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pearson(Metric):
    """Linear correlation; NaN where either side is constant."""

    name: ClassVar[str] = "pearson"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    version: ClassVar[int] = 1

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Correlate the numbers themselves."""
        gold, found, weighed = _known(units, weights)
        return _in_blocks(weighed, lambda part: _correlation(gold, found, part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spearman(Metric):
    """Correlation of ranks, ties sharing theirs; NaN where either side is constant."""

    name: ClassVar[str] = "spearman"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    version: ClassVar[int] = 1

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Correlate the ranks that the numbers have in each resample."""
        gold, found, weighed = _known(units, weights)
        return _in_blocks(weighed, lambda part: _correlation(_ranks(gold, part), _ranks(found, part), part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kendall(Metric):
    """Kendall's tau-b: pairs in the same order less pairs in the other, ties allowed for; NaN where one is constant."""

    name: ClassVar[str] = "tau-b"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    version: ClassVar[int] = 1

    unit = staticmethod(_pair)

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Count the pairs of each resample, a pair as often as its two items say."""
        gold, found, weighed = _known(units, weights)
        ours, theirs = (np.unique(side, return_inverse=True)[1] for side in (gold, found))
        bits = list(_bits(ours, theirs))

        def of_block(part: Array) -> Array:
            differ, vary = (_untied(side, part) for side in (ours, theirs))
            return reduced.ratio(_agreeing(bits, part), np.sqrt(differ * vary))

        return _in_blocks(weighed, of_block)


def _bits(ours: Array, theirs: Array) -> Iterator[tuple[Array, Array, list[Array]]]:
    """Part items by each bit of their places on one side: those without it, and those with it.

    Both stand in groups whose places have the same bits before it, and in a group by the other side. For each item with
    the bit there is how many of those without it stand before and up to its equals, and before and up to its group.
    """
    for bit in range(int(theirs.max(initial=0)).bit_length()):
        group = theirs >> (bit + 1)
        order = np.lexsort((ours, group))
        place, group, has = (group * len(ours) + ours)[order], group[order], (theirs[order] >> bit & 1).astype(bool)
        counts = [np.searchsorted(s[~has], s[has], side) for s in (place, group) for side in ("left", "right")]
        yield order[~has], order[has], counts


def _agreeing(bits: Iterable[tuple[Array, Array, list[Array]]], weights: Array) -> Array:
    """Count pairs in the same order less those in the other, in either direction: (r, n) gives (r,).

    Places that differ do so in a first bit. An item with it is above all of its group without it, and so agrees with
    those that are below its equals on the other side, and not with those above them. That takes n log n.
    """
    columns = np.ascontiguousarray(weights.T)  # a resample each
    total = np.zeros(len(weights))
    for without, having, (before, upto, start, end) in bits:
        sums = np.concatenate([np.zeros((1, len(weights))), np.cumsum(columns[without], axis=0)])
        total += np.einsum("nr,nr->r", columns[having], sums[before] + sums[upto] - sums[start] - sums[end])
    return 2 * total


def _untied(places: Array, weights: Array) -> Array:
    """Count pairs that differ, in either direction: (n,) and (r, n) give (r,), and exactly 0 where none do."""
    tied = _tied(places, weights)
    return np.asarray((tied * (tied.sum(1, keepdims=True) - tied)).sum(1))


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
    _, places = np.unique(values, return_inverse=True)
    tied = _tied(places, weights)
    middle = np.cumsum(tied, axis=1) - (tied - 1) / 2
    return np.asarray(middle[:, places], dtype=np.float64)


def _tied(places: Array, weights: Array) -> Array:
    """Add up the weights of each place: (n,) and (r, n) give (r, places)."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    return np.asarray(np.add.reduceat(weights[:, order], starts, axis=1))


def _in_blocks(weights: Array, work: Callable[[Array], Array]) -> Array:
    rows = max(1, BLOCK // max(1, weights.shape[1]))
    if not weights.shape[1]:
        return np.full(len(weights), np.nan)
    return np.concatenate([work(weights[at : at + rows]) for at in range(0, len(weights), rows)])
