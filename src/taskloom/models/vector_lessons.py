"""What an encoder learns vectors from: tasks with labels, numbers, or triplets of texts; data alone, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..errors import ModelError
from ..ids import canonical, shuffled
from ..messages import Note
from . import Array, Encoder, KeptVectors, Usage
from .weight_files import read_learnt

Loss: TypeAlias = Literal["class", "labels", "number", "triplet"]
GROUPS = "groups.json"  # in the folder of an encoder that was trained with groups of tasks other than formats


@dataclass(frozen=True, slots=True)
class VectorLesson:
    """A text with what its vector should tell; or a query, a candidate, and one that should be further away."""

    texts: tuple[str, ...]
    target: tuple[float, ...] = ()  # the place of a class, those of labels, or a number; none of a triplet


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTask:
    """The lessons of a task, and the forms of its texts: of what is asked about, and of candidates."""

    name: str
    loss: Loss
    forms: tuple[str, str]
    size: int = 1  # outputs of its head
    lessons: tuple[VectorLesson, ...]
    dev: tuple[VectorLesson, ...] = ()  # that are held out for early stopping


class EqualOrder:
    """Which lessons are in which step: equally many of each task; those of smaller tasks come again.

    An epoch has each lesson of the largest task once. The order is drawn for each pass over a task.

    >>> order = EqualOrder([2, 4], batch=4, seed=0)
    >>> order.epoch, [sorted(own) for own in order.rows(0)][0]
    (2, [0, 1])
    """

    def __init__(self, sizes: Sequence[int], *, batch: int, seed: int) -> None:
        if batch < len(sizes):
            raise ModelError(Note.of("batch-below-tasks", batch=batch, tasks=len(sizes)))
        self.sizes, self.seed = sizes, seed
        self.each = min(batch // len(sizes), max(sizes))  # a step has no lesson of the largest task twice
        self.passes: dict[int, tuple[int, list[int]]] = {}  # by task: the pass that was asked for last

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch."""
        return -(-max(self.sizes) // self.each)

    def rows(self, step: int) -> list[list[int]]:
        """Give the lessons of a step, task by task."""
        places = range(step * self.each, (step + 1) * self.each)
        return [[self._row(task, *divmod(at, size)) for at in places] for task, size in enumerate(self.sizes)]

    def _row(self, task: int, number: int, place: int) -> int:
        if self.passes.get(task, (-1, []))[0] != number:
            self.passes[task] = number, list(shuffled(self.sizes[task], "vector lessons", self.seed, task, number))
        return self.passes[task][1][place]


# --- groups of tasks -------------------------------------------------------------------------------------------------


def random_groups(tasks: Sequence[str], count: int, *, seed: int) -> dict[str, str]:
    """Part tasks into so many groups at random, as equal as can be, each with a name.

    >>> sorted(random_groups(["a", "b", "c"], 2, seed=0).values())
    ['group1', 'group1', 'group2']
    """
    order = shuffled(len(tasks), "groups of tasks", seed)
    return {tasks[task]: f"group{place % count + 1}" for place, task in enumerate(order)}


def groups_of_formats(groups: Mapping[str, str], formats: Mapping[str, str]) -> dict[str, str]:
    """Give each format the group with most of its tasks, of equal ones the first: for tasks that were not trained on.

    >>> groups_of_formats({"a": "group1", "b": "group2", "c": "group2"}, {"a": "CLF", "b": "CLF", "c": "CLF"})
    {'CLF': 'group2'}
    """
    found: dict[str, list[str]] = {}
    for task, group in sorted(groups.items()):
        found.setdefault(formats[task], []).append(group)
    return {name: min(own, key=lambda group: (-own.count(group), group)) for name, own in found.items()}


def write_groups(groups: Mapping[str, str], folder: Path) -> None:
    """Keep which form the vectors of a task, or of a format of tasks, have."""
    (folder / GROUPS).write_text(canonical(dict(groups)), encoding="utf-8")


def groups_in(folders: Sequence[Path]) -> dict[str, str]:
    """Read the groups of an encoder's tasks, from what was added to it last; none where formats are its groups."""
    path = folders[-1] / GROUPS if folders else None
    if path is None or not path.is_file():
        return {}
    return read_learnt(path, lambda kept: {str(task): str(form) for task, form in kept.items()})


class GroupedVectors:
    """The vectors of an encoder whose forms are groups of tasks: asked for by the name of a task, or of a format."""

    by_id = False

    def __init__(self, of: KeptVectors, groups: Mapping[str, str]) -> None:
        self.of, self.groups = of, groups
        self.forms = (*groups, *of.forms)

    @property
    def encoding(self) -> float:
        """Say how many seconds encoding took so far."""
        return self.of.encoding

    @property
    def encoder(self) -> Encoder:
        """Give the encoder itself."""
        return self.of.encoder

    @property
    def usage(self) -> Usage:
        """Say what the encoder was used for."""
        return self.of.usage

    def take(self, given: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give the vector of each text in the form of its group."""
        return self.of.take(given, self.groups.get(form, form))
