"""How scores vary by episode and by item, as a run has shown it: what the size of a study can be planned by."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import TypeAlias

import numpy as np

from ..episodes import Shots
from ..sample_sizes import DEVIATION, Variation
from ..scores import Scored
from ..scores.reduce import Array, mean
from .results import Outcome, Results

LEAST_ANSWERS = 100  # by which an accuracy is known
LEAST_EPISODES = 10  # by which their deviation is known
STEPS = 20  # to which accuracies are rounded: twentieths
KindKey: TypeAlias = tuple[str, str, Shots]  # learner, task and shots
Asked: TypeAlias = tuple[object, ...]  # an episode, and its items


@dataclass(frozen=True, slots=True, kw_only=True)
class Variations:
    """What is known of how scores vary; what is not is assumed."""

    accuracies: Mapping[KindKey, float] = field(default_factory=dict)
    deviations: Mapping[KindKey, float] = field(default_factory=dict)  # of the accuracies of episodes
    apart: Mapping[tuple[str, Shots], tuple[float, float]] = field(default_factory=dict)  # of differences of learners

    def of(self, kind: KindKey, *, times: int, most: int) -> Variation:
        """Give what is known of a kind, where an episode has so many items for each that is counted."""
        _, task, shots = kind
        return Variation(
            accuracy=_rounded(self.accuracies.get(kind, 0.5)),
            deviation=round(self.deviations.get(kind, DEVIATION), 2),
            times=times,
            most=most,
            apart=self.apart.get((task, shots)),
        )


def _rounded(accuracy: float) -> float:
    """Round an accuracy, so that few are simulated; of none or all right, little is known.

    >>> _rounded(0.62), _rounded(1.0)
    (0.6, 0.95)
    """
    return min(max(round(STEPS * accuracy), 1), STEPS - 1) / STEPS


def measured_variations(results: Results) -> Variations:
    """Measure how scores vary in a run, by the first metric of a task that lies between 0 and 1."""
    kinds: dict[KindKey, list[tuple[Outcome, Scored]]] = defaultdict(list)
    for outcome in results.outcomes:
        scored = (outcome.scores[name] for name in results.metrics_of(outcome.task) if name in outcome.scores)
        if found := next((one for one in scored if one.metric.bounds == (0.0, 1.0)), None):
            kinds[outcome.learner, outcome.task, outcome.shots].append((outcome, found))
    values = {kind: [found.value for _, found in of] for kind, of in kinds.items()}
    answers = {kind: sum(len(found.units) for _, found in of) for kind, of in kinds.items()}
    valued = [kind for kind in kinds if not any(map(math.isnan, values[kind]))]
    pairs = {kind[1:] for kind in valued if kind[0] not in results.baselines}
    rivals = {pair: [of for kind, of in kinds.items() if kind[1:] == pair and kind[0] not in results.baselines]
              for pair in sorted(pairs, key=str)}  # fmt: skip
    return Variations(
        accuracies={kind: fmean(values[kind]) for kind in valued if answers[kind] >= LEAST_ANSWERS},
        deviations={
            kind: _deviation(values[kind], [found for _, found in kinds[kind]])
            for kind in valued
            if len(values[kind]) >= LEAST_EPISODES
        },
        apart={pair: apart for pair, of in rivals.items() if (apart := _apart(of))},
    )


def _deviation(values: Sequence[float], scored: Sequence[Scored]) -> float:
    """Give the deviation of episodes beyond what few items explain: the method of moments (Cochran 1977, 10.4)."""
    within = fmean(_within(value, one) / len(one.units) for value, one in zip(values, scored, strict=True))
    return math.sqrt(max(0.0, variance(values) - within))


def _within(value: float, scored: Scored) -> float:
    """Give the variance of single answers in an episode; of a metric that is no plain mean, that of right and wrong."""
    if scored.metric.reduce is mean and len(scored.units) > 1:
        return float(np.nanvar(scored.units[:, 0], ddof=1))
    return value * (1 - value)


def _apart(rivals: Sequence[Sequence[tuple[Outcome, Scored]]]) -> tuple[float, float] | None:
    """Give the variances of differences between two learners, by episode and by item: means over pairs."""
    found = [_difference(a, b) for a, b in itertools.combinations(map(_by_episode, rivals), 2)]
    known = [one for one in found if one]
    return (fmean(of for of, _ in known), fmean(of for _, of in known)) if known else None


def _by_episode(of: Sequence[tuple[Outcome, Scored]]) -> dict[Asked, Array]:
    """Give single scores, where the metric is a plain mean of what is known, by episode and its items."""
    plain = [(o, s.units[:, 0]) for o, s in of if s.metric.reduce is mean and len(s.units) > 1]
    return {(*o.episode, o.items): units for o, units in plain if not np.isnan(units).any()}


def _difference(a: Mapping[Asked, Array], b: Mapping[Asked, Array]) -> tuple[float, float] | None:
    """Give the variances of the difference of two learners on the episodes that both have."""
    differences = [a[place] - b[place] for place in a if place in b]
    if len(differences) < LEAST_EPISODES:
        return None
    within = [float(one.var(ddof=1)) for one in differences]
    of_few = fmean(of / len(one) for of, one in zip(within, differences, strict=True))
    return max(0.0, variance(float(one.mean()) for one in differences) - of_few), fmean(within)
