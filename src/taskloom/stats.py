"""Intervals, paired tests and groups: how sure a number is, and whether two numbers differ.

Resamples are matrices of weights, so that any metric's `reduce` serves them all at once. Random numbers come from a
digest of a key: the same data and key give the same interval on every machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from .errors import StatsError
from .ids import Json, bit_stream
from .scores.reduce import Array

Quantiles: TypeAlias = Literal["normal", "student"]
Reduce: TypeAlias = Callable[[Array, Array | None], Array]
BLOCK = 1 << 22  # weights made at a time, to keep memory small
RESAMPLES = 10_000
ROUNDING = 1e-12  # what sums that are equal may differ by


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its interval, and how many units it rests on."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Contrast:
    """The paired difference between two systems on the same units: a - b, its confidence interval and p-value."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    n: int
    family: int = 1  # how many contrasts p is corrected for; 1: it is not corrected


# --- resamples -------------------------------------------------------------------------------------------------------


def resamples(n: int, count: int, *key: Json, size: int = 0) -> Iterator[Array]:
    """Yield blocks of weights (rows, n): how often each unit was drawn, n times or as said, with replacement."""
    rows, times = max(1, BLOCK // max(n, 1)), size or n
    stream = bit_stream(*key)
    for first in range(0, count, rows):
        block = min(rows, count - first)
        drawn = _below(n, stream(block * times)).reshape(block, times)
        yield _counts(drawn, n)


def _below(n: int | Array, bits: Array) -> Array:
    """Turn 32 random bits into a number below n, all equally likely but for one part in 2^32 / n."""
    return ((bits.astype(np.uint64) * np.asarray(n, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


def _counts(drawn: Array, n: int) -> Array:
    rows = len(drawn)
    flat = (drawn + n * np.arange(rows)[:, None]).ravel()
    return np.bincount(flat, minlength=rows * n).reshape(rows, n).astype(np.float64)


# --- intervals -------------------------------------------------------------------------------------------------------


def bootstrap(
    units: Array,
    reduce: Reduce,
    *,
    method: Literal["percentile", "bca"] = "percentile",
    level: float = 0.95,
    count: int = RESAMPLES,
    key: Json = 0,
) -> Estimate:
    """Give a score with its bootstrap interval over independent units; reports have their own, in `intervals`."""
    units = _checked(units)
    values = np.concatenate([reduce(units, weights) for weights in resamples(len(units), count, "bootstrap", key)])
    value = float(reduce(units, None)[0])
    tails = [(1 - level) / 2, (1 + level) / 2]
    if method == "bca":
        tails = _bca_tails(units, reduce, value, values, tails)
    low, high = _quantiles(values, tails)
    return Estimate(value, low, high, len(units))


def _quantiles(values: Array, tails: Sequence[float]) -> tuple[float, float]:
    """Give quantiles of the resamples that have a value; where many have none, neither has the interval."""
    known = values[~np.isnan(values)]
    if len(known) < 0.9 * len(values) or any(map(math.isnan, tails)):
        return math.nan, math.nan
    low, high = np.quantile(known, tails)
    return float(low), float(high)


def _bca_tails(units: Array, reduce: Reduce, value: float, values: Array, tails: Sequence[float]) -> list[float]:
    """Move the tails by the bias and the skew of the resamples."""
    normal = NormalDist()
    known = values[~np.isnan(values)]
    below = (np.sum(known < value) + np.sum(known == value) / 2) / max(len(known), 1)
    if not 0 < below < 1:
        return [math.nan, math.nan]
    bias = normal.inv_cdf(float(below))
    left_out = np.concatenate([reduce(units, part) for part in _each_left_out(len(units))])
    apart = left_out.mean() - left_out
    spread = float((apart**2).sum()) ** 1.5
    skew = float((apart**3).sum()) / (6 * spread) if spread else 0.0
    shifted = [bias + normal.inv_cdf(tail) for tail in tails]
    return [normal.cdf(bias + shift / (1 - skew * shift)) for shift in shifted]


def _each_left_out(n: int) -> Iterator[Array]:
    rows = max(1, BLOCK // n)
    for first in range(0, n, rows):
        weights = np.ones((min(rows, n - first), n))
        weights[np.arange(len(weights)), np.arange(first, first + len(weights))] = 0
        yield weights


def standard_error_interval(
    values: Sequence[float] | Array, *, level: float = 0.95, by: Quantiles = "normal"
) -> Estimate:
    """Give a mean with the interval that its standard error makes: the mean and 1.96 times the error at 95 %.

    >>> standard_error_interval([1.0, 2.0, 3.0])
    Estimate(value=2.0, low=0.868..., high=3.131..., n=3)
    """
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        raise StatsError("an interval needs values, and there are none")
    spread = float(array.std(ddof=1)) if len(array) > 1 else math.nan
    return interval_of(float(array.mean()), spread, len(array), level=level, by=by)


def interval_of(
    mean: float, deviation: float, n: int, *, level: float = 0.95, by: Quantiles = "normal", ddof: int = 1
) -> Estimate:
    """Give the standard-error interval of a mean that is known with its deviation, as papers print them.

    Those of Student are wider where there are few values. A deviation that divides by n has a `ddof` of 0.

    >>> interval_of(69.9, 7.2, 90)
    Estimate(value=69.9, low=68.412..., high=71.387..., n=90)
    >>> interval_of(69.9, 7.2, 90, by="student")
    Estimate(value=69.9, low=68.391..., high=71.408..., n=90)
    """
    if n < 1:
        raise StatsError(f"an interval needs values, and there are {n}")
    error = deviation / math.sqrt(n - 1 + ddof) if n - 1 + ddof else math.nan
    return mean_interval(mean, error, n, level=level, by=by)


def mean_interval(mean: float, error: float, n: int, *, level: float = 0.95, by: Quantiles = "normal") -> Estimate:
    """Give the interval of a mean that is known with its standard error: 1.96 errors to either side at 95 %."""
    tail = (1 + level) / 2
    reach = error * (NormalDist().inv_cdf(tail) if by == "normal" else _student_quantile(tail, n - 1))
    return Estimate(mean, mean - reach, mean + reach, n)


def _student_quantile(tail: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, tail)) if freedom else math.nan


def mean_of_values(tasks: Iterable[Sequence[Estimate]]) -> Estimate:
    """Average the values of tasks, each value with the same weight: a task that gives two counts twice.

    The values of a task rest on the same items, so that they may all err on the same side; tasks err apart. Intervals
    are put together by the method of variance estimates recovery (Zou and Donner 2008). n counts values.

    >>> mean_of_values([[Estimate(0.25, 0.0, 0.5, 9)], [Estimate(1, 1, 1, 9), Estimate(1, 0.5, 1, 9)]]).value
    0.75
    """
    groups = [list(values) for values in tasks if values]
    n = sum(map(len, groups))
    if not n:
        raise StatsError("a mean needs values")
    value = math.fsum(e.value for group in groups for e in group) / n
    below = math.hypot(*(math.fsum(e.value - e.low for e in group) for group in groups)) / n
    above = math.hypot(*(math.fsum(e.high - e.value for e in group) for group in groups)) / n
    return Estimate(value, value - below, value + above, n)


def student_interval(values: Sequence[float] | Array, *, level: float = 0.95) -> Estimate:
    """Give a mean with Student's interval, which is wide for few values; a single one has none.

    >>> student_interval([1.0, 2.0, 3.0])
    Estimate(value=2.0, low=-0.484..., high=4.484..., n=3)
    """
    return standard_error_interval(values, level=level, by="student")


# --- comparisons -----------------------------------------------------------------------------------------------------


def swap_p(apart: Callable[[Array], Array], n: int, *, count: int = RESAMPLES, key: Json = 0) -> float:
    """Give the chance of a difference at least as large if n units change sides; `apart` gives it for (r, n) sides."""
    seen = abs(float(apart(np.ones((1, n)))[0]))
    if math.isnan(seen):
        return math.nan
    exact = 2**n <= count
    reached = done = 0
    for sides in _all_sides(n) if exact else _random_sides(n, count, key):
        differences = np.abs(apart(sides))
        reached += int(np.sum(~(differences < seen - ROUNDING)))  # one without a value counts against us
        done += len(sides)
    return reached / done if exact else (reached + 1) / (done + 1)


def sign_ps(differences: Sequence[Array], *, count: int = RESAMPLES, key: str = "") -> list[float]:
    """Give `swap_p` of sums of paired differences, each of which changes its sign: the same, and fast.

    Sums of as many differences share the changes of signs.

    >>> sign_ps([np.array([1.0, 1.0, 1.0, 1.0])])
    [0.125]
    """
    found = [math.nan] * len(differences)
    for n in {len(values) for values in differences}:
        at = [place for place, values in enumerate(differences) if len(values) == n]
        for place, p in zip(at, _sign_ps(np.stack([differences[p] for p in at]), count, key), strict=True):
            found[place] = p
    return found


def _sign_ps(rows: Array, count: int, key: str) -> list[float]:
    """Count the changes of signs by which the sum of each row, (m, n), is as far from 0."""
    (m, n), totals, twice = rows.shape, rows.sum(1, keepdims=True), 2 * rows
    exact = 2**n <= count
    reached, done, most = np.zeros(m), 0, max(1, BLOCK // 4 // m)
    for block in _all_sides(n) if exact else _random_sides(n, count, key):
        for first in range(0, len(block), most):
            sums = twice @ block[first : first + most].T
            sums -= totals
            reached += np.count_nonzero(np.abs(sums, out=sums) >= np.abs(totals) - ROUNDING, axis=1)
        done += len(block)
    return [float(p) for p in (reached / done if exact else (reached + 1) / (done + 1))]


def _all_sides(n: int) -> Iterator[Array]:
    yield ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)


def _random_sides(n: int, count: int, key: Json) -> Iterator[Array]:
    if isinstance(key, str) and n * count <= BLOCK:
        yield _few_sides(n, count, key)
        return
    stream = bit_stream("permutation", key)
    rows = max(1, BLOCK // max(n, 1))
    for first in range(0, count, rows):
        size = min(rows, count - first)
        yield _sides(stream, size, n)


@lru_cache(maxsize=4)  # as many pairs of learners are compared on the same units
def _few_sides(n: int, count: int, key: str) -> Array:
    return _sides(bit_stream("permutation", key), count, n)


def _sides(stream: Callable[[int], Array], rows: int, n: int) -> Array:
    return (stream(rows * n) >> 31).reshape(rows, n).astype(np.float64)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, by Holm's step-down; NaN stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = sorted((p, at) for at, p in enumerate(p_values) if not math.isnan(p))
    corrected = [math.nan] * len(p_values)
    highest = 0.0
    for rank, (p, at) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[at] = highest
    return corrected


def ranks(scores: Mapping[str, float], differ: Callable[[str, str], bool]) -> dict[str, int]:
    """Rank systems, the best first; those that do not differ significantly from a better one share its rank.

    A system's rank is one more than the number of systems that are better and do differ from it.
    """
    return {
        name: 1 + sum(other > score and differ(rival, name) for rival, other in scores.items())
        for name, score in scores.items()
    }


def tie_groups(scores: Mapping[str, float], differ: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Put systems together that do not differ significantly: the largest runs, in order of score.

    >>> tie_groups({"a": 3.0, "b": 2.0, "c": 1.0}, lambda x, y: {x, y} == {"a", "c"})
    [('a', 'b'), ('b', 'c')]
    """
    order = sorted(scores, key=lambda name: (-scores[name], name))
    groups: list[tuple[str, ...]] = []
    for first in range(len(order)):
        last = first + 1
        while last < len(order) and not any(differ(name, order[last]) for name in order[first:last]):
            last += 1
        run = tuple(order[first:last])
        if not groups or not set(run) <= set(groups[-1]):
            groups.append(run)
    return groups


# --- several groups of values ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Anova:
    """One-way analysis of variance, and Tukey's honest differences between each two groups."""

    f: float
    p: float
    pairs: tuple[Contrast, ...]


def anova(groups: Mapping[str, Sequence[float] | Array], *, level: float = 0.95) -> Anova:
    """Ask whether groups of values (a model's scores over training seeds, say) have one mean, and which differ."""
    from scipy import stats

    if len(groups) < 2 or any(len(values) < 2 for values in groups.values()):
        raise StatsError(f"an analysis of variance needs two groups or more of two values or more: {list(groups)}")
    if all(len(set(values)) == 1 for values in groups.values()):
        return Anova(math.nan, math.nan, ())  # nothing varies within: no error to measure differences by
    found = stats.f_oneway(*groups.values())
    honest = stats.tukey_hsd(*groups.values())
    between = honest.confidence_interval(level)
    names = list(groups)
    pairs = tuple(
        Contrast(
            names[i], names[j], float(honest.statistic[i, j]), float(between.low[i, j]), float(between.high[i, j]),
            float(honest.pvalue[i, j]), len(groups[names[i]]) + len(groups[names[j]]),
        )
        for i, j in itertools.combinations(range(len(names)), 2)
    )  # fmt: skip
    return Anova(float(found.statistic), float(found.pvalue), pairs)


# --- two variables ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through points: y = intercept + slope x, and the share of the variance of y that it explains."""

    slope: Estimate
    intercept: Estimate
    r_squared: Estimate


def correlation(x: Sequence[float] | Array, y: Sequence[float] | Array, *, level: float = 0.95) -> Estimate:
    """Give Pearson's correlation with Fisher's interval. At 1 there is no interval; of a constant it is NaN."""
    ours, theirs = _points(x, y)
    if len(ours) < 2 or np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return Estimate(math.nan, math.nan, math.nan, len(ours))
    r = float(np.corrcoef(ours, theirs)[0, 1])
    if len(ours) < 4 or abs(r) > 1 - ROUNDING:
        return Estimate(r, math.nan, math.nan, len(ours))
    reach = NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(len(ours) - 3)
    return Estimate(r, math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach), len(ours))


def line(x: Sequence[float] | Array, y: Sequence[float] | Array, *, level: float = 0.95) -> Line:
    """Fit a straight line by least squares (Draper and Smith 1998, chapter 1).

    The intervals of slope and intercept are Student's with n - 2 degrees of freedom. That of r squared is Fisher's of
    r, squared (Cohen et al. 2003, 2.8).

    >>> fit = line([0, 1, 2, 3], [1, 3, 2, 4])
    >>> round(fit.slope.value, 6), round(fit.intercept.value, 6), round(fit.r_squared.value, 6)
    (0.8, 1.3, 0.64)
    """
    from scipy import stats

    ours, theirs = _points(x, y)
    if len(ours) < 2 or np.ptp(ours) == 0:
        raise StatsError(f"a line needs two different x or more, and {len(ours)} points have one x")
    fit = stats.linregress(ours, theirs)
    freedom = len(ours) - 2
    factor = float(stats.t.ppf((1 + level) / 2, freedom)) if freedom else math.nan
    ends = [
        (float(fit.slope), factor * float(fit.stderr)),
        (float(fit.intercept), factor * float(fit.intercept_stderr)),
    ]
    slope, intercept = (Estimate(value, value - reach, value + reach, len(ours)) for value, reach in ends)
    return Line(slope, intercept, _squared(correlation(ours, theirs, level=level)))


def _squared(r: Estimate) -> Estimate:
    """Square an estimate with its interval, which starts at 0 where it holds 0."""
    ends = sorted((r.low**2, r.high**2))
    return Estimate(r.value**2, 0.0 if r.low < 0 < r.high else ends[0], ends[1], r.n)


def _points(x: Sequence[float] | Array, y: Sequence[float] | Array) -> tuple[Array, Array]:
    ours, theirs = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(ours) != len(theirs):
        raise StatsError(f"{len(ours)} x and {len(theirs)} y")
    if np.isnan(ours).any() or np.isnan(theirs).any():
        raise StatsError("a point has no value (NaN)")
    return ours, theirs


def _checked(units: Array) -> Array:
    array = np.asarray(units, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if not len(array):
        raise StatsError("an interval needs units, and there are none")
    return array
