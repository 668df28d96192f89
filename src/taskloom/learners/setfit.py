"""Few-shot learning by contrast: an encoder is trained on pairs of texts, then a linear model on its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ..core import Example, Labels, Task
from ..ids import shuffled
from ..models import Ability, Array, TextPair
from ..models.recipe import BUDGETS, Recipe
from ..options import check_choices, check_integers, check_most, settle_number
from . import Learner, Predictor, Response, Tools
from .baselines import Fitting, golds_of, one_against_rest, refuse_none, several, text_of
from .likeliest import chosen, logs_of
from .prototype import ByVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFit(Recipe, Learner):
    """An encoder trained on pairs of support texts, then logistic regression on its vectors (Tunstall et al., 2022).

    Each text is paired `pairs` times with one of its class (target 1) and as often with one of another (target 0);
    the loss is the squared difference between cosine and target. The budget is an epoch unless another is given. With
    several labels the target is their overlap (Jaccard). The encoder is what it was before at the end of the cell.
    """

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"labels"})
    unaided: ClassVar[frozenset[str]] = frozenset()
    model: str = "minilm"
    pairs: int = 20  # of each text with its class, and as many with others
    lr: float | None = 2e-5  # of all weights
    batch: int = 16  # pairs of a step
    warmup: float = 0.1
    C: float = 1.0  # of logistic regression: the larger, the closer to the support

    def __post_init__(self) -> None:
        if not any(getattr(self, name) for name in BUDGETS):
            object.__setattr__(self, "epochs", 1)
        Recipe.__post_init__(self)
        check_choices(self, what=("all", "lora", "adapters", "none"))
        check_integers(self, {"pairs": 1})
        check_most(self, {"pairs": 100_000})
        settle_number(self, "C", least=1e-6)

    @property
    def models(self) -> tuple[str, ...]:
        """Name the encoder."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:  # noqa: ARG002 (as all learners)
        """Ask for an encoder that can be trained."""
        return {self.model: frozenset({"vectors"} if self.what == "none" else {"vectors", "train"})}

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools  # noqa: ARG002
    ) -> Predictor:  # fmt: skip
        """Train the encoder until the cell ends, and a linear model on what it gives then."""
        refuse_none(task, support)
        assert isinstance(task.output, Labels)
        golds, texts = golds_of(task, support), [text_of(task, example.item) for example in support]
        if self.what != "none":
            self._train(texts, golds, seed, tools)
        rows = tools.vectors(self.model, texts).astype(np.float64)
        head = _head(Fitting(rows, self.C, tools), task.output, golds)
        return ByVectors(task, self.model, "", tools, lambda found: head(found.astype(np.float64)))

    def _train(self, texts: Sequence[str], golds: Sequence[Any], seed: int, tools: Tools) -> None:
        drawn = list(drawn_pairs(texts, [_labels(gold) for gold in golds], self.pairs, seed))
        if drawn:
            tools.train_encoder(self.model, drawn, self, seed=seed)
        else:
            tools.count("nothing-to-contrast")


def drawn_pairs(texts: Sequence[str], labels: Sequence[frozenset[str]], count: int, seed: int) -> Iterator[TextPair]:
    """Pair each text so many times with others that share a label, and as often with those that share none.

    >>> [pair.target for pair in drawn_pairs(["a", "b", "c"], [frozenset("x"), frozenset("x"), frozenset("y")], 1, 0)]
    [1.0, 0.0, 1.0, 0.0, 0.0]
    """
    for at, own in enumerate(labels):
        others = [place for place in range(len(texts)) if place != at and texts[place] != texts[at]]
        alike = [place for place in others if _overlap(own, labels[place])]
        apart = [place for place in others if not _overlap(own, labels[place])]
        for kind, places in (("alike", alike), ("apart", apart)):
            for place in _turns(places, count, "pairs", seed, kind, at):
                yield TextPair(texts[at], texts[place], _overlap(own, labels[place]))


def _turns(places: Sequence[int], count: int, *key: Any) -> Iterator[int]:
    """Draw so many places, each as often as any other, but for one."""
    rounds = -(-count // len(places)) if places else 0
    drawn = (places[n] for turn in range(rounds) for n in shuffled(len(places), *key, turn))
    return islice(drawn, count)


def _labels(gold: Any) -> frozenset[str]:
    return frozenset(gold if isinstance(gold, tuple) else (gold,))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _head(fitting: Fitting, output: Labels, golds: Sequence[Any]) -> Any:
    """Give a function from vectors to answers."""
    if output.many:
        known = [name for name in output.names if any(name in gold for gold in golds)]
        likely = one_against_rest(fitting, known, golds)
        return lambda rows: _several(known, likely(rows), always=all(golds))
    targets = [output.names.index(gold) for gold in golds]
    names, chances = [output.names[place] for place in sorted(set(targets))], fitting.logistic(targets)
    return lambda rows: chosen(names, logs_of(chances(rows)))


def _several(known: Sequence[str], likely: Array, *, always: bool) -> list[Response]:
    options = (dict(zip(known, row, strict=True)) for row in logs_of(likely).tolist())
    answers = several(known, likely, always=always)
    return [Response(answer, options=of) for answer, of in zip(answers, options, strict=True)]
