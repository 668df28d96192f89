"""Sequences of words, some of which have spaces; and how likely the answers to two questions at once are."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, TypeAlias

from ..core import Answer
from ..messages import Note
from . import Metric, UnusableError
from . import reduce as reduced
from .match import Variant

Accepted: TypeAlias = "tuple[frozenset[str], int]"  # words as they are compared, and the most parts that one has
NEVER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAccuracy(Metric):
    """The share of places that have an acceptable word; a text or a label is a sequence of one.

    `corrected` splits an answer into at most as many words as there are places, all of it and in the best of all ways:
    words may have spaces. `published` compares what stands between single spaces, place by place, as the released
    script does: its search for words with spaces finds none. Where a task separates words by a mark, both split there.

    >>> gold = ((("new york", "ny"), ("dog",)),)
    >>> [TokenAccuracy(variant=v).unit(gold, "new york dog") for v in ("corrected", "published")]
    [(1.0,), (0.0,)]
    """

    name: ClassVar[str] = "token-accuracy"
    says_right: ClassVar[bool] = True
    version: ClassVar[int] = 1
    variant: Variant = "corrected"
    separator: str = ""  # a mark between words; none: white space
    reduce = staticmethod(reduced.mean)

    @property
    def reads_any_text(self) -> bool:
        """Tell that the released script compares whatever was written."""
        return self.variant == "published"

    def prepared(self, gold: Sequence[tuple[Answer, ...]]) -> Metric:  # noqa: ARG002
        """Keep acceptable words that many gold answers share, ready to be compared with."""
        return _Ready(self)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one answer: the share of its places that are right."""
        return _Ready(self).unit(gold, answer)


@dataclass(frozen=True, slots=True)
class _Ready(Metric):
    """The metric, with the acceptable words that it has met: by identity, since a closure has 100,000 words."""

    name: ClassVar[str] = TokenAccuracy.name
    version: ClassVar[int] = TokenAccuracy.version
    of: TokenAccuracy
    met: dict[int, tuple[object, Accepted]] = field(default_factory=dict)
    reduce = staticmethod(reduced.mean)

    @property
    def reads_any_text(self) -> bool:
        return self.of.reads_any_text

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        if not isinstance(answer, str):
            return (0.0,)
        if isinstance(gold[0], str):
            return (self._share(answer, [self._accepted(gold)], whole=True),)
        sequences = ([self._accepted(place) for place in one] for one in gold if isinstance(one, tuple))
        return (max(self._share(answer, places, whole=False) for places in sequences),)

    def _accepted(self, words: object) -> Accepted:
        kept = self.met.get(id(words))
        if kept is None or kept[0] is not words:
            fold = str.lower if self.of.variant == "published" else _folded
            folded = frozenset(fold(str(word)) for word in words)  # type: ignore[attr-defined]
            kept = self.met[id(words)] = words, (folded, max(word.count(" ") for word in folded) + 1)
        return kept[1]

    def _share(self, answer: str, places: Sequence[Accepted], *, whole: bool) -> float:
        published, mark = self.of.variant == "published", self.of.separator
        if whole or mark:
            words = [answer] if whole else answer.split(mark)
            parts = words if published and whole else [w.strip() if published else _folded(w) for w in words]
            return _in_place(parts, places) / len(places)
        if published:
            return _in_place(answer.split(" "), places) / len(places)
        return most_right(_folded(answer).split(), places) / len(places)


def _in_place(words: Sequence[str], places: Sequence[Accepted]) -> int:
    return sum(word in accepted for word, (accepted, _) in zip(words, places, strict=False))


def most_right(parts: Sequence[str], places: Sequence[Accepted]) -> int:
    """Count the right places of the best way to join parts into words, at most one word for each place.

    `best[n]` is the most right places so far with the first n parts used up: of the last place and this one alone.

    >>> most_right("new york new dog".split(), [(frozenset({"new york"}), 2), (frozenset({"new dog"}), 2)])
    2
    """
    best = [0] + [NEVER] * len(parts)
    most = 0
    for accepted, longest in places:
        before, best, reached = best, [NEVER] * (len(parts) + 1), NEVER
        for end in range(1, len(parts) + 1):
            reached = found = max(reached, before[end - 1])  # some word, right or wrong
            for start in range(end - 1, max(end - longest, 0) - 1, -1):
                if before[start] >= max(found, 0) and " ".join(parts[start:end]) in accepted:
                    found = before[start] + 1
            best[end] = found
        most = max(most, best[-1])
    return most


@lru_cache(maxsize=1 << 16)
def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mass(Metric):
    """The probability of the answers to one of two questions; `best`: of the likeliest of them.

    A gold grade says which question a candidate answers: 1 the first, 2 the second, 3 both. An answer's grades are log
    probabilities.

    >>> gold = ((("hot", 1.0), ("warm", 2.0), ("mild", 3.0)),)
    >>> answer = (("hot", math.log(0.5)), ("warm", math.log(0.2)), ("mild", math.log(0.1)))
    >>> [round(of.unit(gold, answer)[0], 3) for of in (Mass(k=1), Mass(k=2), Mass(k=1, best=True))]
    [0.6, 0.3, 0.5]
    """

    name: ClassVar[str] = "mass"
    version: ClassVar[int] = 1
    k: int  # the question
    best: bool = False
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Add up the probabilities of a question's answers; one that is not graded has none."""
        if not isinstance(answer, tuple):
            return (0.0,)
        grades: dict[str, float] = dict(answer)  # type: ignore[arg-type]
        if above := [grade for grade in grades.values() if grade > 0]:
            raise UnusableError(Note.of("not-log-probabilities", grade=max(above)))
        asked = [str(pair[0]) for pair in gold[0] if int(float(pair[1])) & self.k]  # type: ignore[union-attr]
        chances = [math.exp(grades[candidate]) for candidate in asked if candidate in grades]
        return (max(chances, default=0.0) if self.best else min(math.fsum(chances), 1.0),)
