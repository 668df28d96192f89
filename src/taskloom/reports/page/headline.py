"""What a leaderboard says in a sentence: who is best, by how much, whether that is significant, and against what."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from ...texts import counted
from .. import numbers
from ..board_plots import difference, turned
from ..contrasts import differs
from ..leaderboards import Leaderboard, Standing


def sentence(board: Leaderboard) -> str:
    """Write what a leaderboard finds, as HTML."""
    ranked = [s for s in board.standings if s.rank]
    if not ranked:
        known = any(s.episodes for s in board.standings if not s.baseline)
        return "No two learners have tasks in common." if known else "No learner has a score here."
    best, *rivals = ranked
    return " ".join([_first(board, best, rivals), *_baselines(board, best)])


def _first(board: Leaderboard, best: Standing, rivals: Sequence[Standing]) -> str:
    name, reached = f"<b>{escape(best.learner)}</b>", _value(board, best)
    if not rivals:
        return f"{name} scores {reached}."
    tied = [s for s in rivals if s.best]
    if tied:
        others = _and([f"{escape(s.learner)} ({numbers.number(s.score.value, board.points)})" for s in tied])
        first = f"{name} has the {_most(board)} score of all learners, {reached}"
        return f"{first}, but is not significantly different from {others}."
    return f"{name} is best with {reached}, {_ahead(board, best, rivals[0])}."


def _ahead(board: Leaderboard, best: Standing, second: Standing) -> str:
    found = difference(board, best.learner, second.learner)
    if found is None:
        return f"ahead of {escape(second.learner)} ({_value(board, second)})"
    by = numbers.number(abs(found.difference), board.points)
    side = "above" if found.difference > 0 else "below"
    ends = numbers.interval(found if found.difference > 0 else turned(found), board.points)
    unit = " points" if board.points else ""
    return f"{by}{unit} {side} {escape(second.learner)} {ends}, a significant difference"


def _baselines(board: Leaderboard, best: Standing) -> Iterator[str]:
    """Say how the best compares with the baselines."""
    known = [s for s in board.standings if s.baseline and s is not best and not math.isnan(s.score.value)]
    if not known:
        return
    apart = {s.learner for s in known if (c := difference(board, best.learner, s.learner)) and differs(c)}
    better = [s for s in known if s.learner in apart and board.sign * (s.score.value - best.score.value) > 0]
    near = [s for s in known if s.learner not in apart]
    if better:
        yield f"It is significantly worse than the {_names(board, better)}."
    if near:
        yield f"It is not significantly different from the {_names(board, near)}."
    if not better and not near:
        top = max(known, key=lambda s: board.sign * s.score.value)
        yield f"It is significantly better than {_all(board, known, top)}."


def extent(board: Leaderboard) -> str:
    """Say what the scores of the headline are over."""
    found = board.headline
    ranked = [s for s in found.standings if s.rank] or found.standings
    answers = max((s.score.n for s in ranked), default=0)
    shared = " that all learners have in common" if found is board.common else ""
    tasks = counted(len(found.ranked_on), "task")
    return f"Mean over the {tasks}{shared}, {counted(answers, 'answer')} of each learner"


def _most(board: Leaderboard) -> str:
    return "highest" if board.higher else "lowest"


def _value(board: Leaderboard, standing: Standing) -> str:
    return escape(numbers.score(standing.score, board.points))


def _all(board: Leaderboard, known: Sequence[Standing], top: Standing) -> str:
    if len(known) == 1:
        return f"the {_names(board, known)}"
    value = numbers.number(top.score.value, board.points)
    every = "both" if len(known) == 2 else f"all {len(known)}"
    return f"{every} baselines, the best of which is {escape(top.learner)} ({value})"


def _names(board: Leaderboard, found: Sequence[Standing]) -> str:
    noun = "baseline" if len(found) == 1 else "baselines"
    return f"{noun} " + _and([f"{escape(s.learner)} ({numbers.number(s.score.value, board.points)})" for s in found])


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
