from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.core import Answer, Fields, Labels, Number, Output, Ranking, Task, Terms, Text, Words
from taskloom.prompts import excerpt, pick, read, write

often = settings(deadline=None, max_examples=50)

letters = st.characters(exclude_categories=["C", "Z"], exclude_characters=";|_")
words = st.text(letters, min_size=1, max_size=6)
texts = st.lists(words, min_size=1, max_size=4).map(" ".join)
several = st.lists(texts, min_size=1, max_size=4, unique=True).map(tuple)
short_numbers = st.integers(-999_999, 999_999).map(lambda n: n / 100).map(lambda x: float(f"{x:g}"))
single: st.SearchStrategy[tuple[Any, Any]] = st.one_of(
    st.tuples(st.just(Text()), texts),
    st.tuples(st.sampled_from([Terms(), Terms("_"), Terms("|"), Terms(";")]), several),
    st.tuples(st.just(Number()), short_numbers),
    several.flatmap(lambda names: st.tuples(st.just(Labels(names)), st.sampled_from(names))),
    several.flatmap(lambda names: st.tuples(st.just(Labels(names, many=True)), st.just(names[::-1]))),
)
BOTH = Fields({"title": Text(), "category": Labels(("Art", "History")), "keywords": Terms()})


def task(output: Output, separator: str = "\n", instruction: str = "Do it.") -> Task:
    return Task(id="t", instruction=instruction, output=output, metrics=(), separator=separator)


@often
@given(single)
def test_what_is_written_is_read_back(pair: tuple[Output, Answer]) -> None:
    output, answer = pair
    assert read(task(output), write(task(output), answer)) == answer


@often
@given(st.lists(st.tuples(words, single), min_size=1, max_size=4, unique_by=lambda named: named[0]))
def test_what_is_written_of_several_fields_is_read_back(named: list[tuple[str, tuple[Any, Any]]]) -> None:
    both = task(Fields({name: output for name, (output, _) in named}), separator="\n")
    answer = {name: value for name, (_, value) in named}
    found = read(both, write(both, answer))
    assert found == answer
    assert list(found) == list(answer)


@often
@given(st.dictionaries(texts, st.integers(-5, 5).map(float), min_size=1, max_size=5))
def test_a_ranking_is_read_back_in_its_order(grades: dict[str, float]) -> None:
    found = read(task(Ranking()), write(task(Ranking()), tuple(grades.items())))
    assert isinstance(found, tuple)
    order = [str(candidate) for candidate, _ in found]  # type: ignore[str-unpack]
    assert order == sorted(grades, key=lambda candidate: -grades[candidate])
    assert [grade for _, grade in found] == sorted((g for _, g in found), reverse=True)  # type: ignore[str-unpack]


def test_people_are_shown_the_best_of_a_long_ranking() -> None:
    graded = tuple((f"d{n:05}", float(n // 2)) for n in range(10_000))
    lines = excerpt(task(Ranking()), graded).split("\n")
    assert lines[:3] == ["d09999", "d09998", "d09997"]
    assert (len(lines), lines[-1]) == (11, "and 9,990 more")
    assert excerpt(task(Ranking()), graded[:10]) == write(task(Ranking()), graded[:10])


@pytest.mark.parametrize("number", [1234567.0, 0.1234567, 20231015.0, 1 / 3])
def test_a_number_is_written_with_all_its_digits(number: float) -> None:
    assert read(task(Number()), write(task(Number()), number)) == number


@pytest.mark.parametrize(("number", "text"), [(3.0, "3"), (-2.5, "-2.5"), (1999, "1999"), (0.0, "0")])
def test_a_number_is_written_without_needless_digits(number: float, text: str) -> None:
    assert write(task(Number()), number) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [(" 3 \n", 3.0), ("1,234.5", 1234.5), ("-1e3", -1000.0), ("three", None), ("", None), ("3 4", None)],
)
def test_a_number_is_read_or_none(text: str, number: float | None) -> None:
    assert read(task(Number()), text) == number


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999", "1_0"])
def test_what_is_no_finite_number_is_none(text: str) -> None:
    assert read(task(Number()), text) is None


@pytest.mark.parametrize(
    ("text", "label"),
    [("Art", "Art"), (" Art\n", "Art"), ("art", None), ("Art History", None), ("", None), ("Art\nHistory", None)],
)
def test_a_label_is_read_exactly_or_none(text: str, label: str | None) -> None:
    assert read(task(Labels(("Art", "History"))), text) == label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a; b", ("a", "b")),
        ("b;a", ("b", "a")),
        ("a;", ("a",)),
        ("a; z", None),
        ("a, b", None),
        ("", None),
        (" ; ", None),
    ],
)
def test_labels_are_all_read_or_none(text: str, labels: tuple[str, ...] | None) -> None:
    assert read(task(Labels(("a", "b"), many=True)), text) == labels


def test_an_empty_text_says_that_there_are_no_labels_only_where_a_demonstration_does() -> None:
    many = task(Labels(("a", "b"), many=True))
    assert read(many, " \n", [("a",), ()]) == ()
    assert read(many, " \n", [("a",)]) is None
    assert read(many, "a", [()]) == ("a",)
    assert read(task(Fields({"x": Labels(("a",), many=True), "y": Text()})), "a") == {"x": ("a",), "y": None}
    assert read(task(Fields({"y": Text(), "x": Labels(("a",), many=True)})), "b") == {"y": "b", "x": None}


@pytest.mark.parametrize(
    ("output", "answer", "text"),
    [
        (Number(), "about 3", "about 3"),
        (Number(), True, "True"),
        (Number(), float("nan"), "nan"),
        (Ranking(), ("ab", "c"), "('ab', 'c')"),
        (Ranking(), (("a", "best"),), "(('a', 'best'),)"),
        (BOTH, "On colour", "On colour"),
    ],
)
def test_an_answer_of_another_form_is_written_as_it_is(output: Output, answer: Any, text: str) -> None:
    assert write(task(output), answer) == text


@pytest.mark.parametrize(
    ("output", "text", "terms"),
    [
        (Terms(), "graph; tree", ("graph", "tree")),
        (Terms(), "graph;tree;", ("graph", "tree")),
        (Terms(), " ; ", None),
        (Terms("_"), "城市道路_绿化", ("城市道路", "绿化")),
        (Terms("\n"), "graph theory\ntree", ("graph theory", "tree")),
        (Terms(" "), "graph tree", ("graph", "tree")),
    ],
)
def test_terms_are_read_between_their_separators(output: Terms, text: str, terms: tuple[str, ...] | None) -> None:
    assert read(task(output), text) == terms


@pytest.mark.parametrize(
    ("output", "text"), [(Text(), ""), (Text(), " \n"), (Ranking(), " \n\n"), (Terms(), ""), (Labels(("a",)), "b")]
)
def test_what_can_not_be_parsed_is_none(output: Output, text: str) -> None:
    assert read(task(output), text) is None


@pytest.mark.parametrize(
    ("text", "title", "category", "keywords"),
    [
        ("On colour\nArt\nred; blue", "On colour", "Art", ("red", "blue")),
        ("\n On colour \n Art \n red \n\n", "On colour", "Art", ("red",)),
        ("On colour\nArt", "On colour", "Art", None),
        ("On colour", "On colour", None, None),
        ("On colour\nMusic\nred", "On colour", None, ("red",)),
        ("On colour\n\nred", "On colour", None, ("red",)),
        ("On colour\nand light\nArt\nred", None, None, None),
        ("", None, None, None),
    ],
)
def test_of_several_fields_those_that_can_be_told_are_read(
    text: str, title: str | None, category: str | None, keywords: tuple[str, ...] | None
) -> None:
    assert read(task(BOTH), text) == {"title": title, "category": category, "keywords": keywords}


def test_the_parts_of_an_answer_stand_in_the_order_of_the_output() -> None:
    answer: Answer = {"keywords": ("red", "blue"), "category": "Art", "title": "On colour"}
    assert write(task(BOTH, separator=" | "), answer) == "On colour | Art | red; blue"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The category is **Art**.", "Art"),
        ("ART", "Art"),
        ("Art, of course: art.", "Art"),
        ("Art\nor rather History", "Art"),
        ("I think so.\nHistory", "History"),
        ("Art or History", None),
        ("Art or History?\nHistory", None),
        ("Artful, Prehistory", None),
        ("Art History", "Art History"),
        ("Natural Art History, that is Art", None),
        ("", None),
    ],
)
def test_the_only_label_that_a_text_names_is_picked(text: str, label: str | None) -> None:
    assert pick(task(Labels(("Art", "History", "Art History"))), text) == label


def test_a_label_is_picked_from_writing_without_spaces() -> None:
    assert pick(task(Labels(("园林", "计算机"))), "答案是园林学。") == "园林"
    assert pick(task(Labels(("C++", "C"))), "It is C++.") == "C++"
    assert pick(task(Labels(("", "a"))), "it is a") == "a"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("about 2,500 people", 2500.0),
        ("The answer: -3.5.", -3.5),
        ("It is 7 (seven)\n8", 7.0),
        ("3 of 4", None),
        ("room A7, 1-2", None),
        ("in 1999, in 1999", 1999.0),
        ("1e999", None),
        ("none", None),
    ],
)
def test_the_only_number_of_a_text_is_picked(text: str, number: float | None) -> None:
    assert pick(task(Number()), text) == number


@pytest.mark.parametrize("output", [Text(), Terms(), Labels(("a", "b"), many=True), Ranking(), BOTH])
def test_nothing_is_picked_where_an_answer_can_be_anything(output: Output) -> None:
    assert pick(task(output), "a") is None


def test_words_are_written_as_they_are_taught_and_read_as_a_text() -> None:
    gold = (("big", "large"), ("new york", "ny"))
    of = task(Words(" # "))
    assert write(of, gold) == "big # new york"
    assert read(of, " big # new york \n") == "big # new york"
    assert read(of, "  ") is None
