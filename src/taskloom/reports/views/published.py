"""Scores beside the figures of a paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...benchmarks.published import ALL, Figures, published
from ...episodes import shots_text
from ...stats import Estimate
from ...studies.views import Settings, naming
from .. import numbers, plots, svg
from ..figures import Figure, ReportData, Value
from ..leaderboards import Category, Leaderboard, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Scores beside the figures of a paper, over all tasks and by category."""

    paper: str = naming("paper")  # the benchmark whose paper it is

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: a paper that is known can be shown."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show scores beside the tables of a paper that are by the same metrics."""
        paper = published(self.paper)
        for figures in paper.by(""):
            ours = data.at_most(figures.metric) if figures.shots is None else data.at(figures.metric, figures.shots)
            if ours:
                yield _overall(data, ours, figures, paper.paper)
        for figures in paper.by("category"):
            found = [of for of in data.categories if of.leaderboard.metric == figures.metric]
            if found:
                yield _by_category(data, found, figures, paper.paper)


def _overall(
    data: ReportData, ours: Mapping[str, tuple[Leaderboard, Standing]], figures: Figures, paper: str
) -> Figure:
    theirs = {method: values[ALL] for method, values in figures.values.items()}
    here = {name: standing.over(figures.over) for name, (_, standing) in ours.items()}
    order = sorted({**here, **theirs}, key=lambda name: -_height(here.get(name), theirs.get(name)))
    at = "" if figures.shots is None else f", {shots_text(figures.shots)}"
    about = f"{figures.metric} here and as published{at}"
    drawn = [row for name in order for row in _dots(name, here.get(name), theirs.get(name))]
    return Figure(
        title=f"Beside published figures: {figures.metric}{at}",
        columns=("method", "shots", "tasks", "here", "published"),
        rows=tuple((name, *_where(ours.get(name)), here.get(name), theirs.get(name)) for name in order),
        notes=what_is_published(data, figures, paper),
        plot=plots.responsive(lambda width: plots.dots(drawn, about, axis=figures.metric, width=width)),
    )


def _where(found: tuple[Leaderboard, Standing] | None) -> tuple[Value, Value]:
    return (found[0].shots, found[1].tasks) if found else (None, None)


def _height(ours: Estimate | None, theirs: float | None) -> float:
    return 100 * ours.value if ours else theirs or 0.0


def _dots(name: str, ours: Estimate | None, theirs: float | None) -> Iterator[plots.Row]:
    if ours:
        yield plots.Row(name, numbers.shown(ours, points=True), numbers.score(ours, points=True), "apart")
    if theirs is not None:
        yield plots.Row(f"{name}, published", _value(theirs), f"{theirs:.1f}", "published")


def _by_category(data: ReportData, categories: Sequence[Category], figures: Figures, paper: str) -> Figure:
    ours = [n for n in data.results.learners if any(_score(of.leaderboard, n, figures) for of in categories)]
    theirs = {method: f"{method}, published" for method in figures.values}
    one = len({of.leaderboard.shots for of in categories}) == 1
    rows, dots = [], {}
    for of in categories:
        here = {n: e for n in ours if (e := _score(of.leaderboard, n, figures))}
        printed = {m: figures.values[m].get(of.name) for m in theirs}
        rows.append((of.name, of.leaderboard.shots, *(here.get(n) for n in ours), *printed.values()))
        shown = {n: numbers.shown(e, points=True) for n, e in here.items()}
        named = of.name if one else f"{of.name}, {shots_text(of.leaderboard.shots)}"
        dots[named] = shown | {theirs[m]: _value(v) for m, v in printed.items() if v is not None}
    styles = svg.dot_styles(ours, theirs)
    return Figure(
        title=f"By category, beside published figures: {figures.metric}",
        columns=("category", "shots", *ours, *theirs.values()),
        rows=tuple(rows),
        notes=what_is_published(data, figures, paper),
        plot=svg.strips(dots, styles, "scores by category, here and as published") + svg.dot_key(styles),
    )


def _score(leaderboard: Leaderboard, learner: str, figures: Figures) -> Estimate | None:
    found = next((s.over(figures.over) for s in leaderboard.standings if s.learner == learner), None)
    return found if found and not math.isnan(found.value) else None


def _value(value: float) -> Estimate:
    return Estimate(value, math.nan, math.nan, 0)


def what_is_published(data: ReportData, figures: Figures, paper: str) -> tuple[str, ...]:
    """Say what published figures are, and that ours are of other tasks."""
    return (
        f"published: {paper}, {figures.where}, as printed there; not measured here; means over {figures.over}",
        *figures.notes,
        f"here: means over {figures.over} of suite {data.results.suite.id!r}; unless these are all of the paper's, "
        "the two can't be compared",
    )
