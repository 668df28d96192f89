import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.answers import answer_from_json, cut, faults_of
from taskloom.core import Fields, Labels, Number, Output, Ranking, Terms, Text, Words
from taskloom.messages import Note

often = settings(deadline=None, max_examples=50)

OUTPUTS: list[Output] = [
    Text(), Terms(), Number(), Labels(("a", "b c")), Labels(("a", "b c"), many=True), Ranking(depth=2), Words(" # "),
    Fields({"t": Text(), "k": Terms("; "), "n": Number(), "l": Labels(("a",))}),
]  # fmt: skip
words = st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.lists(words, min_size=1, max_size=4, unique=True).map(tuple)


def answers(output: Output) -> st.SearchStrategy[Any]:
    match output:
        case Labels(names=known, many=True):
            return st.lists(st.sampled_from(known), unique=True).map(tuple)
        case Labels(names=known):
            return st.sampled_from(known)
        case Terms():
            return names
        case Number():
            return numbers
        case Ranking():
            return st.lists(st.tuples(words, numbers), min_size=1, unique_by=lambda pair: pair[0]).map(tuple)
        case Words():
            return st.one_of(words, st.lists(names, min_size=1, max_size=3).map(tuple))
        case Fields(parts=parts):
            whole = st.fixed_dictionaries({name: answers(part) for name, part in parts.items()})
            return whole.map(lambda answer: {name: answer[name] for name in parts})
    return words


outputs_with_answers = st.sampled_from(OUTPUTS).flatmap(lambda output: st.tuples(st.just(output), answers(output)))


@often
@given(outputs_with_answers)
def test_an_answer_written_as_json_is_read_back(pair: tuple[Output, Any]) -> None:
    output, answer = pair
    assert answer_from_json(output, json.loads(json.dumps(answer))) == answer


@often
@given(outputs_with_answers)
def test_nothing_is_said_of_a_good_answer(pair: tuple[Output, Any]) -> None:
    output, answer = pair
    candidates = [candidate for candidate, _ in answer] if isinstance(output, Ranking) else []
    assert list(faults_of(output, answer, candidates)) == []


def test_an_answer_is_of_the_type_that_its_output_says() -> None:
    assert answer_from_json(Number(), 3) == 3.0
    assert isinstance(answer_from_json(Number(), 3), float)
    assert answer_from_json(Ranking(), [["a", 1], ["b", 0]]) == (("a", 1.0), ("b", 0.0))
    assert answer_from_json(Labels(("a", "b"), many=True), ["a"]) == ("a",)
    both = Fields({"keywords": Terms(), "year": Number()})
    assert answer_from_json(both, {"year": 1999, "keywords": ["x"]}) == {"keywords": ("x",), "year": 1999.0}


@pytest.mark.parametrize(
    ("output", "answer", "fault"),
    [
        (Text(), 3, Note.of("text-expected", given="3")),
        (Text(), None, Note.of("text-expected", given="None")),
        (Text(), " \n", Note.of("empty-output")),
        (Labels(("yes", "no")), "maybe", Note.of("label-unknown", given="'maybe'")),
        (Labels(("yes", "no")), ("yes",), Note.of("label-unknown", given="('yes',)")),
        (Labels(("yes", "no"), many=True), "yes", Note.of("labels-expected", given="'yes'")),
        (Labels(("yes", "no"), many=True), ("yes", "so"), Note.of("label-unknown", given="'so'")),
        (Terms(), "graph", Note.of("terms-expected", given="'graph'")),
        (Terms(), ["graph"], Note.of("terms-expected", given="['graph']")),
        (Terms(), ("graph", 1), Note.of("terms-expected", given="('graph', 1)")),
        (Terms(), (), Note.of("empty-output")),
        (Terms(), ("graph", " "), Note.of("empty-output")),
        (Number(), "3", Note.of("not-finite", given="'3'")),
        (Number(), True, Note.of("not-finite", given="True")),
        (Number(), float("nan"), Note.of("not-finite", given="nan")),
        (Ranking(), "a", Note.of("pairs-expected", given="'a'")),
        (Ranking(), (("a",),), Note.of("pairs-expected", given="(('a',),)")),
        (Ranking(), (), Note.of("empty-output")),
        (Ranking(), (("a", 1.0), ("a", 0.0)), Note.of("candidate-twice", given="'a'")),
        (Ranking(), (("c", 1.0),), Note.of("candidate-unknown", given="'c'")),
        (
            Fields({"t": Text(), "n": Number()}),
            {"t": "x"},
            Note.of("fields-expected", fields=["t", "n"], given="{'t': 'x'}"),
        ),
        (Fields({"t": Text(), "n": Number()}), {"t": "", "n": 1.0}, Note.of("empty-output", field="t")),
        (Fields({"t": Text()}), "x", Note.of("fields-expected", fields=["t"], given="'x'")),
    ],
)
def test_a_bad_answer_is_told_with_its_fault(output: Output, answer: object, fault: Note) -> None:
    assert list(faults_of(output, answer, ("a", "b"))) == [fault]


def test_all_faults_of_an_answer_are_told_at_once() -> None:
    both = Fields({"t": Text(), "c": Labels(("a",))})
    assert list(faults_of(both, {"t": "", "c": "z"})) == [
        Note.of("empty-output", field="t"),
        Note.of("label-unknown", field="c", given="'z'"),
    ]


@pytest.mark.parametrize("grade", ["high", None, float("nan"), True])
def test_a_grade_is_a_finite_number(grade: Any) -> None:
    assert list(faults_of(Ranking(), (("a", grade),), ("a",)))


def test_a_number_too_large_for_a_float_is_a_fault() -> None:
    assert list(faults_of(Number(), 10**400))


def test_a_ranking_is_cut_to_its_best() -> None:
    graded = (("a", 1.0), ("c", 1.0), ("b", 1.0), ("d", 2.0))
    assert cut(Ranking(depth=3), graded) == (("d", 2.0), ("c", 1.0), ("b", 1.0))
    assert cut(Ranking(depth=9), graded) == (("d", 2.0), ("c", 1.0), ("b", 1.0), ("a", 1.0))
    assert cut(Ranking(), graded) == graded
    assert cut(Terms(), ("a", "b")) == ("a", "b")


@pytest.mark.parametrize(
    "answer", [None, "a", (("a", 1.0), ("a", 0.0)), (("a", float("nan")), ("b", 1.0)), ("ab", "cd")]
)
def test_what_is_no_ranking_is_not_cut_so_that_scoring_refuses_it(answer: Any) -> None:
    assert cut(Ranking(depth=1), answer) is answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("a b", ""), (" ", "empty-output"), ((("a",), ("b c", "d")), ""), ((("a",), ()), "empty-output"),
        ((), "empty-output"), (((" ",),), "empty-output"), (("a", "b"), "words-expected"), (3, "words-expected"),
        ((("a", 1),), "words-expected"),
    ],
)  # fmt: skip
def test_words_are_a_text_or_the_acceptable_words_of_each_place(answer: Any, code: str) -> None:
    assert [fault.code for fault in faults_of(Words(), answer)] == ([code] if code else [])
