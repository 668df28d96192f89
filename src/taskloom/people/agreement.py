"""How far people agree: Krippendorff's alpha, with an interval.

A unit is the coincidence matrix of one thing that several people judged, so that alpha is resampled as metrics are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from ..ids import Json
from ..scores.reduce import Array, ratio, sums
from ..stats import Estimate, bootstrap

Level: TypeAlias = Literal["nominal", "ordinal"]
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Krippendorff's alpha over what two or more people judged (its n), and how many people they were.

    It has no value where no two people judged the same, or where all always said the same.
    """

    alpha: Estimate
    raters: int


def agreement(said: Mapping[str, Mapping[str, int]], values: int, level: Level) -> RaterAgreement:
    """Measure agreement on units that raters gave a value from 0 on, which are `values` many."""
    shared = {unit: by for unit, by in sorted(said.items()) if len(by) > 1}
    raters = len({rater for by in shared.values() for rater in by})
    return RaterAgreement(alpha([list(by.values()) for by in shared.values()], values, level), raters)


def alpha(judged: Sequence[Sequence[int]], values: int, level: Level, *, key: Json = 0) -> Estimate:
    """Give Krippendorff's alpha of units that have two values or more, each a number below `values`.

    >>> alpha([[0, 0], [1, 1], [0, 1]], 2, "nominal").value  # observed 2 of 6, by chance 18 of 30
    0.444...
    """
    if not judged:
        return Estimate(math.nan, math.nan, math.nan, 0)
    units = np.array([_coincidences(unit, values) for unit in judged])
    found = bootstrap(units, partial(_reduce, values=values, level=level), count=RESAMPLES, key=key)
    return found if len(units) > 1 else Estimate(found.value, math.nan, math.nan, 1)


def _coincidences(unit: Sequence[int], values: int) -> Array:
    """Count the ordered pairs of values that different raters gave, over the number of the others: (v * v,)."""
    counts = np.bincount(unit, minlength=values).astype(np.float64)
    return ((np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)).ravel()


def _reduce(units: Array, weights: Array | None, *, values: int, level: Level) -> Array:
    """Give alpha for each resample: 1 less observed over expected disagreement; (n, v * v) and (r, n) give (r,)."""
    together = sums(units, weights).reshape(-1, values, values)
    totals = together.sum(2)  # (r, v): how often each value can be paired
    apart = _distances(totals, level)
    observed = (together * apart).sum((1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * apart).sum((1, 2))
    return 1 - ratio((totals.sum(1) - 1) * observed, expected)


def _distances(totals: Array, level: Level) -> Array:
    """Give the squared distance of each two values: (r, v, v); ordinal ones lie as far apart as their mean ranks."""
    if level == "nominal":
        return (1 - np.eye(totals.shape[1]))[None]
    ranks = totals.cumsum(1) - totals / 2
    return (ranks[:, :, None] - ranks[:, None, :]) ** 2
