"""What a learner adds, task by task, to the better of some others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...episodes import shots_text
from ...stats import Contrast, Estimate, student_interval
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, plots
from ..contrasts import differs, task_contrasts
from ..figures import Figure, ReportData
from ..leaderboards import Leaderboard, Standing

MOST = 60  # rows of the plot


@dataclass(frozen=True, slots=True)
class _Rival:
    """A task, and the better of the others on it."""

    task: str
    category: str
    name: str
    ours: Estimate
    theirs: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a learner adds, task by task, to the better of some others."""

    learner: str = naming("learner", default="")  # none: the one in front
    over: tuple[str, ...] = naming("learner", default=())  # none: the baselines

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Name a learner that is to be above itself."""
        if self.over == (self.learner,):
            yield f"a learner has no gain over itself: {self.learner!r}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show a learner's gain by each metric that is the first of some tasks."""
        ran = {o.task for o in data.results.outcomes if o.scores}
        firsts = {name: data.results.metrics_of(name)[0] for name in ran}
        for metric in dict.fromkeys(b.metric for b in data.leaderboards if b.metric in firsts.values()):
            ours = data.at_most(metric)
            learner = self.learner or _front(ours)
            if learner in ours:
                tasks = sorted(name for name, first in firsts.items() if first == metric)
                yield from _gain_by(data, ours[learner][0], learner, self.over or data.results.baselines, tasks)


def _front(ours: Mapping[str, tuple[Leaderboard, Standing]]) -> str:
    """Name the best learner that is no baseline."""
    known = {name: leaderboard.sign * s.score.value for name, (leaderboard, s) in ours.items() if not s.baseline}
    return max(known, key=lambda name: known[name], default="")


def _gain_by(
    data: ReportData, leaderboard: Leaderboard, learner: str, over: Sequence[str], tasks: Sequence[str]
) -> Iterator[Figure]:
    rivals = [rival for name in tasks if (rival := _rival(data, leaderboard, learner, over, name))]
    gains = _gains(data, leaderboard, learner, rivals)
    both = [(rival, gains[rival.task]) for rival in rivals if gains[rival.task].n]  # with answers in common
    if not both:
        return
    rows = sorted(both, key=lambda row: -row[1].difference)
    others = ", ".join(name for name in over if name != learner)
    title = f"{leaderboard.metric}, task by task: {learner} over the better of {others}"
    yield Figure(
        title=title,
        columns=("task", "gain", "p (Holm)", learner, "the better", "its score", "category"),
        rows=tuple((r.task, c, numbers.p_value(c.p), r.ours, r.name, r.theirs, r.category) for r, c in rows),
        notes=tuple(_gain_notes(leaderboard, [gain for _, gain in rows], len(tasks), data.how.level)),
        points=leaderboard.points,
        plot=_drawn(leaderboard, rows, title, learner),
    )


def _drawn(leaderboard: Leaderboard, rows: Sequence[tuple[_Rival, Contrast]], title: str, learner: str) -> str:
    drawn = [_gain_row(leaderboard, *row) for row in _ends(rows)]
    axis = f"gain of {learner}, {'points of ' if leaderboard.points else ''}{leaderboard.metric}"
    return plots.responsive(lambda width: plots.forest(drawn, title, axis=axis, width=width))


def _rival(data: ReportData, leaderboard: Leaderboard, learner: str, over: Sequence[str], task: str) -> _Rival | None:
    """Find the better of others on a task, where they and the learner have scores."""
    scores = {n: e for n, e in leaderboard.tasks.get(task, {}).items() if not math.isnan(e.value)}
    others = [name for name in over if name in scores and name != learner]
    if learner not in scores or not others:
        return None
    better = max(others, key=lambda name: leaderboard.sign * scores[name].value)
    category = ", ".join(data.results.suite.task(task).tags.get("category", ()))
    return _Rival(task, category, better, scores[learner], scores[better])


def _gains(data: ReportData, leaderboard: Leaderboard, learner: str, rivals: Sequence[_Rival]) -> dict[str, Contrast]:
    """Compare on each task, so that what is above 0 is better."""
    pairs = {r.task: (learner, r.name) if leaderboard.higher else (r.name, learner) for r in rivals}
    return task_contrasts(pairs, leaderboard.metric, leaderboard.shots, data.results.outcomes, data.how)


def _ends(rows: Sequence[tuple[_Rival, Contrast]]) -> Sequence[tuple[_Rival, Contrast]]:
    """Keep what can be drawn: all, or the largest and the smallest of many."""
    return rows if len(rows) <= MOST else [*rows[: MOST // 2], *rows[-(MOST // 2) :]]


def _gain_row(leaderboard: Leaderboard, rival: _Rival, gain: Contrast) -> plots.Row:
    shown = numbers.shown(Estimate(gain.difference, gain.low, gain.high, gain.n), leaderboard.points)
    style = "apart" if differs(gain) else ""
    return plots.Row(rival.task, shown, numbers.score(gain, leaderboard.points), style)


def _gain_notes(leaderboard: Leaderboard, gains: Sequence[Contrast], tasks: int, level: float) -> Iterator[str]:
    above = [gain.difference > 0 for gain in gains]
    differ = [up for up, gain in zip(above, gains, strict=True) if differs(gain)]
    over = f"{counted(len(gains), 'task')}, {shots_text(leaderboard.shots)}"
    yield f"better than the better of them on {sum(above)} of {over}"
    if len(gains) > MOST:
        yield f"drawn: the {MOST // 2} largest and the {MOST // 2} smallest gains; the table has all"
    sides = f"better on {sum(differ)}, worse on {len(differ) - sum(differ)}"
    yield f"significantly different on {len(differ)}: {sides}; p is corrected for these tasks (Holm), not for learners"
    if tasks > len(gains):
        yield f"skipped, as one side has no score: {counted(tasks - len(gains), 'task')}"
    found = student_interval([gain.difference for gain in gains], level=level)
    yield f"mean gain over tasks {numbers.score(found, leaderboard.points)}, for other tasks like these (Student's)"
    yield "which one is the better is seen in the same answers: gains are rather underestimated than overestimated"
