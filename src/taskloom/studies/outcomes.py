"""The finished cells of a plan, as results: what was kept is read, and what is new is scored and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from ..core import Answer, Task, answer_from_json
from ..learners import settings
from ..scores import Scored
from .ledger import Ledger
from .plan import Cell, Plan
from .results import Failure, Outcome, Results
from .scoring import parts_of, score_key, score_task

Golds: TypeAlias = tuple[tuple[Answer, ...], ...]  # the acceptable answers to each item


def results(plan: Plan, ledger: Ledger, command: str) -> Results:
    """Gather the finished cells of a plan, with their answers, gold and scores."""

    @cache
    def gold_of(task: str, pool: str, rows: tuple[int, ...]) -> Golds:  # all learners share an episode's
        return tuple(example.gold for example in plan.suite.pools[task][pool].take(rows))

    outcomes = [found for cell in plan.cells if (found := _outcome(plan, ledger, cell, gold_of))]
    failed, left = ledger.notes("failed"), ledger.notes("left out")
    failures = [_failure(cell, failed[cell.id]) for cell in plan.cells if cell.id in failed]
    reasons: dict[str, int] = dict(plan.left_out)
    for cell in plan.cells:
        if cell.id in left:
            reasons[left[cell.id]] = reasons.get(left[cell.id], 0) + 1
    missing = len(plan.cells) - len(outcomes) - len(failures) - sum(cell.id in left for cell in plan.cells)
    return Results(
        name=plan.study.name,
        command=command,
        suite=plan.suite,
        learners={name: repr(of) for name, of in plan.learners.items()},
        floors=plan.floors,
        outcomes=tuple(outcomes),
        failures=tuple(failures),
        missing=missing,
        left_out=reasons,
        smoke=any(cell.limit for cell in plan.cells),
        settings={name: settings(of) for name, of in plan.learners.items()},
        views=plan.study.views,
    )


def _failure(cell: Cell, text: str) -> Failure:
    where: dict[str, Any] = {"task": cell.task, "learner": cell.learner, "shots": cell.shots}
    return Failure(cell=cell.id, seed=cell.seed, index=cell.index, traceback=text, **where)


def _outcome(
    plan: Plan, ledger: Ledger, cell: Cell, gold_of: Callable[[str, str, tuple[int, ...]], Golds]
) -> Outcome | None:
    body = ledger.result(cell.id)
    if body is None:
        return None
    task = plan.suite.tasks[cell.task]
    answers = tuple(None if a is None else answer_from_json(task.output, a) for a in body["answers"])
    gold = gold_of(cell.task, body["pool"], tuple(body["rows"]))
    return Outcome(
        cell=cell.id,
        task=cell.task,
        learner=cell.learner,
        shots=cell.shots,
        seed=cell.seed,
        index=cell.index,
        items=tuple(body["items"]),
        answers=answers,
        gold=gold,
        scores=_scores(ledger, cell, task, gold, answers),
        counts=body["counts"],
        cost=ledger.cost(cell.id),
    )


def _scores(ledger: Ledger, cell: Cell, task: Task, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, Scored]:
    """Read the scores of a cell; those of a metric that is new are made of the answers, and kept."""
    found = {}
    for name, _, of in parts_of(task):
        kept = ledger.score(cell.id, score_key(name, of))
        if kept is None:
            made = score_task(task, gold, answers)[name]
            ledger.keep_score(cell.id, score_key(name, of), made.units, made.unusable)
            kept = made.units, dict(made.unusable)
        found[name] = Scored(of, *kept)
    return found
