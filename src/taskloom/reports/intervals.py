"""How sure a mean over tasks is.

Intervals allow for what varies between episodes and for what varies between items, whether episodes have items of their
own or share them, as several seeds on one test set do. Episodes and items are drawn with replacement, apart from each
other, and an answer counts as often as both were drawn. That counts the noise of single answers three times (Owen 2007,
"The pigeonhole bootstrap"), and drawing either alone counts it once: so the variance is twice the sum of that over
episodes and that over items, less that over both, and never less than either; resamples are drawn in to it. What varies
between few is known badly, and made more of, as Student does. The tasks stay as they are, unless they are said to be
`drawn` too: then intervals speak of other tasks like these.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from ..ids import bit_stream
from ..scores import Metric
from ..scores.reduce import Array, ratio
from ..stats import Estimate, resamples

Place: TypeAlias = tuple[str, int, int]  # a task, and the seed and index of an episode
Columns: TypeAlias = Mapping[Place, Array]  # a score for the data itself, then one for each resample: (1 + r,)
Sizes: TypeAlias = Mapping[str, float]  # how much each task weighs in a mean
ANY = (-math.inf, math.inf)
FEW = 0.1  # the share of resamples, or of tasks, that may have nothing to say


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How sure one wants to be, and of what."""

    count: int = 1000
    level: float = 0.95
    tasks: Literal["fixed", "drawn"] = "fixed"


@dataclass(frozen=True, slots=True)
class Answered:
    """The scored answers of one learner in one episode."""

    metric: Metric
    units: Array
    items: tuple[str, ...]

    def only(self, ids: Iterable[str]) -> Answered:
        """Leave out other items."""
        wanted = set(ids)
        kept = [at for at, item in enumerate(self.items) if item in wanted]
        return replace(self, units=self.units[kept], items=tuple(self.items[at] for at in kept))


Answers: TypeAlias = Mapping[Place, Answered]


def bounds_of(metric: Metric) -> tuple[float, float]:
    """Say how low and how high a metric can be."""
    low, high = getattr(metric, "bounds", (0.0, 1.0))
    return low, high


def by_task(answers: Answers) -> dict[str, dict[Place, Answered]]:
    """Put the episodes of each task together."""
    found: dict[str, dict[Place, Answered]] = {}
    for place, answered in answers.items():
        found.setdefault(place[0], {})[place] = answered
    return found


def size(answers: Answers) -> int:
    """Count answers."""
    return sum(len(a.items) for a in answers.values())


def instances(answers: Answers) -> dict[str, float]:
    """Count the items that an episode of each task asks about."""
    return {task: size(found) / len(found) for task, found in by_task(answers).items()}


# --- resamples -------------------------------------------------------------------------------------------------------


def draw(answers: Mapping[str, Answers], how: How) -> dict[str, dict[Place, Array]]:
    """Score every episode of every learner in every resample of the items of its task."""
    parts: dict[str, dict[tuple[str, Place], Answered]] = {}
    for name, found in answers.items():
        for place, answered in found.items():
            parts.setdefault(place[0], {})[name, place] = answered
    columns: dict[str, dict[Place, Array]] = {name: {} for name in answers}
    for task in sorted(parts):
        for (name, place), column in _rescored(task, parts[task], how).items():
            columns[name][place] = column
    return columns


def _rescored(task: str, parts: Mapping[tuple[str, Place], Answered], how: How) -> dict[tuple[str, Place], Array]:
    number = {item: at for at, item in enumerate(sorted({item for a in parts.values() for item in a.items}))}
    at = {key: np.array([number[item] for item in a.items], dtype=np.int64) for key, a in parts.items()}
    scored: dict[tuple[str, Place], list[Array]] = {key: [] for key in parts}
    fewer = max(1, len(number) - 1)  # so that the variance of a mean of few is right
    drawn = resamples(len(number), how.count, "items", task, size=fewer)
    blocks = itertools.chain([np.ones((1, len(number)))], drawn)
    for weights in blocks:  # the first is the data itself
        for key, a in parts.items():
            scored[key].append(a.metric.reduce(a.units, weights[:, at[key]]))
    return {key: np.concatenate(found) for key, found in scored.items()}


@lru_cache(maxsize=4096)
def _fewer(n: int, count: int, *key: str) -> Array:
    """Draw n - 1 of n, so that the variance of a mean of few is right; row 0 is the data itself: (1 + r, n)."""
    if n < 2:
        return np.ones((1 + count, n))
    bits = bit_stream("report", n, *key)(count * (n - 1)).astype(np.uint64)
    drawn = ((bits * np.uint64(n)) >> np.uint64(32)).astype(np.int64).reshape(count, n - 1)
    flat = np.bincount((drawn + n * np.arange(count)[:, None]).ravel(), minlength=count * n)
    return np.concatenate([np.ones((1, n)), flat.reshape(count, n)])


def _task_means(columns: Columns, how: How, *, episodes: bool) -> dict[str, Array]:
    """Average the episodes of each task, each once or as often as it was drawn; those without a score are left out."""
    tasks: dict[str, list[Array]] = {}
    for place, column in columns.items():
        tasks.setdefault(place[0], []).append(column)
    means = {}
    for task, found in tasks.items():
        values = np.stack(found, axis=1)  # (1 + r, k)
        values = values[:, ~np.isnan(values[0])]
        weights = _fewer(values.shape[1], how.count, "episodes", task) if episodes else np.ones(values.shape)
        means[task] = _mean(values, weights)
    return means


def _mean(values: Array, weights: Array) -> Array:
    known = ~np.isnan(values)
    return ratio(np.where(known, values * weights, 0).sum(1), (known * weights).sum(1))


@dataclass(frozen=True, slots=True)
class _Means:
    """The mean over tasks of the means over their episodes, as a function of what is drawn."""

    columns: Columns
    how: How
    sizes: Sizes  # none: all tasks weigh the same

    def over(self, *, episodes: bool = False, tasks: bool = False, items: bool = True) -> Array:
        """Average, for the data and for each resample: (1 + r,)."""
        columns = self.columns if items else self._still
        found = _task_means(columns, self.how, episodes=episodes)
        means = {task: mean for task, mean in found.items() if not math.isnan(mean[0])}
        if not means:
            return np.full(1 + self.how.count, np.nan)
        values = np.stack(list(means.values()), axis=1)
        weights = np.array([self.sizes.get(task, 1.0) for task in means])
        drawn = _fewer(len(means), self.how.count, "tasks") if tasks else np.ones(values.shape)
        return _mean(values, weights * drawn)

    @property
    def _still(self) -> Columns:
        return {place: np.broadcast_to(column[0], len(column)) for place, column in self.columns.items()}

    def varying(self, items: Mapping[str, int]) -> tuple[Varying, ...]:
        """Give what varies in the mean: items, and episodes beyond what their items do; or tasks, if that is more."""
        by_episode, by_item = _spread(self.over(episodes=True, items=False)), _spread(self.over())
        wanted = max(by_episode, by_item, 2 * (by_episode + by_item) - _spread(self.over(episodes=True)))
        episodes = Counter(place[0] for place, column in self.columns.items() if not math.isnan(column[0]))
        within = (
            Varying(by_item, sum(items[task] - 1 for task in episodes)),
            Varying(wanted - by_item, episodes.total() - len(episodes)),
        )
        if self.how.tasks == "fixed":
            return within
        between = (Varying(_spread(self.over(tasks=True, items=False)), len(episodes) - 1),)
        return max(within, between, key=lambda parts: sum(part.made_more(self.how.level) for part in parts))


@dataclass(frozen=True, slots=True)
class Varying:
    """A variance, and the degrees of freedom that it is known by."""

    variance: float
    freedom: int

    def made_more(self, level: float) -> float:
        """Give what the variance must be taken for to keep a promise: more by Student's quantile, squared."""
        tail = (1 + level) / 2
        more = float(stdtrit(self.freedom, tail)) / NormalDist().inv_cdf(tail) if self.freedom else 1.0
        return self.variance * more**2


def _spread(values: Array) -> float:
    return float(np.nanvar(values[1:]))


# --- what they say ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resampled:
    """A mean over tasks, resamples of it, and what varies in it; nothing where too little is known of that."""

    values: Array  # (1 + r,)
    varying: tuple[Varying, ...]
    n: int  # answers
    level: float

    def interval(self, bounds: tuple[float, float] = ANY) -> Estimate:
        """Give the mean with its interval, within what is possible; none where too little is known of what varies."""
        value, known = float(self.values[0]), self.values[1:][~np.isnan(self.values[1:])]
        if not self.varying or len(known) <= (1 - FEW) * (len(self.values) - 1):
            return Estimate(value, math.nan, math.nan, self.n)
        ends = np.quantile(known, [(1 - self.level) / 2, (1 + self.level) / 2]) - known.mean()
        low, high = np.clip(value + self._drawn_in(known, ends) * ends, *bounds)
        return Estimate(value, float(low), float(high), self.n)

    def _drawn_in(self, known: Array, ends: Array) -> float:
        """Say by how much resamples must vary more or less; of few, the ends are nearer than their variance says."""
        wanted = math.sqrt(sum(part.made_more(self.level) for part in self.varying))
        spread, reach = float(np.std(known)), float(ends[1] - ends[0]) / 2
        normal = NormalDist().inv_cdf((1 + self.level) / 2)
        return wanted * max(1 / spread, normal / reach) if spread and reach else 0.0

    def chance(self) -> float:
        """Give the chance of a mean as far from nought, if it varied about nought (Welch and Satterthwaite's)."""
        variance = sum(part.variance for part in self.varying)
        if math.isnan(self.values[0]) or not variance:
            return math.nan if math.isnan(self.values[0]) else 0.0
        few = sum(part.variance**2 / part.freedom for part in self.varying if part.freedom)
        far = abs(float(self.values[0])) / math.sqrt(variance)
        return 2 * (float(stdtr(variance**2 / few, -far)) if few else NormalDist().cdf(-far))


def resampled(columns: Columns, answers: Answers, how: How, sizes: Sizes | None = None) -> Resampled:
    """Resample a mean over tasks; where there are sizes, each task weighs as much."""
    means = _Means(columns, how, sizes or {})
    values = means.over(episodes=True, tasks=how.tasks == "drawn")
    valued = {place: answers[place] for place, column in columns.items() if not math.isnan(column[0])}
    items = {task: len({i for a in found.values() for i in a.items}) for task, found in by_task(valued).items()}
    varying = () if _too_few(items, how) else means.varying(items)
    return Resampled(values, varying, size(answers), how.level)


def _too_few(items: Mapping[str, int], how: How) -> bool:
    """Tell whether tasks, or the items of more than a few of them, are single ones: nothing shows how they vary."""
    if how.tasks == "drawn":
        return len(items) < 2
    return not items or sum(count < 2 for count in items.values()) > FEW * len(items)
