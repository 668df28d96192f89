"""Models that start without weights, `new:FAMILY-SIZE`: a study pre-trains them on texts, and then on what it likes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from ..errors import ModelError
from ..ids import Json
from ..messages import Note
from ..progress import Progress
from . import Ability, LanguageModel, Lesson, Measure, new
from .corpus import Corpus
from .load import Weights, need_torch
from .pretrain import Pretraining, usual_recipe
from .recipe import Learnt, Recipe, Watch
from .trained import Trained


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """An architecture, which becomes a model when it is pre-trained."""

    load: str

    def __post_init__(self) -> None:
        new.family_of(self.load)  # refuses what is none

    @property
    def can(self) -> frozenset[Ability]:
        """Be trained, and nothing else until then."""
        return frozenset({"train"})

    def lacks(self) -> Sequence[Note]:
        """Lack nothing: weights are drawn."""
        return ()

    def identity(self) -> Json:
        """Name the architecture."""
        return self.load

    def get(self, progress: Progress | None = None) -> None:
        """Fetch nothing."""

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:  # noqa: ARG002 (as all sources)
        """Refuse: there are no weights."""
        raise ModelError(Note.of("weights-not-drawn", model=self.load))

    def measure(self) -> Measure:
        """Refuse: there is no tokenizer."""
        raise ModelError(Note.of("weights-not-drawn", model=self.load))

    def open_trained(self, run: Path, added: Sequence[Path], *, workers: int = 1) -> LanguageModel:
        """Load what pre-training made, and add what was trained after it."""
        return _made(added).open_trained(run, added[1:], workers=workers)

    def train(
        self, lessons: Sequence[Lesson], added: Sequence[Path], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int,
        folder: Path, watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Train what pre-training made on lessons."""
        return _made(added).train(lessons, added[1:], how, dev=dev, seed=seed, folder=folder, watch=watch)

    def pretrain(self, texts: Corpus, how: Trained, *, seed: int, folder: Path, watch: Watch) -> Learnt:
        """Make tokenizer and weights of texts, and write an ordinary model into a folder."""
        need_torch()
        from .pretrained_net import make

        assert watch.keep is not None
        about = make(pretraining(self.load, how, seed), texts, watch.keep, watch.note)
        for made in (watch.keep / "model").iterdir():
            shutil.move(made, folder / made.name)
        losses = tuple((int(step), float(loss)) for step, loss in about["losses"])
        return Learnt(
            steps=about["steps"], tokens=about["tokens"], parameters=about["parameters"], losses=losses,
            threads=about["threads"],
        )  # fmt: skip


def _made(added: Sequence[Path]) -> Weights:
    """Give the model that pre-training made."""
    return Weights(load=f"path:{added[0]}")


def pretraining(model: str, how: Trained, seed: int = 0) -> Pretraining:
    """Give the settings of pre-training in a study; of its recipe, what is not set is usual for the model."""
    usual = Recipe()
    chosen = {f.name: value for f in fields(Recipe) if (value := getattr(how, f.name)) != getattr(usual, f.name)}
    return Pretraining(
        model=model, objective=how.objective, tokenizer=how.tokenizer, vocabulary=how.vocabulary, length=how.length,
        seed=seed, how=usual_recipe(model, **chosen),
    )  # fmt: skip
