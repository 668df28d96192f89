"""A small lexicon of two languages, and a small graph of facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from scipy.sparse import csr_array

from taskloom.suites.functions.knowledge import Lexical
from taskloom.suites.functions.parse import FactNames
from taskloom.suites.functions.queries import LABEL
from taskloom.suites.functions.sample import Sampling
from taskloom.suites.functions.workshop import Workshop

RELATIONS = ("mother", "father", "creator", "occupation", "place of birth")
VALUES = ("actor", "writer", "rome")
NAMES = FactNames(
    {name: f"http://x/{name.replace(' ', '_')}" for name in RELATIONS}, {name: f"http://x/{name}" for name in VALUES}
)
WORDS = {"eng": 120, "spa": 60}


@dataclass(frozen=True)
class SmallLexicon:
    """Words that are numbered, and relations between them that are drawn by a seed."""

    seed: int = 0
    sizes: Mapping[str, int] = field(default_factory=lambda: WORDS)

    @cached_property
    def vocabularies(self) -> Mapping[str, tuple[str, ...]]:
        """Every seventh word has a space."""
        return {
            language: tuple(sorted(f"{language[0]} {n:03}" if n % 7 == 0 else f"{language}{n:03}" for n in range(size)))
            for language, size in self.sizes.items()
        }

    @property
    def inputs(self) -> Mapping[str, Any]:
        return {language: np.arange(0, size, 1 if language == "spa" else 2) for language, size in self.sizes.items()}

    def relation(self, name: str, source: str, target: str) -> csr_array:
        shape = (self.sizes[source], self.sizes[target])
        bits = np.random.default_rng([self.seed, *map(ord, name + source + target)])
        return csr_array(bits.random(shape) < 0.06)

    def predicate(self, name: str, value: str, language: str) -> Any:
        return np.random.default_rng([self.seed, *map(ord, name + value)]).random(self.sizes[language]) < 0.5


class SmallGraph:
    """Triples in memory, asked by SPARQL."""

    digest = "small"

    def __init__(self, triples: Iterator[tuple[str, str, str]] | list[tuple[str, str, str]], count: int) -> None:
        self.store = ox.Store()
        for x, p, y in triples:
            self.store.add(ox.Quad(ox.NamedNode(x), ox.NamedNode(p), ox.NamedNode(y)))
        for n in range(count):
            label = ox.Literal(f"Entity {n}", language="en")
            self.store.add(ox.Quad(ox.NamedNode(f"http://x/e{n}"), ox.NamedNode(LABEL), label))

    def select(self, query: str) -> Iterator[tuple[str | None, ...]]:
        found = self.store.query(query)
        assert isinstance(found, ox.QuerySolutions)
        for row in found:
            yield tuple(None if cell is None else cell.value for cell in row)


def graph_of(seed: int, count: int = 40, share: float = 0.05) -> tuple[SmallGraph, list[tuple[str, str, str]]]:
    """Draw a graph: relations between entities, an occupation and a birthplace for some."""
    bits = np.random.default_rng(seed)
    relations = [NAMES.relations[name] for name in ("mother", "father", "creator")]
    found = [
        (f"http://x/e{a}", p, f"http://x/e{b}")
        for p in relations
        for a in range(count)
        for b in range(count)
        if bits.random() < share
    ]
    for attribute, values in (("occupation", ("actor", "writer")), ("place of birth", ("rome", "elsewhere"))):
        for a in range(count):
            found += [
                (f"http://x/e{a}", NAMES.relations[attribute], f"http://x/{v}") for v in values if bits.random() < 0.4
            ]
    return SmallGraph(found, count), found


@pytest.fixture
def lexicon() -> SmallLexicon:
    return SmallLexicon()


@pytest.fixture
def shop(lexicon: SmallLexicon) -> Workshop:
    return Workshop(Lexical(lexicon), None, Sampling(least=10, sequences=50))
