"""How two metrics go together over tasks and learners."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...benchmarks.published import published
from ...scores.reduce import Array, ratio, sums
from ...stats import Estimate, bootstrap
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, svg
from ..figures import Figure, ReportData

FEW = 10  # tasks; an interval over fewer is said to be rough
LEAST = 3  # tasks that an interval needs
Pairs: TypeAlias = Sequence[tuple[str, svg.Point]]  # each with its task


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How two metrics go together over tasks and learners."""

    x: str = naming("metric")
    y: str = naming("metric")
    categories: tuple[str, ...] = ()  # none: all tasks
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: any two metrics can be drawn."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw one metric against another, and correlate them."""
        series = _pairs(data, self)
        if not series:
            return
        together = [pair for found in series.values() for pair in found]
        rows = [(name, len(found), _pearson(data, found)) for name, found in series.items()]
        plotted = {name: [point for _, point in found] for name, found in series.items()}
        about = f"{self.y} against {self.x}"
        yield Figure(
            title=about,
            columns=("learner", "points", "Pearson"),
            rows=(*rows, ("all", len(together), _pearson(data, together))),
            notes=tuple(_agreement_notes(data, self, len({task for task, _ in together}))),
            points=False,
            plot=svg.scatter(plotted, about, x=self.x, y=self.y) + svg.dot_key(svg.dot_styles(list(plotted))),
        )


def _agreement_notes(data: ReportData, view: Agreement, tasks: int) -> Iterator[str]:
    rough = f"; {tasks} tasks are few for it" if LEAST <= tasks < FEW else ""
    drawn = f"in brackets: tasks resampled{rough}" if tasks >= LEAST else "too few tasks for an interval"
    yield f"each point is a learner on one of {counted(tasks, 'task')}; {drawn}"
    if view.categories:
        here = {name for o in data.results.outcomes for name in _categories_of(data, o.task)}
        absent = [name for name in view.categories if name not in here]
        yield f"tasks of {', '.join(name for name in view.categories if name in here)}" + (
            f"; none here of {', '.join(absent)}" if absent else ""
        )
    said = published(view.paper).said.get("agreement") if view.paper else None
    if said:
        yield f"published: {published(view.paper).paper}: {said}; not measured here"


def _pairs(data: ReportData, view: Agreement) -> dict[str, list[tuple[str, svg.Point]]]:
    """Give for each learner the tasks that have both scores, as points."""
    ours, leaderboards = data.at_most(view.x), {(b.metric, b.shots): b for b in data.leaderboards}
    series: dict[str, list[tuple[str, svg.Point]]] = {}
    for learner, task in itertools.product(data.results.learners, data.results.suite.tasks):
        if learner not in ours or (view.categories and not set(view.categories) & set(_categories_of(data, task))):
            continue
        x = ours[learner][0]
        y = leaderboards.get((view.y, x.shots))
        found = [numbers.shown(e, b.points).value for b in (x, y) if b and (e := b.tasks.get(task, {}).get(learner))]
        if len(found) == 2 and not any(map(math.isnan, found)):
            series.setdefault(learner, []).append((task, svg.Point(found[0], found[1], f"{task}, {learner}")))
    return series


def _categories_of(data: ReportData, task: str) -> tuple[str, ...]:
    return data.results.suite.tasks[task].tags.get("category", ())


def _pearson(data: ReportData, points: Pairs) -> Estimate:
    """Correlate points; a resample draws tasks, with all points that lie on them."""
    by_task: dict[str, Array] = {}
    for task, p in points:
        moments = np.array([1.0, p.x, p.y, p.x * p.x, p.y * p.y, p.x * p.y])
        by_task[task] = by_task.get(task, np.zeros(6)) + moments
    units = np.stack([by_task[task] for task in sorted(by_task)])
    found = bootstrap(units, _correlation, count=data.how.count, level=data.how.level)
    sure = len(units) >= LEAST
    return Estimate(found.value, found.low if sure else math.nan, found.high if sure else math.nan, len(points))


def _correlation(units: Array, weights: Array | None) -> Array:
    n, x, y, xx, yy, xy = sums(units, weights).T
    return ratio(n * xy - x * y, np.sqrt(_varies(n, x, xx) * _varies(n, y, yy)))


def _varies(n: Array, total: Array, squares: Array) -> Array:
    """Give n times what a side varies, and 0 where that is no more than rounding."""
    found = n * squares - total * total
    return np.where(found < 1e-12 * n * squares, 0, found)
