"""Functions to try things with: of every kind and depth, all of whose parts fit."""

from __future__ import annotations

from hypothesis import strategies as st

from taskloom.suites.functions.forms import type_of
from taskloom.suites.functions.language import (
    FACTS,
    Combined,
    Filter,
    Function,
    Map,
    Match,
    Permuted,
    Predicate,
    Random,
    Relation,
    SequenceFunction,
    WordFunction,
    compose,
)

LANGUAGES = ("eng", "spa")
LEXICAL = ("synonyms", "antonyms", "hyponyms")


def relations(source: str, target: str, depth: int = 2) -> st.SearchStrategy[WordFunction]:
    """Relations from one domain to another."""
    return _atoms(source, target) if depth < 2 else st.one_of(_atoms(source, target), _composed(source, target, depth))


def _atoms(source: str, target: str) -> st.SearchStrategy[WordFunction]:
    if source == FACTS:
        names = st.sampled_from(["mother", "father", "creator"])
        return st.builds(Relation, names, inverse=st.booleans())
    if source != target:
        return st.just(Relation("translate", source, target))
    lexical = st.sampled_from(LEXICAL).map(lambda name: Relation(name, source, source))
    return st.one_of(lexical, st.builds(Random, st.integers(0, 3), st.just(source)))


def _composed(source: str, target: str, depth: int) -> st.SearchStrategy[WordFunction]:
    between = st.just(FACTS) if source == FACTS else st.sampled_from(LANGUAGES)
    chains = between.flatmap(
        lambda domain: st.builds(compose, relations(domain, target, depth - 1), relations(source, domain, depth - 1))
    )
    parts = st.lists(relations(source, target, depth - 1), min_size=2, max_size=3).map(tuple)
    return st.one_of(chains, st.builds(Combined, st.sampled_from(["union", "intersection"]), parts))


def predicates(source: str, depth: int = 2) -> st.SearchStrategy[WordFunction]:
    """Predicates of a domain."""
    asked = (
        [("occupation", "actor"), ("place of birth", "rome")] if source == FACTS else [("POS", "noun"), ("POS", "verb")]
    )
    atoms: st.SearchStrategy[WordFunction] = st.sampled_from([Predicate(*pair, source) for pair in asked])
    if depth < 2:
        return atoms
    chains = st.builds(compose, predicates(source, depth - 1), relations(source, source, depth - 1))
    parts = st.lists(predicates(source, depth - 1), min_size=2, max_size=3).map(tuple)
    return st.one_of(atoms, chains, st.builds(Combined, st.sampled_from(["land", "lor"]), parts))


def sequences(source: str, layers: int = 3) -> st.SearchStrategy[SequenceFunction]:
    """Maps and filters, over each other."""
    if layers == 1:
        return st.one_of(st.builds(Map, relations(source, source, 1)), st.builds(Filter, predicates(source, 1)))
    return st.one_of(sequences(source, 1), sequences(source, layers - 1).flatmap(_over))


def _over(inner: SequenceFunction) -> st.SearchStrategy[SequenceFunction]:
    domain = type_of(inner).target
    maps = st.builds(Map, relations(domain, domain, 1), st.just(inner))
    return st.one_of(maps, st.builds(Filter, predicates(domain, 1), st.just(inner)))


domains = st.sampled_from([*LANGUAGES, FACTS])
words: st.SearchStrategy[WordFunction] = domains.flatmap(lambda d: st.one_of(relations(d, d), predicates(d)))
functions: st.SearchStrategy[Function] = st.one_of(
    words,
    domains.flatmap(sequences),
    st.builds(Permuted, st.integers(0, 9), relations("eng", "spa")),
    st.builds(Match, relations("eng", "spa"), relations("eng", "spa")),
)
