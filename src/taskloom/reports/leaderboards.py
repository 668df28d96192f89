"""Outcomes to numbers: a leaderboard has scores by one metric at one setting of shots, and how sure they are.

An episode's score is the metric of its answers, a task's the mean over its episodes, a learner's that over its tasks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..episodes import Shots
from ..messages import Note
from ..scores import Metric
from ..stats import Contrast, Estimate, ranks, tie_groups
from ..studies.results import Outcome
from .contrasts import contrasts_of, corrected, differs
from .draws import Answers, Drawn, How, answers_of, draw
from .intervals import Resampled, TaskMean, each_task, group_sizes, instances, over_tasks, score_means, together


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one learner reached on a leaderboard; `rank` is 0 for baselines and for learners without a value."""

    learner: str
    score: Estimate
    by_instance: Estimate  # where each task weighs as many instances as it has
    tasks: int
    episodes: int
    without: int  # episodes that have no score, such as a correlation of equal answers
    rank: int = 0
    groups: str = ""  # learners that share a letter can't be told apart
    baseline: bool = False
    best: bool = False  # whether it can't be told from the best

    def over(self, what: str) -> Estimate:
        """Give the mean over tasks, or over instances."""
        return self.by_instance if what == "instances" else self.score


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The scores of all learners by one metric at one setting of shots, the best first."""

    metric: str
    shots: Shots
    higher: bool  # whether more is better
    points: bool  # whether shown from 0 to 100
    standings: tuple[Standing, ...]
    pairs: tuple[Contrast, ...]  # p-values are Holm's
    tasks: Mapping[str, Mapping[str, Estimate]]  # task -> learner
    warnings: tuple[Note, ...] = ()  # what intervals leave out

    @property
    def sign(self) -> int:
        """Give what makes a better score the larger one."""
        return 1 if self.higher else -1


@dataclass(frozen=True, slots=True)
class Category:
    """The scores on the tasks of one category that have the same first metric."""

    name: str
    leaderboard: Leaderboard


def leaderboard(
    metric: str, shots: Shots, outcomes: Iterable[Outcome], baselines: Sequence[str] = (), how: How | None = None
) -> Leaderboard:
    """Score all learners that have outcomes at these shots, and compare each two of them."""
    return _Field.of(metric, shots, outcomes, how or How()).leaderboard(baselines)


def leaderboards(
    metric: str,
    shots: Shots,
    outcomes: Iterable[Outcome],
    baselines: Sequence[str],
    how: How,
    groups: Mapping[str, Collection[str]],
) -> Iterator[tuple[str, Leaderboard]]:
    """Make the leaderboard of all tasks, which has no name, and one for each group of tasks, of the same resamples."""
    field = _Field.of(metric, shots, outcomes, how)
    yield "", field.leaderboard(baselines)
    yield from ((name, field.only(tasks).leaderboard(baselines)) for name, tasks in groups.items())


@dataclass(frozen=True, slots=True)
class Grouped:
    """The leaderboard of all tasks, one for each group, and the mean over groups by learner; all of one drawing."""

    leaderboard: Leaderboard
    groups: Mapping[str, Leaderboard]
    mean: Mapping[str, Estimate]  # each group by its instances; empty without groups


def over_groups(
    metric: str, shots: Shots, outcomes: Iterable[Outcome], groups: Mapping[str, Collection[str]], how: How
) -> Grouped:
    """Score all learners on all tasks, on each group of tasks, and by the mean over groups."""
    field = _Field.of(metric, shots, outcomes, how)
    parts = {name: field.only(tasks).leaderboard(()) for name, tasks in groups.items()}
    return Grouped(field.leaderboard(()), parts, field.over_groups(groups) if groups else {})


@dataclass(frozen=True, slots=True)
class _Field:
    """What all learners have answered at one setting, drawn once for all that is said of it."""

    metric: str
    shots: Shots
    how: How
    answers: Mapping[str, Answers]  # by learner
    drawn: Mapping[str, Drawn]
    means: Mapping[str, Mapping[str, TaskMean]]

    @classmethod
    def of(cls, metric: str, shots: Shots, outcomes: Iterable[Outcome], how: How) -> _Field:
        """Draw resamples of all that was answered."""
        answers = answers_of(metric, shots, outcomes)
        drawn = draw(answers, how)
        return cls(metric, shots, how, answers, drawn, {name: score_means(found, how) for name, found in drawn.items()})

    def only(self, tasks: Collection[str]) -> _Field:
        """Leave out other tasks, and learners that have answered none of these."""
        wanted = set(tasks)
        drawn = {n: {t: e for t, e in found.items() if t in wanted} for n, found in self.drawn.items()}
        drawn = {name: found for name, found in drawn.items() if found}
        return replace(
            self,
            answers={
                n: {p: self.answers[n][p] for e in found.values() for p in e.answers} for n, found in drawn.items()
            },
            drawn=drawn,
            means={n: {task: self.means[n][task] for task in found} for n, found in drawn.items()},
        )

    def leaderboard(self, baselines: Sequence[str]) -> Leaderboard:
        """Score all learners, and compare each two of them."""
        kind = self.kind
        higher, bounds = kind.higher_is_better, kind.bounds
        scores, by_instance = (self._scores(by_size=by_size) for by_size in (False, True))
        order = sorted(self.answers, key=lambda name: _order(scores[name].value, higher, name))
        contested = [name for name in order if name not in baselines] or order
        pairs = [(a, b) for a, b in itertools.combinations(order, 2) if a in contested or b in contested]
        contrasts = corrected(contrasts_of(pairs, self.answers, self.how, self.drawn))
        told = {frozenset((c.a, c.b)) for c in contrasts if differs(c)}
        ranked = _ranked({n: scores[n].value for n in contested}, higher, lambda a, b: frozenset((a, b)) in told)
        standings = tuple(
            _standing(name, (scores[name], by_instance[name]), self.drawn[name], name in baselines, ranked)
            for name in order
        )
        return Leaderboard(
            metric=self.metric, shots=self.shots, higher=higher, points=kind.points, standings=standings,
            pairs=tuple(contrasts), tasks=self._by_task(bounds), warnings=tuple(self._warnings()),
        )  # fmt: skip

    def _warnings(self) -> Iterator[Note]:
        """Say where one seed hides what varies between seeds; without examples, a seed draws items alone."""
        tasks = {task for found in self.drawn.values() for task in found}
        single = {
            task for found in self.drawn.values() for task, episodes in found.items() if len(episodes.valued) == 1
        }
        if single and self.shots != 0:
            yield Note.of("single-episodes", tasks=len(single), of=len(tasks))

    def over_groups(self, groups: Mapping[str, Collection[str]]) -> dict[str, Estimate]:
        """Give each learner's mean over groups of tasks, where a task weighs in its group by its instances."""
        return self._estimates(
            {
                name: over_tasks(
                    {t: m for t, m in means.items() if t in (sizes := group_sizes(means, groups))}, self.how, sizes
                )
                for name, means in self.means.items()
            }
        )

    def _scores(self, *, by_size: bool) -> dict[str, Estimate]:
        return self._estimates(
            {
                name: over_tasks(means, self.how, instances(means) if by_size else None)
                for name, means in self.means.items()
            }
        )

    def _estimates(self, found: Mapping[str, Resampled]) -> dict[str, Estimate]:
        return dict(zip(found, together(list(found.values())).scores(self.kind.bounds), strict=True))

    @property
    def kind(self) -> Metric:
        """Give a metric that says how all these scores are shown and bounded."""
        return next(a.metric for found in self.answers.values() for a in found.values())

    def _by_task(self, bounds: tuple[float, float]) -> Mapping[str, Mapping[str, Estimate]]:
        tasks: dict[str, dict[str, Estimate]] = {}
        for name, means in self.means.items():
            found = each_task(means.values(), replace(self.how, tasks="fixed")).scores(bounds)
            for task, estimate in zip(means, found, strict=True):
                tasks.setdefault(task, {})[name] = estimate
        return dict(sorted(tasks.items()))


# --- order -----------------------------------------------------------------------------------------------------------


def _order(value: float, higher: bool, name: str) -> tuple[bool, float, str]:
    return math.isnan(value), -value if higher else value, name


Ranked: TypeAlias = Mapping[str, tuple[int, str, bool]]


def _ranked(values: Mapping[str, float], higher: bool, differ: Callable[[str, str], bool]) -> Ranked:
    """Give each learner that has a value its rank, the letters of its groups, and whether it may be the best."""
    known = {name: value if higher else -value for name, value in values.items() if not math.isnan(value)}
    places, groups = ranks(known, differ), tie_groups(known, differ)
    top = max(known, key=lambda name: known[name], default="")
    return {
        name: (
            places[name],
            "".join(_letter(at) for at, group in enumerate(groups) if name in group),
            name == top or not differ(top, name),
        )
        for name in known
    }


def _letter(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else f"({number + 1})"


def _standing(name: str, scores: tuple[Estimate, Estimate], drawn: Drawn, baseline: bool, ranked: Ranked) -> Standing:
    rank, groups, best = ranked.get(name, (0, "", False))
    valued = {task: len(episodes.valued) for task, episodes in drawn.items()}
    episodes = sum(len(found.answers) for found in drawn.values())
    return Standing(
        learner=name, score=scores[0], by_instance=scores[1], tasks=sum(map(bool, valued.values())),
        episodes=episodes, without=episodes - sum(valued.values()), rank=rank, groups=groups,
        baseline=baseline, best=best,
    )  # fmt: skip
