"""What a run found, in a few sentences: the best learners, what examples add, and where nothing beats a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..episodes import shots_order, shots_text
from ..messages import Note
from ..stats import Contrast
from ..studies.results import Outcome, Results
from ..texts import counted
from . import numbers
from .contrasts import contrasts_of, corrected, differs
from .draws import How, answers_of
from .leaderboards import Leaderboard, Standing

SETTINGS = 3  # of which the best learner is named


def findings(results: Results, leaderboards: Sequence[Leaderboard], how: How) -> tuple[Note, ...]:
    """Give what the first metric of each kind of task shows, the most important first."""
    found: list[Note] = []
    for metric in _first_metrics(results):
        boards = [board for board in leaderboards if board.metric == metric]
        outcomes = [o for o in results.outcomes if metric in o.scores]
        found += [*_best(boards), *_gains(boards, outcomes, how), *_no_better(boards)]
    return tuple(found)


def _first_metrics(results: Results) -> Sequence[str]:
    tasks = sorted({o.task for o in results.outcomes})
    return list(dict.fromkeys(metric for task in tasks for metric in results.metrics_of(task)[:1]))


# --- the best learners -----------------------------------------------------------------------------------------------


def _best(boards: Sequence[Leaderboard]) -> Iterator[Note]:
    """Name the best learner of the settings at which the most learners are ranked."""
    most = max((board.headline.ranked for board in boards), default=0)
    compared = [board for board in boards if board.headline.ranked == most or board.headline.ranked > 1]
    kept = sorted(compared, key=lambda board: (-board.headline.ranked, shots_order(board.shots)))[:SETTINGS]
    for board in sorted(kept, key=lambda board: shots_order(board.shots)):
        if board.headline.ranked:
            yield from _best_at(board)


def _best_at(whole: Leaderboard) -> Iterator[Note]:
    board = whole.headline
    first, *others = (s for s in board.standings if s.rank)
    on = "" if board is whole else f" on {counted(len(board.ranked_on), 'task')} of {len(whole.ranked_on)}"
    said = {
        "metric": board.metric,
        "shots": f"{shots_text(board.shots)}{on}",
        "learner": first.learner,
        "score": numbers.score(first.score, board.points),
    }
    near = [s.learner for s in others if s.best]
    if not others:
        yield Note.of("best-only", **said)
    elif near:
        yield Note.of("best-shared", **said, others=near)
    else:
        yield Note.of("best-alone", **said, others=[f"{s.learner} ({_value(s, board)})" for s in others])


def _value(standing: Standing, board: Leaderboard) -> str:
    return numbers.number(standing.score.value, board.points)


# --- what examples add -----------------------------------------------------------------------------------------------


def _gains(boards: Sequence[Leaderboard], outcomes: Sequence[Outcome], how: How) -> Iterator[Note]:
    """Compare each learner with itself, at the fewest and at the most shots at which it has a score."""
    ends = _ends(boards)
    found = corrected([_gain(name, *settings, outcomes, how) for name, settings in ends.items()])
    for (name, (fewest, most)), contrast in zip(ends.items(), found, strict=True):
        if differs(contrast):
            better = contrast.difference * fewest.sign > 0
            yield Note.of(
                "examples-help" if better else "examples-hurt", learner=name, metric=fewest.metric,
                fewest=shots_text(fewest.shots), most=shots_text(most.shots),
                difference=numbers.score(contrast, fewest.points),
            )  # fmt: skip


def _ends(boards: Sequence[Leaderboard]) -> dict[str, tuple[Leaderboard, Leaderboard]]:
    found: dict[str, list[Leaderboard]] = {}
    for board in sorted(boards, key=lambda board: shots_order(board.shots)):
        for s in board.standings:
            if not s.baseline and not math.isnan(s.score.value):
                found.setdefault(s.learner, []).append(board)
    return {name: (seen[0], seen[-1]) for name, seen in found.items() if len(seen) > 1}


def _gain(name: str, fewest: Leaderboard, most: Leaderboard, outcomes: Sequence[Outcome], how: How) -> Contrast:
    """Give the difference between two settings of one learner on the same items, as most - fewest."""
    own = [o for o in outcomes if o.learner == name]
    answers = {"most": most.shots, "fewest": fewest.shots}
    found = {side: answers_of(fewest.metric, shots, own)[name] for side, shots in answers.items()}
    return contrasts_of([("most", "fewest")], found, how)[0]


# --- tasks on which nothing beats a baseline --------------------------------------------------------------------------


def _no_better(boards: Sequence[Leaderboard]) -> Iterator[Note]:
    """Name the tasks on which no learner, at any setting, is significantly better than the best baseline there."""
    better: dict[str, bool] = {}  # task -> whether some learner is
    for board in boards:
        for task, tests in board.tests.items():
            found = (replace(c, p=c.p * len(boards)) for c in tests.values())  # Bonferroni, over settings
            better[task] = better.get(task, False) or any(differs(c) and c.difference * board.sign > 0 for c in found)
    if worse := sorted(task for task in better if not better[task]):
        yield Note.of("no-better-than-baseline", metric=boards[0].metric, tasks=worse, count=len(worse), of=len(better))
