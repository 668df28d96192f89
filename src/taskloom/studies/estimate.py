"""How long cells will take, from what cells like them took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..episodes import Shots
from .cells import Cell
from .costs import Cost

Likeness: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a finished cell took, and of which kind it was."""

    learner: str
    task: str
    shots: Shots
    cost: Cost


def expected_seconds(cells: Sequence[Cell], spent: Iterable[Spent], items: int) -> float | None:
    """Add up what cells will take, each asking about so many items; None where a learner was never run.

    Cells of the same learner, task and shots are the best guide, then those of the same learner and shots, then any of
    the learner. Cells that asked about as many items count as they are; where there are only trials, they are scaled.
    """
    likes: dict[Likeness, list[Cost]] = defaultdict(list)
    for one in spent:
        for likeness in _likenesses(one.learner, one.task, one.shots):
            likes[likeness].append(one.cost)
    total = 0.0
    for cell in {cell.id: cell for cell in reversed(cells)}.values():  # of learners that are equal, the first is run
        known = next((likes[like] for like in _likenesses(cell.learner, cell.task, cell.shots) if like in likes), None)
        if known is None:
            return None
        total += _mean(known, cell.limit or items)
    return total


def _likenesses(learner: str, task: str, shots: Shots) -> tuple[Likeness, ...]:
    return (learner, task, shots), (learner, shots), (learner,)


def _mean(costs: Sequence[Cost], items: int) -> float:
    items = items if items > 0 else max(cost.items for cost in costs)  # all there are: as many as there were
    nearest = min((abs(cost.items - items) for cost in costs), default=0)
    alike = [cost for cost in costs if abs(cost.items - items) == nearest]
    return sum(cost.seconds * _scale(cost, items) for cost in alike) / len(alike)


def _scale(cost: Cost, items: int) -> float:
    """Say how much more a cell with more items takes; what its prompts share is computed once however many they are."""
    if not cost.items or cost.items >= items:
        return 1.0
    if cost.items == 1 or not cost.computed:
        return items / cost.items
    shared = max(0.0, (cost.read + cost.written - cost.computed) / (cost.items - 1))
    own = max(0.0, cost.computed - shared) / cost.items
    return (shared + items * own) / (shared + cost.items * own)
