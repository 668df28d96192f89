"""How long cells will take, from what cells like them took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..episodes import Shots
from ..sample_sizes import EpisodeCosts
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


def expected_seconds(
    cells: Sequence[Cell], spent: Iterable[Spent], items: int, asked: Mapping[tuple[str, Shots], int] | None = None
) -> float | None:
    """Add up what cells will take, each asking about so many items; None where a learner was never run.

    Where it is known, how many are `asked` about differs by task and shots.
    Cells of the same learner, task and shots are the best guide, then those of the same learner and shots, then any of
    the learner. Cells that asked about as many items count as they are; where there are only trials, they are scaled.
    """
    likes = by_likeness(spent)
    total = 0.0
    for cell in {cell.id: cell for cell in reversed(cells)}.values():  # of learners that are equal, the first is run
        known = most_alike(likes, cell.learner, cell.task, cell.shots)
        if not known:
            return None
        total += _mean(known, cell.limit or (asked or {}).get((cell.task, cell.shots), items))
    return total


def by_likeness(spent: Iterable[Spent]) -> dict[Likeness, list[Cost]]:
    """Gather costs by what their cells have in common."""
    found: dict[Likeness, list[Cost]] = defaultdict(list)
    for one in spent:
        for likeness in _likenesses(one.learner, one.task, one.shots):
            found[likeness].append(one.cost)
    return found


def most_alike(likes: Mapping[Likeness, list[Cost]], learner: str, task: str, shots: Shots) -> list[Cost]:
    """Give the costs of the cells that are most alike; none of a learner that was never run."""
    return next((likes[like] for like in _likenesses(learner, task, shots) if like in likes), [])


def _likenesses(learner: str, task: str, shots: Shots) -> tuple[Likeness, ...]:
    return (learner, task, shots), (learner, shots), (learner,)


def _mean(costs: Sequence[Cost], items: int) -> float:
    items = items if items > 0 else max(cost.items for cost in costs)  # all there are: as many as there were
    nearest = min((abs(cost.items - items) for cost in costs), default=0)
    alike = [cost for cost in costs if abs(cost.items - items) == nearest]
    return sum(_seconds(cost, items) for cost in alike) / len(alike)


def _seconds(cost: Cost, items: int) -> float:
    """Say what a cell with more items takes; one with fewer takes as much."""
    if not cost.items or cost.items >= items:
        return cost.seconds
    parts = split_cost(cost)
    return parts.fit + items * parts.item


def split_cost(cost: Cost) -> EpisodeCosts:
    """Split what a cell took: adapting, and what prompts share, are done once however many items there are."""
    asking = max(0.0, cost.seconds - cost.fitting)
    if not cost.items:
        return EpisodeCosts(cost.seconds, 0.0)
    shared = own = 0.0
    if cost.items > 1 and cost.computed:
        shared = max(0.0, (cost.read + cost.written - cost.computed) / (cost.items - 1))
        own = max(0.0, cost.computed - shared) / cost.items
    once = asking * shared / (shared + cost.items * own) if shared else 0.0
    return EpisodeCosts(cost.seconds - asking + once, (asking - once) / cost.items)
