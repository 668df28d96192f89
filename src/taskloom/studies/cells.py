"""The cells of a study: each a unit of work, named by the content of all that determines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any, Literal, TypeAlias

from ..core import Suite, Task
from ..episodes import Shots, draw_id
from ..ids import Json, canonical, fingerprint
from ..learners import Learner, can_do, identity, shown
from ..messages import Note
from ..models.load import Source
from ..models.trained import Trained
from .study import Study
from .training import Training, TrainingError

VERSION = 2  # of the way a cell is run: raise it when the same cell gives other answers
Uses: TypeAlias = tuple[tuple[str, str], ...]  # models that were trained, the base first -> the cells that made them


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One learner on one episode of one task; or a model that is trained, for the first task that asks for it.

    `limit` marks a trial that asks about fewer items.
    """

    id: str
    key: str = field(repr=False)  # what names it, as JSON
    task: str
    learner: str  # or the model that is trained
    shots: Shots = 0
    seed: int = 0  # of the draw
    index: int = 0  # of the episode
    training: int = 0  # the seed of all that is learnt
    kind: Literal["adapt", "train"] = "adapt"
    draw: str = ""  # the id of the draw, or of the rows that are taught
    fold: str = ""  # that a model is trained in
    uses: Uses = ()
    limit: int = 0
    threads: int = 0  # to train with, where what was trained is lost and made again: others give other weights


def bases(models: Mapping[str, Source | Trained], name: str) -> tuple[str, ...]:
    """Give the models that a model is trained from, the first base first, and itself; a circle ends where it began."""
    found = [name]
    while isinstance(of := models.get(found[0]), Trained) and of.train not in found:
        found.insert(0, of.train)
    return tuple(found)


class Naming:
    """Names the cells of a study."""

    def __init__(
        self,
        *,
        study: Study,
        suite: Suite,
        models: Mapping[str, Source | Trained],
        ids: Mapping[str, Json],
        drawable: Mapping[str, frozenset[Shots]],
        limit: int,
        skipped: Counter[Note],
    ) -> None:
        self.drawable = drawable  # by task: the settings that have enough examples
        self.study, self.suite, self.models, self.ids = study, suite, models, ids
        self.limit, self.skipped = limit, skipped
        self.digest = cache(suite.digest)
        self.training = Training(suite, study, limit)
        self.trained: set[str] = set()  # cells that train a model, and were named

    def cells(self, parts: Mapping[str, Mapping[str, Learner]]) -> Iterator[Cell]:
        """Name the cells of learners whose models are named, those of one episode after each other.

        Cells that train a model come before the first that uses it.
        """
        for task, part in parts.items():
            known = {name: of for name, of in part.items() if all(self._is_named(model) for model in of.models)}
            able = self._able(known, self.suite.tasks[task])
            protocol = self.study.protocol.of(task)
            for shots in protocol.shots:
                if shots not in self.drawable[task]:
                    continue
                fit, draws = self._fit(able, self.suite.tasks[task], shots), protocol.drawing(shots)
                for seed, (nth, index) in product(protocol.seeds, enumerate(protocol.episodes(shots))):
                    drawn = draw_id(self.suite, task, draws, seed=seed, index=index)
                    where = {"task": task, "shots": shots, "seed": seed, "index": index, "draw": drawn}
                    for name in self._taking(fit, nth):
                        seeds = (protocol.training or (seed,))[: self.study.learners[name].training or None]
                        for training in seeds:
                            yield from self._cells(name, able[name], {**where, "training": training})

    def _is_named(self, model: str) -> bool:
        return bases(self.models, model)[0] in self.ids

    def _cells(self, name: str, of: Learner, where: Mapping[str, Any]) -> Iterator[Cell]:
        """Name a cell, and those before it that train its models."""
        task, training = where["task"], where["training"]
        chains = {model: self._chain(model, task, where["seed"], training) for model in of.models}
        if any(isinstance(self.models[model], Trained) and not chain for model, chain in chains.items()):
            return  # there is nothing to train it on, which was noted
        before = {cell.id: cell for chain in chains.values() for cell in chain}
        yield from (cell for cell in before.values() if cell.id not in self.trained)
        self.trained |= before.keys()
        uses = tuple((cell.learner, cell.id) for cell in before.values())
        fold = next((cell.fold for cell in reversed(before.values()) if cell.fold), "")
        looks = self.study.protocol.of(task).looks if of.looks and where["shots"] != 0 else ()
        key = {
            "kind": "adapt",
            "version": VERSION,
            "task": self.digest(task),
            "draw": where["draw"],
            "learner": identity(of, {**self.ids, **{model: {"trained": id_} for model, id_ in uses}}),
            "seed": training,
            **self._more(of, self.suite.tasks[task], looks),
        }
        yield _cell(key, learner=name, uses=uses, fold=fold, limit=self.limit, **where)

    def _chain(self, model: str, task: str, seed: int, training: int) -> list[Cell]:
        """Name the cells that make a trained model, its bases first; none where it can't be trained for a task."""
        made: list[Cell] = []
        for name in bases(self.models, model)[1:]:
            of = self.models[name]
            assert isinstance(of, Trained)
            try:
                taught = self.training.taught(name, of, task, seed)
            except TrainingError as error:
                self.skipped[error.note] += 1
                return []
            base: Json = {"trained": made[-1].id} if made else self.ids[of.train]
            key = {"kind": "train", "version": VERSION, "base": base, "seed": training, **taught.key}
            uses = tuple((cell.learner, cell.id) for cell in made)
            where = {"task": task, "seed": seed, "training": training, "draw": taught.id, "fold": taught.fold}
            made.append(_cell(key, kind="train", learner=name, uses=uses, limit=self.limit, **where))
        return made

    def _able(self, learners: Mapping[str, Learner], task: Task) -> dict[str, Learner]:
        """Keep the learners that can answer a task from examples, and count the others."""
        able = {name: of for name, of in learners.items() if can_do(of, task)}
        for name in learners:
            if name not in able:
                self.skipped[Note.of("output-unsupported", learner=name, kind=task.output.kind)] += 1
        return able

    def _fit(self, learners: Mapping[str, Learner], task: Task, shots: Shots) -> list[str]:
        """Keep the learners that can answer with so many shots, and count those that should and can't."""
        here = [name for name in learners if shots in (self.study.learners[name].shots or [shots])]
        fit = [name for name in here if can_do(learners[name], task, unaided=shots == 0)]
        for name in here:
            if name not in fit:
                self.skipped[Note.of("examples-needed", learner=name, kind=task.output.kind)] += 1
        return fit

    def _taking(self, learners: Sequence[str], nth: int) -> list[str]:
        """Keep the learners that take part in the nth episode of a setting."""
        return [name for name in learners if nth < (self.study.learners[name].episodes or nth + 1)]

    def _more(self, of: Learner, task: Task, looks: Sequence[int]) -> dict[str, Json]:
        """Give what names only some cells, so that it makes no others stale: a trial's limit, looks, what is shown."""
        found: dict[str, Json] = {"limit": self.limit} if self.limit else {}
        found |= {"looks": sorted(looks)} if looks else {}
        told = shown(of, task)
        return found | ({"shown": told} if told else {})


def _cell(key: Mapping[str, Json], **where: Any) -> Cell:
    """Make a cell that is named by its key."""
    return Cell(id=fingerprint("cell", key), key=canonical(key), **where)
