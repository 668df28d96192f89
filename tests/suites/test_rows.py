from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.core import Example, Fields, Item, Labels, Number, Output, Ranking, Task, Terms, Text
from taskloom.errors import SuiteError
from taskloom.suites import rows

Make = Callable[..., Example]

CHOICE = Task(id="choice", instruction="Which?", output=Labels(("yes", "no")), metrics=())
TEXT = replace(CHOICE, output=Text())


@pytest.fixture(scope="module")
def three(example: Make) -> rows.Rows:
    return rows.pool(
        CHOICE, [example("1", "red", "no", group="g"), example("2", "oak", "yes"), example("3", "two", "no", group="g")]
    )


def table_of(pool: rows.Rows) -> pa.Table:
    return pool.load(None)


def test_rows_are_read_in_the_order_asked_for_and_as_often(three: rows.Rows) -> None:
    assert [e.item.id for e in three.take([2, 0, 2, 1])] == ["3", "1", "3", "2"]
    assert three.take([]) == []


@pytest.mark.parametrize("row", [3, -1])
def test_a_row_that_is_not_there_is_refused(three: rows.Rows, row: int) -> None:
    with pytest.raises(SuiteError, match=f"rows must be below 3: {row} to {row}"):
        three.take([row])


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        (Text(), ("摘要 \"quoted\"\n", "another")),
        (Labels(("yes", "no")), ("yes",)),
        (Labels(("yes", "no"), many=True), (("yes", "no"), ())),
        (Terms(), (("graph", "tree"),)),
        (Number(), (1.5, -2.0)),
        (Ranking(), ((("a", 1.0), ("b", 0.0)),)),
        (Fields({"title": Text(), "year": Number()}), ({"title": "t", "year": 1999.0},)),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)  # fmt: skip
def test_an_example_is_read_back_as_it_was(output: Output, gold: tuple[Any, ...]) -> None:
    whole = Example(Item("1", {"b": "学科", "a": ""}, ("a", "b")), gold, "g")
    (read,) = rows.pool(replace(TEXT, output=output), [whole]).take([0])
    assert read == whole
    assert list(read.item.fields) == ["b", "a"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.text(), st.text(), st.sampled_from(["yes", "no"])), max_size=8), st.data())
def test_any_texts_are_read_back_from_any_rows(found: list[tuple[str, str, str]], data: st.DataObject) -> None:
    made = [Example(Item(id_, {"text": text}), (label,), id_[:1]) for id_, text, label in found]
    asked = data.draw(st.lists(st.integers(0, len(made) - 1))) if made else []
    assert rows.pool(CHOICE, made).take(asked) == [made[row] for row in asked]


def test_labels_are_places_in_the_declared_names(example: Make) -> None:
    made = [example("1", "x", "no"), example("2", "y", "yes"), example("3", "z", "yes", "no")]
    assert rows.pool(CHOICE, made).labels().tolist() == [1, 0, 0]  # the first acceptable one
    many = replace(CHOICE, output=Labels(("yes", "no"), many=True))
    assert rows.pool(many, [example("1", "x", ("no",))]).labels().tolist() == [-1]
    assert rows.pool(TEXT, [example("1", "x", "no")]).labels().tolist() == [-1]


def test_rows_of_one_group_share_a_number(three: rows.Rows) -> None:
    first, second, third = three.groups().tolist()
    assert first == third != second


def test_groups_are_numbered_alike_in_any_chunks(three: rows.Rows) -> None:
    table = table_of(three)
    chunked = rows.from_table(three.output, three.names, pa.concat_tables([table[:1], table[1:2], table[2:]]))
    assert chunked.groups().tolist() == three.groups().tolist()
    assert chunked.labels().tolist() == three.labels().tolist()
    assert chunked.take([2, 0]) == three.take([2, 0])


def test_a_pools_digest_is_the_same_in_any_chunks(three: rows.Rows) -> None:
    table = table_of(three)
    assert rows.digest(three.names, pa.concat_tables([table[:1], table[1:]])) == three.digest


def test_a_pools_digest_is_that_of_its_content_without_the_derived_labels(three: rows.Rows) -> None:
    table = table_of(three)
    assert rows.from_table(three.output, three.names, table).digest == three.digest
    other = table.set_column(5, "label", pa.array([0, 0, 0], pa.int32()))
    assert rows.digest(three.names, other) == three.digest
    assert rows.digest(("renamed",), table) != three.digest


@pytest.mark.parametrize("column", ["id", "group", "gold"])
def test_a_pools_digest_changes_with_each_column(three: rows.Rows, column: str) -> None:
    table = table_of(three)
    values = ["0", *table[column].to_pylist()[1:]]
    changed = table.set_column(table.column_names.index(column), column, pa.array(values))
    assert rows.digest(three.names, changed) != three.digest


def test_all_faults_are_told_at_once_with_row_and_id(example: Make) -> None:
    bad = [
        example("p", "x", "yes"),
        example("q", "y", "maybe", "so"),
        example("r", "z"),
        Example(Item("s", {"body": "w"}), ("no",), "s"),
    ]
    with pytest.raises(SuiteError) as caught:
        rows.pool(CHOICE, bad)
    assert str(caught.value).splitlines() == [
        "invalid examples in task 'choice':",
        "  row 1 (q): label not declared: 'maybe'",
        "  row 1 (q): label not declared: 'so'",
        "  row 2 (r): gold answer is missing",
        "  row 3 (s): fields differ from those of the first row, text: body",
    ]


def test_at_most_twenty_faults_are_shown_and_the_others_counted(example: Make) -> None:
    def shown(count: int) -> list[str]:
        with pytest.raises(SuiteError) as caught:
            rows.pool(CHOICE, [example(str(n), "x", "maybe") for n in range(count)])
        return str(caught.value).splitlines()[1:]

    assert len(shown(20)) == 20
    assert "more" not in shown(20)[-1]
    assert len(shown(25)) == 21
    assert shown(25)[-1].strip() == "and 5 more"


def test_a_ranking_may_grade_only_the_items_candidates(example: Make) -> None:
    ranking = replace(TEXT, output=Ranking())
    rows.pool(ranking, [example("1", "x", (("a", 1.0),), candidates=("a", "b"))])
    with pytest.raises(SuiteError, match=r"row 0 \(1\): not a candidate of the item: 'a'"):
        rows.pool(ranking, [example("1", "x", (("a", 1.0),), candidates=("b",))])


def test_a_text_that_is_no_unicode_is_told_with_its_row(example: Make) -> None:
    with pytest.raises(SuiteError, match=r"row 0 \(1\)"):
        rows.pool(TEXT, [example("1", "half a pair: \ud83d", "yes")])


def test_an_empty_pool_is_one() -> None:
    empty = rows.pool(CHOICE, [])
    assert len(empty) == 0
    assert empty.take([]) == []
    assert empty.labels().tolist() == empty.groups().tolist() == []
    assert empty.digest == rows.pool(CHOICE, iter(())).digest


def test_a_pool_knows_its_size_and_columns(three: rows.Rows) -> None:
    assert len(three) == 3
    assert three.names == ("text",)
    assert table_of(three).schema == rows.SCHEMA
    assert three.load(["group", "id"]).column_names == ["group", "id"]
