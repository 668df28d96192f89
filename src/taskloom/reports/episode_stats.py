"""What few-shot papers report of the scores of episodes: their deviation, and intervals of their mean.

Both intervals take episodes to be independent of each other (Dhillon et al. 2020). Episodes that ask about the same
records are not: the intervals of scores (`intervals.py`) know of that, and stand beside these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..scores.reduce import Array
from ..stats import Estimate, mean_interval, resamples

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class EpisodeSpread:
    """The mean over the episodes of a task, or over tasks of these means, and how it varies."""

    mean: float
    deviation: float  # between the episodes of one task; NaN of several
    bootstrap: Estimate  # the percentile interval of the mean, episodes resampled in each task
    normal: Estimate  # the mean and 1.96 standard errors of it
    episodes: int


def episode_spread(
    tasks: Sequence[Array], *, level: float = 0.95, count: int = RESAMPLES, key: str = ""
) -> EpisodeSpread:
    """Describe the scores of episodes, task by task; those without a value are dropped.

    A task of one episode has no deviation, and a mean of it no interval.

    >>> found = episode_spread([np.array([0.5, 0.7]), np.array([0.9, 0.9])])
    >>> round(found.mean, 3), round(found.normal.high - found.mean, 3), found.episodes
    (0.75, 0.098, 4)
    """
    known = [values[~np.isnan(values)] for values in tasks]
    known = [values for values in known if len(values)]
    n = sum(map(len, known))
    if not known:
        none = Estimate(math.nan, math.nan, math.nan, 0)
        return EpisodeSpread(math.nan, math.nan, none, none, 0)
    value = float(np.mean([values.mean() for values in known]))
    deviations = [float(values.std(ddof=1)) if len(values) > 1 else math.nan for values in known]
    error = math.sqrt(sum(d**2 / len(v) for d, v in zip(deviations, known, strict=True))) / len(known)
    ends = [math.nan, math.nan]
    if not math.isnan(error):
        ends = _resampled(known, count, key, [(1 - level) / 2, (1 + level) / 2])
    return EpisodeSpread(
        value, deviations[0] if len(known) == 1 else math.nan, Estimate(value, ends[0], ends[1], n),
        mean_interval(value, error, n, level=level), n,
    )  # fmt: skip


def _resampled(known: Sequence[Array], count: int, key: str, tails: Sequence[float]) -> list[float]:
    """Give quantiles of the mean over tasks, where the episodes of each are resampled."""
    total = np.zeros(count)
    for at, values in enumerate(known):
        blocks = resamples(len(values), count, "bootstrap", "episodes", key, at)
        total += np.concatenate([weights @ values for weights in blocks]) / len(values)
    return [float(end) for end in np.quantile(total / len(known), tails)]
