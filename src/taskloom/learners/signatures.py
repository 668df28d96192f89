"""Distributional signatures: words weighted by how rare they are, and by how much they say about the class."""

# ruff: noqa: ARG002 - learners are all given the same

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core import Example, Item, Labels, Task
from ..models import Ability, Array
from ..options import settle_number
from ..texts import tokens
from . import Learner, Predictor, Response, Tools
from .baselines import golds_of, refuse_none, text_of
from .likeliest import chosen, log_softmax
from .prototype import VECTORS

LEAST_ENTROPY = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures(Learner):
    """Ridge regression on the words of a text, weighted by distributional signatures (Bao et al., 2020).

    A word weighs eps / (eps + P(word)), where P is its share of the pool that support is drawn from (without labels,
    and without the records of the query set), times the inverse entropy of P(label | word) by a ridge classifier of
    the support. A text is the weighted mean of its words' vectors. Simplified: the paper learns over many tasks how
    the two weights are combined (a BiLSTM with attention), the ridge, and the scale of scores; it counts P in its
    training classes and has fastText's vectors. Here weights are multiplied, the ridge is set, and vectors are the
    encoder's.
    """

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"labels"})
    unaided: ClassVar[frozenset[str]] = frozenset()
    one_label_alone: ClassVar[bool] = True
    model: str = "minilm"
    eps: float = 1e-3
    ridge: float = 0.01

    def __post_init__(self) -> None:
        settle_number(self, "eps", least=1e-9, most=1)
        settle_number(self, "ridge", least=1e-9)

    @property
    def models(self) -> tuple[str, ...]:
        """Name the encoder of words."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:
        """Ask for vectors."""
        return {self.model: VECTORS}

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools
    ) -> Predictor:
        """Weigh words by the pool and the support, and fit the ridge regression."""
        refuse_none(task, support)
        assert isinstance(task.output, Labels)
        golds = golds_of(task, support)
        names = [name for name in task.output.names if name in golds]
        targets = (np.array(golds)[:, None] == np.array(names)).astype(np.float64)  # (support, names)
        reader = WordReader(task, self.model, tools, self.eps, dict(tools.word_counts()))
        items = [example.item for example in support]
        by_word = ridge_weights(reader.rows(items, None), targets, self.ridge)  # (width, names)
        weights = ridge_weights(reader.rows(items, by_word), targets, self.ridge)
        return _Signed(names, reader, by_word, weights)


@dataclass(frozen=True, slots=True)
class _Signed:
    """A fitted ridge regression."""

    names: Sequence[str]
    reader: WordReader
    by_word: Array
    weights: Array

    def predict(self, items: Sequence[Item]) -> list[Response]:
        if not items:
            return []
        return chosen(self.names, log_softmax(self.reader.rows(items, self.by_word) @ self.weights))


@dataclass(frozen=True, slots=True)
class WordReader:
    """Reads texts as weighted means of the vectors of their words."""

    task: Task
    model: str
    tools: Tools
    eps: float
    counts: Mapping[str, int]  # of words in the pool

    def rows(self, items: Sequence[Item], by_word: Array | None) -> Array:
        """Give a row for each item: words weigh alike, or by their signatures: (items, width)."""
        texts = [Counter(tokens(text_of(self.task, item).lower())) for item in items]
        words = list(dict.fromkeys(word for text in texts for word in text))
        if by_word is not None and (empty := sum(not text for text in texts)):
            self.tools.count("text-without-words", empty)
        vectors = self.tools.vectors(self.model, words or [""]).astype(np.float64)  # (words, width)
        importance = np.ones(len(words)) if by_word is None else self._general(words) * specific(vectors, by_word)
        places = {word: place for place, word in enumerate(words)}
        found = np.zeros((len(items), vectors.shape[1]))
        for at, text in enumerate(texts):
            own = [places[word] for word in text]
            weights = importance[own] * np.array([*text.values()])
            found[at] = weights @ vectors[own] / max(weights.sum(), 1e-12)
        return found

    def _general(self, words: Sequence[str]) -> Array:
        """Give the general importance of words: the rarer, the more."""
        total = max(1, sum(self.counts.values()))
        shares = np.array([self.counts.get(word, 0) / total for word in words])
        weights: Array = self.eps / (self.eps + shares)
        return weights


def specific(vectors: Array, by_word: Array) -> Array:
    """Give the class-specific importance of words: the inverse entropy of their labels. (words, width) to (words,).

    >>> specific(np.array([[0.0], [9.0]]), np.array([[0.0, 1.0]])).round(1).tolist()
    [1.4, 810.4]
    """
    logs = log_softmax(vectors @ by_word)
    entropy = -(np.exp(logs) * logs).sum(1)
    weights: Array = 1 / np.maximum(entropy, LEAST_ENTROPY)
    return weights


def ridge_weights(rows: Array, targets: Array, ridge: float) -> Array:
    """Solve the ridge regression of targets on rows in closed form: (n, width), (n, names) to (width, names).

    >>> ridge_weights(np.array([[1.0, 0.0], [0.0, 2.0]]), np.eye(2), 1.0).tolist()
    [[0.5, 0.0], [0.0, 0.4]]
    """
    inner = rows @ rows.T + ridge * np.eye(len(rows))
    weights: Array = rows.T @ np.linalg.solve(inner, targets)
    return weights
