"""What a run found, in a few sentences: the best learners, what examples add, and where nothing beats a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..episodes import shots_order, shots_text
from ..messages import Note
from ..stats import Contrast
from ..studies.results import Outcome, Results
from . import numbers
from .contrasts import contrasts_of, corrected, differs, task_contrasts
from .draws import How, answers_of
from .leaderboards import Leaderboard, Standing

SETTINGS = 3  # of which the best learner is named
TASKS = 30  # above which tasks are not tested one by one


def findings(results: Results, leaderboards: Sequence[Leaderboard], how: How) -> tuple[Note, ...]:
    """Give what the first metric of each kind of task shows, the most important first."""
    found: list[Note] = []
    for metric in _first_metrics(results):
        boards = [board for board in leaderboards if board.metric == metric]
        outcomes = [o for o in results.outcomes if metric in o.scores]
        found += [*_best(boards), *_gains(boards, outcomes, how), *_no_better(boards, outcomes, how)]
    return tuple(found)


def _first_metrics(results: Results) -> Sequence[str]:
    tasks = sorted({o.task for o in results.outcomes})
    return list(dict.fromkeys(metric for task in tasks for metric in results.metrics_of(task)[:1]))


# --- the best learners -----------------------------------------------------------------------------------------------


def _best(boards: Sequence[Leaderboard]) -> Iterator[Note]:
    """Name the best learner of the settings at which the most learners are ranked."""
    most = max((_ranked(board) for board in boards), default=0)
    compared = [board for board in boards if _ranked(board) == most or _ranked(board) > 1]
    kept = sorted(compared, key=lambda board: (-_ranked(board), shots_order(board.shots)))[:SETTINGS]
    for board in sorted(kept, key=lambda board: shots_order(board.shots)):
        if _ranked(board):
            yield from _best_at(board.headline)


def _ranked(board: Leaderboard) -> int:
    return sum(s.rank > 0 for s in board.headline.standings)


def _best_at(board: Leaderboard) -> Iterator[Note]:
    first, *others = (s for s in board.standings if s.rank)
    said = {
        "metric": board.metric,
        "shots": shots_text(board.shots),
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


def _no_better(boards: Sequence[Leaderboard], outcomes: Sequence[Outcome], how: How) -> Iterator[Note]:
    """Name the tasks on which no learner, at any setting, is significantly better than the best baseline there."""
    tested: dict[str, bool] = {}  # task -> whether some learner is better
    pairs = [(board, name, found) for board in boards for name, found in _against(board).items()]
    if not pairs or max(len(found) for *_, found in pairs) > TASKS:
        return
    for board, name, found in pairs:
        at = [o for o in outcomes if o.shots == board.shots]
        sides = {task: (name, baseline) for task, baseline in found.items()}
        for task, c in task_contrasts(sides, board.metric, board.shots, at, how).items():
            significant = differs(replace(c, p=c.p * len(pairs)))  # Bonferroni, over learners and settings
            tested[task] = tested.get(task, False) or (significant and c.difference * board.sign > 0)
    if worse := [task for task, better in tested.items() if not better]:
        yield Note.of("no-better-than-baseline", metric=boards[0].metric, tasks=worse, count=len(worse), of=len(tested))


def _against(board: Leaderboard) -> Mapping[str, Mapping[str, str]]:
    """Give each learner's tasks, with the best baseline of each."""
    baselines = [s.learner for s in board.standings if s.baseline]
    learners = [s.learner for s in board.standings if not s.baseline and s.episodes]
    best: dict[str, str] = {}
    for task, scores in board.tasks.items():
        known = {n: scores[n].value for n in baselines if n in scores and not math.isnan(scores[n].value)}
        if known:
            best[task] = max(known, key=lambda name: board.sign * known[name])
    return {name: {task: b for task, b in best.items() if name in board.tasks[task]} for name in learners}
