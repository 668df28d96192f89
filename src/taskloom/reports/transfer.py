"""What transfers to what: gains of learners that start from meta tasks over one that does not, on each target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..episodes import Shots, shots_order
from ..scores import Metric
from ..stats import Contrast, Estimate
from ..studies.results import Outcome, Results
from .contrasts import combined, contrasts_by_task, contrasts_of, corrected
from .draws import Answered, Answers, Drawn, How, Place, answers_of, draw
from .intervals import ANY, each_task, over_tasks, task_means

Shares = Mapping[str, Mapping[str, float]]  # target -> learner -> its part in a sum of scores
Family = tuple[tuple[float, float] | None, str]  # contrasts that are corrected together: bounds in points, or a metric


@dataclass(frozen=True, slots=True)
class Gains:
    """Paired differences between learners that start from meta tasks and one that does not, target by target."""

    few: str
    learners: tuple[str, ...]
    targets: tuple[str, ...]  # in the order of the suite
    shots: Shots
    metrics: Mapping[str, str]  # the first of each target
    in_points: frozenset[str]  # targets whose gains have one scale, so that means over them mean something
    at: Mapping[tuple[str, str], Contrast]  # learner and target; above 0 is better
    answers: Mapping[str, Answers]
    drawn: Mapping[str, Drawn]
    how: How

    def values(self, targets: Sequence[str] = ()) -> dict[str, dict[str, float]]:
        """Give plain gains in points, by target and learner."""
        found: dict[str, dict[str, float]] = {target: {} for target in targets or self.targets}
        for (name, target), gain in self.at.items():
            if target in found and target in self.in_points:
                found[target][name] = gain.difference
        return {target: by for target, by in found.items() if by}

    def overall(self) -> dict[str, Contrast]:
        """Compare each learner over all targets in points that it was measured on."""
        drawn = {name: {t: e for t, e in found.items() if t in self.in_points} for name, found in self.drawn.items()}
        names = [name for name in self.learners if drawn.get(name)]
        answers = {n: {p: a for p, a in self.answers[n].items() if p[0] in self.in_points} for n in drawn}
        found = corrected(contrasts_of([(name, self.few) for name in names], answers, self.how, drawn))
        return dict(zip(names, found, strict=True))

    def mean(self, shares: Shares) -> Estimate:
        """Sum scores up on each target, each times its share, and give the mean over targets."""
        found = over_tasks(task_means(combined(shares, self.drawn), self.how), self.how)
        return _varied(found.differences(self._reach(shares), [None])[0])

    def each(self, shares: Shares) -> dict[str, Estimate]:
        """Sum scores up on each target, each times its share."""
        means = task_means(combined(shares, self.drawn), self.how)
        found = each_task(means.values(), self.how).differences(self._reach(shares), [None] * len(means))
        return dict(zip(means, map(_varied, found), strict=True))

    def _reach(self, shares: Shares) -> tuple[float, float]:
        """Say how low and how high a sum of scores can be on any of these targets."""
        ends = [self._ends(target, parts) for target, parts in shares.items()]
        return min((low for low, _ in ends), default=-math.inf), max((high for _, high in ends), default=math.inf)

    def _ends(self, target: str, parts: Mapping[str, float]) -> tuple[float, float]:
        given = (a.metric.bounds for found in self.answers.values() for place, a in found.items() if place[0] == target)
        least, most = next(given, ANY)
        low, high = (sum(share * (ends[0] if share > 0 else ends[1]) for share in parts.values() if share)
                     for ends in ((least, most), (most, least)))  # fmt: skip
        return low, high

    def gain_of(self, learners: Sequence[str]) -> dict[str, float]:
        """Give the shares of the mean gain of some learners."""
        return {**dict.fromkeys(learners, 1 / len(learners)), self.few: -1.0}


def gains_of(results: Results, few: str, learners: Sequence[str], how: How) -> Gains | None:
    """Compare learners with one on each target by its first metric, at the most shots that it has answered with."""
    settings = [o.shots for o in results.outcomes if o.learner == few]
    if not settings:
        return None
    shots = max(settings, key=shots_order)
    wanted = [o for o in results.outcomes if o.learner in {few, *learners} and o.shots == shots and o.scores]
    metrics = {o.task: results.metrics_of(o.task)[0] for o in wanted}
    answers = _answers(wanted, metrics, shots)
    drawn = draw(answers, how)
    kinds = {place[0]: a.metric for found in answers.values() for place, a in found.items()}
    pairs = [
        (task, name, few)
        for task in results.suite.tasks
        for name in learners
        if task in drawn.get(few, {}) and task in drawn.get(name, {})
    ]
    families: dict[Family, list[tuple[str, str, str]]] = {}
    for pair in pairs:
        families.setdefault(_family(kinds[pair[0]], metrics[pair[0]]), []).append(pair)
    at: dict[tuple[str, str], Contrast] = {}
    for some in families.values():
        for task, found in contrasts_by_task(some, answers, how, drawn).items():
            at |= {(name, task): _better(c, kinds[task]) for name, c in found.items() if not math.isnan(c.difference)}
    targets = tuple(task for task in results.suite.tasks if any(target == task for _, target in at))
    in_points = frozenset(task for task in targets if _is_common(kinds[task]))
    names = tuple(name for name in learners if any(learner == name for learner, _ in at))
    return Gains(few, names, targets, shots, metrics, in_points, at, answers, drawn, how) if at else None


def _varied(e: Estimate) -> Estimate:
    """Leave out an interval without a width: where no answer differs, resamples show nothing."""
    return e if e.low < e.high else replace(e, low=math.nan, high=math.nan)


def _answers(outcomes: Sequence[Outcome], metrics: Mapping[str, str], shots: Shots) -> dict[str, dict[Place, Answered]]:
    """Gather answers, those of each task scored by its own metric."""
    found: dict[str, dict[Place, Answered]] = {}
    for metric in dict.fromkeys(metrics.values()):
        of = [o for o in outcomes if metrics[o.task] == metric]
        for name, answers in answers_of(metric, shots, of).items():
            found.setdefault(name, {}).update(answers)
    return found


def _is_common(of: Metric) -> bool:
    return of.points and of.higher_is_better


def _family(of: Metric, name: str) -> Family:
    return (of.bounds, "") if _is_common(of) else (None, name)


def _better(c: Contrast, of: Metric) -> Contrast:
    """Turn a difference by a metric that is better when lower."""
    if of.higher_is_better:
        return c
    return replace(c, difference=-c.difference, low=-c.high, high=-c.low)
