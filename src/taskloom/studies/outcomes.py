"""The finished cells of a plan, as results: what was kept is read, and what is new is scored and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

from ..core import Answer, Fields, Output, Task
from ..learners import settings
from ..scores import Scored
from ..scores.tasks import parts_of, score_key, score_task
from .ledger import Ledger
from .plan import Cell, Plan
from .results import Failure, Outcome, Results

Rows: TypeAlias = tuple[int, ...]
Golds: TypeAlias = tuple[tuple[Answer, ...], ...]  # the acceptable answers to each item
Asked: TypeAlias = Callable[[str, str, Rows], tuple[Rows, Golds]]  # task, pool and rows -> rows, and their gold


def results(plan: Plan, ledger: Ledger, command: str) -> Results:
    """Gather the finished cells of a plan, with their answers, gold and scores."""

    @cache
    def asked(task: str, pool: str, rows: Rows) -> tuple[Rows, Golds]:  # all learners share an episode's
        return rows, tuple(example.gold for example in plan.suite.pools[task][pool].take(rows))

    outcomes = [found for cell in plan.cells if (found := _outcome(plan, ledger, cell, asked))]
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


def _outcome(plan: Plan, ledger: Ledger, cell: Cell, asked: Asked) -> Outcome | None:
    body = ledger.result(cell.id)
    if body is None:
        return None
    task = plan.suite.tasks[cell.task]
    answers = tuple(_as_given(task.output, answer) for answer in body["answers"])
    rows, gold = asked(cell.task, body["pool"], tuple(body["rows"]))
    return Outcome(
        cell=cell.id,
        task=cell.task,
        learner=cell.learner,
        shots=cell.shots,
        seed=cell.seed,
        index=cell.index,
        pool=body["pool"],
        rows=rows,
        items=tuple(body["items"]),
        answers=answers,
        gold=gold,
        scores=_scores(ledger, cell, task, gold, answers),
        counts=body["counts"],
        cost=ledger.cost(cell.id),
    )


def _as_given(output: Output, kept: Any) -> Any:
    """Read an answer as it was given and scored, whatever its form; parts stand in the order of their output."""
    if isinstance(kept, list):
        return tuple(_as_given(output, part) for part in kept)
    if not isinstance(kept, dict):
        return kept
    order = [name for name in output.parts if name in kept] if isinstance(output, Fields) else []
    return {name: _as_given(output, kept[name]) for name in dict.fromkeys([*order, *kept])}


def _scores(ledger: Ledger, cell: Cell, task: Task, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, Scored]:
    """Read the scores of a cell; those of metrics that are new are made of the answers, and kept."""
    metrics = {name: of for name, _, of in parts_of(task)}
    kept = {name: ledger.score(cell.id, score_key(name, of)) for name, of in metrics.items()}
    new = replace(task, metrics=tuple(name for name, found in kept.items() if found is None))
    made = score_task(new, gold, answers)
    for name, scored in made.items():
        ledger.keep_score(cell.id, score_key(name, scored.metric), scored.units, scored.unusable)
    return {name: Scored(of, *found) if (found := kept[name]) else made[name] for name, of in metrics.items()}
