"""The statistics that few-shot papers report: means over episodes with their deviation, task by task.

A task is what papers call a data set.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...core import Suite
from ...episodes import Shots, shots_text
from ...stats import Estimate
from ...studies.results import Outcome
from ...studies.views import Settings, naming
from .. import numbers
from ..episode_groups import ALL, Group, by_setting, by_tag, by_task, place_of
from ..episode_stats import EpisodeSpread, episode_spread
from ..figures import Figure, ReportData, Value
from ..group_plots import cut_note, group_strips
from ..group_scores import group_scores
from ..leaderboards import ScoreField
from ..printed_means import STATISTICS, PrintedMeans

OVERALL = "overall"
Draw: TypeAlias = "Callable[[Sequence[Mean], str], str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean score of one learner over the episodes of some tasks, at one setting of shots."""

    of: str  # a task, a value of a tag, or all
    tasks: tuple[str, ...]
    shots: Shots
    learner: str
    score: Estimate  # as on the leaderboard
    spread: EpisodeSpread


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStatistics:
    """Mean, deviation and intervals over the episodes of each task, and means over tasks."""

    by: str = naming("tag of tasks", default="")  # such as transfer: means over the tasks of each value
    metric: str = naming("metric", default="")  # none: the first
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: any episodes can be described."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show each task, then means over tasks, beside those of a paper."""
        metric = self.metric or data.first
        found = [
            mean
            for shots, outcomes in by_setting(data.results.outcomes, metric).items()
            for mean in _means(data, metric, shots, outcomes, list(self._groups(data.results.suite, outcomes)))
        ]
        if not found:
            return
        printed = PrintedMeans.of(self.paper, metric, data.results.suite) if self.paper else None
        points = data.in_points(metric)
        each, over = ([m for m in found if (m.tasks == (m.of,)) is alone] for alone in (True, False))
        draw = functools.partial(_plot, printed=printed, baselines=data.results.baselines, points=points)
        yield _each(metric, each, printed, draw, points=points)
        if over:
            yield _over(metric, self.by, over, printed, draw, points=points)

    def _groups(self, suite: Suite, outcomes: Sequence[Outcome]) -> Iterator[Group]:
        """Give each task, those of each value of the tag, and all."""
        tasks = by_task(suite).groups(outcomes)
        yield from tasks
        if self.by:
            of_values = by_tag(suite, self.by).groups(outcomes)
            yield from (group for group in of_values if group.name != ALL and not group.weights)
        if len(tasks) > 1:
            yield Group([place for group in tasks for place in group.places], name=OVERALL)


def _means(
    data: ReportData, metric: str, shots: Shots, outcomes: Sequence[Outcome], groups: Sequence[Group]
) -> Iterator[Mean]:
    """Describe each learner on each group of tasks."""
    values: dict[str, dict[str, list[float]]] = {}  # learner -> task -> episodes
    for o in sorted(outcomes, key=place_of):
        scored = o.scores[metric]
        values.setdefault(o.learner, {}).setdefault(o.task, []).append(float(scored.metric.reduce(scored.units)[0]))
    field = ScoreField.of(metric, shots, outcomes, data.how)
    for group in groups:
        found, asked = group_scores(field, group), {place[0] for place in group.places}
        for learner in (name for name in data.results.learners if name in found):
            tasks = tuple(sorted(asked & values[learner].keys()))
            spread = episode_spread([np.array(values[learner][task]) for task in tasks], level=data.how.level)
            yield Mean(
                of=group.name, tasks=tasks, shots=shots, learner=learner, score=found[learner].score, spread=spread
            )  # fmt: skip


# --- figures ---------------------------------------------------------------------------------------------------------


def _each(metric: str, found: Sequence[Mean], printed: PrintedMeans | None, draw: Draw, *, points: bool) -> Figure:
    """Show the episodes of each task, with all that papers say of them."""
    about = f"{metric} over episodes, by task"
    rows: list[tuple[Value, ...]] = []
    for (of, shots), some in itertools.groupby(_in_order(found), key=lambda m: (m.of, m.shots)):
        rows += [(of, shots, m.learner, m.spread.episodes, m.score, *_spread(m.spread, points=points)) for m in some]
        rows += printed.rows(of, shots) if printed else ()
    return Figure(
        title=about,
        columns=("task", "shots", "learner", "episodes", metric, *STATISTICS),
        rows=tuple(rows),
        notes=(
            "in brackets: the interval of the score, which knows of records that episodes share",
            "as few-shot papers report them: the deviation between episodes (n - 1), how far the 95 % percentile "
            "bootstrap interval of the mean reaches below and above it, episodes resampled, and 1.96 standard errors; "
            "these take episodes to be independent",
            *cut_note(len({(m.of, m.shots) for m in found})),
            *((*printed.notes, *printed.left_out(m.of for m in found)) if printed else ()),
        ),
        points=points,
        plot=draw(found, about),
    )


def _over(
    metric: str, by: str, found: Sequence[Mean], printed: PrintedMeans | None, draw: Draw, *, points: bool
) -> Figure:
    """Show means over tasks, with columns for each setting of shots."""
    settings = list(dict.fromkeys(m.shots for m in found))
    at = {(m.of, m.learner, m.shots): m for m in found}
    rows: list[tuple[Value, ...]] = []
    for of in dict.fromkeys(m.of for m in found):
        tasks = next(m.tasks for m in found if m.of == of)
        for learner in dict.fromkeys(m.learner for m in found if m.of == of):
            own = [at.get((of, learner, shots)) for shots in settings]
            cells = [cell for m in own for cell in (_mean(m, points=points) if m else (None, None))]
            rows.append((of, learner, max(len(m.tasks) for m in own if m), *cells))
        rows += printed.means(of, tasks, settings) if printed else ()
    about = f"{metric}, mean over tasks"
    heads = [head for n in settings for head in (shots_text(n), f"1.96 errors, {shots_text(n)}")]
    return Figure(
        title=about,
        columns=(by or "over", "learner", "tasks", *heads),
        rows=tuple(rows),
        notes=(
            "the mean over tasks of the means over their episodes; tasks are fixed, and weigh the same",
            *((*printed.notes_on_means, *printed.left_out(t for m in found for t in m.tasks)) if printed else ()),
        ),
        points=points,
        plot=draw(found, about),
    )


def _in_order(found: Sequence[Mean]) -> list[Mean]:
    """Put the settings of a task beside each other."""
    order = {of: at for at, of in enumerate(dict.fromkeys(m.of for m in found))}
    return sorted(found, key=lambda m: order[m.of])


def _spread(of: EpisodeSpread, *, points: bool) -> Iterator[Value]:
    """Write the statistics of papers, in their order."""
    ends = (of.mean - of.bootstrap.low, of.bootstrap.high - of.mean, of.normal.high - of.mean)
    for value, digits in zip((of.deviation, *ends), STATISTICS.values(), strict=True):
        yield _distance(value, points, digits)


def _mean(of: Mean, *, points: bool) -> tuple[Value, Value]:
    return of.score, _distance(of.spread.normal.high - of.spread.mean, points, 2)


def _distance(value: float, points: bool, digits: int) -> str | None:
    """Write how far something reaches, in points as papers do; nothing where that is unknown."""
    if math.isnan(value):
        return None
    return f"{100 * value:.{digits}f}" if points else numbers.number(value, points)


def _plot(
    found: Sequence[Mean], about: str, printed: PrintedMeans | None, baselines: Collection[str], *, points: bool
) -> str:
    """Draw means, those of a paper below ours."""
    tasks = {(m.of, m.shots): m.tasks for m in found}
    theirs = [
        spot for (of, shots), some in tasks.items() for spot in (printed.spots(of, some, shots) if printed else ())
    ]
    ours = [(m.of, m.shots, m.learner, m.score) for m in found]
    named = {learner for _, _, learner, _ in theirs}
    return group_strips([*ours, *theirs], about, points=points, baselines=baselines, published=named)
