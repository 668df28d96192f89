"""The words and relations that the tasks of a suite share: each is there once, and tasks refer to it.

Words have places in a domain (a language, or the entities of a graph). A relation has the outputs of each word, by
their places. What is composed is worked out when it is read, so that a closure of 100,000 words is never copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from ...core import Ints
from ...errors import SuiteError
from ...ids import fingerprint, mixed
from .. import columns
from .evaluate import Bits, Matrix, outputs, rows_of, set_hashes
from .language import Filter, Map, Match, Predicate, Random, Relation, WordFunction, atoms, written
from .parse import parse

WORDS = pa.schema([("id", pa.string()), ("text", pa.string())])
RELATIONS = pa.schema([("word", pa.int32()), ("outputs", pa.list_(pa.int32()))])


@dataclass(frozen=True, slots=True)
class Span:
    """The rows of a domain or a relation, and for a relation its domains."""

    start: int
    stop: int
    source: str = ""
    target: str = ""


@dataclass(frozen=True)
class Tables:
    """Words by domain, and relations by the text of their function."""

    words: pa.Table
    relations: pa.Table
    domains: Mapping[str, Span]
    spans: Mapping[str, Span]
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what was read already

    def refuse_unfit(self) -> None:
        """Refuse spans that lead out of the tables, or to no domain."""
        for spans, rows in ((self.domains, self.words.num_rows), (self.spans, self.relations.num_rows)):
            if wrong := [name for name, span in spans.items() if not 0 <= span.start <= span.stop <= rows]:
                raise SuiteError(f"it has more rows than there are: {wrong[0]!r}")
        if wrong := [name for name, of in self.spans.items() if not {of.source, of.target} <= self.domains.keys()]:
            raise SuiteError(f"a relation of words that are in no domain: {wrong[0]!r}")

    def size(self, domain: str) -> int:
        """Count the words of a domain."""
        span = self.domains[domain]
        return span.stop - span.start

    def ids(self, domain: str) -> list[str]:
        """Give the ids of a domain's words."""
        return self._column(domain, "id")

    def texts(self, domain: str) -> list[str]:
        """Give the words of a domain as they are written."""
        return self._column(domain, "text")

    def _column(self, domain: str, name: str) -> list[str]:
        key = f"{name} {domain}"
        if key not in self.kept:
            span = self.domains[domain]
            with columns.reading_texts():
                self.kept[key] = self.words[name].slice(span.start, span.stop - span.start).to_pylist()
        return self.kept[key]  # type: ignore[no-any-return]

    def hashes(self, domain: str) -> Ints:
        """Give each word of a domain as a number: of its id and of how it is written."""
        key = f"hashes {domain}"
        if key not in self.kept:
            self.kept[key] = word_hashes(domain, zip(self.ids(domain), self.texts(domain), strict=True))
        return self.kept[key]  # type: ignore[no-any-return]

    def matrix(self, of: Relation | Random) -> Matrix:
        """Give a relation."""
        return self.relation(written(of))

    def holds(self, of: Predicate) -> Bits:
        """Refuse: predicates are no part of a suite, whose rows have what they are asked for."""
        raise SuiteError(f"the suite has no predicates: {written(of)}")

    def relation(self, name: str) -> Matrix:
        """Give a relation by the text of its function."""
        if name not in self.kept:
            self.kept[name] = self._read(name)
        return self.kept[name]

    def _read(self, name: str) -> Matrix:
        if name not in self.spans:
            raise SuiteError(f"the suite has no relation of this name: {name!r}")
        span = self.spans[name]
        part = self.relations.slice(span.start, span.stop - span.start).combine_chunks()
        words, listed = columns.numbers(part["word"]), _combined(part["outputs"])
        places, shape = columns.numbers(listed.flatten()), (self.size(span.source), self.size(span.target))
        if not are_places(words, shape[0]) or not are_places(places, shape[1]):
            raise SuiteError(f"the relation has words that are in no domain: {name!r}")
        if (np.diff(words) <= 0).any() or part["word"].null_count or listed.null_count:
            raise SuiteError(f"the relation does not have each word once, in order: {name!r}")
        sizes = np.zeros(shape[0] + 1, np.int64)
        sizes[words + 1] = columns.numbers(listed.value_lengths())
        return csr_array((np.ones(len(places), bool), places, np.cumsum(sizes)), shape=shape)

    def knows(self, of: WordFunction) -> bool:
        """Tell whether there are the relations that a function is looked up in."""
        return written(of) in self.spans or all(written(atom) in self.spans for atom in atoms(of))

    def sets(self, function: str, source: str, words: Ints) -> Matrix:
        """Give what a function gives for words: what has a table of its own is read, other functions are worked out."""
        rows = rows_of(words, self.size(source))
        if not function:
            return rows
        try:
            found = rows @ self.relation(function) if function in self.spans else self._outputs(function, rows)
        except ValueError as error:  # relations of other domains than the words are of
            raise SuiteError(f"the relations do not fit together ({error}): {function!r}") from None
        found.sort_indices()
        return found

    def _outputs(self, function: str, rows: Matrix) -> Matrix:
        of = parse(function)
        if isinstance(of, Map | Filter | Match):
            raise SuiteError(f"not a function of words: {function!r}")
        return outputs(of, rows, self)

    def content(self, function: str, source: str, target: str, words: Ints) -> str:
        """Name what a function gives for words, by content, whatever else there is."""
        learnt = self.kept.setdefault(f"content {function}", np.zeros((self.size(source), 3), np.int64))
        if len(lacking := words[learnt[words, 0] == 0]):
            sums = set_hashes(self.sets(function, source, lacking), self.hashes(target))
            self.learn(function, source, lacking, sums)
        return digest_of(self.hashes(source)[words], *learnt[words].T)

    def learn(self, function: str, source: str, words: Ints, sums: tuple[Ints, Ints, Ints]) -> None:
        """Keep what names the outputs of words: they are the same for all tasks that ask for them."""
        learnt = self.kept.setdefault(f"content {function}", np.zeros((self.size(source), 3), np.int64))
        learnt[words] = np.stack(sums, axis=1)


def are_places(found: Ints, size: int) -> bool:
    """Tell whether numbers are places of so many."""
    return not len(found) or bool(found.min() >= 0 and found.max() < size)


def word_hashes(domain: str, named: Iterable[tuple[str, str]]) -> Ints:
    """Give words as numbers: each of its domain, its id and how it is written."""
    return columns.hashes(f"{domain}\x1f{id_}\x1f{text}" for id_, text in named)


def digest_of(*numbers: Ints) -> str:
    """Name arrays of integers by their values."""
    return fingerprint("integers", [[len(of), _hash(of)] for of in numbers])


def _hash(of: Ints) -> str:
    return hashlib.blake2b(np.ascontiguousarray(of, "<i8").tobytes(), digest_size=16).hexdigest()


def _combined(of: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Give a column in one piece."""
    if isinstance(of, pa.Array):
        return of
    return of.chunk(0) if of.num_chunks == 1 else pa.concat_arrays(of.chunks) if of.chunks else pa.array([], of.type)


def tables(words: Mapping[str, Iterable[tuple[str, str]]], relations: Mapping[str, tuple[str, str, Matrix]]) -> Tables:
    """Make tables of domains, (id, text) by domain, and relations, (source, target, matrix) by text of function."""
    listed = [(domain, list(pairs)) for domain, pairs in sorted(words.items())]
    domains, at = {}, 0
    for domain, pairs in listed:
        domains[domain] = Span(at, at := at + len(pairs))
    named = pa.table(
        {
            "id": [id_ for _, pairs in listed for id_, _ in pairs],
            "text": [text for _, pairs in listed for _, text in pairs],
        },
        schema=WORDS,
    )
    spans, parts, at = {}, [], 0
    for name, (source, target, matrix) in sorted(relations.items()):
        part = _relation_rows(matrix)
        spans[name] = Span(at, at := at + part.num_rows, source, target)
        parts.append(part)
    return Tables(named, pa.concat_tables([RELATIONS.empty_table(), *parts]), domains, spans)


def _relation_rows(matrix: Matrix) -> pa.Table:
    matrix.sort_indices()
    sizes = np.diff(matrix.indptr)
    words = np.flatnonzero(sizes).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(sizes[words])]).astype(np.int32)
    places = matrix.indices.astype(np.int32)
    buffers = [None, pa.py_buffer(offsets)]
    values = pa.Array.from_buffers(pa.int32(), len(places), [None, pa.py_buffer(places)])
    listed = pa.Array.from_buffers(pa.list_(pa.int32()), len(words), buffers, children=[values])
    numbers = pa.Array.from_buffers(pa.int32(), len(words), [None, pa.py_buffer(words)])
    return pa.table([numbers, listed], schema=RELATIONS)


def drawn(hashes: Ints, sizes: Ints, *key: str | int) -> Ints:
    """Draw a place in each word's outputs, the same wherever the word stands.

    >>> [int(n) for n in drawn(np.array([1, 2, 3]), np.array([1, 5, 5]), "key")]
    [0, 4, 2]
    """
    return (mixed(hashes, "drawn", *key) * sizes.astype(np.uint64) >> np.uint64(32)).astype(np.int64)
