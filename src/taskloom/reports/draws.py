"""Scored answers, and the score of every episode in every bootstrap resample of the records.

It is a cluster bootstrap: a record is drawn with all that is asked about it, in all tasks. Tasks that are views of the
same records are not independent, and neither are several items of one record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from ..episodes import Shots
from ..scores import Metric
from ..scores.reduce import Array, mean, means
from ..stats import resamples
from ..studies.results import Outcome, own_records

Place: TypeAlias = tuple[str, int, int, int]  # a task, and an episode: its seed, its index, the seed of training


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How intervals are made: the number of resamples, the confidence level, and whether tasks are resampled too."""

    count: int = 1000
    level: float = 0.95
    tasks: Literal["fixed", "drawn"] = "fixed"


@dataclass(frozen=True, slots=True)
class Answered:
    """The scored answers of one learner in one episode."""

    metric: Metric
    units: Array
    items: tuple[str, ...]
    records: tuple[int, ...]  # of the items, by numbers that are the same in all tasks

    def only(self, ids: Iterable[str]) -> Answered:
        """Keep these items alone."""
        wanted = set(ids)
        kept = [at for at, item in enumerate(self.items) if item in wanted]
        return self.at(kept)

    def at(self, rows: Sequence[int]) -> Answered:
        """Take some answers, in this order."""
        items, records = tuple(self.items[row] for row in rows), tuple(self.records[row] for row in rows)
        return replace(self, units=self.units[rows], items=items, records=records)


Answers: TypeAlias = Mapping[Place, Answered]


@dataclass(frozen=True, slots=True)
class Episodes:
    """The episodes of one learner on one task: their answers, and a column of scores for each.

    Row 0 of the scores is the data itself, each further row a resample: (1 + r, k).
    """

    answers: Answers
    values: Array
    linked: str  # the first of the tasks that share records with this one, itself among them

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
        records = o.records or own_records(o.task, o.items)
        found.setdefault(o.learner, {})[o.task, *o.episode] = Answered(scored.metric, scored.units, o.items, records)
    return found


def by_task(answers: Answers) -> dict[str, dict[Place, Answered]]:
    """Put the episodes of each task together."""
    found: dict[str, dict[Place, Answered]] = {}
    for place, answered in answers.items():
        found.setdefault(place[0], {})[place] = answered
    return found


def draw(answers: Mapping[str, Answers], how: How) -> dict[str, dict[str, Episodes]]:
    """Score every episode of every learner in every resample of the records: learner -> task -> episodes."""
    parts: dict[str, dict[str, Answers]] = {}
    for name, found in answers.items():
        for task, episodes in by_task(found).items():
            parts.setdefault(task, {})[name] = episodes
    drawn: dict[str, dict[str, Episodes]] = {name: {} for name in answers}
    groups = linked({task: _asked(found) for task, found in parts.items()})
    for tasks in groups:
        for (task, name), values in _rescored(tasks, parts, how).items():
            drawn[name][task] = Episodes(parts[task][name], values, tasks[0])
    return {name: dict(sorted(found.items())) for name, found in drawn.items()} if len(groups) < len(parts) else drawn


def linked(asked: Mapping[str, Iterable[int]]) -> list[list[str]]:
    """Put tasks together that share records with each other, directly or by way of others, in order of their names.

    >>> linked({"a": [1], "b": [2, 3], "c": [3, 1], "d": [4]})
    [['a', 'b', 'c'], ['d']]
    """
    groups: dict[str, list[str]] = {}
    home: dict[str, str] = {}  # the group of each task
    first: dict[int, str] = {}  # a task of each record
    for task in sorted(asked):
        groups[task], home[task] = [task], task
        for record in asked[task]:
            old, new = home[first.setdefault(record, task)], home[task]
            if old != new:
                old, new = sorted((old, new))
                groups[old] += groups[new]
                home.update(dict.fromkeys(groups.pop(new), old))
    return [sorted(tasks) for tasks in groups.values()]


def _asked(parts: Mapping[str, Answers]) -> dict[int, str]:
    """Give the records that learners were asked about, each with the least of its items, by which they are ordered."""
    least: dict[int, str] = {}
    for items, records in {(a.items, a.records) for of in parts.values() for a in of.values()}:
        for item, record in zip(items, records, strict=True):
            if record not in least or item < least[record]:
                least[record] = item
    return least


def _rescored(
    tasks: Sequence[str], parts: Mapping[str, Mapping[str, Answers]], how: How
) -> dict[tuple[str, str], Array]:
    """Score the episodes of each learner on tasks that share records; what is drawn is shared by all."""
    least: dict[int, str] = {}
    groups: dict[tuple[int, ...], list[tuple[tuple[str, str], int, Answered]]] = {}
    for task in tasks:
        for record, item in _asked(parts[task]).items():
            least[record] = min(item, least.get(record, item))
        for name, found in parts[task].items():
            for at, answered in enumerate(found.values()):
                groups.setdefault(answered.records, []).append(((task, name), at, answered))
    number = {record: at for at, record in enumerate(sorted(least, key=lambda record: (least[record], record)))}
    places = {records: [number[record] for record in records] for records in groups}
    scores = {(t, name): np.empty((1 + how.count, len(found))) for t in tasks for name, found in parts[t].items()}
    first = 0
    for block in _weights(len(number), how.count, tasks[0]):
        rows, weights = slice(first, first + len(block)), np.ascontiguousarray(block.T)
        for records, group in groups.items():
            values = _reduced([answered for _, _, answered in group], weights[places[records]].T)
            for (key, at, _), column in zip(group, values, strict=True):
                scores[key][rows, at] = column
        first = rows.stop
    return scores


def _weights(n: int, count: int, task: str) -> Iterator[Array]:
    """Yield the data itself, and resamples of n - 1 of n records, so that the variance of a mean of few is right."""
    yield np.ones((1, n))
    yield from resamples(n, count, "items", task, size=max(1, n - 1))


def _reduced(group: Sequence[Answered], weights: Array) -> Iterable[Array]:
    """Score several answers to the same items; plain means all at once."""
    if len(weights) > 1 and len(group) > 1 and all(a.metric.reduce is mean for a in group):
        units = np.stack([a.units[:, 0] for a in group])
        if not np.isnan(units).any():
            return means(units, weights)
    return [a.metric.reduce(a.units, weights) for a in group]
