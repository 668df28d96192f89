"""The plots of a leaderboard: its scores, its learning curves, and the differences of the best learner from others."""

from __future__ import annotations

import math
from dataclasses import replace

from ..episodes import shots_text
from ..stats import Contrast, Estimate
from . import numbers, plots
from .contrasts import differs
from .leaderboards import Leaderboard, Standing
from .summary import Summary, curve

MOST = 12  # differences that are drawn


def scores(board: Leaderboard, width: int = plots.WIDE) -> str:
    """Draw the scores that can be compared."""
    rows = [_score(s, board.points) for s in board.standings if s.comparable and not math.isnan(s.score.value)]
    return plots.dots(rows, f"{board.metric} at {shots_text(board.shots)}", axis=board.metric, width=width)


def _score(s: Standing, points: bool) -> plots.Row:
    style = "baseline" if s.baseline else "best" if s.best else ""
    return plots.Row(s.learner, numbers.shown(s.score, points), numbers.score(s.score, points), style)


def curves(summary: Summary, board: Leaderboard, width: int = plots.WIDE) -> str:
    """Draw the scores of all learners at all settings of a leaderboard's metric."""
    found = curve(summary, board.metric)
    lines = [
        plots.Curve(
            name,
            [(shots, numbers.shown(e, board.points)) for shots, e in found[name]],
            baseline=name in summary.baselines,
        )
        for name in summary.learners
        if any(not math.isnan(e.value) for _, e in found.get(name, ()))
    ]
    return plots.curves(lines, f"{board.metric} over shots", up=board.metric, width=width)


def differences(board: Leaderboard, width: int = plots.WIDE) -> str:
    """Draw the paired differences of the best learner from the others."""
    rows = [_difference(c, board.points) for c in differences_of(board)]
    about = f"paired differences of {board.metric} at {shots_text(board.shots)}"
    axis = f"{front(board)} minus the other, {'points of ' if board.points else ''}{board.metric}"
    return plots.forest(rows, about, axis=axis, width=width)


def _difference(c: Contrast, points: bool) -> plots.Row:
    shown = numbers.shown(Estimate(c.difference, c.low, c.high, c.n), points)
    return plots.Row(f"− {c.b}", shown, numbers.score(c, points), "apart" if differs(c) else "")


def front(board: Leaderboard) -> str:
    """Name the best learner."""
    return next((s.learner for s in board.standings if s.best), "")


def differences_of(board: Leaderboard) -> list[Contrast]:
    """Give the differences of the best learner from the others, in their order."""
    best = front(board)
    others = (s.learner for s in board.standings if s.learner != best)
    return [found for name in others if (found := difference(board, best, name))][:MOST]


def difference(board: Leaderboard, a: str, b: str) -> Contrast | None:
    """Give the paired difference a - b, where the two were compared."""
    for found in (*board.pairs, *board.against):
        if (found.a, found.b) == (a, b):
            return found
        if (found.a, found.b) == (b, a):
            return turned(found)
    return None


def turned(c: Contrast) -> Contrast:
    """Give b - a of a - b."""
    return replace(c, a=c.b, b=c.a, difference=-c.difference, low=-c.high, high=-c.low)
