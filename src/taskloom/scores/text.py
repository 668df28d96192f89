"""Answers that are texts or lists of terms, compared by what they share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from rapidfuzz.distance import LCSseq

from ..core import Answer
from ..errors import ScoreError
from ..messages import Note
from ..texts import tokens, without_surrogates
from . import Metric
from . import reduce as reduced
from .match import Variant
from .reduce import Array

ASCII_WORD = re.compile(r"[a-z0-9]+")
STEMMED_FROM = 4  # letters: shorter words are left as they are


@cache
def _stemmer() -> Callable[[str], str]:
    """Load the stemmer that the reference package uses; it takes a second, and only ROUGE needs it."""
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    return lru_cache(maxsize=1 << 20)(lambda word: stem(word) if len(word) >= STEMMED_FROM else word)


@lru_cache(maxsize=1 << 16)
def _published_tokens(text: str) -> tuple[str, ...]:
    """Tokenise as the reference package: a-z and 0-9 alone, Porter stems."""
    return tuple(map(_stemmer(), ASCII_WORD.findall(text.lower())))


@lru_cache(maxsize=1 << 16)
def _corrected_tokens(text: str) -> tuple[str, ...]:
    """Tokenise every script: words, or characters where it has no spaces; ASCII words as stems; else symbols."""
    stem = _stemmer()
    words = tokens(text.lower()) or list("".join(unicodedata.normalize("NFC", text.lower()).split()))
    return tuple(stem(word) if word.isascii() else word for word in words)


@cache
def _byte_pairs() -> Callable[[str], list[str]]:
    """Load the byte-level BPE of GPT-2, which the published cross-lingual scores are over."""
    from ..sources import packages

    try:
        from tokenizers import ByteLevelBPETokenizer
    except ImportError:
        raise ScoreError("rouge-l:cross-lingual needs tokenizers: pip install 'taskloom[lm]'") from None
    at = packages.get("gpt2-bpe") / "package"
    made = ByteLevelBPETokenizer(str(at / "encoder.json"), str(at / "vocab.bpe"))
    return lambda text: list(made.encode(without_surrogates(text)).tokens)


@lru_cache(maxsize=1 << 16)
def _cross_lingual_tokens(text: str) -> tuple[str, ...]:
    """Tokenise as the published cross-lingual scoring: byte pairs, without the mark of a space before them."""
    return tuple(token.lstrip("Ġ") for token in _byte_pairs()(text))


RougeVariant: TypeAlias = "Variant | Literal['cross-lingual']"
TOKENIZERS: Mapping[RougeVariant, Callable[[str], tuple[str, ...]]] = {
    "published": _published_tokens,
    "corrected": _corrected_tokens,
    "cross-lingual": _cross_lingual_tokens,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RougeL(Metric):
    """F of the longest common subsequence of tokens, the best over acceptable answers.

    >>> RougeL().unit(("the cat sat",), "the cat ran")
    (0.6666666666666666,)
    """

    name: ClassVar[str] = "rouge-l"
    variant: RougeVariant = "corrected"
    version: ClassVar[int] = 2
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one answer, 0 to 1."""
        if answer is None:
            return (0.0,)
        tokenise = TOKENIZERS[self.variant]
        found = tokenise(str(answer))
        return (max(_f_of_common(tokenise(str(g)), found) for g in gold),)


def _f_of_common(gold: Sequence[str], found: Sequence[str]) -> float:
    if not gold or not found:
        return 0.0
    common = LCSseq.similarity(gold, found)
    precision, recall = common / len(found), common / len(gold)
    return 2 * precision * recall / (precision + recall) if common else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bleu(Metric):
    """Corpus BLEU over 1- to 4-grams of tokens (CJK by character), exponential smoothing of counts that are zero.

    A unit has the counts that BLEU is made of: matches and totals for each n, and both lengths.
    """

    name: ClassVar[str] = "bleu-4"
    order: ClassVar[int] = 4
    version: ClassVar[int] = 2

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Count n-grams of one answer, each clipped by the acceptable answer that has most of it."""
        found = [] if answer is None else tokens(str(answer))
        references = [tokens(str(g)) for g in gold]
        matches, totals = [], []
        for n in range(1, self.order + 1):
            grams = _grams(found, n)
            allowed: Counter[tuple[str, ...]] = Counter()
            for reference in references:
                allowed |= _grams(reference, n)
            matches.append(float((grams & allowed).total()))
            totals.append(float(grams.total()))
        nearest = min((len(r) for r in references), key=lambda length: (abs(length - len(found)), length))
        return (*matches, *totals, float(len(found)), float(nearest))

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Give BLEU for each resample, 0 to 1."""
        added = reduced.sums(np.asarray(units), weights)
        matches, totals = added[:, : self.order], added[:, self.order : 2 * self.order]
        ours, theirs = added[:, -2], added[:, -1]
        logs = np.log(np.maximum(_smoothed(matches, totals), np.finfo(float).tiny)).mean(1)
        brevity = np.exp(np.minimum(0, 1 - reduced.ratio(theirs, ours)))
        some = (totals > 0).all(1) & (matches > 0).any(1)
        return np.where(theirs == 0, np.nan, np.where(some, brevity * np.exp(logs), 0))


def _smoothed(matches: Array, totals: Array) -> Array:
    """Give precisions; each further count that is zero is taken for half as much as the one before: 1/2, 1/4, ..."""
    zeros = np.cumsum(matches == 0, axis=1)
    counted = np.where(matches == 0, 0.5**zeros, matches)
    return counted / np.maximum(totals, 1)


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[k:] for k in range(n)), strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListF1(Metric):
    """F1 of a set of terms, exact ones; the mean over items, the best over acceptable lists."""

    name: ClassVar[str] = "list-f1"
    version: ClassVar[int] = 1
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one list, 0 to 1."""
        found = Counter(set(terms_of(answer)))
        return (max(_f_of_bags(Counter(set(terms_of(g))), found) for g in gold),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterF1(Metric):
    """F1 of the characters of all terms, spaces aside: softer than whole terms."""

    name: ClassVar[str] = "character-f1"
    version: ClassVar[int] = 1
    reduce = staticmethod(reduced.mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one list, 0 to 1."""
        found = Counter("".join("".join(terms_of(answer)).split()))
        return (max(_f_of_bags(Counter("".join("".join(terms_of(g)).split())), found) for g in gold),)


def terms_of(answer: Answer | None) -> tuple[str, ...]:
    """Give the terms of an answer, none where there is no answer."""
    if answer is None:
        return ()
    if not isinstance(answer, tuple):
        raise ScoreError(Note.of("terms-expected", given=repr(answer)))
    return tuple(str(term) for term in answer)


def _f_of_bags(gold: Counter[str], found: Counter[str]) -> float:
    total = gold.total() + found.total()
    return 2 * (gold & found).total() / total if total else 0.0
