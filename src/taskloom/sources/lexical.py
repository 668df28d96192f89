"""Relations between words, worked out from a wordnet once as sparse tables, so that what follows is algebra on ids.

The meanings are those of the generator that TaskBench500 was made with. A word is looked up by its base forms, whatever
its case; the word itself is never among its relatives; what a word is (its part of speech, its sentiment) goes by the
lemmas that are written as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, eye_array

from .wordnets import PARTS_OF_SPEECH, base_forms

Table: TypeAlias = csr_array  # of truth values; rows are words or synsets
Pairs: TypeAlias = "list[tuple[int, int]]"

CLOSED = ("hyponyms", "hypernyms", "entailments")  # followed as far as they lead
SYMBOLS: Mapping[str, str] = {"~": "hyponyms", "@": "hypernyms", "*": "entailments", "!": "antonyms"}
RELATIONS = ("synonyms", "antonyms", *CLOSED)
SENTIMENTS: Mapping[str, int] = {"positive": 1, "negative": -1, "neutral": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordnet:
    """What any wordnet comes down to: synsets, the lemmas of each language, and the links between synsets."""

    synsets: tuple[str, ...]  # ids that end in a part of speech: "00001740-n"
    lemmas: Mapping[str, Sequence[tuple[int, str]]]  # by language: a synset, and a lemma as it is written
    links: Mapping[str, Pairs]  # by relation; of antonyms, those that some lemma of the synsets has
    irregular: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)  # base forms in English


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a language, and the synsets that they are in."""

    vocabulary: tuple[str, ...]
    members: Table  # whatever the case
    written: Table  # as it is written, or else, if it is never written so, whatever the case
    looked_up: Table  # by base forms, too
    lower: np.ndarray[Any, Any]  # words that some lemma is written as


def words(net: Wordnet, language: str) -> Words:
    """Gather the words of a language."""
    lemmas = net.lemmas[language]
    vocabulary = tuple(sorted({lemma.lower() for _, lemma in lemmas}))
    ids = {word: id_ for id_, word in enumerate(vocabulary)}
    shape = len(vocabulary), len(net.synsets)
    members = table(((ids[lemma.lower()], synset) for synset, lemma in lemmas), shape)
    exact = table(((ids[lemma], synset) for synset, lemma in lemmas if lemma in ids), shape)
    lower = np.diff(exact.indptr) > 0
    written = exact + _rows(members, ~lower)
    looked_up = _looked_up(net, ids, members) if language == "eng" else members
    return Words(vocabulary, members, written, looked_up, lower)


def _looked_up(net: Wordnet, ids: Mapping[str, int], members: Table) -> Table:
    """Add the synsets of the base forms of words: "left" is a form of "leave"."""
    found = members
    for part_of_speech in PARTS_OF_SPEECH.values():
        irregular = net.irregular.get(part_of_speech, {})
        pairs = (
            (id_, ids[form])
            for word, id_ in ids.items()
            for form in base_forms(word, part_of_speech, irregular)[1:]
            if form in ids
        )
        of_it = members @ _diagonal(is_part_of_speech(net, part_of_speech))
        found = found + table(pairs, (len(ids), len(ids))) @ of_it
    return found.astype(bool)


def is_part_of_speech(net: Wordnet, letter: str) -> np.ndarray[Any, Any]:
    """Tell for each synset whether it is of a part of speech."""
    return np.array([synset.endswith(f"-{letter}") for synset in net.synsets], bool)


def linked(net: Wordnet, relation: str) -> Table:
    """Give the synsets that each synset is linked to; no synset is linked to itself."""
    n = len(net.synsets)
    if relation in ("synonyms", "translate"):
        return eye_array(n, dtype=bool, format="csr")
    found = table(net.links.get(relation, ()), (n, n))
    return closure(found) if relation in CLOSED else found


def closure(step: Table) -> Table:
    """Follow a relation as far as it leads, but never back to where it began.

    >>> closure(table([(0, 1), (1, 2), (2, 0)], (3, 3))).toarray().astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    found = step
    while (further := (found + found @ step).astype(bool)).nnz > found.nnz:
        found = further
    return _kept(found, np.arange(found.shape[0]))


def related(source: Words, links: Table, target: Words) -> Table:
    """Give the words that each word is related to by links of its synsets, but for a word that is spelled the same."""
    ids = {word: id_ for id_, word in enumerate(target.vocabulary)}
    same = np.array([ids.get(word, -1) for word in source.vocabulary], np.int64)
    return _kept(source.looked_up @ links @ target.members.T.tocsr(), same)


def table(pairs: Iterable[tuple[int, int]], shape: tuple[int, int]) -> Table:
    """Make a table that is true at some places.

    >>> table([(0, 1), (0, 1)], (1, 2)).toarray().tolist()
    [[False, True]]
    """
    at = np.fromiter((id_ for pair in pairs for id_ in pair), np.int64).reshape(-1, 2)
    places = np.unique(at[:, 0] * shape[1] + at[:, 1])  # each once, in order
    rows, columns = np.divmod(places, shape[1])
    begins = np.searchsorted(rows, np.arange(shape[0] + 1))
    return filled(begins, columns, shape)


def filled(begins: np.ndarray[Any, Any], columns: np.ndarray[Any, Any], shape: tuple[int, int]) -> Table:
    """Make a table of where its rows begin and which columns are true."""
    return csr_array((np.ones(len(columns), bool), columns, begins), shape=shape)


def _kept(found: Table, without: np.ndarray[Any, Any]) -> Table:
    """Drop a column of each row, and put the others in order."""
    coordinates = found.tocoo()
    keep = coordinates.col != without[coordinates.row]
    pairs = np.stack([coordinates.row[keep], coordinates.col[keep]], axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    begins = np.searchsorted(pairs[order, 0], np.arange(found.shape[0] + 1))
    return filled(begins.astype(np.int32), pairs[order, 1].astype(np.int32), found.shape)


def _rows(of: Table, which: np.ndarray[Any, Any]) -> Table:
    return (_diagonal(which) @ of).astype(bool)


def _diagonal(which: np.ndarray[Any, Any]) -> Table:
    places = np.flatnonzero(which)
    return table(zip(places.tolist(), places.tolist(), strict=True), (len(which), len(which)))
