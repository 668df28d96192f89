"""Made-up words: no text that a model has learnt from says what follows from them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence, Set
from zlib import crc32

from ...ids import shuffled

ONSETS = re.findall(r"\S+", "b bl br d dr f fl g gl gr h k kl kr l m n p pl pr r s sk sl sm sn sp st t tr v w z")
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "oo"]
CODAS = ["", "", "b", "d", "ft", "g", "k", "l", "m", "n", "nd", "p", "rk", "rm", "sh", "t"]
SYLLABLES = tuple(dict.fromkeys("".join(parts) for parts in itertools.product(ONSETS, VOWELS, CODAS)))

NONE: Set[str] = frozenset()


def made_up(
    named: Sequence[tuple[str, str]], domain: str, seed: int = 0, *, domains: Sequence[str] = (), known: Set[str] = NONE
) -> list[tuple[str, str]]:
    """Give each word of a domain a text of its own that is no known word, and that no other domain gives.

    >>> made_up([("cat", "cat"), ("dog", "dog")], "eng")
    [('cat', 'zaintot'), ('dog', 'plapbreft')]
    """
    used = {text.casefold() for _, text in named} | known
    among, own = len(domains) or 1, domains.index(domain) if domains else 0
    fresh = (text for text in _texts(domain, seed) if crc32(text.encode()) % among == own)
    return [(id_, _next(fresh, used)) for id_, _ in named]


def _next(texts: Iterator[str], used: set[str]) -> str:
    """Give the first text that is not used, and use it: syllables can be put together to one text in two ways."""
    found = next(text for text in texts if text not in used)
    used.add(found)
    return found


def _texts(domain: str, seed: int) -> Iterator[str]:
    """Yield words of each two syllables in a random order."""
    for number in shuffled(len(SYLLABLES) ** 2, "made-up", domain, seed):
        first, second = divmod(number, len(SYLLABLES))
        yield SYLLABLES[first] + SYLLABLES[second]
