"""Scored answers, and the score of every episode in every resample of the items of its task."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from ..episodes import Shots
from ..scores import Metric
from ..scores.reduce import Array, mean, means
from ..stats import resamples
from ..studies.results import Outcome

Place: TypeAlias = tuple[str, int, int, int]  # a task, and an episode: its seed, its index, the seed of training


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


@dataclass(frozen=True, slots=True)
class Episodes:
    """The episodes of one learner on one task: their answers, and a column of scores for each.

    Row 0 of the scores is the data itself, each further row a resample: (1 + r, k).
    """

    answers: Answers
    values: Array

    @property
    def valued(self) -> list[Place]:
        """Name the episodes that have a score; a correlation of equal answers has none."""
        return [place for place, value in zip(self.answers, self.values[0], strict=True) if not math.isnan(value)]


Drawn: TypeAlias = Mapping[str, Episodes]  # by task


def answers_of(metric: str, shots: Shots, outcomes: Iterable[Outcome]) -> dict[str, dict[Place, Answered]]:
    """Gather the scored answers by learner and episode, in an order that does not depend on that of the run."""
    wanted = [o for o in outcomes if o.shots == shots and metric in o.scores]
    found: dict[str, dict[Place, Answered]] = {}
    for o in sorted(wanted, key=lambda o: (o.learner, o.task, *o.episode)):
        scored = o.scores[metric]
        found.setdefault(o.learner, {})[o.task, *o.episode] = Answered(scored.metric, scored.units, o.items)
    return found


def by_task(answers: Answers) -> dict[str, dict[Place, Answered]]:
    """Put the episodes of each task together."""
    found: dict[str, dict[Place, Answered]] = {}
    for place, answered in answers.items():
        found.setdefault(place[0], {})[place] = answered
    return found


def draw(answers: Mapping[str, Answers], how: How) -> dict[str, dict[str, Episodes]]:
    """Score every episode of every learner in every resample of the items of its task: learner -> task -> episodes."""
    parts: dict[str, dict[str, Answers]] = {}
    for name, found in answers.items():
        for task, episodes in by_task(found).items():
            parts.setdefault(task, {})[name] = episodes
    drawn: dict[str, dict[str, Episodes]] = {name: {} for name in answers}
    for task in sorted(parts):
        for name, values in _rescored(task, parts[task], how).items():
            drawn[name][task] = Episodes(parts[task][name], values)
    return drawn


def _rescored(task: str, parts: Mapping[str, Answers], how: How) -> dict[str, Array]:
    """Score the episodes of each learner on one task; those who answered the same items share what is drawn."""
    number = {i: at for at, i in enumerate(sorted({i for of in parts.values() for a in of.values() for i in a.items}))}
    groups: dict[tuple[str, ...], list[tuple[str, int, Answered]]] = {}
    for name, found in parts.items():
        for at, answered in enumerate(found.values()):
            groups.setdefault(answered.items, []).append((name, at, answered))
    places = {items: [number[item] for item in items] for items in groups}
    scores = {name: np.empty((1 + how.count, len(found))) for name, found in parts.items()}
    fewer = max(1, len(number) - 1)  # so that the variance of a mean of few is right
    first = 0
    for block in itertools.chain(
        [np.ones((1, len(number)))], resamples(len(number), how.count, "items", task, size=fewer)
    ):
        rows, weights = slice(first, first + len(block)), np.ascontiguousarray(block.T)
        for items, group in groups.items():
            values = _reduced([answered for _, _, answered in group], weights[places[items]].T)
            for (name, at, _), column in zip(group, values, strict=True):
                scores[name][rows, at] = column
        first = rows.stop
    return scores


def _reduced(group: Sequence[Answered], weights: Array) -> Iterable[Array]:
    """Score several answers to the same items; plain means all at once."""
    if len(weights) > 1 and len(group) > 1 and all(a.metric.reduce is mean for a in group):
        units = np.stack([a.units[:, 0] for a in group])
        if not np.isnan(units).any():
            return means(units, weights)
    return [a.metric.reduce(a.units, weights) for a in group]
