"""Answers that are rankings: judged as trec_eval does, ties in score broken by the later name.

A gold answer grades candidates; those above zero are relevant. What was not graded is not relevant. Where nothing is
relevant, no ranking is better than another: `corrected` is NaN, which means leave out, and `published` 0, as trec_eval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ..core import Answer, ranked
from ..errors import ScoreError
from ..messages import Note
from . import Metric
from . import reduce as reduced
from .match import Variant
from .text import terms_of


def _graded(gold: tuple[Answer, ...]) -> dict[str, float]:
    if len(gold) != 1:
        raise ScoreError(Note.of("one-ranking-expected", given=repr(gold)))
    return dict(_pairs(gold[0]))


def _ranked(answer: Answer | None) -> list[str]:
    """Order candidates by score, the higher first; of equals the later name first."""
    pairs = _pairs(answer) if answer is not None else []
    if len({name for name, _ in pairs}) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ScoreError(Note.of("candidate-twice", given=repr(twice)))
    if any(math.isnan(score) for _, score in pairs):
        raise ScoreError(Note.of("grade-not-finite", given=repr(pairs[:10])))
    return [name for name, _ in ranked(pairs)]


def _pairs(answer: Answer) -> list[tuple[str, float]]:
    if not isinstance(answer, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in answer):
        raise ScoreError(Note.of("pairs-expected", given=repr(answer)))
    return [(str(pair[0]), float(pair[1])) for pair in answer]


def _relevance(gold: tuple[Answer, ...], answer: Answer | None) -> tuple[list[bool], int]:
    """Say of each ranked candidate whether it is relevant, and how many are relevant in all."""
    grades = _graded(gold)
    relevant = sum(grade > 0 for grade in grades.values())
    return [grades.get(name, 0) > 0 for name in _ranked(answer)], relevant


def _nothing(variant: Variant) -> float:
    """Score a ranking of which nothing is relevant."""
    return 0.0 if variant == "published" else math.nan


@lru_cache(maxsize=64)
def _discounts(count: int) -> tuple[float, ...]:
    return tuple(1 / math.log2(rank + 2) for rank in range(count))


def _gain(grades: Sequence[float]) -> float:
    return math.fsum(grade * discount for grade, discount in zip(grades, _discounts(len(grades)), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ndcg(Metric):
    """Normalised discounted cumulative gain, grades as gains, to a depth of k (0: the whole ranking).

    >>> gold, found = ((("a", 2.0), ("b", 1.0)),), (("b", 9.0), ("a", 8.0))
    >>> round(Ndcg().unit(gold, found)[0], 4)  # (1 + 2 / log2 3) / (2 + 1 / log2 3)
    0.8597
    """

    name: ClassVar[str] = "ndcg"
    k: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, 0 to 1; NaN or 0 where nothing is relevant."""
        grades = _graded(gold)
        depth = self.k or None
        ideal = _gain(sorted((g for g in grades.values() if g > 0), reverse=True)[:depth])
        found = [max(grades.get(name, 0.0), 0.0) for name in _ranked(answer)[:depth]]
        return (_gain(found) / ideal if ideal else _nothing(self.variant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePrecision(Metric):
    """Precision at each relevant candidate, averaged over all that are relevant; the mean over rankings is MAP."""

    name: ClassVar[str] = "map"
    variant: Variant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, 0 to 1; NaN or 0 where nothing is relevant."""
        marks, relevant = _relevance(gold, answer)
        hits, total = 0, 0.0
        for rank, mark in enumerate(marks, 1):
            if mark:
                hits += 1
                total += hits / rank
        return (total / relevant if relevant else _nothing(self.variant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReciprocalRank(Metric):
    """One over the rank of the first relevant candidate; the mean over rankings is MRR."""

    name: ClassVar[str] = "mrr"
    variant: Variant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, 0 to 1; NaN or 0 where nothing is relevant."""
        marks, relevant = _relevance(gold, answer)
        return ((1 / (marks.index(True) + 1) if True in marks else 0.0) if relevant else _nothing(self.variant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision(Metric):
    """The share of the first k that is relevant; a ranking that is shorter is counted as if it went on in vain."""

    name: ClassVar[str] = "p"
    k: int
    variant: Variant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, 0 to 1; NaN or 0 where nothing is relevant."""
        marks, relevant = _relevance(gold, answer)
        return (sum(marks[: self.k]) / self.k if relevant else _nothing(self.variant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Metric):
    """The share of all relevant candidates that is among the first k."""

    name: ClassVar[str] = "r"
    k: int
    variant: Variant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, 0 to 1; NaN or 0 where nothing is relevant."""
        marks, relevant = _relevance(gold, answer)
        return (sum(marks[: self.k]) / relevant if relevant else _nothing(self.variant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bpref(Metric):
    """How few wrong terms stand above the right ones in a list of terms; doubles count once.

    `corrected` is the standard one: the gold terms are the relevant, predicted terms that are not gold the judged
    non-relevant, and a missed term adds nothing. `published` is CSL's released script: the mean over hits alone, so
    that recall does not matter, and wrong terms above are divided by the length of the prediction.

    >>> gold = (("a", "b", "c", "d", "e"),)
    >>> Bpref(variant="published").unit(gold, ("a",)), Bpref().unit(gold, ("a",))
    ((1.0,), (0.2,))
    """

    name: ClassVar[str] = "bpref"
    variant: Variant = "corrected"
    version: ClassVar[int] = 1
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one list, the best over acceptable lists."""
        score = _bpref_published if self.variant == "published" else _bpref
        return (max(score(terms_of(g), terms_of(answer)) for g in gold),)


def _bpref(gold: Sequence[str], found: Sequence[str]) -> float:
    relevant, once = set(gold), list(dict.fromkeys(found))
    wrong = sum(term not in relevant for term in once)
    bound = min(len(relevant), wrong) or 1
    above, total = 0, 0.0
    for term in once:
        if term in relevant:
            total += 1 - min(above, bound) / bound
        else:
            above += 1
    return total / len(relevant) if relevant else 0.0


def _bpref_published(gold: Sequence[str], found: Sequence[str]) -> float:
    above, hits, total = 0, 0, 0.0
    for term in found:
        if term in gold:
            total += 1 - above / len(found)
            hits += 1
        else:
            above += 1
    return total / hits if hits else 0.0
