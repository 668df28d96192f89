"""Models that start without weights, `new:FAMILY-SIZE`: a study pre-trains them on texts, and then on what it likes."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import ClassVar

from ..errors import ModelError
from ..ids import Json
from ..messages import Note
from ..progress import Progress
from . import Ability, Encoder, LanguageModel, Lesson, Measure, new
from .corpus import Corpus
from .fetched import need_torch
from .load import Weights
from .pretrain import VERSION, Pretraining, usual_rate
from .recipe import Learnt, Recipe, Watch, recipe_of
from .telling import forms_told
from .trained import Trained


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """An architecture, which becomes a model when it is pre-trained."""

    load: str
    vector_dtype: ClassVar[str] = "float32"

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
        """Name the architecture, with what is usual for it."""
        return {"new": self.load, "version": VERSION, "rate": usual_rate(self.load), **asdict(new.size_of(self.load))}

    def parameters(self) -> None:
        """Say nothing: it depends on the vocabulary, which pre-training makes."""

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

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:
        """Have none, but for those that training adds."""
        return forms_told(added)

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:
        """Load what pre-training made for its vectors."""
        if not added:
            raise ModelError(Note.of("weights-not-drawn", model=self.load))
        return _made(added).open_encoder(run, added[1:], workers=workers)

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
        about, learnt = make(pretraining(self.load, how, seed), texts, watch.keep, watch)
        for made in (watch.keep / "model").iterdir():
            shutil.move(made, folder / made.name)
        perplexity = (about["perplexity"]["before"], about["perplexity"]["after"])
        steps = (0, learnt.steps)
        losses = [(step, math.log(value)) for step, value in zip(steps, perplexity, strict=True) if value]
        return replace(learnt, validation=tuple(losses))


def _made(added: Sequence[Path]) -> Weights:
    """Give the model that pre-training made."""
    return Weights(load=f"path:{added[0]}")


def pretraining(model: str, how: Trained, seed: int = 0) -> Pretraining:
    """Give the settings of pre-training in a study; the learning rate is the usual one unless it is set."""
    recipe = replace(recipe_of(how), lr=usual_rate(model) if how.lr is None else how.lr)
    return Pretraining(
        model=model, objective=how.objective, tokenizer=how.tokenizer, vocabulary=how.vocabulary, length=how.length,
        seed=seed, how=recipe,
    )  # fmt: skip
