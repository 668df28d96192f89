"""Answers that are rankings: judged as trec_eval does, ties in score broken by the later name; many at once.

A gold answer grades candidates; those above zero are relevant, or those from a `level` on (trec_eval's -l). What was
not graded is not relevant. Where nothing is relevant, no ranking is better than another: `corrected` is NaN, which
means leave out, and `published` 0, as trec_eval.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import is_
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..answers import faults_of
from ..core import Answer, Ranking
from ..errors import ScoreError
from ..messages import Note
from . import Metric
from . import reduce as reduced
from .match import Variant
from .reduce import Array
from .text import terms_of

PAIR, NUMBERS = {tuple}, {float, int}  # types of a candidate with its score, and of scores
MOST_KEPT = 1_000_000  # candidates of gold answers, about 100 MB
Graded: TypeAlias = dict[str, float]  # candidates with their scores or grades


@dataclass(frozen=True, slots=True)
class Judged:
    """The rankings of several queries end to end: of each ranked candidate its query, its place and its gold grade."""

    count: int  # queries
    query: Array  # (n,)
    rank: Array  # (n,), from 0
    grade: Array  # (n,), 0 where it was not graded
    graded: Array  # (n,), whether it was
    gold_query: Array  # (m,), of each graded candidate
    gold_grade: Array  # (m,)

    def totals(self, values: Array) -> Array:
        """Add up a value of each ranked candidate, query by query."""
        return np.bincount(self.query, values, self.count)

    def gold_totals(self, values: Array) -> Array:
        """Add up a value of each graded candidate, query by query."""
        return np.bincount(self.gold_query, values, self.count)

    def relevant(self, level: int) -> Array:
        """Count the relevant of each query, ranked or not."""
        return self.gold_totals(_is_relevant(self.gold_grade, level))

    def sizes(self) -> Array:
        """Count the candidates of each query: those that were graded, and those that were ranked besides."""
        return self.gold_totals(np.ones(len(self.gold_grade))) + self.totals(~self.graded)


def _is_relevant(grade: Array, level: int) -> Array:
    return grade >= level if level else grade > 0


def judge(gold: Sequence[tuple[Answer, ...]], answers: Sequence[Answer | None]) -> Judged:
    """Order the candidates of each answer by score, the higher first, of equals the later name; and look up grades."""
    graded = _gold(gold)
    read = _read(graded, answers)
    grade = read.grades[_order(read)]
    known = ~np.isnan(grade)
    rank, grade = _ranks(read.query), np.where(known, grade, 0)
    return Judged(len(answers), read.query, rank, grade, known, graded.query, graded.grades)


@dataclass(frozen=True)
class _Gold:
    """Gold answers, end to end."""

    given: Sequence[tuple[Answer, ...]]
    candidates: Sequence[Graded]  # of each answer, with a score of NaN
    query: Array  # (m,)
    grades: Array  # (m,)

    @cached_property
    def by_name(self) -> Array:
        """Candidates in the order of their names, which counts where scores are equal."""
        return _by_name(self.candidates)


KEPT: dict[str, _Gold] = {}


def _gold(given: Sequence[tuple[Answer, ...]]) -> _Gold:
    """Read gold answers, once for several metrics and models: those of the last call are kept, where they are few."""
    kept = KEPT.get("last")
    if kept is None or len(kept.given) != len(given) or not all(map(is_, kept.given, given)):
        graded = [*map(_graded, given)]
        grades = np.frombuffer(b"".join(_packed(own.values()) for own in graded))
        unscored = [dict.fromkeys(own, np.nan) for own in graded]
        kept = _Gold(tuple(given), unscored, _repeated([*map(len, graded)]), grades)
        if len(grades) <= MOST_KEPT and all(type(right) is type(right[0]) is tuple for right in given):
            KEPT["last"] = kept
    return kept


@dataclass(frozen=True, slots=True)
class _Read:
    """The candidates of several answers end to end, in any order."""

    query: Array  # (n,)
    scores: Array  # (n,)
    grades: Array  # (n,), NaN where it was not graded
    by_name: Callable[[], Array]  # (n,), the candidates of each query in the order of their names


def _read(gold: _Gold, answers: Sequence[Answer | None]) -> _Read:
    """Put the score of each candidate beside its grade; an answer that is no ranking is refused."""
    named: list[Graded] = []
    packed: list[bytes] = []
    try:  # one answer after another, while it is in the processor's cache
        for candidates, answer in zip(gold.candidates, answers, strict=True):
            found = _scored(candidates, answer)
            packed.append(_packed(found.values()))
            named.append(candidates if len(found) == len(candidates) else found)
    except (TypeError, ValueError, OverflowError, struct.error):
        raise ScoreError(_fault(answers)) from None
    query, grades = _beside(gold, [*map(len, named)])
    by_name = (lambda: gold.by_name) if query is gold.query else lambda: _by_name(named)
    return _ranked(_Read(query, np.frombuffer(b"".join(packed)), grades, by_name), answers)


def _scored(candidates: Graded, answer: Any) -> Graded:
    """Give scores in the order of the gold answer, then those of ungraded candidates; no answer ranks nothing.

    A dictionary keeps the order of its keys when values are replaced, which is quicker than to look up each.
    """
    found = candidates.copy()
    if answer:
        if type(answer) is not tuple or not {*map(type, answer)} <= PAIR:
            raise TypeError
        found.update(answer)
        if not {*map(type, found.values())} <= NUMBERS:
            raise TypeError
        if len(found) > len(candidates):
            "".join(found)  # the quickest way to see that names are texts
    return found


def _beside(gold: _Gold, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Give the query of each candidate, and its grade, the graded first in each query; NaN where it was not graded."""
    if sum(sizes) == len(gold.grades):
        return gold.query, gold.grades
    query = _repeated(sizes)
    grades = np.full(len(query), np.nan)
    grades[_ranks(query) < np.bincount(gold.query, minlength=len(sizes))[query]] = gold.grades
    return query, grades


def _ranked(read: _Read, answers: Sequence[Any]) -> _Read:
    """Leave out candidates that have no score: fewer than were given have one where one is NaN, or stands twice."""
    ranked = ~np.isnan(read.scores)
    given = [len(answer or ()) for answer in answers]
    if np.isinf(read.scores).any() or (np.bincount(read.query, ranked, len(given)) != given).any():
        raise ScoreError(_fault(answers))
    if ranked.all():
        return read

    def by_name() -> Array:
        named = read.by_name()
        return np.asarray((np.cumsum(ranked) - 1)[named[ranked[named]]])

    return _Read(read.query[ranked], read.scores[ranked], read.grades[ranked], by_name)


def _packed(values: Collection[Any]) -> bytes:
    """Give the bytes of numbers as an array has them, in less than half the time that numpy takes."""
    return struct.pack(f"{len(values)}d", *values)


def _fault(answers: Sequence[Answer | None]) -> Note:
    """Say what is wrong with the first answer that is no ranking, be it numbers or pairs of a type of their own."""
    notes = (note for answer in answers for note in faults_of(Ranking(), answer or ()))
    told = (note for note in notes if note.code not in ("candidate-unknown", "empty-output"))
    return next(told, Note.of("pairs-expected", given=repr(next(filter(None, answers)))))


def _order(read: _Read) -> Array:
    """Sort by query, then by score in single precision, the higher first, then by name, the later first."""
    with np.errstate(over="ignore"):
        scores = _whole(read.scores.astype(np.float32) + np.float32(0))  # no negative zero
    order, has_ties = _best_first(read.query, scores)
    if not has_ties:
        return order
    named = read.by_name()
    return np.asarray(named[_best_first(read.query, scores[named])[0]])


def _best_first(query: Array, scores: Array) -> tuple[Array, bool]:
    """Give places from the highest score on, in each query, of equals the last first; and tell whether some are equal.

    Scores and places are put in one number each, as numbers are sorted in much less time than places.
    """
    best = _sorted(query, scores << 32 | np.arange(len(scores)))
    ordered = best >> 32
    return best & 0xFFFFFFFF, bool(((ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])).any())


def _whole(single: Array) -> Array:
    """Give whole numbers that are ordered as numbers of single precision are."""
    bits = single.view(np.int32)
    return (bits ^ (bits >> 31 & 0x7FFFFFFF)).astype(np.int64)


def _by_name(named: Sequence[Graded]) -> Array:
    """Give the places of candidates in the order of their names, query by query."""
    sizes = [*map(len, named)]
    orders = (sorted(range(len(own)), key=[*own].__getitem__) for own in named)
    own = np.fromiter(chain.from_iterable(orders), np.int64, sum(sizes))
    return np.asarray(own + np.repeat(np.cumsum(sizes) - sizes, sizes))


def _sorted(query: Array, values: Array) -> Array:
    """Give values from the highest on, in each query; queries of one size are sorted at once."""
    found = np.empty_like(values)
    for places in _alike(query):
        found[places] = -np.sort(-values[places], axis=1)
    return found


def _alike(query: Array) -> Iterator[Array]:
    """Give the places of queries of one size after those of another: (queries, size)."""
    sizes = np.bincount(query)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        if size:
            yield starts[sizes == size][:, None] + np.arange(size)


def _ranks(query: Array) -> Array:
    """Count from 0 in each query; those of one query stand together."""
    sizes = np.bincount(query)
    return np.asarray(np.arange(len(query)) - (np.cumsum(sizes) - sizes)[query])


def _graded(gold: tuple[Answer, ...]) -> Graded:
    """Give the grade of each candidate; gold answers were checked when their pool was made."""
    if len(gold) != 1:
        raise ScoreError(Note.of("one-ranking-expected", given=repr(gold)))
    try:
        return dict(gold[0])  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ScoreError(Note.of("pairs-expected", given=repr(gold[0]))) from None


def _repeated(sizes: Sequence[int]) -> Array:
    return np.repeat(np.arange(len(sizes)), sizes)


# --- metrics ---------------------------------------------------------------------------------------------------------


class RankMetric(Metric):
    """A metric of rankings; one that inherits from it says what each of several rankings is worth."""

    __slots__ = ()
    variant: Variant
    reduce = staticmethod(reduced.mean)

    def worth(self, of: Judged) -> Array:
        """Score each ranking, 0 to 1; NaN where nothing is relevant."""
        raise NotImplementedError

    def units(self, gold: Sequence[tuple[Answer, ...]], answers: Sequence[Answer | None]) -> Array | None:
        """Score many rankings; NaN or 0 where nothing is relevant."""
        found = self.worth(judge(gold, answers))
        return (np.nan_to_num(found) if self.variant == "published" else found)[:, None]

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, 0 to 1; NaN or 0 where nothing is relevant."""
        found = self.units([gold], [answer])
        return () if found is None else tuple(found[0].tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ndcg(RankMetric):
    """Normalised discounted cumulative gain, grades as gains, to a depth of k (0: the whole ranking).

    With a share, the depth is that many percent of the candidates, and 1 at least. Its `published` variant is CSFCube's
    script: the first two ranks are not discounted, and the depth may be 0, which scores 0.

    >>> gold, found = ((("a", 2.0), ("b", 1.0)),), (("b", 9.0), ("a", 8.0))
    >>> round(Ndcg().unit(gold, found)[0], 4)  # (1 + 2 / log2 3) / (2 + 1 / log2 3)
    0.8597
    """

    name: ClassVar[str] = "ndcg"
    k: int = 0
    share: int = 0  # percent
    variant: Variant = "corrected"
    version: ClassVar[int] = 2

    def worth(self, of: Judged) -> Array:
        """Divide the gain by that of the best ranking."""
        script = self.share > 0 and self.variant == "published"
        query, grade = (of.query, of.grade) if script else (of.gold_query, of.gold_grade)
        best, rank = _sorted(query, grade), of.rank if query is of.query else _ranks(query)
        ideal = np.bincount(query, np.maximum(best, 0) * self._weights(of, query, rank), of.count)
        gain = of.totals(np.maximum(of.grade, 0) * self._weights(of, of.query, of.rank))
        return reduced.ratio(gain, ideal)

    def _weights(self, of: Judged, query: Array, rank: Array) -> Array:
        """Give what a gain counts for at each rank of a query: 1 / log2(rank + 1), and nothing beyond the depth."""
        delay = 0 if self.share and self.variant == "published" else 1
        discounts = 1 / np.log2(np.maximum(np.arange(1, rank.max(initial=0) + 2) + delay, 2))
        if self.k:
            discounts[self.k :] = 0
        return np.asarray(discounts[rank] * (rank < self._depths(of)[query]) if self.share else discounts[rank])

    def _depths(self, of: Judged) -> Array:
        """Give the depth of each query, as a share of its candidates."""
        if self.variant == "published":
            return np.asarray(of.totals(np.ones(len(of.query))) * self.share // 100)
        return np.asarray(np.maximum(of.sizes() * self.share // 100, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePrecision(RankMetric):
    """Precision at each relevant candidate, averaged over all that are relevant; the mean over rankings is MAP."""

    name: ClassVar[str] = "map"
    level: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 2

    def worth(self, of: Judged) -> Array:
        """Average precision."""
        hit = _is_relevant(of.grade, self.level)
        return reduced.ratio(of.totals(hit * _upto(of, hit) / (of.rank + 1)), of.relevant(self.level))


def _upto(of: Judged, marked: Array) -> Array:
    """Count the marked up to and with each ranked candidate, those of its own query alone."""
    per_query = of.totals(marked)
    return np.asarray(np.cumsum(marked) - (np.cumsum(per_query) - per_query)[of.query])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReciprocalRank(RankMetric):
    """One over the rank of the first relevant candidate; the mean over rankings is MRR."""

    name: ClassVar[str] = "mrr"
    level: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 2

    def worth(self, of: Judged) -> Array:
        """Look for the first relevant candidate."""
        hit = _is_relevant(of.grade, self.level)
        first = hit & (_upto(of, hit) == 1)
        return np.where(of.relevant(self.level) > 0, of.totals(first / (of.rank + 1)), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision(RankMetric):
    """The share of the first k that is relevant; a ranking that is shorter is counted as if it went on in vain."""

    name: ClassVar[str] = "p"
    k: int
    level: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 2

    def worth(self, of: Judged) -> Array:
        """Count the relevant among the first k."""
        found = of.totals(_is_relevant(of.grade, self.level) & (of.rank < self.k)) / self.k
        return np.where(of.relevant(self.level) > 0, found, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(RankMetric):
    """The share of all relevant candidates that is among the first k."""

    name: ClassVar[str] = "r"
    k: int
    level: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 2

    def worth(self, of: Judged) -> Array:
        """Count the relevant among the first k."""
        found = of.totals(_is_relevant(of.grade, self.level) & (of.rank < self.k))
        return reduced.ratio(found, of.relevant(self.level))


@dataclass(frozen=True, slots=True, kw_only=True)
class RPrecision(RankMetric):
    """The share of relevant candidates among the first R, where R is the number of all that are relevant."""

    name: ClassVar[str] = "r-prec"
    level: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 1

    def worth(self, of: Judged) -> Array:
        """Count the relevant among the first R."""
        relevant = of.relevant(self.level)
        return reduced.ratio(of.totals(_is_relevant(of.grade, self.level) & (of.rank < relevant[of.query])), relevant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bpref(RankMetric):
    """How few wrong candidates stand above the right ones, of those that were judged; a list of terms is a ranking too.

    Of terms, the gold terms are the relevant, predicted terms that are not gold the judged non-relevant; doubles count
    once, and a missed term adds nothing. Their `published` score is CSL's released script: the mean over hits alone, so
    that recall does not matter, and wrong terms above are divided by the length of the prediction.

    >>> gold = (("a", "b", "c", "d", "e"),)
    >>> Bpref(variant="published").unit(gold, ("a",)), Bpref().unit(gold, ("a",))
    ((1.0,), (0.2,))
    """

    name: ClassVar[str] = "bpref"
    level: int = 0
    variant: Variant = "corrected"
    version: ClassVar[int] = 1

    def worth(self, of: Judged) -> Array:
        """Look at the judged candidates alone."""
        hit, bad = _is_relevant(of.grade, self.level), of.graded & (of.grade >= 0)
        relevant = of.relevant(self.level)
        wrong = of.gold_totals((of.gold_grade >= 0) & ~_is_relevant(of.gold_grade, self.level))
        bound = np.minimum(relevant, wrong)[of.query]
        above = np.minimum(_upto(of, bad & ~hit), bound) / np.maximum(bound, 1)
        return reduced.ratio(of.totals(hit * (1 - above)), relevant)

    def units(self, gold: Sequence[tuple[Answer, ...]], answers: Sequence[Answer | None]) -> Array | None:
        """Score many rankings; lists of terms are scored one by one."""
        return RankMetric.units(self, gold, answers) if all(map(_is_ranking, gold)) else None

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one ranking, or one list of terms, the best over acceptable lists."""
        if _is_ranking(gold):
            return RankMetric.unit(self, gold, answer)
        score = _bpref_published if self.variant == "published" else _bpref
        return (max(score(terms_of(g), terms_of(answer)) for g in gold),)


def _is_ranking(gold: tuple[Answer, ...]) -> bool:
    return all(isinstance(own, tuple) and own and isinstance(own[0], tuple) for own in gold)


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
