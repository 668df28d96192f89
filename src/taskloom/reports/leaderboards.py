"""Outcomes to numbers: a leaderboard has scores by one metric at one setting of shots, and how sure they are.

An episode's score is the metric of its answers, a task's the mean over its episodes, a learner's that over its tasks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..episodes import Shots
from ..messages import Note
from ..scores import Metric
from ..stats import Contrast, Estimate, ranks, tie_groups
from ..studies.results import Outcome
from .comparable import Ground, common, everything, ground_of, missing
from .contrasts import contrasts_by_task, contrasts_of, corrected, differs
from .draws import Answered, Answers, Drawn, Episodes, How, Place, answers_of, draw
from .intervals import Resampled, TaskMean, each_task, group_sizes, instances, over_tasks, score_means, together

TESTED = 60  # tasks; of more, no single one is tested
LEAST = 5  # episodes of a task, below which their variance is badly estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one learner reached on a leaderboard; `rank` is 0 for what is not ranked: baselines, and what is apart."""

    learner: str
    score: Estimate
    by_instance: Estimate  # where each task weighs as many instances as it has
    tasks: int
    episodes: int
    without: int  # episodes that have no score, such as a correlation of equal answers
    rank: int = 0
    groups: str = ""  # learners that share a letter are not significantly different; empty where all would share one
    baseline: bool = False
    best: bool = False  # whether it is the best, or not significantly different from it
    comparable: bool = True  # whether it has all tasks and episodes that ranked scores are over
    missing: Note | None = None  # what it has of those, where that is not all; None also if it has nothing at all

    def over(self, what: str) -> Estimate:
        """Give the mean over tasks, or over instances."""
        return self.by_instance if what == "instances" else self.score


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The scores of all learners by one metric at one setting of shots: the best first, what is incomplete last."""

    metric: str
    shots: Shots
    higher: bool  # whether more is better
    points: bool  # whether shown from 0 to 100
    standings: tuple[Standing, ...]
    pairs: tuple[Contrast, ...]  # each two ranked learners; one family of Holm's
    against: tuple[Contrast, ...]  # each ranked learner and each baseline; another family
    tasks: Mapping[str, Mapping[str, Estimate]]  # task -> learner
    ranked_on: tuple[str, ...]  # the tasks that ranked scores are over
    warnings: tuple[Note, ...] = ()  # what intervals do not cover
    common: Leaderboard | None = None  # of the episodes that all learners have, where some lack others
    tests: Mapping[str, Mapping[str, Contrast]] = field(default_factory=dict)  # task -> learner: from its best baseline

    @property
    def sign(self) -> int:
        """Give what makes a better score the larger one."""
        return 1 if self.higher else -1

    @property
    def ranked(self) -> int:
        """Count the learners that are ranked."""
        return sum(s.rank > 0 for s in self.standings)

    @property
    def headline(self) -> Leaderboard:
        """Give the leaderboard on all tasks, or on the common ones where fewer than two learners have all."""
        return self.common if self.common and self.ranked < 2 else self


@dataclass(frozen=True, slots=True)
class Category:
    """The scores on the tasks of one category that have the same first metric."""

    name: str
    leaderboard: Leaderboard


def leaderboard(
    metric: str,
    shots: Shots,
    outcomes: Iterable[Outcome],
    baselines: Sequence[str] = (),
    how: How | None = None,
    *,
    asked: Ground = frozenset(),
) -> Leaderboard:
    """Score all learners that have outcomes at these shots, and compare each two of them.

    Where it is known what was asked, only learners that have all of it are ranked.
    """
    return ScoreField.of(metric, shots, outcomes, how or How()).leaderboard(baselines, asked)


def mean_scores(metric: str, shots: Shots, outcomes: Iterable[Outcome], how: How) -> dict[str, Estimate]:
    """Score all learners that have outcomes at these shots, as a leaderboard does, and compare none."""
    return ScoreField.of(metric, shots, outcomes, how).scores


def leaderboards(
    metric: str,
    shots: Shots,
    outcomes: Iterable[Outcome],
    baselines: Sequence[str],
    how: How,
    groups: Mapping[str, Collection[str]],
) -> Iterator[tuple[str, Leaderboard]]:
    """Make the leaderboard of all tasks, which has no name, and one for each group of tasks, of the same resamples."""
    field = ScoreField.of(metric, shots, outcomes, how)
    yield "", field.tested(field.leaderboard(baselines), baselines)
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
    field = ScoreField.of(metric, shots, outcomes, how)
    parts = {name: field.only(tasks).leaderboard(()) for name, tasks in groups.items()}
    return Grouped(field.leaderboard(()), parts, field.over_groups(groups) if groups else {})


@dataclass(frozen=True, slots=True)
class ScoreField:
    """What all learners have answered at one setting, drawn once for all that is said of it."""

    metric: str
    shots: Shots
    how: How
    answers: Mapping[str, Answers]  # by learner
    drawn: Mapping[str, Drawn]
    means: Mapping[str, Mapping[str, TaskMean]]

    @classmethod
    def of(cls, metric: str, shots: Shots, outcomes: Iterable[Outcome], how: How) -> ScoreField:
        """Draw resamples of all that was answered."""
        answers = answers_of(metric, shots, outcomes)
        drawn = draw(answers, how)
        return cls(metric, shots, how, answers, drawn, {name: score_means(found, how) for name, found in drawn.items()})

    def only(self, tasks: Collection[str]) -> ScoreField:
        """Keep these tasks alone, and learners that have answered some of them."""
        wanted = set(tasks)
        return self.where(lambda place, _: place[0] in wanted)

    def at(self, ground: Ground) -> ScoreField:
        """Keep these episodes alone, and learners that have answered some of them."""
        return self.where(lambda place, a: (place, a.items) in ground)

    def where(self, wanted: Callable[[Place, Answered], bool]) -> ScoreField:
        """Keep some episodes; the mean of a task stays as it is where all of its episodes do."""
        drawn = {n: {t: e for t, of in found.items() if (e := _kept(of, wanted))} for n, found in self.drawn.items()}
        drawn = {name: found for name, found in drawn.items() if found}
        return replace(
            self,
            answers={n: {p: a for e in found.values() for p, a in e.answers.items()} for n, found in drawn.items()},
            drawn=drawn,
            means={name: self._means(name, found) for name, found in drawn.items()},
        )

    def _means(self, name: str, drawn: Drawn) -> dict[str, TaskMean]:
        changed = score_means({t: e for t, e in drawn.items() if e is not self.drawn[name][t]}, self.how)
        return {task: changed.get(task) or self.means[name][task] for task in drawn}

    def _trimmed(self, ground: Ground, baselines: Sequence[str]) -> ScoreField:
        """Keep of baselines what learners have, too; a baseline that has nothing of it stays as it is."""
        if all(ground_of(self.drawn[name]) <= ground for name in baselines if name in self.drawn):
            return self
        kept = self.at(ground)
        names = [name for name in baselines if name in kept.drawn]
        return replace(
            self,
            answers={**self.answers, **{name: kept.answers[name] for name in names}},
            drawn={**self.drawn, **{name: kept.drawn[name] for name in names}},
            means={**self.means, **{name: kept.means[name] for name in names}},
        )

    def leaderboard(self, baselines: Sequence[str], asked: Ground = frozenset()) -> Leaderboard:
        """Score all learners, and rank those that have all that any has; then all on what they have in common.

        What was asked and no learner has answered is lacking, too.
        """
        grounds = {name: ground_of(found) for name, found in self.drawn.items()}
        contested = {name: ground for name, ground in grounds.items() if name not in baselines} or grounds
        answered = {place for name in contested for place in self.answers[name]}
        unanswered = frozenset(one for one in asked if one[0] not in answered)
        whole, shared = everything(contested) | unanswered, common(contested)
        trimmed = self._trimmed(whole, baselines)
        made = trimmed._compared(whole, baselines)
        if trimmed is not self:
            made = replace(made, tasks=self._by_task(self.kind.bounds))
        if shared == whole or sum(shared <= ground for ground in contested.values()) < 2:
            return made
        return replace(made, common=self.at(shared)._compared(shared, baselines))

    def _compared(self, ground: Ground, baselines: Sequence[str]) -> Leaderboard:
        """Rank and compare the learners that have answered all of this; baselines are a family of their own."""
        kind = self.kind
        higher = kind.higher_is_better
        scores, by_instance = self.scores, self.weighed(instances)
        lacks = {name: missing(ground_of(found), ground) for name, found in self.drawn.items()}
        order = sorted(scores, key=lambda name: _order(scores[name].value, higher, name, apart=lacks[name] is not None))
        whole = [name for name in order if lacks[name] is None]
        contested = [name for name in whole if name not in baselines]
        pairs = self._contrasts(itertools.combinations(contested, 2))
        against = self._contrasts(itertools.product(contested, [name for name in whole if name in baselines]))
        different = {frozenset((c.a, c.b)) for c in pairs if differs(c)}
        ranked = _ranked({n: scores[n].value for n in contested}, higher, lambda a, b: frozenset((a, b)) in different)
        standings = (
            _standing(name, (scores[name], by_instance[name]), self.drawn[name], name in baselines, ranked)
            for name in order
        )
        return Leaderboard(
            metric=self.metric, shots=self.shots, higher=higher, points=kind.points, pairs=pairs, against=against,
            standings=tuple(replace(s, comparable=not lacks[s.learner], missing=lacks[s.learner]) for s in standings),
            tasks=self._by_task(kind.bounds), ranked_on=tuple(sorted({place[0] for place, _ in ground})),
            warnings=tuple(self._warnings()),
        )  # fmt: skip

    def tested(self, made: Leaderboard, baselines: Sequence[str]) -> Leaderboard:
        """Compare each learner on each task with the baseline that is best on it, unless tasks are many."""
        pairs: list[tuple[str, str, str]] = []
        for task, found in made.tasks.items():
            known = {name: e.value for name, e in found.items() if not math.isnan(e.value)}
            rivals = [name for name in known if name in baselines]
            best = max(rivals, key=lambda name: made.sign * known[name], default="")
            pairs += [(task, name, best) for name in known if best and name not in baselines]
        if not pairs or len(made.tasks) > TESTED:
            return made
        return replace(made, tests=contrasts_by_task(pairs, self.answers, self.how, self.drawn))

    def _contrasts(self, pairs: Iterable[tuple[str, str]]) -> tuple[Contrast, ...]:
        """Compare each two learners, as one family of tests."""
        return tuple(corrected(contrasts_of(list(pairs), self.answers, self.how, self.drawn)))

    def _warnings(self) -> Iterator[Note]:
        """Say where few seeds hide or blur what varies between seeds; without examples, a seed draws items alone."""
        fewest: dict[str, int] = {}
        for found in self.drawn.values():
            for task, episodes in found.items():
                fewest[task] = min(len(episodes.valued) or LEAST, fewest.get(task, LEAST))
        single = sum(n == 1 for n in fewest.values())
        few = sum(1 < n < LEAST for n in fewest.values())
        if single and self.shots != 0:
            yield Note.of("single-episodes", tasks=single, of=len(fewest))
        if few:
            yield Note.of("few-episodes", tasks=few, of=len(fewest), least=LEAST)

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

    @property
    def scores(self) -> dict[str, Estimate]:
        """Give each learner's mean over tasks."""
        return self.weighed(lambda _: None)

    def weighed(self, sizes: Callable[[Mapping[str, TaskMean]], Mapping[str, float] | None]) -> dict[str, Estimate]:
        """Give each learner's mean over tasks, which weigh by their sizes, or all the same."""
        return self._estimates({name: over_tasks(means, self.how, sizes(means)) for name, means in self.means.items()})

    def _estimates(self, found: Mapping[str, Resampled]) -> dict[str, Estimate]:
        if not found:
            return {}
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


def _order(value: float, higher: bool, name: str, *, apart: bool) -> tuple[bool, bool, float, str]:
    return apart, math.isnan(value), -value if higher else value, name


def _kept(of: Episodes, wanted: Callable[[Place, Answered], bool]) -> Episodes | None:
    """Keep some episodes of a task, with their columns of scores; nothing if none is left."""
    kept = [at for at, (place, a) in enumerate(of.answers.items()) if wanted(place, a)]
    if len(kept) == len(of.answers):
        return of
    places = list(of.answers)
    return (
        Episodes({places[at]: of.answers[places[at]] for at in kept}, of.values[:, kept], of.linked) if kept else None
    )


Ranked: TypeAlias = Mapping[str, tuple[int, str, bool]]


def _ranked(values: Mapping[str, float], higher: bool, differ: Callable[[str, str], bool]) -> Ranked:
    """Give each learner that has a value its rank, its letters (if any differ), and whether it may be the best."""
    known = {name: value if higher else -value for name, value in values.items() if not math.isnan(value)}
    places, groups = ranks(known, differ), tie_groups(known, differ)
    top = max(known, key=lambda name: known[name], default="")
    return {
        name: (
            places[name],
            "".join(_letter(at) for at, group in enumerate(groups) if name in group) if len(groups) > 1 else "",
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
