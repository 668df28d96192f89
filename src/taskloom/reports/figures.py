"""What a study wants to see beside its scores, as tables with plots: what they are, and what they are made of.

Of a learner that was run at several numbers of shots, the scores at the most are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..episodes import Shots, shots_order, shots_text
from ..stats import Contrast, Estimate
from ..studies.results import Results
from ..studies.views import view_name
from ..texts import counted, human
from . import numbers
from .draws import How
from .leaderboards import Category, Leaderboard, Standing

Value: TypeAlias = str | int | float | Estimate | Contrast | None  # a plain number is published, and in points


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A table with its notes, and a plot of it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    notes: tuple[str, ...] = ()
    points: bool = True
    plot: str = field(default="", repr=False, metadata={"drawn": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """What figures are made of."""

    results: Results
    how: How
    leaderboards: tuple[Leaderboard, ...]
    categories: tuple[Category, ...]

    def at_most(self, metric: str) -> dict[str, tuple[Leaderboard, Standing]]:
        """Give each learner's standing at the most shots at which it has a score."""
        leaderboards = sorted((b for b in self.leaderboards if b.metric == metric), key=lambda b: shots_order(b.shots))
        return {s.learner: (b, s) for b in leaderboards for s in b.standings if not math.isnan(s.score.value)}

    def at(self, metric: str, shots: Shots) -> dict[str, tuple[Leaderboard, Standing]]:
        """Give each learner's standing at a number of shots, if it has a score."""
        found = (b for b in self.leaderboards if (b.metric, b.shots) == (metric, shots))
        return {s.learner: (b, s) for b in found for s in b.standings if not math.isnan(s.score.value)}

    def in_points(self, metric: str) -> bool:
        """Tell whether a metric is shown from 0 to 100."""
        return next(b.points for b in self.leaderboards if b.metric == metric)

    @property
    def first(self) -> str:
        """Name the first metric."""
        return self.leaderboards[0].metric


def figures(data: ReportData) -> tuple[Figure, ...]:
    """Make all that a study wants to see; what can't be drawn says so."""
    if not data.leaderboards:
        return ()
    found: list[Figure] = []
    for view in data.results.views:
        made = list(view.figures(data))
        missing = "not drawn: what it needs has no scores yet, or no task of the study has it"
        found += made or [Figure(title=f"View {view_name(view)!r}", notes=(missing,))]
    return tuple(found)


def text(cell: Value, points: bool) -> str:
    """Write a cell for people."""
    return numbers.score(cell, points) if isinstance(cell, Estimate | Contrast) else human(cell)


def counted_over(standings: Iterable[tuple[Leaderboard, Standing]], over: str = "tasks") -> str:
    """Say how many tasks scores are over, and at how many shots."""
    found = list(standings)
    tasks = sorted({s.tasks for _, s in found})
    shots = sorted({b.shots for b, _ in found}, key=shots_order)
    of = "" if over == "tasks" else f"the {over} of "
    return f"means over {of}{_or(tasks, counted(tasks[-1], 'task'))}, at {_or(shots, shots_text(shots[-1]))}"


def _or(values: Sequence[str | int], last: str) -> str:
    return " or ".join([*map(human, values[:-1]), last])
