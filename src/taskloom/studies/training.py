"""What models of a study are trained on: the train tasks of the fold that asks about a task, apart from its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..core import Suite, declared
from ..episodes import DRAWN, Deck, Shots, groups_of
from ..errors import EpisodeError, StudyError, TaskloomError
from ..ids import Json, fingerprint
from ..lessons import lessons_of, taught_rows
from ..messages import Note
from ..models import Lesson
from ..models.trained import Trained
from .study import StudyProtocol, chosen_tasks


class TrainingError(TaskloomError):
    """A model that can't be trained for a task, and is skipped there."""


@dataclass(frozen=True, slots=True)
class Taught:
    """The rows of tasks that a model is trained on, and the fold they are of."""

    fold: str
    rows: Mapping[str, tuple[int, ...]]
    key: Mapping[str, Json]  # what it adds to the name of a cell

    @property
    def id(self) -> str:
        """Name what is taught by its content."""
        return fingerprint("taught", self.key)


class Training:
    """Draws what models are trained on; what several targets share is drawn once."""

    def __init__(self, suite: Suite, protocol: StudyProtocol, limit: int = 0) -> None:
        self.suite, self.protocol, self.limit = suite, protocol, limit
        self.avoided: dict[tuple[str, int], frozenset[int]] = {}
        self.rows: dict[tuple[Any, ...], tuple[int, ...]] = {}

    def taught(self, model: str, of: Trained, target: str, seed: int) -> Taught:
        """Choose what a model is trained on for a task that will be asked about, by the seed of its draws."""
        fold, tasks = self._tasks(model, of, target)
        avoid = self._avoided(target, seed)
        rows = {task: self._rows(task, of, seed, avoid) for task in tasks}
        content: list[Json] = [[self.suite.digest(task), list(chosen)] for task, chosen in rows.items()]
        about = {name: value for name, value in declared(of).items() if name not in ("train", "tasks", "folds", "most")}
        key: dict[str, Json] = {"set": about, "taught": fingerprint(content)}
        return Taught(fold, rows, key | ({"limit": self.limit} if self.limit else {}))

    def lessons(self, of: Trained, taught: Taught, seed: int) -> list[Lesson]:
        """Read what is taught as lessons, task after task."""
        return [
            lesson
            for task, rows in taught.rows.items()
            for lesson in lessons_of(self.suite, task, rows, how=of.encoding, seed=seed)
        ]

    def _tasks(self, model: str, of: Trained, target: str) -> tuple[str, list[str]]:
        """Find the one fold that asks about the target, and its tasks; tasks that are named alone need no fold."""
        roles = [text.removeprefix("@") for text in of.tasks if text.startswith("@") and text not in self.suite.tasks]
        plain = [text for text in of.tasks if text.removeprefix("@") not in roles]
        names = chosen_tasks(list(self.suite.tasks), plain) if plain else []
        if not roles:
            return "", names
        folds = [name for name in self.suite.folds_with(target) if any(fnmatchcase(name, text) for text in of.folds)]
        if not folds:
            raise TrainingError(Note.of("no-fold", model=model, task=target))
        if len(folds) > 1:
            told = ", ".join(folds)
            raise StudyError(f"model {model!r}: several of its folds ask about task {target!r}; name one of: {told}")
        found = [name for role in roles for name in self.suite.folds[folds[0]].get(role, ())]
        if not found:
            raise TrainingError(Note.of("nothing-to-train-on", model=model, task=target, fold=folds[0]))
        return folds[0], [name for name in self.suite.tasks if name in {*found, *names}]

    def _avoided(self, target: str, seed: int) -> frozenset[int]:
        """Give the records of all episodes of the target with this seed, at its largest number of shots."""
        if (target, seed) not in self.avoided:
            protocol = self.protocol.of(target)
            deck, shots = Deck(self.suite, target), _largest(protocol.shots)
            draws = (
                deck.draw(protocol.drawing(shots), seed=seed, index=n) for n in range(max(protocol.shots.values()))
            )
            try:
                found = frozenset(group for drawn in draws for group in groups_of(self.suite, drawn))
            except EpisodeError:
                found = frozenset()  # the target itself is skipped
            self.avoided[target, seed] = found
        return self.avoided[target, seed]

    def _rows(self, task: str, of: Trained, seed: int, avoid: frozenset[int]) -> tuple[int, ...]:
        near = avoid & self._groups(task)
        key = (task, of.most, seed, near)
        if key not in self.rows:
            found = taught_rows(self.suite, task, most=of.most, seed=seed, avoid=near)
            self.rows[key] = found[: self.limit] if self.limit else found
        return self.rows[key]

    def _groups(self, task: str) -> frozenset[int]:
        key = ("groups", task)
        if key not in self.rows:
            pools = self.suite.pools[task].values()
            self.rows[key] = tuple({int(group) for pool in pools for group in pool.groups()})
        return frozenset(self.rows[key])


def _largest(settings: Mapping[Shots, int]) -> Shots:
    """Give the setting that takes most records; `all` takes what dev and query leave, and has these in common."""
    numbers = [shots for shots in settings if isinstance(shots, int)]
    return DRAWN if DRAWN in settings and not numbers else max(numbers, default=0)
