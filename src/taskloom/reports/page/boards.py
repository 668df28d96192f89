"""Boards: for each metric and setting of shots a headline, a picture, the matrix, learning curves and differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape

from ...episodes import shots_text
from ...stats import Contrast, Estimate
from .. import numbers, plots, tables
from ..contrasts import differs
from ..leaderboards import Leaderboard, Standing
from ..pages import folded, table
from ..summary import Summary, curve
from .headline import difference, extent, sentence
from .matrix import Matrix

FOREST = 12  # rows of the plot of differences


def first_board(summary: Summary) -> Leaderboard:
    """Give the board that a report opens with: the first metric of the most tasks, at the most shots."""
    return max(summary.leaderboards, key=lambda b: (len(b.tasks), -summary.metrics.index(b.metric)))


def boards(summary: Summary, links: Mapping[str, str]) -> str:
    """Write all boards; the first is open, and a script makes tabs of them."""
    if not summary.leaderboards:
        return '<p class="lead">No value: nothing has been scored yet.</p>'
    widest = first_board(summary)
    first = summary.of(widest.metric)[-1]
    order = [first, *(b for b in summary.leaderboards if b is not first)]
    return f'<div id="boards">{"".join(_board(summary, b, links, is_first=b is first) for b in order)}</div>'


def _board(summary: Summary, board: Leaderboard, links: Mapping[str, str], *, is_first: bool) -> str:
    place = [summary.metrics.index(board.metric), summary.of(board.metric).index(board)]
    at, lower = shots_text(board.shots), "" if board.higher else ", lower is better"
    return (
        f'<details class="board" data-metric="{escape(board.metric)}" data-shots="{at}" '
        f'data-place="{place[0]} {place[1]}"{" open" if is_first else ""}>'
        f"<summary><h2>{escape(board.metric)} at {at}{lower}</h2></summary>"
        f'<div class="body">{"".join(_parts(summary, board, links))}</div></details>'
    )


def _parts(summary: Summary, board: Leaderboard, links: Mapping[str, str]) -> Iterator[str]:
    found = f'<p class="lead">{sentence(board.headline)}</p>{_notes(board)}'
    yield f'<div class="hero"><div>{found}</div>{_picture(summary, board)}</div>'
    yield f"<h3>Tasks and learners</h3>{Matrix.of(summary, board).html(links)}"
    last = board is summary.of(board.metric)[-1]  # the curves are of all settings, and in the page once
    drawn = [part for part in (_curves(summary, board) if last else "", _forest(board.headline)) if part]
    yield f'<div class="pair">{"".join(drawn)}</div>'
    if board.headline.pairs or board.headline.against:
        yield folded("All paired differences", table(tables.PAIR_COLUMNS, tables.pairs(board.headline), "n"))


def _picture(summary: Summary, board: Leaderboard) -> str:
    ranked = board.headline
    rows = [_row(s, board.points) for s in ranked.standings if s.comparable and not math.isnan(s.score.value)]
    about = f"{board.metric} at {shots_text(board.shots)}"
    drawn = plots.responsive(lambda width: plots.dots(rows, about, axis=board.metric, width=width))
    level = f"{100 * summary.how.level:.4g} %"
    lines = " Thin lines are baselines." if any(row.style == "baseline" for row in rows) else ""
    said = f"{extent(board)}. Bars are {level} confidence intervals, for {tables.spoken_of(summary)}.{lines}"
    return _figure(drawn, said)


def _row(s: Standing, points: bool) -> plots.Row:
    style = "baseline" if s.baseline else "best" if s.best else ""
    return plots.Row(s.learner, numbers.shown(s.score, points), numbers.score(s.score, points), style)


def _notes(board: Leaderboard) -> str:
    found = [*tables.leaderboard_notes(board)]
    absent = [s.learner for s in board.standings if not s.episodes]
    if absent:
        found.append(f"no score here: {', '.join(absent)}")
    return f'<ul class="notes">{"".join(f"<li>{escape(note)}</li>" for note in found)}</ul>' if found else ""


def _curves(summary: Summary, board: Leaderboard) -> str:
    """Draw all settings of the board's metric."""
    if len(summary.of(board.metric)) < 2:
        return ""
    found = curve(summary, board.metric)
    lines = [
        plots.Curve(
            name,
            [(shots, numbers.shown(e, board.points)) for shots, e in found[name]],
            baseline=name in summary.baselines,
        )
        for name in summary.learners
        if name in found and not all(math.isnan(e.value) for _, e in found[name])
    ]
    about = f"{board.metric} over shots"
    drawn = plots.responsive(lambda width: plots.curves(lines, about, up=board.metric, width=width), plots.HALF)
    shown = _figure(drawn, "Measured points only; grey lines are baselines.")
    return f'<section class="curves"><h3>Learning curves</h3>{shown}</section>'


def _forest(board: Leaderboard) -> str:
    """Draw the differences of the best learner from the others; a table has all."""
    front = next((s.learner for s in board.standings if s.best), "")
    others = (s.learner for s in board.standings if s.learner != front)
    found = [c for name in others if (c := difference(board, front, name))][:FOREST]
    if not found:
        return ""
    rows = [_difference(c, board.points) for c in found]
    about = f"paired differences of {board.metric} at {shots_text(board.shots)}"
    axis = f"{front} minus the other, {'points of ' if board.points else ''}{board.metric}"
    drawn = plots.responsive(lambda width: plots.forest(rows, about, axis=axis, width=width), plots.HALF)
    said = f"{front} minus each other learner on the same items; filled dots are significant (p < 0.05, Holm)."
    return f"<section><h3>Paired differences</h3>{_figure(drawn, said)}</section>"


def _difference(c: Contrast, points: bool) -> plots.Row:
    shown = numbers.shown(Estimate(c.difference, c.low, c.high, c.n), points)
    return plots.Row(f"− {c.b}", shown, numbers.score(c, points), "apart" if differs(c) else "")


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
