"""How frequent words are in the pool that the support of an episode is drawn from; gold answers are not read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .core import Ints
from .episodes import Deck, Draw
from .ids import shuffled
from .texts import tokens

MOST = 5000  # rows of a pool that are read; of a larger one, a sample that is the same for all episodes


class WordCounts:
    """The words of a task's pool, counted for each of its episodes without the records of the query set."""

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        stock = deck.stocks[deck.homes["support"]]
        chosen = sorted(place for place, _ in zip(shuffled(len(stock.pool), "words"), range(MOST), strict=False))
        self.groups = stock.groups[chosen]
        places: dict[str, int] = {}
        self.rows: list[Ints] = []  # for each, the places of its words
        for example in stock.pool.take(chosen):
            words = tokens(deck.task.separator.join(example.item.fields.values()).lower())
            self.rows.append(np.array([places.setdefault(word, len(places)) for word in words], dtype=np.int64))
        self.words = list(places)
        self.total = self._counted(self.rows)

    def of(self, drawn: Draw) -> Mapping[str, int]:
        """Count words without the records that an episode asks about."""
        asked = self.deck.stocks[drawn.pools["query"]].groups[list(drawn.rows["query"])]
        hidden = np.flatnonzero(np.isin(self.groups, asked))
        left = self.total - self._counted([self.rows[place] for place in hidden])
        return {self.words[place]: int(left[place]) for place in np.flatnonzero(left)}

    def _counted(self, rows: list[Ints]) -> Ints:
        found: Ints = np.bincount(np.concatenate([*rows, np.empty(0, np.int64)]), minlength=len(self.words))
        return found
