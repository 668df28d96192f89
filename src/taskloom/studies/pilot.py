"""A pilot: the first episodes of a few tasks, for each learner and number of shots, to know what a study costs.

Its cells are those of the real run, which finds them done; training is not cut short, as it is in a trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from ..databases import is_filled
from ..errors import StudyError
from ..messages import Note
from ..progress import Progress
from .api import LEDGER, Prepared
from .cells import Cell
from .kinds import LOADING, run_once
from .ledger import Ledger
from .plan import Plan
from .run import Done

TASKS, EPISODES = 3, 2  # of each learner and number of shots, and of each of these tasks


def pilot_cells(plan: Plan) -> tuple[Cell, ...]:
    """Choose the first cells of a few tasks, for each learner and number of shots, with those that train for them."""
    cells: dict[tuple[object, ...], dict[str, list[Cell]]] = {}
    for cell in run_once(plan):
        cells.setdefault((cell.learner, cell.shots), {}).setdefault(cell.task, []).append(cell)
    chosen = {cell.id for of in cells.values() for own in _spread([*of.values()]) for cell in own[:EPISODES]}
    used = {id_ for cell in plan.to_run if cell.id in chosen for _, id_ in cell.uses}
    return tuple(cell for cell in plan.to_run if cell.id in chosen | used)


def _spread(tasks: list[list[Cell]]) -> list[list[Cell]]:
    """Take a few, from the first to the last."""
    return [tasks[(len(tasks) - 1) * at // (TASKS - 1)] for at in range(TASKS)] if len(tasks) > TASKS else tasks


def run_pilot(
    prepared: Prepared, *, progress: Progress | None = None, stopping: Callable[[], None] | None = None
) -> Done:
    """Run the cells of a pilot that are not done, with one worker, and keep how long models took to load."""
    cells = pilot_cells(prepared.plan)
    before, start = _spent(prepared), perf_counter()
    small = replace(prepared, plan=replace(prepared.plan, to_run=cells))
    done = small.work(progress=progress, stopping=stopping)
    loading = perf_counter() - start - (_spent(prepared) - before)
    if done.failed:
        reason = next((one.why for one in small.results().failures), "")
        raise StudyError(Note.of("pilot-failed", count=done.failed, reason=reason, folder=prepared.folder))
    if done.ran and not done.interrupted:
        with Ledger(prepared.folder / LEDGER) as ledger:
            ledger.keep_about(**{LOADING: f"{max(0.0, loading):.3f}"})
    return done


def _spent(prepared: Prepared) -> float:
    """Add up what the cells of a run took so far."""
    if not is_filled(prepared.folder / LEDGER):
        return 0.0
    with Ledger(prepared.folder / LEDGER) as ledger:
        return sum(cost.seconds for kind in ("adapt", "train") for *_, cost in ledger.costs(kind))
