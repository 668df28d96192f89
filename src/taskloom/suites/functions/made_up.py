"""Made-up words: no text that a model has learnt from says what follows from them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from ...ids import shuffled

ONSETS = re.findall(r"\S+", "b bl br d dr f fl g gl gr h k kl kr l m n p pl pr r s sk sl sm sn sp st t tr v w z")
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "oo"]
CODAS = ["", "", "b", "d", "ft", "g", "k", "l", "m", "n", "nd", "p", "rk", "rm", "sh", "t"]
SYLLABLES = tuple(dict.fromkeys("".join(parts) for parts in itertools.product(ONSETS, VOWELS, CODAS)))


def made_up(named: Sequence[tuple[str, str]], domain: str, seed: int = 0) -> list[tuple[str, str]]:
    """Give each word of a domain a text of its own that is no word of it.

    >>> made_up([("cat", "cat"), ("dog", "dog")], "eng")
    [('cat', 'zaintot'), ('dog', 'plapbreft')]
    """
    real = {text.casefold() for _, text in named}
    fresh = (text for text in _texts(domain, seed) if text not in real)
    return [(id_, next(fresh)) for id_, _ in named]


def _texts(domain: str, seed: int) -> Iterator[str]:
    """Yield words of two syllables, each once, in a random order."""
    for number in shuffled(len(SYLLABLES) ** 2, "made-up", domain, seed):
        first, second = divmod(number, len(SYLLABLES))
        yield SYLLABLES[first] + SYLLABLES[second]
