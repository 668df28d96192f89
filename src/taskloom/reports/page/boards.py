"""Boards: for each metric and setting of shots a headline, a picture, the matrix, learning curves and differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from ...episodes import shots_order, shots_text
from .. import board_plots, plots, tables
from ..leaderboards import Leaderboard
from ..pages import folded, table
from ..summary import Summary
from .headline import extent, sentence
from .matrix import Matrix


def first_board(summary: Summary) -> Leaderboard:
    """Give the board that a report opens with: the first metric of the most tasks, where the most are ranked."""
    metric = max(summary.leaderboards, key=lambda b: (len(b.tasks), -summary.metrics.index(b.metric))).metric
    return max(summary.of(metric), key=lambda b: (b.headline.ranked, shots_order(b.shots)))


def boards(summary: Summary, links: Mapping[str, str]) -> str:
    """Write all boards; the first is open, and a script makes tabs of them."""
    if not summary.leaderboards:
        return '<p class="lead">No value: nothing has been scored yet.</p>'
    first = first_board(summary)
    order = [first, *(b for b in summary.leaderboards if b is not first)]
    return f'<div id="boards">{"".join(_board(summary, b, links, is_first=b is first) for b in order)}</div>'


def _board(summary: Summary, board: Leaderboard, links: Mapping[str, str], *, is_first: bool) -> str:
    shots = sorted({b.shots for b in summary.leaderboards}, key=shots_order)
    place = [summary.metrics.index(board.metric), shots.index(board.shots)]
    at, lower = shots_text(board.shots), "" if board.higher else ", lower is better"
    return (
        f'<details class="board" data-metric="{escape(board.metric)}" data-shots="{at}" '
        f'data-place="{place[0]} {place[1]}"{" open" if is_first else ""}>'
        f"<summary><h2>{escape(board.metric)} at {at}{lower}</h2></summary>"
        f'<div class="body">{"".join(_parts(summary, board, links))}</div></details>'
    )


def _parts(summary: Summary, board: Leaderboard, links: Mapping[str, str]) -> Iterator[str]:
    lead = f'<p class="lead">{sentence(board.headline)}</p>'
    yield f'<div class="hero">{lead}{_picture(summary, board)}{_notes(summary, board)}</div>'
    yield f"<h3>Tasks and learners</h3>{Matrix.of(summary, board).html(links)}"
    last = board is summary.of(board.metric)[-1]  # the curves are of all settings, and in the page once
    drawn = [part for part in (_curves(summary, board) if last else "", _forest(board.headline)) if part]
    yield f'<div class="pair">{"".join(drawn)}</div>'
    if board.headline.pairs or board.headline.against:
        yield folded("All paired differences", table(tables.PAIR_COLUMNS, tables.pairs(board.headline), "n"))


def _picture(summary: Summary, board: Leaderboard) -> str:
    ranked = board.headline
    drawn = plots.responsive(lambda width: board_plots.scores(ranked, width))
    level = f"{100 * summary.how.level:.4g} %"
    lines = " Thin lines are baselines." if any(s.baseline and s.comparable for s in ranked.standings) else ""
    said = f"{extent(board)}. Bars are {level} confidence intervals, for {tables.spoken_of(summary)}.{lines}"
    return _figure(drawn, said)


def _notes(summary: Summary, board: Leaderboard) -> str:
    """Write what else was found by the metric, which learners are not ranked, and what intervals do not cover."""
    ours = [note for note in summary.findings if dict(note.values).get("metric") == board.metric]
    found = [f'<li class="finding">{escape(str(note))}</li>' for note in ours if not note.code.startswith("best-")]
    absent = [s.learner for s in board.standings if not s.episodes]
    notes = [*tables.leaderboard_notes(board), *([f"no score here: {', '.join(absent)}"] if absent else [])]
    found += [f"<li>{escape(note)}</li>" for note in notes]
    return f'<ul class="notes">{"".join(found)}</ul>' if found else ""


def _curves(summary: Summary, board: Leaderboard) -> str:
    """Draw all settings of the board's metric."""
    if len(summary.of(board.metric)) < 2:
        return ""
    drawn = plots.responsive(lambda width: board_plots.curves(summary, board, width), plots.HALF)
    shown = _figure(drawn, "Measured points only; grey lines are baselines.")
    return f'<section class="curves"><h3>Learning curves</h3>{shown}</section>'


def _forest(board: Leaderboard) -> str:
    """Draw the differences of the best learner from the others; a table has all."""
    if not board_plots.differences_of(board):
        return ""
    drawn = plots.responsive(lambda width: board_plots.differences(board, width), plots.HALF)
    front = board_plots.front(board)
    said = f"{front} minus each other learner on the same items; filled dots are significant (p < 0.05, Holm)."
    return f"<section><h3>Paired differences</h3>{_figure(drawn, said)}</section>"


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
