"""Scores on groups of episodes, of the same resamples as the leaderboard of their setting."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..stats import Contrast, Estimate
from .contrasts import contrasts_of, corrected
from .draws import Episodes, How, Place
from .intervals import TaskMean, between, over_tasks, score_means, together
from .leaderboards import ScoreField


@dataclass(frozen=True, slots=True)
class EpisodeGroup:
    """Some episodes, and the weights of their tasks in a mean; without any, tasks weigh the same."""

    places: Collection[Place]
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScore:
    """What one learner reached on a group of episodes; those without a score do not count."""

    score: Estimate
    tasks: int
    episodes: int
    single: int  # tasks with one episode: what varies between episodes is not seen there
    difference: Contrast | None  # from another learner, on the same items; p is not corrected


def group_scores(field: ScoreField, of: EpisodeGroup, against: str = "") -> dict[str, GroupScore]:
    """Score all learners on some episodes, each against another one where that is asked for."""
    kept = _only(field, of.places)
    scores = kept.weighed(lambda _: of.weights)
    differences = _against(kept, against) if of.weights is None else {}
    return {
        name: GroupScore(
            score=scores[name], tasks=sum(m.valued > 0 for m in means.values()),
            episodes=sum(m.valued for m in means.values()), single=sum(m.valued == 1 for m in means.values()),
            difference=differences.get(name),
        )
        for name, means in kept.means.items()
    }  # fmt: skip


def _only(field: ScoreField, places: Collection[Place]) -> ScoreField:
    wanted = frozenset(places)
    return field.where(lambda place, _: place in wanted)


def _against(field: ScoreField, other: str) -> dict[str, Contrast]:
    """Compare all learners with one; p-values are as they are."""
    pairs = [(name, other) for name in field.drawn if name != other and other in field.drawn]
    return {c.a: c for c in contrasts_of(pairs, field.answers, field.how, field.drawn)}


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """How far one learner is apart on two groups of episodes, on the tasks that have both."""

    contrast: Contrast
    tasks: int
    episodes: int


def group_differences(field: ScoreField, groups: Mapping[str, Collection[Place]]) -> dict[str, GroupDifference]:
    """Compare two groups of episodes, the first less the second, by learner; p-values are Holm's over learners.

    Records are resampled jointly, and episodes in each group on its own: the two groups have different ones.
    """
    (a, ours), (b, theirs) = ((name, _only(field, places).drawn) for name, places in groups.items())
    apart: dict[str, dict[str, TaskMean]] = {}
    for learner in (learner for learner in ours if learner in theirs):
        sides = [_task_means(name, of[learner], field.how) for name, of in ((a, ours), (b, theirs))]
        both = [task for task, m in sides[0].items() if m.valued and task in sides[1] and sides[1][task].valued]
        if both:
            apart[learner] = {task: between(sides[0][task], sides[1][task]) for task in both}
    if not apart:
        return {}
    least, most = field.kind.bounds
    means = together([over_tasks(of, field.how) for of in apart.values()])
    found = means.differences((least - most, most - least), [None] * len(apart))
    contrasts = corrected(
        [Contrast(a, b, e.value, e.low, e.high, p, e.n) for e, p in zip(found, means.p_values(), strict=True)]
    )
    return {
        learner: GroupDifference(c, len(of), sum(m.valued + 1 for m in of.values()))
        for (learner, of), c in zip(apart.items(), contrasts, strict=True)
    }


def _task_means(group: str, drawn: Mapping[str, Episodes], how: How) -> dict[str, TaskMean]:
    """Average the episodes of a group, which are resampled by a key of their own."""
    named = {f"{task}, {group}": episodes for task, episodes in drawn.items()}
    return dict(zip(drawn, score_means(named, how).values(), strict=True))
