"""What is composed beside what it is composed of: scores by level, and a regression for each composition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...benchmarks.published import Published, published
from ...core import Task, Words
from ...episodes import Shots, shots_order
from ...stats import Estimate, Line, line
from ...studies.results import Outcome
from ...studies.views import Settings, naming
from .. import numbers, svg
from ..figures import Figure, ReportData, Value
from ..leaderboards import mean_scores

FEW = 20  # tasks; what is said of fewer is flagged, as the paper does
LEAST = 4  # tasks that a line needs, for r squared to have an interval
LEVEL, COMPOSITION, PARTS = "level", "composition", "parts"  # tags of tasks
SEPARATORS = " (+separators)"
LINE = ("slope", "intercept", "r2")


@dataclass(frozen=True, slots=True)
class Adaptation:
    """A learner at one number of shots, with its scores on tasks and the outcomes that these are of."""

    name: str
    learner: str
    shots: Shots
    scores: Mapping[str, float]
    outcomes: Sequence[Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """Scores on compositions against the mean score on their parts, by composition; and means by level."""

    metric: str = naming("metric", default="")  # none: the first
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: compositions whose parts are not scored are not drawn."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show means by level and by composition, then the regressions, and draw these."""
        metric = self.metric or data.first
        paper, found = published(self.paper) if self.paper else None, adaptations(data, metric)
        for tag, group in ((LEVEL, level_of), (COMPOSITION, composition_of)):
            yield from _means(data, metric, tag, group, found, paper)
        points = {one.name: series for one in found if (series := _points(data, one))}
        for number, (name, series) in enumerate(points.items()):
            notes = () if number else tuple(_notes(data, points, paper))
            yield _regressions(data, metric, name, series, paper, notes)


# --- who was adapted, and to what ------------------------------------------------------------------------------------


def adaptations(data: ReportData, metric: str) -> list[Adaptation]:
    """Give each learner that is no baseline at each number of shots, named as papers do: `32-shot fine-tuning`."""
    boards = sorted((b for b in data.leaderboards if b.metric == metric), key=lambda b: shots_order(b.shots))
    found = []
    for learner in data.results.learners:
        for board in boards if learner not in data.results.baselines else ():
            of = {task: by[learner].value for task, by in board.tasks.items() if learner in by}
            scores = {task: value for task, value in of.items() if not math.isnan(value)}
            outcomes = [o for o in data.results.outcomes if (o.learner, o.shots) == (learner, board.shots)]
            if scores:
                found.append(Adaptation(adapted(learner, board.shots), learner, board.shots, scores, outcomes))
    return found


def adapted(learner: str, shots: Shots) -> str:
    """Name a learner at a number of shots.

    >>> adapted("fine-tuning", 32), adapted("fine-tuning", "all")
    ('32-shot fine-tuning', 'full fine-tuning')
    """
    return f"{shots}-shot {learner}" if isinstance(shots, int) else f"{'full' if shots == 'all' else shots} {learner}"


def level_of(task: Task) -> str:
    """Give the level of a task: atomic, word or sequence; or nothing."""
    return next(iter(task.tags.get(LEVEL, ())), "")


def composition_of(task: Task) -> str:
    """Give the composition of a task, and whether words are marked off in it; or nothing."""
    named = next(iter(task.tags.get(COMPOSITION, ())), "")
    marked = named and isinstance(task.output, Words) and task.output.separator.strip()
    return f"{named}{SEPARATORS}" if marked else named


# --- means -----------------------------------------------------------------------------------------------------------


def _means(
    data: ReportData, metric: str, tag: str, group: Callable[[Task], str], found: Sequence[Adaptation],
    paper: Published | None,
) -> Iterator[Figure]:  # fmt: skip
    """Give the mean of each adaptation over the tasks of each group, beside those of a paper."""
    of = {task: group(data.results.suite.tasks[task]) for one in found for task in one.scores}
    groups, theirs = list(dict.fromkeys(filter(None, of.values()))), _printed(paper, tag)
    if not groups:
        return
    here = {(name, one.name): _mean(data, metric, one, of, name) for name in groups for one in found}
    names = list(dict.fromkeys([*(one.name for one in found), *(method for method, _ in theirs)]))
    order = [name for name in dict.fromkeys(group for _, group in theirs) if name in groups]
    places = [(name, method) for name in dict.fromkeys([*order, *groups]) for method in names]
    rows = [(*at, *here.get(at, (None, None)), theirs.get((at[1], at[0]))) for at in places]
    shown = {name: {m: numbers.shown(e, points=True) for m in names if (e := here.get((name, m), (0, None))[1])}
             for name in groups}  # fmt: skip
    styles = svg.dot_styles([one.name for one in found])
    about = f"{metric} by {tag}"
    yield Figure(
        title=f"Adaptability by {tag}: {metric}",
        columns=(tag, "adaptation", "tasks", "here", *(("published",) if paper else ())),
        rows=tuple(row if paper else row[:-1] for row in rows if any(cell is not None for cell in row[3:])),
        notes=tuple(_source(paper, tag)),
        plot=svg.strips(shown, styles, about) + svg.dot_key(styles),
    )


def _mean(
    data: ReportData, metric: str, one: Adaptation, of: Mapping[str, str], name: str
) -> tuple[int | None, Estimate | None]:
    tasks = {task for task in one.scores if of[task] == name}
    outcomes = [o for o in one.outcomes if o.task in tasks]
    if not tasks:
        return None, None
    return len(tasks), mean_scores(metric, one.shots, outcomes, data.how)[one.learner]


def _printed(paper: Published | None, tag: str) -> dict[tuple[str, str], str]:
    """Give means of a paper with their errors, as they are printed: by method and group."""
    values, errors = (paper.by(by) if paper else [] for by in (tag, f"{tag} error"))
    if not values:
        return {}
    spread = errors[0].values if errors else {}
    return {
        (method, group): f"{value} ± {spread[method][group]}" if method in spread else f"{value}"
        for method, row in values[0].values.items()
        for group, value in row.items()
    }


def _source(paper: Published | None, by: str) -> Iterator[str]:
    for figures in paper.by(by) if paper else ():
        yield f"published: {paper.paper if paper else ''}, {figures.where}, as printed there; not measured here"
        yield from figures.notes


# --- regressions -----------------------------------------------------------------------------------------------------


def _points(data: ReportData, one: Adaptation) -> dict[str, list[svg.Point]]:
    """Give the score of each composition over the mean score of its parts, by composition."""
    found: dict[str, list[svg.Point]] = {}
    for name, score in one.scores.items():
        task = data.results.suite.tasks[name]
        parts = task.tags.get(PARTS, ())
        if parts and composition_of(task) and all(part in one.scores for part in parts):
            mean = float(np.mean([one.scores[part] for part in parts]))
            found.setdefault(composition_of(task), []).append(svg.Point(100 * mean, 100 * score, name))
    return found


def _fit(points: Sequence[svg.Point], level: float = 0.95) -> Line | None:
    """Fit a line to scores from 0 to 1, where points are enough and differ."""
    xs, ys = [p.x / 100 for p in points], [p.y / 100 for p in points]
    return line(xs, ys, level=level) if len(points) >= LEAST and len(set(xs)) > 1 else None


def _regressions(
    data: ReportData, metric: str, name: str, series: Mapping[str, Sequence[svg.Point]], paper: Published | None,
    notes: tuple[str, ...],
) -> Figure:  # fmt: skip
    """Give a line for each composition as one adaptation learns it, and draw them."""
    theirs = {of: next(iter(paper.by(f"{COMPOSITION} {of}")), None) for of in LINE} if paper else {}
    fits = {of: _fit(points, data.how.level) for of, points in series.items()}
    lines = {of: (fit.slope.value, 100 * fit.intercept.value) for of, fit in fits.items() if fit}
    rows: list[tuple[Value, ...]] = []
    for of, fit in fits.items():
        printed = [f.values.get(name, {}).get(of) if f else None for f in theirs.values()]
        count = f"{len(series[of])}{'*' if len(series[of]) < FEW else ''}"
        rows.append((of, count, *((fit.slope, fit.intercept, fit.r_squared) if fit else (None,) * 3), *printed))
    about = f"compositions against their parts, {name}"
    drawn = svg.scatter(series, about, x=f"{metric}, mean of the parts", y=f"{metric}, composition", lines=lines)
    return Figure(
        title=about.capitalize(),
        columns=(COMPOSITION, "tasks", *LINE, *(f"{of}, published" for of in theirs)),
        rows=tuple(rows),
        notes=notes,
        points=False,
        plot=drawn + svg.dot_key(svg.dot_styles(list(series))),
    )


def _notes(
    data: ReportData, points: Mapping[str, Mapping[str, Sequence[svg.Point]]], paper: Published | None
) -> Iterator[str]:
    yield "y = slope x + intercept: the score on a composition over the mean score on its parts, both from 0 to 1"
    yield f"* fewer than {FEW} tasks: what is said of them may not hold for others; a line needs {LEAST}"
    yield "intervals take tasks as independent; errors in the scores of parts make lines flatter (Fuller 1987)"
    drawn = {point.label for series in points.values() for found in series.values() for point in found}
    scored = {o.task for o in data.results.outcomes}
    composed = [task for task in scored if composition_of(data.results.suite.tasks[task])]
    if without := len(set(composed) - drawn):
        yield f"left out, as a part of them has no score: {without} of {len(composed)} compositions"
    if paper:
        yield from _source(paper, f"{COMPOSITION} r2")
        yield f"published: {paper.said.get(COMPOSITION, '')}"
