"""Functions are read and written without loss, checked by type, and have one normal and one canonical form."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from taskloom.benchmarks.taskbench import paper_functions, paper_names
from taskloom.suites.functions.forms import MOST_DEPTH, canonical, checked, depth, normal, type_of
from taskloom.suites.functions.language import (
    Combined,
    Filter,
    Function,
    FunctionError,
    Map,
    Predicate,
    Relation,
    atoms,
    composition_of,
    kind_of,
    parts_of,
    split,
    written,
)
from taskloom.suites.functions.parse import parse
from taskloom.suites.functions.plain import plain

from .conftest import NAMES
from .strategies import functions, sequences, words

often = settings(max_examples=60)


@often
@given(functions)
def test_what_is_written_is_read_back(of: Function) -> None:
    assert parse(written(of), NAMES) == of
    assert parse(written(of).replace(",", " , "), NAMES) == of


@often
@given(functions)
def test_canonical_and_normal_forms_are_fixpoints_of_the_same_type(of: Function) -> None:
    for form in (normal, canonical):
        found = form(of)
        assert form(found) == found
        assert type_of(found) == type_of(of)
        assert parse(written(found), NAMES) == found


def shuffled(of: Function, bits: random.Random) -> Function:
    """Write a function in another way: the parts of each operation in another order, one of them twice."""
    match of:
        case Combined():
            parts = [shuffled(part, bits) for part in of.parts]
            bits.shuffle(parts)
            return Combined(of.by, (*parts, parts[0]))  # type: ignore[arg-type]
        case Map(each=each, over=over):
            return Map(shuffled(each, bits), shuffled(over, bits) if over else None)  # type: ignore[arg-type]
        case Filter(keep=keep, over=over):
            return Filter(shuffled(keep, bits), shuffled(over, bits) if over else None)  # type: ignore[arg-type]
    return of


@often
@given(functions)
def test_equal_functions_have_one_canonical_form(of: Function) -> None:
    assert canonical(shuffled(of, random.Random(0))) == canonical(of)


@often
@given(sequences("eng"))
def test_a_normal_form_is_one_map_over_one_filter(of: Map | Filter) -> None:
    found = normal(of)
    assert isinstance(found, Map | Filter)
    inner = found.over
    assert inner is None or (isinstance(found, Map) and isinstance(inner, Filter) and inner.over is None)


@often
@given(words)
def test_every_function_has_a_plain_name_that_says_x(of: Function) -> None:
    assert "x" in plain(of)
    assert plain(canonical(of))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("wiki{mother(creator(0))}", "the mother of the creator of x"),
        ("mother(creator)", "the mother of the creator of x"),
        ("is{POS=noun}[eng](0)", "whether x is a noun"),
        ("is-occupation-actor", "whether the occupation of x is actor"),
        ("union(antonyms[eng](0),synonyms[eng](0))", "an antonym of x or a synonym of x"),
        ("translate[eng->spa](antonyms[eng](0))", "an antonym of x in Spanish"),
        ("mother[inv](0)", "a child of x"),
        ("random{2}[eng](0)", "the word that is paired with x at random (2)"),
        ("filter{is{sentiment=neg}[eng](0)}(S)", "for each x of the list if x is negative: x"),
        ("match(synonyms[eng](0),antonyms[eng](0))", "a synonym of x or an antonym of x"),
        ("permuted{1}(mother(0))", "the mother of x, with answers dealt out at random (1)"),
    ],
)
def test_plain_names(text: str, told: str) -> None:
    assert plain(parse(text, NAMES)) == told


def test_all_names_of_the_paper_are_known() -> None:
    found = paper_functions()
    assert len(paper_names()) == 494
    assert len(found) == 491  # three are there twice, as lor(a,b) and lor(b,a)
    assert {composition_of(of) for of in found} == {
        "", "chaining", "union", "intersection", "land", "lor", "map", "filter", "mapfilter",
    }  # fmt: skip
    assert {kind_of(of) for of in found} == {"lexical", "factual", "random"}
    assert all(parse(written(of)) == of for of in found)


def test_rules_of_the_paper_for_nested_maps_and_filters() -> None:
    noun, adj, syn, ant = "is{POS=noun}[eng]", "is{POS=adj}[eng]", "synonyms[eng]", "antonyms[eng]"
    rules = {
        f"map{{{syn}(0)}}(map{{{ant}(0)}}(S))": f"map{{{syn}({ant}(0))}}(S)",
        f"map{{{syn}(0)}}(filter{{{noun}(0)}}(S))": f"map{{{syn}(0)}}(filter{{{noun}(0)}}(S))",
        f"filter{{{noun}(0)}}(map{{{ant}(0)}}(S))": f"map{{{ant}(0)}}(filter{{{noun}({ant}(0))}}(S))",
        f"filter{{{adj}(0)}}(filter{{{noun}(0)}}(S))": f"filter{{land({noun}(0),{adj}(0))}}(S)",
    }
    assert {text: written(normal(parse(text))) for text in rules} == rules


def test_parts_and_atoms() -> None:
    of = parse("map{union(random{0}[eng](0),synonyms[eng](antonyms[eng](0)))}(filter{is{POS=noun}[eng](0)}(S))")
    assert [written(part) for part in parts_of(of)] == [
        "union(random{0}[eng](0),synonyms[eng](antonyms[eng](0)))", "is{POS=noun}[eng](0)",
    ]  # fmt: skip
    assert [written(atom) for atom in atoms(of)] == [
        "random{0}[eng](0)", "synonyms[eng](0)", "antonyms[eng](0)", "is{POS=noun}[eng](0)",
    ]  # fmt: skip
    assert isinstance(of, Map)
    assert split(of)[1] == Predicate("POS", "noun", "eng")


@pytest.mark.parametrize(
    ("text", "code", "place", "told"),
    [
        ("mother(creator(0)", "function-unreadable", 18, "expected ')' or ',', found the end"),
        ("synonyms[eng](0) x", "function-unreadable", 18, "expected the end, found 'x'"),
        ("wiki{}", "function-unreadable", 6, "expected a name or a number or an IRI in <>, found '}'"),
        ("", "function-unreadable", 1, "found the end"),
        ("map{mothr(0)}(S)", "name-unknown", 5, "unknown relation: 'mothr'; did you mean mother"),
        ("is{POS=nown}[eng](0)", "name-unknown", 8, "unknown value: 'nown'; did you mean noun?"),
        ("is{age=old}(0)", "name-unknown", 4, "unknown attribute: 'age'"),
        ("antonyms(0)", "language-expected", 1, "antonyms needs a language of three letters, as [eng]"),
        ("translate[eng](0)", "language-expected", 1, "translate needs two languages, as [eng->spa]"),
        ("antonyms[eng->spa](0)", "language-expected", 1, "antonyms needs one language, as [eng]"),
        ("mother[eng](0)", "language-expected", 1, "mother needs [inv] or nothing"),
        ("antonyms[spa](synonyms[eng](0))", "domains-differ", 1, "takes spa, and synonyms[eng](0) gives eng"),
        ("mother(synonyms[eng](0))", "domains-differ", 1, "takes facts"),
        ("map{mother(0)}(map{synonyms[eng](0)}(S))", "domains-differ", 1, "takes facts"),
        ("map{is{POS=noun}[eng](0)}(S)", "relation-expected", 5, "this is a predicate"),
        ("filter{synonyms[eng](0)}(S)", "predicate-expected", 8, "this is a relation"),
        ("synonyms[eng](is{POS=noun}[eng](0))", "relation-expected", 1, "this is a predicate"),
        ("union(mother(0),synonyms[eng](0))", "parts-differ", 1, "must take and give the same"),
        ("land(mother(0),father(0))", "predicate-expected", 1, "this is a relation: wiki{mother(0)}"),
        ("union(mother(0))", "parts-missing", 1, "union needs at least two functions"),
        ("union", "parts-missing", 1, "union needs at least two functions"),
        (f"random-seed{'1' * 5000}[eng](0)", "name-unknown", 1, "unknown relation"),
        ("mother(0,0)", "inputs-too-many", 1, "mother can't take 2 inputs here"),
        ("antonyms[eng](S)", "word-expected", 15, "antonyms takes a word, 0, not the sequence S"),
        ("map{mother(father(S))}(S)", "word-expected", 19, "father takes a word, 0"),
        ("filter{is{POS=noun}[eng](0)}(0)", "sequence-expected", 30, "filter takes S, map or filter, not 0"),
        ("map{mother(0)}(father(0))", "sequence-expected", 16, "map takes S, map or filter, not father"),
        ("mother(map{father(0)}(S))", "word-function-expected", 1, "one of sequences"),
        ("random{x}[eng](0)", "braces-expected", 1, "random needs a number, as {0}, in braces"),
        ("mapfilter{mother(0)}(S)", "braces-expected", 1, "a map and a filter"),
        ("mother(permuted{0}(father(0)))", "permuted-inside", 1, "must be the outermost"),
        ("mother(" * 9 + "0" + ")" * 9, "function-too-deep", 1, "must not be deeper than 8: 9"),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, code: str, place: int, told: str) -> None:
    with pytest.raises(FunctionError) as caught:
        parse(text, NAMES)
    note = dict(caught.value.note.values)
    assert (getattr(note.get("reason"), "code", caught.value.note.code), note["place"]) == (code, place)
    assert told in str(caught.value)
    assert repr(text) in str(caught.value)


def test_brackets_without_end_are_refused_before_they_are_read() -> None:
    with pytest.raises(FunctionError, match="nested more than 64 times"):
        parse("mother(" * 10_000, NAMES)


def test_functions_made_in_python_are_checked_too() -> None:
    with pytest.raises(FunctionError, match="takes spa"):
        checked(Map(Relation("antonyms", "spa", "spa"), Map(Relation("synonyms", "eng", "eng"))))
    deep: Function = Relation("mother")
    for _ in range(MOST_DEPTH):
        deep = Combined("union", (deep, Relation("father")))  # type: ignore[arg-type]
    assert depth(deep) == MOST_DEPTH + 1
    with pytest.raises(FunctionError, match="deeper than"):
        checked(deep)
