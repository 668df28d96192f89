"""Predictions that were made elsewhere, summed up: over instances, tasks and categories, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core import Suite
from ..scores import Metric, Scored, signature
from ..scores.predictions import Prediction, mark
from ..scores.reduce import Array
from ..stats import Estimate, bootstrap, student_interval

RESAMPLES = 1000
FEWEST = 5  # tasks or categories whose mean has an interval: of fewer, Student's says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What predictions score by one metric: over instances, over tasks and over categories.

    Tasks with labels of their own may have answers that can't be pooled; over their instances there is no score.
    """

    signatures: tuple[str, ...]  # metrics over labels have one for each set of labels
    points: bool  # whether it is shown as points of a hundred
    micro: Estimate | None  # over all instances
    macro: Estimate  # the mean over tasks
    category_macro: Estimate | None  # the mean over categories, where tasks have them
    categories: Mapping[str, Estimate | None]  # over the instances of each
    tasks: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionScores:
    """How a file of predictions did."""

    metrics: Mapping[str, Scores]
    instances: int
    missing: Mapping[str, int]  # by task: items without a prediction, or with null; they count as wrong
    unlike: Mapping[str, Mapping[str, str]]  # by task and item: of another kind than the answers; they count as wrong
    untouched: tuple[str, ...]  # test tasks without any, which are left out
    aside: tuple[str, ...]  # tasks without any that are no test tasks
    unknown: int  # predictions for items that the suite does not ask about
    doubled: int  # lines whose item was answered before: the last counts
    surrogates: int = 0  # lines with half a character, replaced by U+FFFD


def score_predictions(suite: Suite, given: Sequence[Prediction], metrics: Sequence[str] = ()) -> PredictionScores:
    """Score predictions by the metrics of their tasks, or by these, and say how certain that is."""
    marks = mark(suite, given, metrics)
    marked = marks.tasks
    tests = _test_tasks(suite)
    untouched = [name for name in suite.tasks if name not in marked]
    names = dict.fromkeys(typed for found in marked.values() for typed in found.scored)
    return PredictionScores(
        metrics={
            typed: _scores(suite, {name: of.scored[typed] for name, of in marked.items() if typed in of.scored})
            for typed in names
        },
        instances=sum(found.items for found in marked.values()),
        missing={name: found.missing for name, found in marked.items() if found.missing},
        unlike={name: found.unlike for name, found in marked.items() if found.unlike},
        untouched=tuple(name for name in untouched if name in tests),
        aside=tuple(name for name in untouched if name not in tests),
        unknown=marks.unknown,
        doubled=marks.doubled,
        surrogates=sum(one.surrogates for one in given),
    )


def _test_tasks(suite: Suite) -> set[str]:
    """Give the tasks that the folds ask about; all, where they ask about none."""
    return {*suite.tasks_with("test")} or set(suite.tasks)


def _scores(suite: Suite, found: Mapping[str, Scored]) -> Scores:
    """Sum up what one metric gave, each task's answers by its own settings."""
    by_category: dict[str, list[Scored]] = {}
    for name, scored in found.items():
        for category in suite.tasks[name].tags.get("category", ()):
            by_category.setdefault(category, []).append(scored)
    tasks = {name: _estimate(scored.metric, scored.units, name) for name, scored in found.items()}
    categories = {category: _pooled(by_category[category], category) for category in sorted(by_category)}
    known = [estimate for estimate in categories.values() if estimate]
    return Scores(
        signatures=tuple(sorted({signature(scored.metric) for scored in found.values()})),
        points=all(scored.metric.points for scored in found.values()),
        micro=_pooled(list(found.values()), "micro"),
        macro=_mean_of(tasks.values()),
        category_macro=_mean_of(known) if known else None,
        categories=categories,
        tasks=tasks,
    )


def _pooled(found: Sequence[Scored], key: str) -> Estimate | None:
    """Score the answers to several tasks together, where their units say the same."""
    of = found[0].metric
    # A metric that is a plain mean has the same function for all labels: right is right.
    if any(other.metric != of and other.metric.reduce is not of.reduce for other in found):
        return None
    return _estimate(of, np.concatenate([scored.units for scored in found]), key)


def _estimate(of: Metric, units: Array, key: str) -> Estimate:
    """Give a score with its interval; of one unit there is none."""
    found = bootstrap(units, of.reduce, count=RESAMPLES, key=key)
    return found if found.n > 1 else replace(found, low=math.nan, high=math.nan)


def _mean_of(scores: Iterable[Estimate]) -> Estimate:
    """Average scores that are known, with Student's interval: what others like these would give.

    Where all lie between 0 and 1 the interval does too, and of few there is none.
    """
    values = [e.value for e in scores if not math.isnan(e.value)] or [math.nan]
    found = student_interval(values)
    if found.n < FEWEST:
        return replace(found, low=math.nan, high=math.nan)
    if min(values) < 0 or max(values) > 1:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
