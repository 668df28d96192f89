"""Rows of document tasks as lessons of vectors: triplets, titles alone, and how numbers are scaled."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Number, Ranking, Stored, Suite, Task, Text
from taskloom.document_lessons import LessonMaker, loss_of, ordered_pairs, scaled_numbers, trained_forms
from taskloom.errors import UsageError
from taskloom.suites import linked, rows
from taskloom.suites.documents import documents

DOCUMENTS = documents("docs", [Stored(f"d{n}", {"title": f"title {n}", "abstract": f"text {n}"}) for n in range(40)])


def number_task(name: str, scale: str = "") -> Task:
    return Task(id=name, instruction="", output=Number(), metrics=(), tags={"label scale": (scale,)} if scale else {})


def numbers(*values: float) -> list[Example]:
    return [Example(Item(str(n), {"title": str(n)}), (value,), str(n)) for n, value in enumerate(values)]


def suite_of(task: Task, examples: list[Example], **more: Any) -> Suite:
    pool = linked.pool(task, examples, DOCUMENTS, **more) if more else rows.pool(task, examples)
    return Suite(id="s", tasks={task.id: task}, pools={task.id: {"train": pool}}, stores={"docs": DOCUMENTS})


def test_numbers_are_scaled_as_for_specter2():
    given = [
        (number_task("citations", "log"), numbers(1.0, 2.0, 6.0)),
        (number_task("year", "year"), numbers(1990, 2000, 2010)),
        (number_task("h-index"), numbers(10, 20, 30)),
        (number_task("same"), numbers(7, 7)),
    ]
    found = scaled_numbers(given)
    assert found["citations"] == [1.0, 2.0, 6.0]
    assert found["year"] == [0.0, 1.5, 3.0]  # times 3, the mean of the logarithms
    assert found["h-index"] == [0.0, 0.5, 1.0]
    assert found["same"] == [0.0, 0.0]
    assert scaled_numbers(given[1:2])["year"] == [0.0, 0.5, 1.0]  # where no logarithms are trained on


def test_the_better_of_a_pair_is_graded_higher_and_each_worse_one_comes_before_any_comes_again():
    graded = [("a", 2.0), ("b", 1.0), ("c", 0.0), ("d", 0.0), ("e", 2.0)]
    pairs = list(ordered_pairs(graded, 0, "q"))
    grades = dict(graded)
    assert all(grades[better] > grades[worse] for better, worse in pairs)
    assert len(pairs) == len({*pairs}) == 2 + 3 + 3
    assert Counter(worse for _, worse in pairs[:3]) == {"b": 1, "c": 1, "d": 1}
    assert pairs == list(ordered_pairs(graded, 0, "q")) != list(ordered_pairs(graded, 1, "q"))
    assert list(ordered_pairs([("a", 1.0), ("b", 1.0)], 0)) == []


def ranked(count: int) -> tuple[Task, list[Example]]:
    task = Task(id="near", instruction="", output=Ranking(store="docs"), metrics=("map",), tags={"format": ("PRX",)})
    found = []
    for n in range(count):
        ids = sorted(f"d{(n + k) % 40}" for k in range(1, 9))
        gold = tuple((id_, float(place < 2)) for place, id_ in enumerate(ids))
        found.append(Example(Item(f"q{n}", {"document": f"d{n}"}, tuple(ids)), (gold,), f"g{n}"))
    return task, found


def test_a_query_gives_so_many_triplets_at_most_of_the_texts_of_documents():
    task, examples = ranked(4)
    suite = suite_of(task, examples, by_id=True)
    (made,) = LessonMaker(suite=suite, triplets=3, seed=1).tasks({"near": [0, 1, 3]})
    assert (made.loss, made.forms, len(made.lessons)) == ("triplet", ("PRX", "PRX"), 9)
    asked = Counter(lesson.texts[0] for lesson in made.lessons)
    assert asked == {f"title {n}\ntext {n}": 3 for n in (0, 1, 3)}
    for lesson in made.lessons:
        graded: Any = next(e.gold[0] for e in examples if f"title {e.item.id[1:]}\n" in lesson.texts[0])
        grades = {f"title {id_[1:]}\ntext {id_[1:]}": grade for id_, grade in graded}
        assert grades[lesson.texts[1]] > grades[lesson.texts[2]]
    (few,) = LessonMaker(suite=suite, triplets=3, most=4, seed=1).tasks({"near": [0, 1, 3]})
    assert len(few.lessons) == 4
    assert {*few.lessons} <= {*made.lessons}


def test_a_share_of_documents_is_read_by_the_title_alone_whatever_triplet_it_is_in():
    task, examples = ranked(40)
    (made,) = LessonMaker(suite=suite_of(task, examples, by_id=True), titles=0.3).tasks({"near": range(40)})
    texts = {text for lesson in made.lessons for text in lesson.texts}
    alone = {text for text in texts if "\n" not in text}
    assert 4 <= len(alone) <= 20  # of 40
    assert {text.partition("\n")[0] for text in texts - alone}.isdisjoint(alone)


def test_labels_are_places_and_examples_without_an_order_are_counted():
    task = Task(id="t", instruction="", output=Labels(("x", "y", "z"), many=True), metrics=())
    suite = suite_of(task, [Example(Item("1", {"title": "a"}), (("z", "x"),), "1")])
    (made,) = LessonMaker(suite=suite).tasks({"t": [0]})
    assert (made.loss, made.size, made.lessons[0].target) == ("labels", 3, (2.0, 0.0))
    plain = Task(id="r", instruction="", output=Ranking(), metrics=())
    gold = (("a", 1.0), ("b", 1.0))
    unordered = [
        Example(Item(str(n), {"q": "x"}, ("a", "b")), (gold if n else (("a", 1.0), ("b", 0.0)),), str(n))
        for n in range(2)
    ]
    maker = LessonMaker(suite=suite_of(plain, unordered))
    (found,) = maker.tasks({"r": [0, 1]})
    assert (len(found.lessons), maker.dropped) == (1, {"query-without-order": 1})
    with pytest.raises(UsageError) as caught:
        maker.tasks({"r": [1]})
    assert caught.value.note.code == "no-vector-lesson"


def test_records_that_are_held_out_are_for_early_stopping():
    task, examples = ranked(4)
    suite = suite_of(task, examples, by_id=True)
    pool = suite.pools["near"]["train"]
    held_out = [int(pool.groups()[2])]
    (made,) = LessonMaker(suite=suite, triplets=2).tasks({"near": [0, 2]}, held_out)
    assert [lesson.texts[0] for lesson in made.dev] == ["title 2\ntext 2"] * 2
    assert {lesson.texts[0] for lesson in made.lessons} == {"title 0\ntext 0"}


def test_candidates_that_stand_for_several_documents_are_refused():
    store = documents("docs", [Stored("p", {"title": "p"}), Stored("r", {}, ("p",)), Stored("s", {}, ("p",))])
    task = Task(id="t", instruction="", output=Ranking(store="docs"), metrics=())
    example = Example(Item("q", {"document": "p"}, ("r", "s")), ((("r", 1.0), ("s", 0.0)),), "q")
    suite = Suite(
        id="s", tasks={"t": task}, pools={"t": {"train": linked.pool(task, [example], store, by_id=True)}},
        stores={"docs": store},
    )  # fmt: skip
    with pytest.raises(UsageError) as caught:
        LessonMaker(suite=suite).tasks({"t": [0]})
    assert caught.value.note.code == "members-untaught"


def test_forms_follow_the_format_or_the_group():
    search = Task(id="s", instruction="", output=Ranking(), metrics=(), tags={"format": ("SRCH",)})
    assert trained_forms(search, {}) == ("QRY", "PRX")
    assert trained_forms(search, {"s": "group2"}) == ("group2", "group2")
    assert trained_forms(number_task("n"), {}) == ("RGN", "RGN")
    assert loss_of(Task(id="c", instruction="", output=Labels(("a", "b")), metrics=())) == ("class", 2)
    assert loss_of(Task(id="x", instruction="", output=Text(), metrics=()))[0] == "triplet"
