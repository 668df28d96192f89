"""Documents as several vectors, one for each sentence: candidates are graded by the best pair, or by transport.

ASPIRE does so (Mysore et al., 2022); its encoder reads sentences in their document, and here each is read alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..core import Answer, Item, Stored, store_of
from ..models import Array
from ..task_forms import Side
from .near import grades
from .vector_reader import VectorReader

Match: TypeAlias = Literal["whole", "best", "transport"]
MATCHES: tuple[str, ...] = get_args(Match)
END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[。！？])\s*|\n+")  # of a sentence, before a capital
SMOOTH = 0.05  # of transport: the weight of the entropy, as a share of the largest distance
ROUNDS = 100


@dataclass(frozen=True, slots=True)
class SentencesPredictor:
    """Grades candidates by distances between the sentences of the query and theirs."""

    reader: VectorReader
    match: Match

    def predict(self, items: Sequence[Item]) -> list[Answer | None]:
        """Grade the candidates of each item."""
        asked = self._vectors({str(at): self._sentences([item.fields]) for at, item in enumerate(items)}, "query")
        ids = list(dict.fromkeys(id_ for item in items for id_ in item.candidates))
        known = self._vectors(self._candidates(ids), "candidate")
        found: list[Answer | None] = []
        for at, item in enumerate(items):
            own = sorted({*item.candidates})
            found.append(tuple((id_, self._grade(asked[str(at)], known[id_])) for id_ in own) or None)
        return found

    def _grade(self, query: Array, candidate: Array) -> float:
        distances = -grades(query, candidate).astype(np.float64)
        return -(float(distances.min()) if self.match == "best" else transport(distances))

    def _candidates(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Give the sentences of candidates, those of their members included."""
        store, tools = store_of(self.reader.task.output), self.reader.tools
        if not store:
            return {text: self._sentences([{"": text}]) for text in ids}
        found = tools.stored(store, ids)
        named = list(dict.fromkeys(id_ for one in found for id_ in one.members))
        members: dict[str, Stored] = dict(zip(named, tools.stored(store, named), strict=True))
        return {one.id: self._sentences([one.fields, *(members[id_].fields for id_ in one.members)]) for one in found}

    def _sentences(self, parts: Sequence[Mapping[str, str]]) -> list[str]:
        chosen = [self.reader.chosen(fields) for fields in parts]
        return [sentence for texts in chosen for text in texts for sentence in sentences_of(text)] or [""]

    def _vectors(self, sentences: Mapping[str, Sequence[str]], side: Side) -> dict[str, Array]:
        """Encode all sentences at once, and give those of each: (sentences, width)."""
        flat = list(dict.fromkeys(sentence for own in sentences.values() for sentence in own))
        places = {sentence: at for at, sentence in enumerate(flat)}
        vectors = self.reader.vectors(flat, side) if flat else np.zeros((0, 1), np.float32)
        return {name: vectors[[places[sentence] for sentence in own]] for name, own in sentences.items()}


def sentences_of(text: str) -> list[str]:
    """Split a text at the ends of sentences.

    >>> sentences_of("Owls live in elms. They hunt, e.g. mice, at 3.5 m.")
    ['Owls live in elms.', 'They hunt, e.g. mice, at 3.5 m.']
    """
    return [part for part in (found.strip() for found in END.split(text)) if part]


def transport(distances: Array) -> float:
    """Give what it costs to move one set of vectors to the other, all weighing alike: Sinkhorn's (Cuturi, 2013).

    >>> round(transport(np.array([[0.0, 1.0], [1.0, 0.0]])), 3)
    0.0
    """
    n, m = distances.shape
    if not (largest := float(distances.max())):
        return 0.0
    kernel = np.exp(-distances / (SMOOTH * largest))
    u = np.ones(n)
    for _ in range(ROUNDS):
        v = (1 / m) / (kernel.T @ u)
        u = (1 / n) / (kernel @ v)
    return float(u @ (kernel * distances) @ v)
