"""Functions of depth one and two, and their versions for sequences, in a fixed order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from .evaluate import is_predicate
from .forms import type_of
from .language import (
    FACTS,
    Combined,
    Filter,
    Function,
    Map,
    Predicate,
    Random,
    Relation,
    WordFunction,
    compose,
)
from .parse import ATTRIBUTES

RELATIONS = ("synonyms", "antonyms", "hyponyms", "hypernyms", "entailments")
SEEDS = range(4)


def lexical_atoms(languages: Sequence[str], english: str = "eng") -> Iterator[WordFunction]:
    """Yield the predicates and relations of words: sentiment is known of English alone."""
    for language in languages:
        for attribute, values in ATTRIBUTES.items():
            if attribute != "sentiment" or language == english:
                yield from (Predicate(attribute, value, language) for value in values)
        yield from (Relation(name, language, language) for name in RELATIONS)
    yield from (Relation("translate", *pair) for pair in itertools.permutations(languages, 2))
    yield from (Random(seed, language) for language in languages for seed in SEEDS)


def of_two(parts: Iterable[WordFunction]) -> Iterator[WordFunction]:
    """Yield what two functions can be put together to; random ones are joined with lexical relations alone."""
    atoms = list(parts)
    relations = [of for of in atoms if not is_predicate(of)]
    usual = [of for of in relations if not isinstance(of, Random)]
    for outer, inner in itertools.product(usual, usual):
        if type_of(outer).source == type_of(inner).target:
            yield compose(outer, inner)
    for one, other in _pairs(relations):
        yield Combined("union", (one, other))
    for one, other in _pairs(usual):
        yield Combined("intersection", (one, other))
    for one, other in itertools.combinations([of for of in atoms if isinstance(of, Predicate)], 2):
        if one.source == other.source and (one.attribute != other.attribute or one.source == FACTS):
            yield Combined("land", (one, other))
            yield Combined("lor", (one, other))


def _pairs(of: Sequence[WordFunction]) -> Iterator[tuple[WordFunction, WordFunction]]:
    """Yield pairs that take and give the same, but not of two random functions."""
    for one, other in itertools.combinations(of, 2):
        if type_of(one) == type_of(other) and not (isinstance(one, Random) and isinstance(other, Random)):
            yield one, other


def of_sequences(parts: Iterable[WordFunction]) -> Iterator[Function]:
    """Yield maps of relations and filters of predicates; and both, of atoms of words."""
    found = list(parts)
    relations = [of for of in found if not is_predicate(of)]
    predicates = [of for of in found if is_predicate(of)]
    yield from (Map(of) for of in relations)
    yield from (Filter(of) for of in predicates)
    kept = [of for of in predicates if isinstance(of, Predicate) and of.source != FACTS]
    for each, keep in itertools.product([of for of in relations if isinstance(of, Relation | Random)], kept):
        if type_of(each).source == keep.source:
            yield Map(each, Filter(keep))
