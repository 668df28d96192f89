from __future__ import annotations

import datetime
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.sources.files import Row, RowFaults
from taskloom.sources.table import LOOK_AHEAD, Field, Kind, gather, joined, parse_field, value_of

TITLE = Field("title", "text", "Title")
YEAR = Field("year", "number", "Year")
KEYWORDS = Field("keywords", "list", "Key words")


def placed(rows: list[Row]) -> list[tuple[str, Row]]:
    return [(f"p.csv:{number}", row) for number, row in enumerate(rows, 2)]


def value(kind: Kind, given: Any) -> Any:
    return value_of(Field("f", kind, "F"), given)


@pytest.mark.parametrize(
    ("kind", "given_", "expected"),
    [
        ("text", "  two\n words ", "two words"),
        ("text", 7, "7"),
        ("text", 1.5, "1.5"),
        ("label", "red", "red"),
        ("label", 0, "0"),
        ("label", 3.0, "3"),
        ("list", "graph; tree;;", ["graph", "tree"]),
        ("list", "graph;tree", ["graph", "tree"]),
        ("list", [" a  b ", "c", ""], ["a b", "c"]),
        ("number", "12", 12.0),
        ("number", " -1.5e3 ", -1500.0),
        ("number", 0, 0.0),
    ],
)
def test_a_value_gets_the_type_of_its_field(kind: Kind, given_: Any, expected: Any) -> None:
    found = value(kind, given_)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("kind", ["text", "label", "list", "number"])
@pytest.mark.parametrize("empty", [None, ""])
def test_nothing_is_none_in_every_kind(kind: Kind, empty: str | None) -> None:
    assert value(kind, empty) is None


@pytest.mark.parametrize(
    ("kind", "blank"), [("text", "  "), ("label", "\n"), ("list", " ; "), ("list", []), ("list", [" "])]
)
def test_a_blank_value_is_none(kind: Kind, blank: Any) -> None:
    assert value(kind, blank) is None


def test_a_blank_number_is_none() -> None:
    assert value("number", "  ") is None


@pytest.mark.parametrize("kind", ["text", "label", "number"])
def test_nan_as_parquet_writes_what_is_missing_is_none(kind: Kind) -> None:
    assert value(kind, math.nan) is None


def test_a_whole_number_keeps_all_its_digits_as_a_label() -> None:
    assert value("label", 20230101.0) == "20230101"


@pytest.mark.parametrize(
    ("kind", "bad", "reason"),
    [
        ("text", ["a"], "must be a text, not a list"),
        ("text", b"a", "must be a text, not a bytes"),
        ("label", {"a": 1}, "must be a label, not a dict"),
        ("label", datetime.date(2020, 1, 1), "must be a label, not a date"),
        ("list", 3, "must be a list of texts"),
        ("list", ["a", 3], "must be a list of texts"),
        ("list", ["a", None], "must be a list of texts"),
        ("list", {"a": 1}, "must be a list of texts"),
        ("number", "twelve", "must be a finite number: 'twelve'"),
        ("number", "nan", "must be a finite number: 'nan'"),
        ("number", "-inf", "must be a finite number: '-inf'"),
        ("number", True, "must be a finite number: 'True'"),
        ("number", [1], r"must be a finite number: '\[1\]'"),
        ("number", "9" * 400, "must be a finite number: '9{40}'"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_the_reason(kind: Kind, bad: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        value(kind, bad)


def test_a_whole_number_too_great_for_a_float_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a finite number"):
        value("number", 10**400)


@settings(deadline=None)
@given(st.lists(st.text("ab红 ").map(str.split).filter(bool), min_size=1), st.sampled_from([";", "; ", " ; ;"]))
def test_terms_joined_by_the_separator_come_apart_again(words: list[list[str]], separator: str) -> None:
    terms = [" ".join(term) for term in words]
    assert value("list", separator.join(terms)) == terms


def test_a_list_may_have_a_separator_of_its_own() -> None:
    assert value_of(Field("f", "list", "F", separator="\t"), "a b\tc; d") == ["a b", "c; d"]


@settings(deadline=None)
@given(st.text())
def test_a_text_is_never_blank_and_tidying_it_twice_changes_nothing(text: str) -> None:
    once = value("text", text)
    assert once is None or once.strip()
    assert value("text", once) == once


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("title:text", Field("title", "text", "title")),
        ("title:text:", Field("title", "text", "title")),
        ("keywords:list:Key: words", Field("keywords", "list", "Key: words")),
    ],
)
def test_a_field_is_read_as_it_is_typed(typed: str, expected: Field) -> None:
    assert parse_field(typed) == expected


@pytest.mark.parametrize(
    ("typed", "said"), [("title", "''; known: label, list"), ("n:nmber", "'nmber'; did you mean number")]
)
def test_an_unknown_kind_has_its_nearest_names(typed: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown kind of field: {said}"):
        parse_field(typed)


def test_a_field_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a name"):
        parse_field(":text")


def test_fields_are_gathered_and_other_columns_left() -> None:
    rows = placed([{"title": "A", "year": "2001", "x": "y"}, {"title": "B", "year": "", "x": "z"}])
    assert gather(rows, [TITLE, YEAR], RowFaults()) == [
        {"id": "1", "title": "A", "year": 2001.0},
        {"id": "2", "title": "B", "year": None},
    ]


def test_a_field_may_come_from_a_column_of_another_name() -> None:
    rows = placed([{"标题": "A", "title": "no", "doc": 7}])
    found = gather(rows, [TITLE], RowFaults(), columns={"title": "标题"}, id_column="doc")
    assert found == [{"id": "7", "title": "A"}]


def test_missing_columns_are_all_named_with_the_nearest_ones() -> None:
    rows = placed([{"titel": "A", "abstract": "B"}])
    with pytest.raises(SourceError, match=r"unknown column: 'title'; did you mean titel\?") as caught:
        gather(rows, [TITLE, YEAR], RowFaults(), id_column="doc")
    assert "unknown column: 'year'; known: abstract, titel" in str(caught.value)
    assert "unknown column: 'doc'" in str(caught.value)


def test_a_missing_column_is_refused_before_everything_is_read() -> None:
    rows = iter(placed([{"titel": "A"}] * (LOOK_AHEAD + 10)))
    with pytest.raises(SourceError, match="unknown column: 'title'"):
        gather(rows, [TITLE], RowFaults())
    assert len(list(rows)) == 10


def test_faults_of_reading_are_told_with_a_missing_column() -> None:
    faults = RowFaults()
    faults.add("p.csv:1:1", "not utf-8")
    with pytest.raises(SourceError, match=r"p\.csv:1:1: not utf-8"):
        gather(placed([{"x": "1"}]), [TITLE], faults)


def test_a_key_absent_from_some_json_rows_is_empty_and_no_fault() -> None:
    faults = RowFaults()
    found = gather(placed([{"title": "A"}, {"title": "B", "year": 2001}, {"year": 2002}]), [TITLE, YEAR], faults)
    assert [(row["title"], row["year"]) for row in found] == [("A", None), ("B", 2001.0), (None, 2002.0)]
    assert faults.count == 0


def test_all_that_is_wrong_with_a_row_is_one_fault_with_its_place() -> None:
    faults = RowFaults("skip")
    rows = placed([{"t": ["x"], "year": "soon"}, {"t": "B", "year": "2001"}])
    assert gather(rows, [TITLE, YEAR], faults, columns={"title": "t"}) == [{"id": "2", "title": "B", "year": 2001.0}]
    assert faults.shown == ["p.csv:2: t: must be a text, not a list; year: must be a finite number: 'soon'"]


def test_bad_values_stop_the_gathering_all_at_once() -> None:
    with pytest.raises(SourceError) as caught:
        gather(placed([{"year": "soon"}, {"year": "2001"}, {"year": "late"}]), [YEAR], RowFaults())
    assert [fault.partition(": ")[0] for fault in caught.value.faults] == ["p.csv:2", "p.csv:4"]


def test_a_doubled_id_is_a_fault_and_skipping_keeps_its_first_record() -> None:
    rows = placed([{"doc": "a", "title": "A"}, {"doc": "b", "title": "B"}, {"doc": "a", "title": "C"}])
    with pytest.raises(SourceError, match="id a: duplicate id, 2 times"):
        gather(rows, [TITLE], RowFaults(), id_column="doc")
    faults = RowFaults("skip")
    assert [row["title"] for row in gather(rows, [TITLE], faults, id_column="doc")] == ["A", "B"]
    assert faults.count == 1


def test_every_record_left_out_for_its_doubled_id_is_counted() -> None:
    faults = RowFaults("skip")
    rows = placed([{"doc": "a", "title": title} for title in "ABC"])
    assert len(gather(rows, [TITLE], faults, id_column="doc")) == 1
    assert faults.count == 2


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_id_is_a_fault_of_its_row(empty: str | None) -> None:
    faults = RowFaults("skip")
    found = gather(placed([{"doc": empty, "title": "A"}, {"doc": "b", "title": "B"}]), [TITLE], faults, id_column="doc")
    assert found == [{"id": "b", "title": "B"}]
    assert faults.shown == ["p.csv:2: id: empty"]


def test_zero_is_an_id() -> None:
    assert gather(placed([{"doc": 0, "title": "A"}]), [TITLE], RowFaults("skip"), id_column="doc")[0]["id"] == "0"


def test_a_field_named_id_is_refused() -> None:
    with pytest.raises(UsageError, match="id is reserved"):
        parse_field("id:text")


def test_a_field_that_is_never_filled_is_refused_by_name() -> None:
    with pytest.raises(SourceError, match="empty in every record: year, keywords"):
        gather(placed([{"title": "A", "year": "", "keywords": " ; "}]), [TITLE, YEAR, KEYWORDS], RowFaults())


def test_no_records_are_an_error_and_not_an_empty_table() -> None:
    with pytest.raises(SourceError, match="the table has no records"):
        gather([], [TITLE], RowFaults())
    with pytest.raises(SourceError, match="the table has no records"):
        gather(placed([{"year": "soon"}]), [YEAR], RowFaults("skip"))


def test_joining_adds_what_is_known_and_counts_what_is_not() -> None:
    left_out: Counter[Note] = Counter()
    rows = placed([{"journal": "J1", "title": "A"}, {"journal": "J9"}, {"journal": 2}, {}])
    found = list(joined(rows, "journal", {"J1": {"topic": "maths"}, "2": {"topic": "art"}}, left_out))
    assert found == [
        ("p.csv:2", {"journal": "J1", "title": "A", "topic": "maths"}),
        ("p.csv:4", {"journal": 2, "topic": "art"}),
    ]
    assert left_out == {Note.of("row-unmapped", column="journal"): 2}


def test_a_misspelt_column_of_ids_is_named_however_many_rows_there_are():
    rows = placed([{"title": f"text {n}"} for n in range(50)])
    with pytest.raises(SourceError, match="unknown column: 'ident'; known: title"):
        gather(rows, [TITLE], RowFaults(), id_column="ident")


def test_a_list_of_a_hundred_thousand_brackets_is_no_list():
    assert value_of(Field("terms", "list"), "[" * 100_000) == ["[" * 100_000]
