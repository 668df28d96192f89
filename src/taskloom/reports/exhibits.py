"""What a study wants to see beside its scores, as tables with plots: one function for each view of `studies.views`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ..benchmarks.published import ALL, Figures, published
from ..ids import Json, canonical
from ..scores.reduce import Array, mean, ratio, sums
from ..stats import Contrast, Estimate, bootstrap, line
from ..studies.results import Results
from ..studies.views import Agreement, Beside, Gain, Matrix, Scaling
from ..texts import counted
from . import cells, svg
from .boards import Board, How, Standing, contrast, corrected, differs

Cell: TypeAlias = (
    str | int | float | Estimate | Contrast | None
)  # a number that is published stands as it is, in points


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A table with its notes, and a plot of it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    points: bool = True
    plot: str = field(default="", repr=False, metadata={"drawn": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What exhibits are made of: the boards at the most shots, by metric, and those of categories."""

    results: Results
    how: How
    boards: Mapping[str, Board]
    categories: Mapping[str, Board]

    @property
    def first(self) -> Board:
        """Give the board of the first metric."""
        return next(iter(self.boards.values()))


def exhibits(seen: Seen) -> tuple[Exhibit, ...]:
    """Make all that a study wants to see, as far as there are scores for it."""
    if not seen.boards:
        return ()
    return tuple(exhibit for view in seen.results.views for exhibit in MAKERS[type(view)](seen, view))


def text(cell: Cell, points: bool) -> str:
    """Write a cell for people."""
    if isinstance(cell, Estimate | Contrast):
        return cells.score(cell, points)
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else f"{cell:.1f}"


# --- beside published figures ----------------------------------------------------------------------------------------


def _beside(seen: Seen, view: Beside) -> Iterator[Exhibit]:
    paper = published(view.paper)
    for figures in paper.by(""):
        if board := seen.boards.get(figures.metric):
            yield _overall(seen, board, figures, paper.paper)
    for figures in paper.by("category"):
        boards = {name: board for name, board in seen.categories.items() if board.metric == figures.metric}
        if boards:
            yield _by_category(seen, boards, figures, paper.paper)


def _overall(seen: Seen, board: Board, figures: Figures, paper: str) -> Exhibit:
    theirs = {method: values[ALL] for method, values in figures.values.items()}
    ours = {s.learner: s for s in board.standings if s.tasks}
    order = sorted({**ours, **theirs}, key=lambda name: -_height(ours.get(name), theirs.get(name)))
    rows = [(name, ours[name].score if name in ours else None, theirs.get(name)) for name in order]
    drawn = [row for name in order for row in _dots(name, ours.get(name), theirs.get(name))]
    return Exhibit(
        title=f"Beside published figures: {board.metric}",
        columns=("method", "here", "published"),
        rows=tuple(rows),
        notes=_apart(seen, board, figures, paper),
        plot=svg.dots(drawn, f"{board.metric} here and as published"),
    )


def _height(ours: Standing | None, theirs: float | None) -> float:
    return 100 * ours.score.value if ours else theirs or 0.0


def _dots(name: str, ours: Standing | None, theirs: float | None) -> Iterator[svg.Row]:
    if ours:
        yield svg.Row(name, _in_points(ours.score), cells.score(ours.score, points=True), "best")
    if theirs is not None:
        yield svg.Row(f"{name}, published", _value(theirs), f"{theirs:.1f}", "published")


def _by_category(seen: Seen, boards: Mapping[str, Board], figures: Figures, paper: str) -> Exhibit:
    ours = [name for name in seen.results.learners if any(_score(board, name) for board in boards.values())]
    theirs = list(figures.values)
    rows = [
        (name, *(_score(board, n) for n in ours), *(figures.values[m].get(name) for m in theirs))
        for name, board in boards.items()
    ]
    told = {name: f"{name}, published" for name in theirs}
    dots = {
        name: {n: _in_points(e) for n in ours if (e := _score(board, n))}
        | {told[m]: _value(figures.values[m][name]) for m in theirs if name in figures.values[m]}
        for name, board in boards.items()
    }
    styles = svg.dot_styles(ours, list(told.values()))
    return Exhibit(
        title=f"By category, beside published figures: {figures.metric}",
        columns=("category", *ours, *told.values()),
        rows=tuple(rows),
        notes=_apart(seen, next(iter(boards.values())), figures, paper),
        plot=svg.strips(dots, styles, "scores by category, here and as published") + svg.dot_key(styles),
    )


def _apart(seen: Seen, board: Board, figures: Figures, paper: str) -> tuple[str, ...]:
    """Say what published figures are, and that ours are of other tasks."""
    here = f"here: means over tasks of suite {seen.results.suite.id!r}, at {counted(board.shots, 'shot')}"
    return (
        f"published: {paper}, {figures.where}, as printed there; not measured here",
        *figures.notes,
        f"{here}; unless all of the paper's tasks are in it, the two are no like for like",
    )


def _score(board: Board, learner: str) -> Estimate | None:
    found = next((s for s in board.standings if s.learner == learner), None)
    return found.score if found and found.tasks else None


# --- gain over the better of some -----------------------------------------------------------------------------------


def _gain(seen: Seen, view: Gain) -> Iterator[Exhibit]:
    over = view.over or seen.results.floors
    found = [row for name in seen.results.suite.tasks for row in _gain_on(seen, view.learner, over, name)]
    if not found:
        return
    rows = list(zip(found, corrected([row.gain for row in found]), strict=True))
    rows.sort(key=lambda row: -row[1].difference)
    learner, others = found[0].gain.a, ", ".join(over)
    yield Exhibit(
        title=f"Task by task: {learner} over the better of {others}",
        columns=("task", "category", learner, "the better", "its score", "gain", "p (Holm)"),
        rows=tuple((r.task, r.category, r.ours, r.rival, r.theirs, c, cells.p_value(c.p)) for r, c in rows),
        notes=tuple(_gain_notes(seen, [gain for _, gain in rows])),
        plot=svg.forest([_gain_row(*row) for row in rows], f"gain of {learner} over the better of {others}, by task"),
    )


def _gain_row(row: _Gained, gain: Contrast) -> svg.Row:
    shown = _in_points(Estimate(gain.difference, gain.low, gain.high, gain.n))
    return svg.Row(f"{row.task} − {row.rival}", shown, cells.score(gain, points=True), "apart" if differs(gain) else "")


def _gain_notes(seen: Seen, gains: Sequence[Contrast]) -> Iterator[str]:
    above = [gain.difference > 0 for gain in gains]
    told = [up for up, gain in zip(above, gains, strict=True) if differs(gain)]
    yield f"above the better one on {sum(above)} of {counted(len(gains), 'task')}"
    yield f"told apart from it on {len(told)}: above on {sum(told)}, below on {len(told) - sum(told)}"
    found = bootstrap(np.array([g.difference for g in gains]), mean, count=seen.how.count, level=seen.how.level)
    yield f"mean gain over tasks {cells.score(found, points=True)}, where tasks are drawn anew"
    yield "which one is the better is seen in the same answers: gains are told rather too small than too large"


@dataclass(frozen=True, slots=True)
class _Gained:
    task: str
    category: str
    rival: str
    ours: Estimate
    theirs: Estimate
    gain: Contrast


def _gain_on(seen: Seen, learner: str, over: Sequence[str], task: str) -> Iterator[_Gained]:
    """Compare a learner with the better of others on one task, by the task's first metric."""
    of = seen.results.suite.tasks[task]
    board = seen.boards.get(of.metrics[0])
    scores = {n: e for n, e in (board.tasks.get(task, {}) if board else {}).items() if not math.isnan(e.value)}
    front = learner or next((s.learner for s in seen.first.standings if s.rank == 1 and not s.floor), "")
    rivals = [name for name in over if name in scores and name != front]
    if not board or not rivals or front not in scores:
        return
    rival = max(rivals, key=lambda name: scores[name].value)
    outcomes = [o for o in seen.results.outcomes if o.task == task]
    gain = contrast(front, rival, board.metric, board.shots, outcomes, seen.how)
    category = ", ".join(of.tags.get("category", ()))
    yield _Gained(task, category, rival, scores[front], scores[rival], gain)


# --- two metrics -----------------------------------------------------------------------------------------------------


def _agreement(seen: Seen, view: Agreement) -> Iterator[Exhibit]:
    series = _pairs(seen, view) if {view.x, view.y} <= seen.boards.keys() else {}
    if not series:
        return
    rows = [(name, len(found), _pearson(seen, found)) for name, found in series.items()]
    together = [pair for found in series.values() for pair in found]
    said = published(view.paper).said.get("agreement") if view.paper else None
    plotted = {name: [point for _, point in found] for name, found in series.items()}
    yield Exhibit(
        title=f"{view.y} against {view.x}",
        columns=("learner", "points", "Pearson"),
        rows=(*rows, ("all", len(together), _pearson(seen, together))),
        notes=(
            "each point is a task and a learner; in brackets: tasks drawn anew",
            f"tasks: {', '.join(view.categories) or 'all'}",
            *([f"published: {published(view.paper).paper}: {said}; not measured here"] if said else []),
        ),
        points=False,
        plot=svg.scatter(plotted, f"{view.y} against {view.x}", x=view.x, y=view.y)
        + svg.dot_key(svg.dot_styles(list(plotted))),
    )


def _pairs(seen: Seen, view: Agreement) -> dict[str, list[tuple[str, svg.Point]]]:
    """Give for each learner the tasks that have both scores, as points."""
    x, y = seen.boards[view.x].tasks, seen.boards[view.y].tasks
    series: dict[str, list[tuple[str, svg.Point]]] = {}
    for task, learner in itertools.product(x, seen.results.learners):
        its = seen.results.suite.tasks[task].tags.get("category", ())
        if learner not in x[task] or learner not in y.get(task, {}):
            continue
        pair = 100 * x[task][learner].value, 100 * y[task][learner].value
        if not any(map(math.isnan, pair)) and (not view.categories or set(view.categories) & set(its)):
            series.setdefault(learner, []).append((task, svg.Point(*pair, f"{task}, {learner}")))
    return series


def _pearson(seen: Seen, points: Sequence[tuple[str, svg.Point]]) -> Estimate:
    """Correlate points, each with its task; a resample draws tasks, with all points that lie on them."""
    by_task: dict[str, Array] = {}
    for task, p in points:
        moments = np.array([1.0, p.x, p.y, p.x * p.x, p.y * p.y, p.x * p.y])
        by_task[task] = by_task.get(task, np.zeros(6)) + moments
    units = np.stack([by_task[task] for task in sorted(by_task)])
    return bootstrap(units, _correlation, count=seen.how.count, level=seen.how.level)


def _correlation(units: Array, weights: Array | None) -> Array:
    n, x, y, xx, yy, xy = sums(units, weights).T
    return ratio(n * xy - x * y, np.sqrt(_varies(n, x, xx) * _varies(n, y, yy)))


def _varies(n: Array, total: Array, squares: Array) -> Array:
    """Give n times what a side varies, and 0 where that is no more than rounding."""
    found = n * squares - total * total
    return np.where(found < 1e-12 * n * squares, 0, found)


# --- settings --------------------------------------------------------------------------------------------------------


def _matrix(seen: Seen, view: Matrix) -> Iterator[Exhibit]:
    settings = {n: s for n, s in seen.results.settings.items() if view.rows in s and view.columns in s}
    at = {name: (str(found[view.rows]), str(found[view.columns])) for name, found in settings.items()}
    scores = {at[s.learner]: s.score for s in seen.first.standings if s.learner in at and s.tasks}
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*at.values(), strict=True))
    ours = {row: [scores.get((row, column)) for column in columns] for row in rows}
    tables = [f for f in published(view.paper).by(view.columns) if f.metric == seen.first.metric] if view.paper else []
    theirs = {name: [values.get(c) for c in columns] for f in tables for name, values in f.values.items()}
    heat = {row: [_points_of(found) for found in values] for row, values in ours.items()} | theirs
    styles = {"here": "hue0", "published": "hue1"} if theirs else {}
    about = f"{seen.first.metric} by {view.rows} and {view.columns}"
    told = [(f"{name}, published", *found) for name, found in theirs.items()]
    plot = svg.heat(heat, columns, about, {name: f"hue{int(name in theirs)}" for name in heat})
    yield Exhibit(
        title=about,
        columns=(view.rows, *columns),
        rows=(*((name, *found) for name, found in ours.items()), *told),
        notes=tuple(note for f in tables for note in _apart(seen, seen.first, f, published(view.paper).paper)),
        plot=plot + svg.dot_key(styles),
    )


def _scaling(seen: Seen, view: Scaling) -> Iterator[Exhibit]:
    lines: dict[str, list[tuple[int, Estimate]]] = {}
    for s in seen.first.standings:
        settings = seen.results.settings.get(s.learner, {})
        value = settings.get(view.over)
        if isinstance(value, int) and not isinstance(value, bool) and s.tasks:
            lines.setdefault(_series(settings, view.over), []).append((value, s.score))
    known = {name: sorted(points, key=lambda point: point[0]) for name, points in sorted(lines.items())}
    if not known:
        return
    xs = sorted({x for points in known.values() for x, _ in points})
    shown = {name: [(x, _in_points(e)) for x, e in points] for name, points in known.items()}
    yield Exhibit(
        title=f"{seen.first.metric} over {view.over}",
        columns=("learner", *map(str, xs)),
        rows=tuple((name, *(dict(points).get(x) for x in xs)) for name, points in known.items()),
        notes=tuple(note for name, points in known.items() for note in _trend(name, points, seen.how.level)),
        plot=svg.curves(shown, f"{seen.first.metric} over {view.over}", over=view.over) + svg.key(list(shown)),
    )


def _series(settings: Mapping[str, Json], over: str) -> str:
    """Name the learners that differ in one setting alone, and in the encoding that it is a part of."""
    left = {name: value for name, value in settings.items() if name not in (over, "encoding")}
    return str(left.get("model") or canonical(left))


def _trend(name: str, points: Sequence[tuple[int, Estimate]], level: float) -> Iterator[str]:
    if len(points) > 2:
        fit = line([math.log2(1 + x) for x, _ in points], [e.value for _, e in points], level=level)
        slope = cells.score(fit.slope, points=True)
        yield f"{name}: {slope} points for each doubling of 1 + x, by a straight line (r² {fit.r_squared:.2f})"


# --- numbers ---------------------------------------------------------------------------------------------------------


def _in_points(e: Estimate) -> Estimate:
    return Estimate(100 * e.value, 100 * e.low, 100 * e.high, e.n)


def _points_of(e: Estimate | None) -> float | None:
    return None if e is None or math.isnan(e.value) else 100 * e.value


def _value(value: float) -> Estimate:
    return Estimate(value, math.nan, math.nan, 0)


MAKERS: Mapping[type, Callable[[Seen, Any], Iterator[Exhibit]]] = {
    Beside: _beside,
    Gain: _gain,
    Agreement: _agreement,
    Matrix: _matrix,
    Scaling: _scaling,
}
