"""The tools of a cell: what a learner gets by name, and what is counted and timed on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..core import Item, Store, Stored
from ..errors import LearnerError, UnknownNameError
from ..messages import Note
from ..models import Array, KeptVectors, LanguageModel, Lesson, TextPair, Trainable, TrainableEncoder
from ..models.recipe import Learnt, Recipe, Watch
from ..priors import Prior
from . import Predictor, Response


def _no_model(name: str) -> Any:
    raise LearnerError(f"no model was made ready: {name!r}")


def _no_words() -> Mapping[str, int]:
    raise LearnerError(Note.of("words-missing"))


def _no_prior(field: str) -> Prior:  # noqa: ARG001
    raise LearnerError(Note.of("prior-missing"))


def _no_answers(fitted: Predictor, items: Sequence[Item]) -> list[Response]:  # noqa: ARG001
    raise LearnerError("answers can be looked at only while a learner is fitted")


@dataclass(slots=True)
class Toolbox:
    """Tools that count and train, and give the models that were made ready, the documents of a suite and its pools."""

    counts: dict[str, int]
    models: Callable[[str], LanguageModel] = _no_model
    fitting: float = 0.0  # seconds that learners took to adapt, without looks
    looking: float = 0.0  # seconds that looks took
    stores: Mapping[str, Store] = field(default_factory=dict)
    priors: Callable[[str], Prior] = _no_prior  # of each field; "" where a task has none
    part: str = ""  # the field that is being answered
    watch: Watch = field(default_factory=Watch)  # checkpoints, progress, and the steps at which answers are looked at
    learnt: list[Learnt] = field(default_factory=list)
    looked: dict[str, list[Response]] = field(default_factory=dict)  # by set and step, as in "query@100"
    asked: Mapping[str, Sequence[Item]] = field(default_factory=dict)  # the sets that can be looked at
    answers: Callable[[Predictor, Sequence[Item]], list[Response]] = _no_answers
    held: ExitStack = field(default_factory=ExitStack)  # models that are trained for the time of a cell
    encoders: Callable[[str], KeptVectors] = _no_model
    encoding: float = 0.0  # seconds that encoding took of what is kept for all
    changed: set[str] = field(default_factory=set)  # encoders that are trained for the time of a cell
    words: Callable[[], Mapping[str, int]] = _no_words  # of the pool that support is drawn from

    def model(self, name: str) -> LanguageModel:
        """Give a model."""
        return self.models(name)

    @property
    def apart(self) -> float:
        """Give the seconds that are no part of what adapting takes."""
        return self.looking + self.encoding

    def vectors(self, model: str, texts: Sequence[str], form: str = "", ids: Sequence[str] = ()) -> Array:
        """Encode texts, by a cache unless the encoder was changed in this cell."""
        of = self.encoders(model)
        if of.by_id and len(ids) != len(texts):
            raise LearnerError(Note.of("document-ids-needed", model=model))
        given = ids if of.by_id else texts
        distinct = list(dict.fromkeys(given))
        before = of.encoding
        found, cut = (of.encoder if model in self.changed else of).take(distinct, form)
        self.encoding += of.encoding - before
        if beyond := sum(map(bool, cut)):
            self.count("text-cut", beyond)
        places = {one: place for place, one in enumerate(distinct)}
        return found[[places[one] for one in given]]

    def forms(self, model: str) -> tuple[str, ...]:
        """Name the forms of an encoder."""
        return self.encoders(model).forms

    def stored(self, store: str, ids: Sequence[str]) -> list[Stored]:
        """Read documents."""
        if store not in self.stores:
            raise UnknownNameError("store", store, self.stores)
        return self.stores[store].take(ids)

    def prior(self, field: str = "") -> Prior:
        """Count gold answers."""
        return self.priors(field or self.part)

    def word_counts(self) -> Mapping[str, int]:
        """Count words."""
        return self.words()

    def train(
        self, model: str, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int,
        words: str = "", predictor: Predictor | None = None,
    ) -> None:  # fmt: skip
        """Train a model until the cell ends."""
        looks = self.watch.looks if predictor and not self.part else frozenset[int]()  # of whole answers
        watch = replace(self._watched(), looks=looks, look=lambda step: self._look(step, predictor))
        trained = cast(Trainable, self.model(model)).tuned(
            lessons, how, dev=dev, seed=seed, words=words, watch=watch
        )  # fmt: skip
        learnt = self._held(trained)
        if missed := sum(step > learnt.steps for step in looks):
            self.count("look-not-reached", missed)

    def train_encoder(self, model: str, pairs: Sequence[TextPair], how: Recipe, *, seed: int) -> None:
        """Train an encoder until the cell ends."""
        encoder = cast(TrainableEncoder, self.encoders(model).encoder)
        self._held(encoder.tuned(pairs, how, seed=seed, watch=replace(self._watched(), looks=frozenset())))
        self.changed.add(model)

    def _watched(self) -> Watch:
        """Give what goes on beside the next training of the cell, with a folder of its own for checkpoints."""
        return replace(self.watch, keep=self.watch.keep / str(len(self.learnt)) if self.watch.keep else None)

    def _held(self, trained: AbstractContextManager[Learnt]) -> Learnt:
        """Train, and hold what that gives until the cell ends."""
        learnt = self.held.enter_context(trained)
        self.learnt.append(learnt)
        for code, count in learnt.counts.items():
            if count:
                self.count(code, count)
        return learnt

    def let_go(self) -> None:
        """Make models what they were before the cell has trained them."""
        self.held.close()
        self.changed.clear()

    def _look(self, step: int, predictor: Predictor | None) -> None:
        """Ask about the support and the query set as they stand; what is counted on the way is not."""
        assert predictor is not None
        counts, start = dict(self.counts), time.perf_counter()
        for name, items in self.asked.items():
            self.looked[f"{name}@{step}"] = self.answers(predictor, items)
        self.counts.clear()
        self.counts.update(counts)
        self.looking += time.perf_counter() - start

    def count(self, what: str, n: int = 1) -> None:
        """Add to a count."""
        self.counts[what] = self.counts.get(what, 0) + n
