"""What atoms are: lexical relations of a lexicon, random ones by a seed, and what a graph of facts answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from ...core import Ints
from ...errors import SourceError, UnknownNameError
from ...ids import bit_stream
from ...messages import Note
from .evaluate import Bits, Matrix, is_predicate, outputs, rows_of, truths
from .forms import canonical_word, type_of
from .language import FACTS, Predicate, Random, Relation, WordFunction, atoms, written
from .parse import FactNames
from .queries import query

if TYPE_CHECKING:
    from ...sources.facts import Graph

Pairs: TypeAlias = "tuple[tuple[str, str], ...]"  # input and output, or truth


class WordSource(Protocol):
    """Words by language, and relations between their places."""

    @property
    def vocabularies(self) -> Mapping[str, tuple[str, ...]]:
        """Give the words of each language, in order."""

    @property
    def inputs(self) -> Mapping[str, Ints]:
        """Give the places of the words of each language that tasks ask about."""

    def relation(self, name: str, source: str, target: str) -> Matrix:
        """Give a relation: words of its source by words of its target."""

    def predicate(self, name: str, value: str, language: str) -> Any:
        """Tell for each word of a language whether a predicate holds."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a function of words gives: for each word that it is asked about, a set of words or a truth."""

    source: str
    target: str
    words: Ints
    sets: Matrix | None = None
    truths: Bits | None = None


@dataclass(frozen=True)
class Lexical:
    """The lexical and random functions of a lexicon."""

    lexicon: WordSource
    seed: int = 0
    kept: dict[str, Matrix] = field(default_factory=dict, compare=False, repr=False)

    def size(self, domain: str) -> int:
        """Count the words of a language."""
        return len(self._vocabulary(domain))

    def _vocabulary(self, language: str) -> Sequence[str]:
        if language not in self.lexicon.vocabularies:
            raise UnknownNameError("language", language, self.lexicon.vocabularies)
        return self.lexicon.vocabularies[language]

    def matrix(self, of: Relation | Random) -> Matrix:
        """Give a relation; it is worked out once."""
        name = written(of)
        if name not in self.kept:
            made = self._random(of) if isinstance(of, Random) else self._relation(of)
            self.kept[name] = made
        return self.kept[name]

    def _relation(self, of: Relation) -> Matrix:
        self._vocabulary(of.source), self._vocabulary(of.target)
        found = csr_array(self.lexicon.relation(of.name, of.source, of.target), dtype=bool, copy=True)
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def _random(self, of: Random) -> Matrix:
        """Pair each word that may be asked about with another of them."""
        words, size = self.asked(of.language), self.size(of.language)
        bits = bit_stream("random", of.seed, of.language, self.seed)(len(words)).astype(np.uint64)
        steps = 1 + (bits * np.uint64(max(len(words) - 1, 1)) >> np.uint64(32)).astype(np.int64)
        others = words[(np.arange(len(words)) + steps) % max(len(words), 1)]
        return csr_array((np.ones(len(words), bool), (words, others)), shape=(size, size))

    def asked(self, language: str) -> Ints:
        """Give the words of a language that tasks ask about."""
        self._vocabulary(language)
        return np.asarray(self.lexicon.inputs[language], np.int64)

    def holds(self, of: Predicate) -> Bits:
        """Tell for each word of a language whether a predicate holds."""
        self._vocabulary(of.source)
        return np.asarray(self.lexicon.predicate(of.attribute, of.value, of.source), bool)

    def answers(self, of: WordFunction) -> Answers:
        """Give what a function gives for the words of its language that have an output."""
        found = type_of(of)
        words = self.asked(found.source)
        rows = rows_of(words, self.size(found.source))
        if is_predicate(of):
            return Answers(found.source, "", words, truths=truths(of, rows, self))
        sets = outputs(of, rows, self)
        kept = np.flatnonzero(np.diff(sets.indptr))
        return Answers(found.source, found.target, words[kept], sets[kept])


@dataclass(frozen=True)
class Factual:
    """What a graph answered to functions of facts; entities have places by their ids."""

    entities: tuple[tuple[str, str], ...]  # id and label, in order of ids
    found: Mapping[str, Pairs]  # by function: input and output, or truth
    kept: dict[str, Answers] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {id_: at for at, (id_, _) in enumerate(self.entities)}

    def size(self, domain: str) -> int:
        """Count the entities."""
        return len(self.entities) if domain == FACTS else 0

    def answers(self, of: WordFunction) -> Answers:
        """Give what a function gives for the entities that the graph has an answer for."""
        name = written(of)
        if not self.found.get(name):
            raise SourceError(Note.of("facts-missing", function=name))
        if name not in self.kept:
            self.kept[name] = self._truths(name) if is_predicate(of) else self._sets(name)
        return self.kept[name]

    def _truths(self, name: str) -> Answers:
        held = {self._places[x]: y == "true" for x, y in self.found[name]}
        words = np.array(sorted(held), np.int64)
        return Answers(FACTS, "", words, truths=np.array([held[int(word)] for word in words], bool))

    def _sets(self, name: str) -> Answers:
        ends = np.array([(self._places[x], self._places[y]) for x, y in self.found[name]], np.int64)
        shape = (len(self.entities), len(self.entities))
        matrix = csr_array((np.ones(len(ends), bool), (ends[:, 0], ends[:, 1])), shape=shape)
        matrix.sort_indices()
        words = np.flatnonzero(np.diff(matrix.indptr))
        return Answers(FACTS, FACTS, words, matrix[words])

    def matrix(self, of: Relation | Random) -> Matrix:
        """Give a relation of all entities."""
        return scattered(self.answers(of), len(self.entities))

    def holds(self, of: Predicate) -> Bits:
        """Tell for each entity whether a predicate is known to hold."""
        found, held = self.answers(of), np.zeros(len(self.entities), bool)
        assert found.truths is not None
        held[found.words] = found.truths
        return held


def scattered(found: Answers, size: int) -> Matrix:
    """Give the sets of some words as rows of all."""
    assert found.sets is not None
    sizes = np.zeros(size + 1, np.int64)
    sizes[found.words + 1] = np.diff(found.sets.indptr)
    return csr_array((found.sets.data, found.sets.indices, np.cumsum(sizes)), shape=(size, found.sets.shape[1]))


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks a graph about functions, one query each; of several labels of an entity the first is taken."""

    graph: Graph
    names: FactNames
    labels: dict[str, str] = field(default_factory=dict)
    found: dict[str, Pairs] = field(default_factory=dict)

    def add(self, functions: Iterable[WordFunction]) -> Asking:
        """Ask about functions that were not asked about yet."""
        for of in map(canonical_word, functions):
            if written(of) not in self.found:
                self.found[written(of)] = self._pairs(of)
        return self

    def _pairs(self, of: WordFunction) -> Pairs:
        rows = list(_rows(self.graph, query(of, self.names), predicate=is_predicate(of)))
        for x, label, y, other in rows:
            for id_, text in ((x, label), *(((y, other),) if other else ())):
                self.labels[id_] = min(text, self.labels.get(id_, text))
        return tuple(sorted(dict.fromkeys((x, y) for x, _, y, _ in rows)))  # quick, for they are nearly in order

    def has(self, of: WordFunction) -> bool:
        """Tell whether the graph has an answer to each atom of a function that was asked about."""
        return all(self.found.get(written(atom)) for atom in atoms(of))

    def facts(self) -> Factual:
        """Give what was found so far."""
        return Factual(tuple(sorted(self.labels.items())), dict(self.found))


def _rows(graph: Graph, text: str, *, predicate: bool) -> Iterator[tuple[str, str, str, str]]:
    """Read rows in which nothing is missing."""
    for row in graph.select(text):
        x, label, y, other = ([cell or "" for cell in row] + [""] * 4)[:4]  # a reply may have fewer than were asked for
        if x and label.strip() and y and (predicate or other.strip()):
            yield x, label.strip(), y, other.strip()
