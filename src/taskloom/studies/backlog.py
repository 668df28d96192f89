"""Cells that wait for a worker of a cluster: each goes, if possible, to one that holds its models already."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..learners import Learner
from ..models.load import Source
from ..models.trained import Trained
from .cells import Cell, bases
from .resources import Resources, resources_of
from .study import Study
from .work import MOST_OPEN

Models: TypeAlias = tuple[str, ...]  # that a cell opens: by name, and by the cells that trained them


@dataclass(frozen=True, slots=True)
class Needs:
    """Says what cells of a plan need."""

    study: Study
    learners: Mapping[str, Learner]
    models: Mapping[str, Source | Trained]

    def chain(self, cell: Cell) -> tuple[str, ...]:
        """Name all models that a cell has to do with, the bases of trained ones included."""
        named = (cell.learner,) if cell.kind == "train" else self.learners[cell.learner].models
        return tuple(dict.fromkeys(base for name in named for base in bases(self.models, name)))

    def opened(self, cell: Cell) -> Models:
        """Name the models that stay open after a cell; one that is being trained does not."""
        if cell.kind == "train":
            return ()
        return (*self.learners[cell.learner].models, *(id_ for _, id_ in cell.uses))

    def resources(self, cell: Cell) -> Resources:
        """Give what is declared beside the learner and its models: the most of each."""
        own = self.study.learners[cell.learner].resources if cell.kind == "adapt" else None
        declared = [own, *(resources_of(self.study.models.get(name, {})) for name in self.chain(cell))]
        found = [one for one in declared if one is not None] or [Resources()]
        for other in found[1:]:
            found[0] = found[0].together(other)
        return found[0]


@dataclass(slots=True)
class Holding:
    """The models that a worker holds: all that nothing has trained, and of the others the last few."""

    models: set[str] = field(default_factory=set)
    trained: deque[Models] = field(default_factory=lambda: deque(maxlen=MOST_OPEN))

    def has(self, models: Models) -> bool:
        """Tell whether a worker holds all of these."""
        return not models or models in self.trained or (models[0] in self.models and len(models) == 1)

    def add(self, models: Models) -> None:
        """Note what a worker opens."""
        if len(models) == 1:
            self.models.add(models[0])
        elif models:
            self.trained.append(models)


class Backlog:
    """Cells in order, by what they take and the models that they open."""

    def __init__(self) -> None:
        self.cells: dict[tuple[Resources, Models], deque[Cell]] = {}

    def __len__(self) -> int:
        return sum(map(len, self.cells.values()))

    def add(self, cell: Cell, resources: Resources, models: Models, *, first: bool = False) -> None:
        """Put a cell last, or first where it was taken before."""
        line = self.cells.setdefault((resources, models), deque())
        (line.appendleft if first else line.append)(cell)

    def counts(self) -> dict[Resources, int]:
        """Count the cells by what they take."""
        found: dict[Resources, int] = {}
        for (resources, _), line in self.cells.items():
            found[resources] = found.get(resources, 0) + len(line)
        return found

    def take(
        self, resources: Resources, own: Holding, others: Collection[Holding], *, idle: bool
    ) -> tuple[Cell, Models] | None:
        """Choose a cell for a worker: one whose models it holds, or which no other does; if idle, any that fits it."""
        lines = [line for line in self.cells if line[0] == resources]
        spare = [line for line in self.cells if idle and resources.covers(line[0])]
        held = (line for line in lines if own.has(line[1]))
        free = (line for line in lines if not any(other.has(line[1]) for other in others))
        chosen = next(itertools.chain(held, free, spare), None)
        return None if chosen is None else (self._pop(chosen), chosen[1])

    def _pop(self, chosen: tuple[Resources, Models]) -> Cell:
        line = self.cells[chosen]
        cell = line.popleft()
        if not line:
            del self.cells[chosen]
        return cell

    def clear(self) -> list[Cell]:
        """Give up all cells."""
        found = [cell for line in self.cells.values() for cell in line]
        self.cells.clear()
        return found
