"""Confidence intervals of scores: the bootstrap over records and episodes, with variances as in docs/statistics.md.

Episodes and records are resampled separately, and an answer counts as often as both were drawn. That counts the
variance of single answers three times (Owen 2007, "The pigeonhole bootstrap"), and drawing either alone counts it once:
so the variance is 2 (V_episodes + V_records) - V_both, and never less than either; the resamples are scaled to it. A
variance that is estimated from few is multiplied as by Student's t. Tasks stay as they are (`fixed`), or are resampled
too (`drawn`): then intervals are about other tasks like these.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from ..ids import bit_stream
from ..scores.reduce import Array, ratio, wilson
from ..stats import Estimate
from .draws import Drawn, Episodes, How

ANY = (-math.inf, math.inf)
SHARE = (0.0, 1.0)  # the bounds of what is a share, or a mean of shares
Sides: TypeAlias = tuple[float, float]  # below and above
Parts: TypeAlias = tuple[float, float]  # of a difference: by how much answers are better, and by how much worse
TINY = 1e-12  # what is no further from 0 is rounding
FEW = 0.1  # the share of resamples, or of tasks, that may have no value


# --- tasks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskMean:
    """The mean over the episodes of a task, for the data and in every resample, by what is drawn: (1 + r,)."""

    both: Array  # items and episodes
    items: Array
    episodes: Array
    answers: int
    per_episode: float  # answers
    valued: int  # episodes that have a score
    records: frozenset[int]  # that those ask about
    linked: str  # the first of the tasks that share records with this one
    unseen: Sides = (0.0, 0.0)


def task_means(drawn: Drawn, how: How) -> dict[str, TaskMean]:
    """Average the episodes of each task that have a score."""
    return {task: _task_mean(task, episodes, how) for task, episodes in drawn.items()}


def score_means(drawn: Drawn, how: How) -> dict[str, TaskMean]:
    """Average the episodes of each task, with what their resamples can't show (`Metric.unseen`)."""
    return {
        task: replace(_task_mean(task, episodes, how), unseen=_unseen(episodes, how.level))
        for task, episodes in drawn.items()
    }


def between(ours: TaskMean, theirs: TaskMean) -> TaskMean:
    """Give the difference of two groups of episodes of a task, of the same resamples of records."""
    answers = ours.answers + theirs.answers
    valued = ours.valued + theirs.valued - 1  # each group has lost a degree of freedom
    return TaskMean(
        ours.both - theirs.both, ours.items - theirs.items, ours.episodes - theirs.episodes, answers,
        answers / (valued + 1), valued, ours.records | theirs.records, ours.linked,
    )  # fmt: skip


def _unseen(of: Episodes, level: float) -> Sides:
    """Sum up what no episode shows, as the variance of their mean is summed up."""
    found = [of.answers[place].metric.unseen(of.answers[place].units, level) for place in of.valued]
    below, above = (sum(side) / max(1, len(found)) ** 2 for side in zip((0.0, 0.0), *found, strict=True))
    return below, above


def _task_mean(task: str, of: Episodes, how: How) -> TaskMean:
    valued = of.valued
    answers = sum(len(a.items) for a in of.answers.values())
    records = frozenset(record for place in valued for record in of.answers[place].records)
    counts = (answers, answers / max(1, len(of.answers)), len(valued), records, of.linked)
    if len(of.answers) == len(valued) == 1:
        alone = of.values[:, 0]
        return TaskMean(alone, alone, np.broadcast_to(alone[0], len(alone)), *counts)
    values = of.values if len(valued) == len(of.answers) else of.values[:, ~np.isnan(of.values[0])]
    weights = _fewer(len(valued), how.count, "episodes", task)
    still = np.broadcast_to(values[:1], values.shape)
    return TaskMean(_mean(values, weights), _mean(values, np.ones(len(valued))), _mean(still, weights), *counts)


@lru_cache(maxsize=4096)
def _fewer(n: int, count: int, *key: str) -> Array:
    """Draw n - 1 of n, so that the variance of a mean of few is right; row 0 is the data itself: (1 + r, n)."""
    if n < 2:
        return np.ones((1 + count, n))
    bits = bit_stream("report", n, *key)(count * (n - 1)).astype(np.uint64)
    drawn = ((bits * np.uint64(n)) >> np.uint64(32)).astype(np.int64).reshape(count, n - 1)
    flat = np.bincount((drawn + n * np.arange(count)[:, None]).ravel(), minlength=count * n)
    return np.concatenate([np.ones((1, n)), flat.reshape(count, n)])


def _mean(values: Array, weights: Array) -> Array:
    """Average each row, (r, k), by weights that are (r, k) or the same for all rows, (k,)."""
    known = ~np.isnan(values)
    if known.all():
        return ratio((values * weights).sum(1), weights.sum(-1))
    return ratio(np.where(known, values * weights, 0).sum(1), (known * weights).sum(1))


# --- means over tasks ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Component:
    """A component of variance, and the degrees of freedom that it is estimated with."""

    variance: float
    freedom: int

    def inflated(self, level: float) -> float:
        """Give the variance times the square of Student's quantile over the normal one, for few degrees of freedom."""
        return self.variance * _student_factor(self.freedom, level) ** 2


@lru_cache(maxsize=4096)
def _student_factor(freedom: int, level: float) -> float:
    tail = (1 + level) / 2
    return float(stdtrit(freedom, tail)) / NormalDist().inv_cdf(tail) if freedom else 1.0


@dataclass(frozen=True, slots=True)
class Resampled:
    """Some means with their resamples and components of variance; no components where these can't be estimated."""

    values: Array  # (m, 1 + r)
    components: Sequence[tuple[Component, ...]]
    n: Sequence[int]  # answers
    level: float
    unseen: Sequence[Sides]  # squares of how far the truth may lie from what no resample shows
    units: Sequence[float]  # records or tasks, as many as would make a plain mean as sure

    def scores(self, bounds: tuple[float, float]) -> list[Estimate]:
        """Give each score with its interval, which reaches at least as far as Wilson's if it lies between 0 and 1."""
        found = self.intervals(bounds)
        return [self._reaching(at, e) for at, e in enumerate(found)] if bounds == SHARE else found

    def _reaching(self, at: int, e: Estimate) -> Estimate:
        """Widen the interval of a share near 0 and 1, where resamples vary too little or not at all (Wilson 1927)."""
        if math.isnan(e.low):
            return e
        below, above = (
            math.hypot(end - e.value, math.sqrt(u)) for end, u in zip((e.low, e.high), self.unseen[at], strict=True)
        )
        low, high = max(0.0, e.value - below), min(1.0, e.value + above)
        if n := self._effective(at, e.value * (1 - e.value)):
            ends = wilson(min(1.0, max(0.0, e.value)), n, self.level)
            low, high = min(low, ends[0]), max(high, ends[1])
        return Estimate(e.value, low, high, e.n)

    def _effective(self, at: int, single: float) -> float:
        """Give the number of answers, each with this variance, that a mean is as sure as (Korn and Graubard 1998).

        Where an answer can't vary, it is the number of records or tasks; 0 stands for one that could, but does not.
        """
        if single <= TINY:
            return self.units[at]
        variance = sum(part.inflated(self.level) for part in self.components[at])
        return single / variance if variance > TINY**2 else 0.0

    def differences(self, bounds: tuple[float, float], parts: Sequence[Parts | None]) -> list[Estimate]:
        """Give each difference with its interval, which reaches at least as far as Student's and that of its parts."""
        found = [self._student(at, e, bounds) for at, e in enumerate(self.intervals(bounds))]
        return [self._parted(at, e, part) if part else e for at, (e, part) in enumerate(zip(found, parts, strict=True))]

    def _student(self, at: int, e: Estimate, bounds: tuple[float, float]) -> Estimate:
        """Widen an interval whose resamples are skewed: it reaches as far on either side as its error says."""
        if math.isnan(e.low):
            return e
        variance = sum(part.inflated(self.level) for part in self.components[at])
        reach = NormalDist().inv_cdf((1 + self.level) / 2) * math.sqrt(variance)
        low, high = max(bounds[0], e.value - reach), min(bounds[1], e.value + reach)
        return Estimate(e.value, min(low, e.low), max(high, e.high), e.n)

    def _parted(self, at: int, e: Estimate, parts: Parts) -> Estimate:
        """Widen the interval of a difference of shares for parts that few answers show, or none (Newcombe 1998)."""
        n = self._effective(at, sum(parts) - e.value**2)
        if math.isnan(e.low) or not n:
            return e
        (gain_low, gain_high), (loss_low, loss_high) = (wilson(share, n, self.level) for share in parts)
        gain, loss = parts
        low = e.value - _joint(gain - gain_low, loss_high - loss, parts)
        high = e.value + _joint(gain_high - gain, loss - loss_low, parts)
        return Estimate(e.value, max(-1.0, min(low, e.low)), min(1.0, max(high, e.high)), e.n)

    def intervals(self, bounds: tuple[float, float] = ANY) -> list[Estimate]:
        """Give each mean with its interval, within the bounds; none where its variance can't be estimated."""
        known = ~np.isnan(self.values[:, 1:])
        enough = known.sum(1) > (1 - FEW) * known.shape[1]
        found = [Estimate(float(row[0]), math.nan, math.nan, n) for row, n in zip(self.values, self.n, strict=True)]
        sure = [at for at, components in enumerate(self.components) if components and enough[at]]
        whole = [at for at in sure if known[at].all()]
        for rows in [whole, *([at] for at in sure if not known[at].all())]:
            if rows:
                resamples = self.values[rows, 1:] if rows is whole else self.values[rows, 1:][:, known[rows[0]]]
                found = self._with_ends(found, rows, resamples, bounds)
        return found

    def _with_ends(
        self, found: list[Estimate], rows: Sequence[int], resamples: Array, bounds: tuple[float, float]
    ) -> list[Estimate]:
        """Put the ends of their intervals to some estimates, by resamples that all have a value."""
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        ends = np.quantile(resamples, tails, axis=1).T - resamples.mean(1)[:, None]
        spreads = resamples.std(1)
        for at, end, spread in zip(rows, ends, spreads, strict=True):
            value = found[at].value
            low, high = np.clip(value + self._scale(at, float(spread), end) * end, *bounds)
            found[at] = Estimate(value, float(low), float(high), found[at].n)
        return found

    def _scale(self, at: int, spread: float, ends: Array) -> float:
        """Give the factor that brings resamples to the wanted variance; ends are no nearer than 1.96 deviations."""
        wanted = math.sqrt(sum(part.inflated(self.level) for part in self.components[at]))
        reach = float(ends[1] - ends[0]) / 2
        normal = NormalDist().inv_cdf((1 + self.level) / 2)
        return wanted * max(1 / spread, normal / reach) if spread and reach else 0.0

    def p_values(self) -> list[float]:
        """Give the two-sided p-value of each mean against 0, by Student's t (Welch 1947, Satterthwaite 1946)."""
        return [
            _p_value(float(value), components)
            for value, components in zip(self.values[:, 0], self.components, strict=True)
        ]


def _joint(gain: float, loss: float, parts: Parts) -> float:
    """Join how far two shares of one multinomial distribution reach; their correlation is negative."""
    odds = math.prod(share / (1 - share) if share < 1 else 0.0 for share in parts)
    return math.sqrt(gain**2 + loss**2 + 2 * math.sqrt(odds) * gain * loss)


def _p_value(value: float, components: Sequence[Component]) -> float:
    variance = sum(part.variance for part in components)
    if math.isnan(value) or not variance:
        return math.nan if math.isnan(value) else 0.0
    few = sum(part.variance**2 / part.freedom for part in components if part.freedom)
    far = abs(value) / math.sqrt(variance)
    return 2 * (float(stdtr(variance**2 / few, -far)) if few else NormalDist().cdf(-far))


def each_task(means: Iterable[TaskMean], how: How) -> Resampled:
    """Take the mean of each task as it is; of drawn tasks, one alone does not show how it varies."""
    found = list(means)
    values = np.stack([m.both for m in found]) if found else np.empty((0, 1 + how.count))
    sure = [at for at, m in enumerate(found) if m.valued and len(m.records) > 1 and how.tasks == "fixed"]
    components: list[tuple[Component, ...]] = [()] * len(found)
    for at, variance in zip(sure, variances(values[sure]), strict=True):
        m = found[at]
        alone = (0.0, variance) if m.items is m.both else variances(np.stack([m.episodes, m.items]))
        components[at] = _within((*alone, variance), (len(m.records) - 1, m.valued - 1))
    units, unseen = [float(len(m.records)) for m in found], [m.unseen for m in found]
    return Resampled(values, components, [m.answers for m in found], how.level, unseen, units)


def instances(means: Mapping[str, TaskMean]) -> dict[str, float]:
    """Let a task weigh as many answers as its episodes have."""
    return {task: m.per_episode for task, m in means.items()}


def group_sizes(means: Mapping[str, TaskMean], groups: Mapping[str, Collection[str]]) -> dict[str, float]:
    """Let groups of tasks weigh the same, and a task in its groups as many answers as its episodes have."""
    sizes: dict[str, float] = {}
    for tasks in groups.values():
        known = {task: means[task].per_episode for task in tasks if task in means and means[task].valued}
        for task, size in known.items():
            sizes[task] = sizes.get(task, 0.0) + size / sum(known.values())
    return sizes


def over_tasks(means: Mapping[str, TaskMean], how: How, sizes: Mapping[str, float] | None = None) -> Resampled:
    """Average over tasks: a single mean, where tasks weigh the same or by these sizes."""
    valued = {task: m for task, m in means.items() if m.valued}
    tasks = _Tasks(list(valued.values()), how, np.array([sizes[task] if sizes else 1.0 for task in valued]))
    both = tasks.mean([m.both for m in tasks.means])
    drawn = tasks.mean([m.both for m in tasks.means], drawn=True) if how.tasks == "drawn" else both
    n = sum(m.answers for m in means.values())
    return Resampled(drawn[None], [tasks.components(both)], [n], how.level, [tasks.unseen()], [tasks.units()])


def together(parts: Sequence[Resampled]) -> Resampled:
    """Put means together, so that their intervals are found at once."""
    return Resampled(
        np.concatenate([part.values for part in parts]), [one for part in parts for one in part.components],
        [one for part in parts for one in part.n], parts[0].level, [one for part in parts for one in part.unseen],
        [one for part in parts for one in part.units],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tasks:
    """Tasks that have a value, and their mean as a function of what is drawn."""

    means: Sequence[TaskMean]
    how: How
    sizes: Array

    def mean(self, rows: Sequence[Array], *, drawn: bool = False) -> Array:
        """Average a row for each task, or for each of those drawn: (1 + r,)."""
        if not rows:
            return np.full(1 + self.how.count, np.nan)
        times = _fewer(len(rows), self.how.count, "tasks") if drawn else 1.0
        return _mean(np.stack(rows, axis=1), self.sizes * times)

    def unseen(self) -> Sides:
        """Sum up what tasks do not show, as the variance of their mean is summed up."""
        shares = (self.sizes / self.sizes.sum()) ** 2
        below, above = (float(shares @ [m.unseen[side] for m in self.means]) if self.means else 0.0 for side in (0, 1))
        return below, above

    def units(self) -> float:
        """Say of how many records, or of how many tasks that are drawn, a plain mean would be as sure (Kish 1965)."""
        if self.how.tasks == "drawn" or not self.means:
            return float(max(1, len(self.means)))
        weights: dict[str, float] = {}
        for m, size in zip(self.means, self.sizes, strict=True):
            weights[m.linked] = weights.get(m.linked, 0.0) + float(size)
        records = self._records()
        return sum(weights.values()) ** 2 / sum(w**2 / max(1, len(records[at])) for at, w in weights.items())

    def components(self, both: Array) -> tuple[Component, ...]:
        """Give the components of variance within tasks, or that between them if tasks are drawn and it is larger."""
        if self._too_few():
            return ()
        by_record = sum(len(records) - 1 for records in self._records().values())
        within = _within(self._variances(both), (by_record, sum(m.valued - 1 for m in self.means)))
        if self.how.tasks == "fixed":
            return within
        still = self.mean([np.broadcast_to(m.both[0], len(m.both)) for m in self.means], drawn=True)
        between = (Component(variances(still[None])[0], len(self.means) - 1),)
        return max(within, between, key=lambda parts: sum(part.inflated(self.how.level) for part in parts))

    def _variances(self, both: Array) -> tuple[float, float, float]:
        """Give the variance where episodes are drawn, where items are, and where both are."""
        if all(m.items is m.both for m in self.means):  # no task has several episodes
            (variance,) = variances(both[None])
            return 0.0, variance, variance
        rows = [self.mean([m.episodes for m in self.means]), self.mean([m.items for m in self.means]), both]
        by_episode, by_item, by_both = variances(np.stack(rows))
        return by_episode, by_item, by_both

    def _too_few(self) -> bool:
        """Tell whether tasks, or the items of more than a few of them, are single ones: nothing shows how they vary."""
        if self.how.tasks == "drawn":
            return len(self.means) < 2
        return not self.means or sum(len(m.records) < 2 for m in self.means) > FEW * len(self.means)

    def _records(self) -> dict[str, set[int]]:
        """Put the records of tasks together that share some."""
        found: dict[str, set[int]] = {}
        for m in self.means:
            found.setdefault(m.linked, set()).update(m.records)
        return found


def _within(variances: tuple[float, float, float], freedom: tuple[int, int]) -> tuple[Component, ...]:
    """Give the components of variance of a mean: that of records, and that of episodes beyond it."""
    by_episode, by_item, by_both = variances
    wanted = max(by_episode, by_item, 2 * (by_episode + by_item) - by_both)
    return Component(by_item, freedom[0]), Component(wanted - by_item, freedom[1])


def variances(values: Array) -> list[float]:
    """Give the variance of each row's resamples; NaN where none has a value."""
    if not len(values) or values.shape[1] < 2 or np.isnan(values[:, 1:]).all(1).any():
        return [float(np.var(row[~np.isnan(row)])) if (~np.isnan(row)).any() else math.nan for row in values[:, 1:]]
    return [float(v) for v in np.nanvar(values[:, 1:], axis=1)]
