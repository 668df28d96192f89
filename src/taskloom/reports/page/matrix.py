"""The matrix of tasks and learners: a value with its interval in each cell, coloured, and marked if significant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...episodes import Shots
from ...stats import Contrast, Estimate
from ...texts import counted
from .. import numbers, tables
from ..contrasts import differs
from ..drawing import scale
from ..leaderboards import Leaderboard, Standing
from ..summary import Summary

FOLD = 40  # tasks; more are folded to their categories
STEPS = 9  # of the colour scale
NOT_APPLICABLE, NOT_RUN, FAILED = "–", "○", "✗"
WORDS: Mapping[str, str] = {
    NOT_APPLICABLE: "not applicable: the learner does not do this task at this setting",
    NOT_RUN: "not run yet",
    FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class Shades:
    """The colour scale of a board, from its worst cell to its best."""

    worst: float
    best: float

    @classmethod
    def of(cls, board: Leaderboard) -> Shades:
        """Span the values of single tasks."""
        values = [e.value for found in board.tasks.values() for e in found.values() if not math.isnan(e.value)]
        ends = (min(values, default=0.0), max(values, default=1.0))
        return cls(*ends) if board.higher else cls(*ends[::-1])

    def step(self, value: float) -> int:
        """Give the step of a value, 0 is the worst."""
        if self.worst == self.best:
            return STEPS // 2
        return round(scale(self.worst, self.best, 0, STEPS - 1)(value))


@dataclass(frozen=True, slots=True)
class Matrix:
    """What is needed to write the cells of a board."""

    summary: Summary
    board: Leaderboard
    columns: tuple[Standing, ...]
    shades: Shades
    failed: frozenset[tuple[str, str, Shots]]  # learner, task and shots
    categories: Mapping[str, Leaderboard]  # by the same metric, at the same setting

    @classmethod
    def of(cls, summary: Summary, board: Leaderboard) -> Matrix:
        """Take the learners that have a score or should have one, baselines last."""
        failed = frozenset((f.learner, f.task, f.shots) for f in summary.failures)
        due = {
            name
            for name, task, shots in failed | summary.results.not_run
            if task in board.tasks and shots == board.shots
        }
        shown = sorted((s for s in board.standings if s.episodes or s.learner in due), key=lambda s: s.baseline)
        same = {c.name: c.leaderboard for c in summary.categories if _setting(c.leaderboard) == _setting(board)}
        return cls(summary, board, tuple(shown), Shades.of(board), failed, same)

    @property
    def tests(self) -> Mapping[str, Mapping[str, Contrast]]:
        """Give the tests of single tasks; of one task alone, those of the mean, which are of the same answers."""
        return (
            self.board.tests
            if len(self.board.tasks) > 1
            else dict.fromkeys(self.board.tasks, _against_best(self.board))
        )

    def html(self, links: Mapping[str, str]) -> str:
        """Write the table; the names of tasks link to where they are shown."""
        heads = "".join(_head(s, at, self.columns) for at, s in enumerate(self.columns))
        bodies = "".join(self._bodies(links))
        return (
            f'<div class="box"><table class="matrix"><thead><tr><th scope="col">task</th>{heads}</tr>'
            f"{self._mean()}</thead>{bodies}</table></div>{self._legend()}"
        )

    def _mean(self) -> str:
        cells = "".join(self._total(s, at) for at, s in enumerate(self.columns))
        count = counted(len(self.board.tasks), "task")
        return f'<tr class="mean"><th scope="row">mean of {count}</th>{cells}</tr>'

    def _total(self, s: Standing, at: int) -> str:
        marks = f"<sup>{escape(s.groups)}</sup>" if s.groups else ""
        if math.isnan(s.score.value):
            return f'<td class="none{_edge(at, self.columns)}"></td>'
        part = f"<small>{escape(tables.partly(s))}</small>" if s.missing else ""
        best = " best" if s.best else ""
        rank = f"rank {s.rank}; " if s.rank else ""
        title = f"{rank}{counted(s.score.n, 'answer')}, {counted(s.episodes, 'episode')}"
        return (
            f'<td class="{_edge(at, self.columns)}{best}" title="{title}">'
            f"{value(s.score, self.board.points)}{marks}{part}</td>"
        )

    def _bodies(self, links: Mapping[str, str]) -> Iterator[str]:
        groups = _groups(self.summary, self.board)
        for name, tasks in groups.items():
            head = self._group(name, len(tasks)) if name else ""
            rows = "".join(self._row(task, links.get(task, "")) for task in tasks)
            folded = ' class="group"' if name else ""
            yield f"<tbody{folded}>{head}{rows}</tbody>"

    def _group(self, name: str, count: int) -> str:
        """Write the row of a category: its scores, where there is a leaderboard of it."""
        found = self.categories.get(name)
        scores = {s.learner: s.score for s in found.standings} if found else {}
        tests = _against_best(found) if found else {}
        cells = "".join(
            self._cell(scores.get(s.learner), "", at, tests.get(s.learner)) for at, s in enumerate(self.columns)
        )
        return f'<tr class="category"><th scope="row">{escape(name)} <small>{count:,}</small></th>{cells}</tr>'

    def _row(self, task: str, link: str) -> str:
        found = self.board.tasks[task]
        tests = self.tests.get(task, {})
        name = f'<a href="#{link}">{escape(task)}</a>' if link else escape(task)
        cells = "".join(
            self._cell(found.get(s.learner), self._absent(s.learner, task), at, tests.get(s.learner))
            for at, s in enumerate(self.columns)
        )
        return f'<tr><th scope="row">{name}</th>{cells}</tr>'

    def _absent(self, learner: str, task: str) -> str:
        at = learner, task, self.board.shots
        return FAILED if at in self.failed else NOT_RUN if at in self.summary.results.not_run else NOT_APPLICABLE

    def _cell(self, e: Estimate | None, absent: str, at: int, test: Contrast | None) -> str:
        edge = _edge(at, self.columns)
        if e is None or math.isnan(e.value):
            absent = absent or ("" if e is None else NOT_APPLICABLE)
            style = " failed" if absent == FAILED else ""
            title = f' title="{WORDS[absent]}"' if absent else ""
            return f'<td class="none{style}{edge}"{title}>{absent}</td>'
        mark, said = _mark(test, self.board)
        title = f' title="{said}"' if said else ""
        return f'<td class="h{self.shades.step(e.value)}{edge}"{title}>{value(e, self.board.points)}{mark}</td>'

    def _legend(self) -> str:
        """Say what colours and marks mean."""
        board, tests = self.board, self.tests
        steps = "".join(f'<i class="h{step}"></i>' for step in range(STEPS))
        worst, best = (numbers.number(v, board.points) for v in (self.shades.worst, self.shades.best))
        parts = [f"{worst} {steps} {best}"]
        marked = [c for found in tests.values() for c in found.values()]
        marked += [c for found in self.categories.values() for c in found.against if not tests]
        if any(map(differs, marked)):
            parts.append("<b>▲ ▼</b> significantly better or worse than the best baseline there (paired, Holm)")
        if any(s.groups for s in self.columns):
            parts.append("learners that share a letter are not significantly different")
        present = {self._absent(s.learner, t) for t, found in board.tasks.items() for s in self.columns
                   if s.learner not in found}  # fmt: skip
        parts += [f"<b>{mark}</b> {WORDS[mark]}" for mark in WORDS if mark in present]
        return f'<ul class="legend marks">{"".join(f"<li>{part}</li>" for part in parts)}</ul>'


def _setting(board: Leaderboard) -> tuple[str, Shots]:
    return board.metric, board.shots


def _against_best(board: Leaderboard) -> dict[str, Contrast]:
    """Give the difference of each learner from the best baseline."""
    best = max((s for s in board.standings if s.baseline), key=lambda s: board.sign * s.score.value, default=None)
    return {c.a: c for c in board.against if best and c.b == best.learner}


def _groups(summary: Summary, board: Leaderboard) -> dict[str, list[str]]:
    """Part many tasks by their first category; few, and those without one, are one part without a name."""
    if len(board.tasks) <= FOLD:
        return {"": list(board.tasks)}
    first: dict[str, str] = {}
    for of in summary.categories:
        for task in of.leaderboard.tasks:
            first.setdefault(task, of.name)
    groups: dict[str, list[str]] = {}
    for task in board.tasks:
        groups.setdefault(first.get(task, "other tasks" if first else ""), []).append(task)
    return dict(sorted(groups.items(), key=lambda group: (group[0] == "other tasks", group[0])))


def _head(s: Standing, at: int, columns: Sequence[Standing]) -> str:
    about = "<small>baseline</small>" if s.baseline else ""
    return f'<th scope="col" class="{_edge(at, columns)}"><span>{escape(s.learner)}</span>{about}</th>'


def _edge(at: int, columns: Sequence[Standing]) -> str:
    """Part baselines from learners by a line."""
    return " edge" if at and columns[at].baseline and not columns[at - 1].baseline else ""


def _mark(test: Contrast | None, board: Leaderboard) -> tuple[str, str]:
    if test is None:
        return "", ""
    points = " points" if board.points else ""
    said = escape(f"{numbers.score(test, board.points)}{points} from {test.b}, p = {numbers.p_value(test.p)}")
    if not differs(test):
        return "", said
    better = board.sign * test.difference > 0
    return f"<sup>{'▲' if better else '▼'}</sup>", said


def value(e: Estimate, points: bool) -> str:
    """Write a value above its interval."""
    if math.isnan(e.value):
        return NOT_APPLICABLE
    return f"<b>{numbers.number(e.value, points)}</b><i>{numbers.interval(e, points)}</i>"
