"""Predictions that were made elsewhere, summed up as a run's answers are: one learner, one episode of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..core import Suite
from ..scores import signature
from ..scores.predictions import Marked, Prediction, mark
from ..scores.rankings import nothing_relevant
from ..stats import Estimate
from ..studies.costs import Cost
from ..studies.items import answer_text, unusable_answer
from ..studies.results import Outcome, Results, records_of
from .draws import How
from .leaderboards import over_groups

LEARNER = "predictions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What predictions score by one metric: over instances, over tasks and over categories.

    Over instances, a task weighs as many as it has; of a plain mean, that is the mean of all answers together.
    """

    signatures: tuple[str, ...]  # metrics over labels have one for each set of labels
    points: bool  # whether it is shown as points of a hundred
    micro: Estimate  # over all instances
    macro: Estimate  # the mean over tasks
    category_macro: Estimate | None  # the mean over categories, where tasks have them
    categories: Mapping[str, Estimate]  # over the instances of each
    tasks: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionScores:
    """How a file of predictions did."""

    metrics: Mapping[str, Scores]
    instances: int
    missing: Mapping[str, int]  # by task: items without a prediction, or with null; they count as wrong
    unlike: Mapping[str, Mapping[str, str]]  # by task and item: of another kind than the answers; they count as wrong
    unusable: Mapping[str, Mapping[str, str]]  # by code and item: answers of no use, such as what is no label
    untouched: tuple[str, ...]  # test tasks without any, which are left out
    aside: tuple[str, ...]  # tasks without any that are no test tasks
    unknown: int  # predictions for items that the suite does not ask about
    doubled: int  # lines whose item was answered before: the last counts
    surrogates: int = 0  # lines with half a character, replaced by U+FFFD
    nothing_relevant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by task: queries, left out of means


def score_predictions(
    suite: Suite, given: Sequence[Prediction], metrics: Sequence[str] = (), how: How | None = None
) -> PredictionScores:
    """Score predictions by the metrics of their tasks, or by these, and say how certain that is."""
    marks = mark(suite, given, metrics)
    marked = marks.tasks
    tests = _test_tasks(suite)
    untouched = [name for name in suite.tasks if name not in marked]
    outcomes = predicted(suite, marked).outcomes
    names = dict.fromkeys(typed for found in marked.values() for typed in found.scored)
    return PredictionScores(
        metrics={typed: _scores(suite, typed, [o for o in outcomes if typed in o.scores], how) for typed in names},
        instances=sum(len(found.examples) for found in marked.values()),
        missing={name: found.missing for name, found in marked.items() if found.missing},
        unlike={name: found.unlike for name, found in marked.items() if found.unlike},
        unusable=_unusable(suite, marked),
        untouched=tuple(name for name in untouched if name in tests),
        aside=tuple(name for name in untouched if name not in tests),
        unknown=marks.unknown,
        doubled=marks.doubled,
        surrogates=sum(one.surrogates for one in given),
        nothing_relevant=nothing_relevant(suite, marked),
    )


def _unusable(suite: Suite, marked: Mapping[str, Marked]) -> dict[str, dict[str, str]]:
    """Find the answers that are of the right kind, and yet can't be used: a label that is none, a grade twice."""
    found: dict[str, dict[str, str]] = {}
    for name, of in marked.items():
        for example, answer in zip(of.examples, of.answers, strict=True):
            if answer is not None and (code := unusable_answer(suite.tasks[name], answer)):
                found.setdefault(code, {})[example.item.id] = answer_text(answer) or ""
    return found


def predicted(suite: Suite, marked: Mapping[str, Marked]) -> Results:
    """Make results of predictions, as if a learner had answered all items of each task in one episode."""
    return Results(
        name=suite.id, command="", suite=suite, learners={LEARNER: "made elsewhere"}, baselines=(),
        outcomes=tuple(_outcome(suite, name, found) for name, found in marked.items()), failures=(), missing=0,
        skipped={},
    )  # fmt: skip


def _outcome(suite: Suite, task: str, found: Marked) -> Outcome:
    pool = suite.asked_pool(task)
    return Outcome(
        cell="", task=task, learner=LEARNER, shots=0, seed=0, index=0, pool=suite.parts(task)["query"],
        rows=tuple(range(len(found.examples))), items=tuple(example.item.id for example in found.examples),
        answers=tuple(found.answers), gold=tuple(example.gold for example in found.examples), scores=found.scored,
        counts={}, cost=Cost(), records=records_of(task, found.examples, pool.groups()),
    )  # fmt: skip


def _test_tasks(suite: Suite) -> set[str]:
    """Give the tasks that the folds ask about; all, where they ask about none."""
    return {*suite.tasks_with("test")} or set(suite.tasks)


def _scores(suite: Suite, typed: str, outcomes: Sequence[Outcome], how: How | None) -> Scores:
    """Sum up what one metric gave, each task's answers by its own settings."""
    categories: dict[str, list[str]] = {}
    for o in outcomes:
        for category in suite.tasks[o.task].tags.get("category", ()):
            categories.setdefault(category, []).append(o.task)
    scored = [o.scores[typed] for o in outcomes]
    found = over_groups(typed, 0, outcomes, dict(sorted(categories.items())), how or How())
    (standing,) = found.leaderboard.standings
    return Scores(
        signatures=tuple(sorted({signature(one.metric) for one in scored})),
        points=all(one.metric.points for one in scored),
        micro=standing.by_instance,
        macro=standing.score,
        category_macro=found.mean.get(LEARNER),
        categories={name: leaderboard.standings[0].by_instance for name, leaderboard in found.groups.items()},
        tasks={o.task: found.leaderboard.tasks[o.task][LEARNER] for o in outcomes},
    )
