"""Answers that are right or wrong: exact match, accuracy, F1 over labels, and B-cubed over clusters."""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from rapidfuzz.distance import LCSseq

from ..core import Answer
from ..errors import ScoreError
from ..messages import Note
from . import Metric, UnusableError
from . import reduce as reduced
from .reduce import Array

Variant = Literal["published", "corrected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch(Metric):
    """Whether a text equals an acceptable one: case, punctuation and white space aside, articles kept.

    `published` removes ASCII punctuation alone, and reads any text, so that an empty one equals an empty gold answer;
    `corrected` folds Unicode too, keeps what is all punctuation, and takes an empty text for no answer.
    """

    name: ClassVar[str] = "exact-match"
    says_right: ClassVar[bool] = True
    variant: Variant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    @property
    def reads_any_text(self) -> bool:
        """Tell that the released script compares whatever was written."""
        return self.variant == "published"

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one answer: 1 or 0."""
        fold = _fold_ascii if self.variant == "published" else _fold_unicode
        return (float(answer is not None and fold(str(answer)) in {fold(str(g)) for g in gold}),)


@lru_cache(maxsize=1 << 16)
def _fold_ascii(text: str) -> str:
    return " ".join(text.lower().translate(str.maketrans("", "", string.punctuation)).split())


@lru_cache(maxsize=1 << 16)
def _fold_unicode(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = " ".join("".join(c for c in folded if unicodedata.category(c)[0] not in "P").split())
    return words or "".join(folded.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(Metric):
    """How many labels are right; `published` reads each answer as a label, as CSL's released script does.

    >>> gold = [("b",), ("a",), ("b",)]
    >>> Accuracy(labels=("a", "b"), variant="published").prepared(gold).unit(gold[0], "no label")  # b is met first
    (1.0,)
    """

    name: ClassVar[str] = "accuracy"
    says_right: ClassVar[bool] = True
    labels: tuple[str, ...] = ()
    variant: Variant = "corrected"
    met: tuple[str, ...] = ()  # labels of the set that is scored, in the order of its gold answers
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    @property
    def reads_any_text(self) -> bool:
        """Tell that the released script makes a label of whatever was written."""
        return self.variant == "published"

    def prepared(self, gold: Sequence[tuple[Answer, ...]]) -> Accuracy:
        """Take the labels that answers may be read as."""
        return replace(self, met=_met(gold)) if self.variant == "published" else self

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one answer: 1 or 0."""
        chosen = _as_label(answer, self.labels, self.met, self.variant)
        return (float(any(_same(chosen, right) for right in gold)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class F1(Metric):
    """F1 over labels, single or many: the macro mean over the labels that occur, the micro pool, or of one label.

    A unit is a row of the gold labels and a row of the predicted ones, so that any resample is a product of matrices.
    """

    name: ClassVar[str] = "f1"
    labels: tuple[str, ...]
    average: Literal["macro", "micro", "binary"] = "macro"
    positive: str = ""
    variant: Variant = "corrected"
    met: tuple[str, ...] = ()  # labels of the set that is scored, in the order of its gold answers
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.average == "binary" and self.positive not in self.labels:
            raise ScoreError(Note.of("positive-unknown", labels=self.labels, positive=self.positive))

    @property
    def reads_any_text(self) -> bool:
        """Tell that the released script makes a label of whatever was written."""
        return self.variant == "published"

    def prepared(self, gold: Sequence[tuple[Answer, ...]]) -> F1:
        """Take the labels that answers may be read as."""
        return replace(self, met=_met(gold)) if self.variant == "published" else self

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Mark the gold labels, then the predicted ones."""
        chosen = _as_label(answer, self.labels, self.met, self.variant)
        right = _set_of(next((g for g in gold if _same(chosen, g)), gold[0]))
        marked = _set_of(chosen)
        return tuple([float(n in right) for n in self.labels] + [float(n in marked) for n in self.labels])

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Give F1 for each resample; labels that neither side has in it do not count."""
        gold, predicted = np.hsplit(np.asarray(units), 2)
        hits, total = reduced.sums(gold * predicted, weights), reduced.sums(gold + predicted, weights)
        if self.average == "micro":
            return reduced.ratio(2 * hits.sum(1), total.sum(1))
        if self.average == "binary":
            at = self.labels.index(self.positive)
            return reduced.ratio(2 * hits[:, at], total[:, at])
        each = np.where(total > 0, 2 * hits / np.where(total > 0, total, 1), 0)
        return reduced.ratio(each.sum(1), (total > 0).sum(1))

    def unseen(self, units: Array, level: float) -> tuple[float, float]:
        """Allow for labels whose answers are all right, or all wrong: resampled, their F1 does not vary.

        F1 = 2 J / (1 + J), where J is the share of right answers among those that have the label, as gold or predicted.
        J has Wilson's limits; a mean over labels reaches as far as the root of the sum of their squares (the method of
        variance estimates recovery, Zou and Donner 2008).
        """
        gold, predicted = np.hsplit(np.asarray(units), 2)
        places = [self.labels.index(self.positive)] if self.average == "binary" else range(len(self.labels))
        counts = [
            (int((gold * predicted)[:, at].sum()), int(np.maximum(gold, predicted)[:, at].sum())) for at in places
        ]
        counts = [(hits, of) for hits, of in counts if of]
        if self.average == "micro" or not counts:
            return 0.0, 0.0
        shares = [reduced.wilson(hits / of, of, level) for hits, of in counts if hits == of]
        below = sum((1 - 2 * low / (1 + low)) ** 2 for low, _ in shares)
        shares = [reduced.wilson(0.0, of, level) for hits, of in counts if not hits]
        above = sum((2 * high / (1 + high)) ** 2 for _, high in shares)
        return below / len(counts) ** 2, above / len(counts) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BCubed(Metric):
    """B-cubed F1, precision or recall of a clustering.

    A unit is a block of elements, whose answer names the cluster of each in turn.

    >>> metric = BCubed()
    >>> unit = metric.unit((("a", "a", "b"),), ("x", "x", "x"))
    >>> [round(float(n), 4) for n in (*unit, metric.reduce(np.array([unit]))[0])]
    [1.6667, 3.0, 3.0, 0.7143]
    """

    name: ClassVar[str] = "b-cubed"
    part: Literal["", "precision", "recall"] = ""  # none: F1
    version: ClassVar[int] = 2

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Add up precision and recall over the elements of a block; without an answer, both are 0."""
        right = _labels(gold[0])
        if answer is None:
            return 0.0, 0.0, float(len(right))
        found = _labels(answer)
        if len(found) != len(right):
            raise UnusableError(Note.of("clusters-differ", elements=len(right), clusters=len(found)))
        both, ours, theirs = Counter(zip(right, found, strict=True)), Counter(found), Counter(right)
        precision = sum(n * n / ours[cluster] for (_, cluster), n in both.items())
        recall = sum(n * n / theirs[cluster] for (cluster, _), n in both.items())
        return precision, recall, float(len(right))

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Give F1 of the pooled precision and recall, or one of these."""
        precision, recall, total = reduced.sums(np.asarray(units), weights).T
        if self.part:
            return reduced.ratio(precision if self.part == "precision" else recall, total)
        both = precision + recall
        return reduced.ratio(2 * precision * recall, np.where(both > 0, both, 1) * total)


def _met(gold: Sequence[tuple[Answer, ...]]) -> tuple[str, ...]:
    """Give the labels of a set in the order in which its gold answers have them first."""
    return tuple(dict.fromkeys(right for rights in gold for right in rights if isinstance(right, str)))


def _as_label(answer: Answer | None, labels: tuple[str, ...], met: tuple[str, ...], variant: Variant) -> Answer | None:
    if not labels or isinstance(answer, tuple):
        return answer
    if variant == "published":
        return _nearest(answer if isinstance(answer, str) else "", met or labels)
    return answer if answer in labels else None


@lru_cache(maxsize=1 << 16)
def _nearest(text: str, labels: tuple[str, ...]) -> str:
    """Read a text as CSL's released script does: as the label with most words in common, the first of equals.

    That is by ROUGE-L over words between white space: what shares no word with any label is the first one.

    >>> _nearest("computer science, of course", ("physics", "computer science", "science")), _nearest("物", ("化学",))
    ('computer science', '化学')
    """
    words = text.split()
    return text if text in labels else max(labels, key=lambda label: _rouge(label.split(), words))


def _rouge(gold: Sequence[str], found: Sequence[str]) -> float:
    return 2 * LCSseq.similarity(gold, found) / (len(gold) + len(found)) if gold and found else 0.0


def _same(ours: Answer | None, theirs: Answer) -> bool:
    """Compare labels, many of them in any order."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return _set_of(ours) == _set_of(theirs)
    return ours == theirs


def _set_of(answer: Answer | None) -> Collection[str]:
    return set(_labels(answer)) if isinstance(answer, tuple) else {answer} if isinstance(answer, str) else set()


def _labels(answer: Answer | None) -> tuple[str, ...]:
    if not isinstance(answer, tuple):
        raise ScoreError(Note.of("labels-expected", given=repr(answer)))
    return tuple(str(label) for label in answer)
