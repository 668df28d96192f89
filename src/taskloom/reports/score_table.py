"""The scores of a summary as one table, for other programs: CSV, Arrow and data frames."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..stats import Estimate
from ..texts import inert
from .leaderboards import Leaderboard
from .summary import Summary

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("metric", "shots", "task", "learner", "value", "low", "high", "n", "rank", "groups", "best", "baseline",
           "comparable", "on")  # fmt: skip


def as_csv(summary: Summary) -> str:
    """Write a row for each score, of all tasks together (no task) and of each; numbers are as they are, not points."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(_csv_cell, row) for row in score_rows(summary))
    return text.getvalue()


def _csv_cell(value: str | float | bool | None) -> str | float:
    if value is None or isinstance(value, str):
        return inert(value or "")
    return int(value) if isinstance(value, bool) else value


def score_rows(summary: Summary) -> Iterator[list[Any]]:
    """Give a row for each score, in the order of `COLUMNS`; what has no value, or is not of single tasks, is None."""
    for leaderboard in summary.leaderboards:
        yield from _standing_rows(leaderboard, "all")
        for task, found in leaderboard.tasks.items():
            yield from (_score_row(leaderboard, task, name, found[name]) + [None] * 6 for name in found)
        yield from _standing_rows(leaderboard.common, "common") if leaderboard.common else ()


def _standing_rows(leaderboard: Leaderboard, on: str) -> Iterator[list[Any]]:
    """Give a row for each learner's mean, over all tasks or over what learners have in common."""
    for s in leaderboard.standings:
        more = [s.rank or None, s.groups, s.best, s.baseline, s.comparable, on]
        yield _score_row(leaderboard, None, s.learner, s.score) + more


def _score_row(leaderboard: Leaderboard, task: str | None, learner: str, e: Estimate) -> list[Any]:
    values = [None if math.isnan(v) else v for v in (e.value, e.low, e.high)]
    return [leaderboard.metric, leaderboard.shots, task, learner, *values, e.n]


def score_table(summary: Summary) -> pa.Table:
    """Give the scores as an Arrow table, with the columns of the CSV report."""
    import pyarrow as pa

    rows = list(score_rows(summary))
    whole = all(isinstance(row[1], int) for row in rows)
    kinds = dict.fromkeys(COLUMNS, pa.string()) | dict.fromkeys(("value", "low", "high"), pa.float64())
    kinds |= dict.fromkeys(("n", "rank"), pa.int64()) | dict.fromkeys(("best", "baseline", "comparable"), pa.bool_())
    kinds["shots"] = pa.int64() if whole else pa.string()
    cells = {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}
    if not whole:
        cells["shots"] = list(map(str, cells["shots"]))
    return pa.table({name: pa.array(cells[name], kind) for name, kind in kinds.items()})
