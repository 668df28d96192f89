"""Sparse algebra and SPARQL give what a plain evaluation of the same tree gives, and so do normal forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.sources.facts import LABEL, PROPERTIES, EmbeddedGraph
from taskloom.suites.functions.evaluate import is_predicate, outputs, rows_of, truths
from taskloom.suites.functions.forms import canonical, canonical_word, normal, type_of
from taskloom.suites.functions.knowledge import Asking, Lexical
from taskloom.suites.functions.language import (
    FACTS,
    Filter,
    Map,
    Predicate,
    Random,
    Relation,
    WordFunction,
    atoms,
    written,
)
from taskloom.suites.functions.parse import fact_names, parse
from taskloom.suites.functions.queries import query

from .conftest import NAMES, SmallLexicon, graph_of
from .slow import Slow
from .strategies import LANGUAGES, predicates, relations, sequences

few = settings(max_examples=40)
lexical = st.sampled_from(LANGUAGES).flatmap(lambda d: st.one_of(relations(d, d), predicates(d)))
factual = st.one_of(relations(FACTS, FACTS, 3), predicates(FACTS, 3))


def slow_lexicon(of: WordFunction, known: Lexical) -> Slow:
    """The atoms of a function, as sets of words."""
    texts = known.lexicon.vocabularies
    found, holds = {}, {}
    for atom in atoms(of):
        if isinstance(atom, Predicate):
            marks = known.holds(atom)
            holds[written(atom)] = frozenset(w for w, mark in zip(texts[atom.source], marks, strict=True) if mark)
        else:
            source, target = type_of(atom).source, type_of(atom).target
            matrix = known.matrix(atom).toarray()
            found[written(atom)] = {
                word: frozenset(texts[target][at] for at in np.flatnonzero(matrix[row]))
                for row, word in enumerate(texts[source])
            }
    return Slow(found, holds)


@few
@given(lexical, st.integers(0, 3))
def test_sparse_algebra_gives_what_a_plain_evaluation_gives(of, seed):
    known = Lexical(SmallLexicon(seed))
    slow, found = slow_lexicon(of, known), type_of(of)
    texts = known.lexicon.vocabularies
    words = np.arange(known.size(found.source))
    rows = rows_of(words, known.size(found.source))
    if is_predicate(of):
        ours = truths(of, rows, known).tolist()
        assert ours == [slow.truth(of, frozenset({word})) for word in texts[found.source]]
        return
    sets = outputs(of, rows, known)
    given = [{texts[found.target][at] for at in sets[[row]].indices} for row in words]
    assert given == [slow.outputs(of, frozenset({word})) for word in texts[found.source]]


@few
@given(sequences("eng"), st.lists(st.integers(0, 59), min_size=1, max_size=6))
def test_a_normal_form_gives_what_the_original_gives(of, places):
    known = Lexical(SmallLexicon(1))
    slow = slow_lexicon(of, known)
    words = [frozenset({known.lexicon.vocabularies["eng"][place]}) for place in places]
    form = normal(of)
    assert isinstance(form, Map | Filter)
    assert slow.sequence(form, words) == slow.sequence(of, words)


@few
@given(lexical)
def test_a_canonical_form_gives_what_the_original_gives(of):
    known, form = Lexical(SmallLexicon(2)), canonical_word(of)
    ours: Any = known.answers(of)
    theirs: Any = known.answers(form)
    assert ours.words.tolist() == theirs.words.tolist()
    if ours.truths is not None:
        assert ours.truths.tolist() == theirs.truths.tolist()
    else:
        assert (ours.sets != theirs.sets).nnz == 0


@settings(max_examples=60)
@given(factual, st.integers(0, 5))
def test_a_query_gives_what_a_plain_evaluation_gives(of, seed):
    graph, triples = graph_of(seed, count=12, share=0.12)
    labelled = {f"http://x/e{n}" for n in range(12)}
    relation, holds, having = {}, {}, {}
    for atom in atoms(of):
        if isinstance(atom, Predicate):
            p, value = NAMES.relations[atom.attribute], NAMES.values[atom.value]
            holds[written(atom)] = frozenset(x for x, q, y in triples if (q, y) == (p, value))
            having[written(atom)] = frozenset(x for x, q, _ in triples if q == p)
        elif isinstance(atom, Relation):
            ends = [(y, x) if atom.inverse else (x, y) for x, q, y in triples if q == NAMES.relations[atom.name]]
            relation[written(atom)] = {x: frozenset(b for a, b in ends if a == x) for x, _ in ends}
    slow, known = Slow(relation, holds), Slow(relation, having)
    rows = list(graph.select(query(of, NAMES)))
    if is_predicate(of):
        asked = {x for x in labelled if _has_all(known, of, x)}
        assert {(row[0], row[2]) for row in rows} == {(x, str(slow.truth(of, frozenset({x}))).lower()) for x in asked}
        return
    pairs = {(x, y) for x in labelled for y in slow.outputs(of, frozenset({x})) if y in labelled}
    assert {(row[0], row[2]) for row in rows} == pairs


@pytest.mark.parametrize(
    "text",
    [
        "child(child(child(child(child(child(child(child(0))))))))",
        "intersection(child(child(child(0))),child(child(child(child(0)))))",
        "is{occupation=actor}(child(child(child(child(child(0))))))",
    ],
)
def test_a_graph_of_many_paths_is_asked_about_pairs(text: str):
    """There are 30 to the ninth paths of eight steps, and 900 pairs."""
    graph = EmbeddedGraph.of(
        [f"<http://x/e{a}> <{PROPERTIES['child']}> <http://x/e{b}> ." for a in range(30) for b in range(30)]
        + [f'<http://x/e{a}> <{LABEL}> "e{a}"@en .' for a in range(30)]
        + [f"<http://x/e{a}> <{PROPERTIES['occupation']}> <http://x/e0> ." for a in range(30)]
    )
    of: Any = canonical(parse(text))
    rows = list(graph.select(query(of, fact_names())))
    assert len(rows) == (30 if "is{" in text else 900)


def _has_all(known: Slow, of: WordFunction, x: str) -> bool:
    """Tell whether an entity has every attribute that is asked for."""
    from taskloom.suites.functions.language import Combined

    if isinstance(of, Combined):
        return all(_has_all(known, part, x) for part in of.parts)
    return known.truth(of, frozenset({x}))


def test_labels_and_ids_are_kept_apart_and_what_has_no_label_is_left_out():
    label, mother = "<http://www.w3.org/2000/01/rdf-schema#label>", f"<{NAMES.relations['mother']}>"
    graph = EmbeddedGraph.of([
        f"<urn:a> {mother} <urn:b> .", f"<urn:c> {mother} <urn:d> .", f"<urn:e> {mother} <urn:f> .",
        f'<urn:a> {label} "Ann"@en .', f'<urn:a> {label} "Anna"@en .', f'<urn:a> {label} "Anne"@fr .',
        f'<urn:b> {label} "Sam"@en .', f'<urn:c> {label} "Ann"@en .', f'<urn:d> {label} "Sam"@en .',
        f'<urn:e> {label} "Eve"@en .',
    ])  # fmt: skip
    found = Asking(graph, NAMES).add([Relation("mother")]).facts()
    assert found.entities == (("urn:a", "Ann"), ("urn:b", "Sam"), ("urn:c", "Ann"), ("urn:d", "Sam"))
    assert found.found == {"wiki{mother(0)}": (("urn:a", "urn:b"), ("urn:c", "urn:d"))}


def test_random_relations_pair_each_word_with_another_by_seed():
    known = Lexical(SmallLexicon())
    zero, again, one = (known.answers(Random(seed, "eng")) for seed in (0, 0, 1))
    assert zero.sets is not None
    assert again.sets is not None
    assert one.sets is not None
    assert zero.words.tolist() == known.asked("eng").tolist()
    assert (np.diff(zero.sets.indptr) == 1).all()
    assert (zero.sets.indices != zero.words).all()
    assert {*zero.sets.indices.tolist()} <= {*zero.words.tolist()}
    assert zero.sets.indices.tolist() == again.sets.indices.tolist() != one.sets.indices.tolist()
    assert zero.sets.indices.tolist()[:6] == [70, 64, 76, 82, 22, 118]  # on every machine
