"""A language model trained on lessons: for the time of a cell, or for good, with what changes kept in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import Lesson
from .adaptations import Adaptation, apply, attach, save
from .causal import Causal
from .objectives import AnswerObjective, Pair, PairObjective
from .recipe import Learnt, Recipe, Watch
from .train import train

if TYPE_CHECKING:
    from .lm import LM

DEV_BATCH = 16


@contextmanager
def tuned(
    lm: LM,
    lessons: Sequence[Lesson],
    how: Recipe,
    *,
    dev: Sequence[Lesson] = (),
    seed: int,
    words: str = "",
    watch: Watch,
) -> Iterator[Learnt]:
    """Train a model on lessons; at the end of the context it is what it was before."""
    added = attached(lm, how, seed=seed, words=words)
    try:
        yield _learn(lm, added, lessons, how, dev=dev, seed=seed, watch=watch)
    finally:
        added.remove()
        lm.virtual = lm.virtual[len(added.virtual) :]
        lm.forget()


def train_for_good(
    lm: LM, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson], seed: int, folder: Path, watch: Watch
) -> Learnt:
    """Train a model on lessons, and write what changes into a folder."""
    added = attached(lm, how, seed=seed, words=lessons[0].prompt, restore=False)
    found = _learn(lm, added, lessons, how, dev=dev, seed=seed, watch=watch)
    save(added, how, folder)
    return found


def add(lm: LM, folder: Path) -> None:
    """Add what training has changed, as it was kept in a folder."""
    added = apply(lm.net, folder)
    lm.virtual = (*added.virtual, *lm.virtual)
    lm.forget()


def attached(lm: LM, how: Recipe, *, seed: int, words: str = "", restore: bool = True) -> Adaptation:
    """Attach what is trained; soft prompts stand before all that a model reads."""
    ids = lm.tokenizer(words, add_special_tokens=False)["input_ids"] if words else []
    added = attach(lm.net, how, seed=seed, words=ids, restore=restore)
    lm.virtual = (*added.virtual, *lm.virtual)
    lm.forget()
    return added


def _learn(
    lm: LM, added: Adaptation, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson], seed: int, watch: Watch
) -> Learnt:
    pairs, cut = lm.lesson_pairs(lessons)
    held_out = _objective(lm, lm.lesson_pairs(dev)[0], how, seed).batches(DEV_BATCH) if dev and how.patience else []

    def look_at(step: int) -> None:
        was_training = lm.net.training
        lm.net.eval()
        lm.forget()
        watch.look_at(step)
        lm.forget()  # what was computed with these weights, which change now
        lm.net.train(was_training)

    looking = replace(watch, look=look_at, keep=None if watch.looks else watch.keep)  # a checkpoint has no looks
    objective = _objective(lm, pairs, how, seed)
    found = train(lm.net, added.parameters, objective, how, seed=seed, dev=held_out, watch=looking)
    return replace(found, counts={**found.counts, **cut})


def _objective(lm: LM, pairs: Sequence[Pair], how: Recipe, seed: int) -> AnswerObjective:
    sizes = {
        "batch": how.batch,
        "parts": how.accumulate,
        "seed": seed,
        "pad": lm.engine.pad,
        "virtual": len(lm.virtual),
    }
    if isinstance(lm.engine, Causal):
        return AnswerObjective(lm.net, pairs, **sizes)
    return PairObjective(lm.net, pairs, **sizes, start=lm.engine.start)
