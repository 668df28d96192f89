from collections.abc import Callable, Sequence
from typing import Any

import pytest

from taskloom.core import Example, Suite, Task, Text
from taskloom.errors import SuiteError, UnknownNameError
from taskloom.sources.table import Field
from taskloom.suites import fields, rows
from taskloom.suites.cards import CardRow, card, records_of

COLUMNS = (
    Field("title", "text", "Title"),
    Field("keywords", "list", "Keywords"),
    Field("category", "label", "Category"),
    Field("discipline", "label", "Discipline"),
    Field("year", "number", "Year"),
)
PAPERS: Sequence[tuple[Any, ...]] = [
    ("On trees", ["oak", "elm", "ash"], "nature", "botany", 1999.0),
    ("The long lives of old trees", ["oak"], "nature", "botany", 2001.0),
    ("Rivers", None, "nature", "geology", None),
    ("Two graphs", ["node", "edge"], "maths", "graphs", 1999.0),
    (None, ["set"], "maths", None, 1999.0),
    ("Of no category", ["a", "b", "c"], None, "botany", 1999.0),
]


def suite_of(
    papers: Sequence[tuple[Any, ...]] = PAPERS, columns: Sequence[Field] = COLUMNS, language: str = "en"
) -> Suite:
    names = ["id", *(column.name for column in columns)]
    made = [dict(zip(names, (str(n), *paper), strict=False)) for n, paper in enumerate(papers)]
    return fields.suite(fields.records(columns, made), id="papers", language=language)


def test_a_card_is_that_worked_out_by_hand() -> None:
    assert card(suite_of()) == [
        CardRow("nature", 2, {"title": (2 + 6 + 1) / 3, "keywords": (3 + 1) / 2}, 3),
        CardRow("maths", 1, {"title": 2.0, "keywords": (2 + 1) / 2}, 2),
        CardRow("all", 3, {"title": (2 + 6 + 1 + 2 + 3) / 5, "keywords": (3 + 1 + 2 + 1 + 3) / 5}, 6),
    ]


def test_records_can_be_put_together_by_another_label() -> None:
    found = card(suite_of(), by="discipline", below="category")
    assert [(row.label, row.labels_below, row.records) for row in found] == [
        ("botany", 1, 3), ("geology", 1, 1), ("graphs", 1, 1), ("all", 2, 6),
    ]  # fmt: skip


def test_labels_of_as_many_records_are_in_the_order_of_their_names() -> None:
    papers = [(f"t{n}", [f"k{n}"], label, "d", 1.0) for n, label in enumerate("cabcab")]
    assert [row.label for row in card(suite_of(papers))] == ["a", "b", "c", "all"]


def test_chinese_texts_are_measured_in_characters() -> None:
    papers = [("城市道路绿化", ["城市", "绿化"], "a", "d", 1.0), ("排序 算法", ["排序"], "a", "d", 1.0)]
    assert card(suite_of(papers, language="zh"))[0].means == {"title": (6 + 5) / 2, "keywords": 1.5}
    assert card(suite_of(papers, language="en"))[0].means["title"] == (1 + 2) / 2


def test_a_mean_of_nothing_is_none_and_never_nought() -> None:
    papers = [(None, ["k"], "a", "d", 1.0), ("title", None, "b", "d", 1.0)]
    assert [row.means for row in card(suite_of(papers))[:2]] == [
        {"title": None, "keywords": 1.0},
        {"title": 1.0, "keywords": None},
    ]


def test_a_table_without_labels_has_one_row() -> None:
    assert card(suite_of([("On trees", ["oak"])], COLUMNS[:2])) == [
        CardRow("all", 0, {"title": 2.0, "keywords": 1.0}, 1)
    ]


def test_one_label_field_has_none_below() -> None:
    assert [row.labels_below for row in card(suite_of(columns=COLUMNS[:3]))] == [0, 0, 0]


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown field: 'categry'; did you mean category"):
        card(suite_of(), by="categry")


@pytest.mark.parametrize("asked", [{"below": "categry"}, {"by": "title"}, {"by": "year"}])
def test_a_field_that_is_unknown_or_holds_no_labels_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises((UnknownNameError, SuiteError)):
        card(suite_of(), **asked)


def test_a_suite_without_a_table_has_no_card(example: Callable[..., Example]) -> None:
    task = Task(id="t", instruction="", output=Text(), metrics=())
    pools = {"t": {"all": rows.pool(task, [example("1", "x", "y")])}}
    with pytest.raises(SuiteError, match="a card needs a table, and the tasks of 's' were not made from one"):
        card(Suite(id="s", tasks={"t": task}, pools=pools))


def test_the_records_are_those_that_the_suite_was_made_from() -> None:
    assert records_of(suite_of()).table.num_rows == 6
