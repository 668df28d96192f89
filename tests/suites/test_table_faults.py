from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taskloom.core import Suite
from taskloom.sources.table import Field
from taskloom.suites import fields
from taskloom.suites.build import TableOptions, field_suite
from taskloom.suites.table_faults import table_faults

TEXT, LABEL = Field("text", "text"), Field("label", "label")
LONG = "the quick brown fox jumps over the lazy dog while a cat sleeps in the warm sun all day"


def suite(rows: list[tuple[str | None, str | None] | tuple[str | None, str | None, str]]) -> Suite:
    records: list[Mapping[str, Any]] = []
    for number, (text, label, *split) in enumerate(rows, 1):
        records.append({"id": str(number), "text": text, "label": label} | ({":split": split[0]} if split else {}))
    return fields.suite(fields.records([TEXT, LABEL], records), id="s")


def found(of: Suite) -> dict[tuple[str, str], dict[str, Any]]:
    return {(fault.note.code, fault.place): dict(fault.note.values) for fault in table_faults(of)}


def test_a_clean_table_has_no_fault():
    assert not found(suite([("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")]))


def test_labels_that_differ_in_case_or_spaces_are_named_with_their_counts_and_kept_apart():
    made = suite([("a", "Not spam"), ("b", "not spam"), ("c", "notspam"), ("d", "not spam"), ("e", "x"), ("f", "x")])
    assert found(made)["W106", "records/label"] == {
        "count": 1, "shown": ("'Not spam' (1) = 'not spam' (2) = 'notspam' (1)",),
    }  # fmt: skip
    assert made.tasks["text->label"].output.names == ("Not spam", "not spam", "notspam", "x")  # type: ignore[union-attr]


def test_labels_that_spaces_alone_make_two_are_read_as_one_and_that_is_told(tmp_path: Path):
    (tmp_path / "t.csv").write_text("text,label\na,spam\nb, spam\nc,ham \nd,ham \n")
    made = field_suite(TableOptions(source=str(tmp_path / "t.csv"), fields=(TEXT, LABEL)), id="s")
    assert found(made) == {("W106-spaces", "records/label"): {"count": 1, "shown": ("' spam' = 'spam'",)}}


def test_a_text_with_two_labels_is_named_by_the_ids_of_both():
    made = suite([("same", "x"), ("b", "y"), ("same", "y"), ("d", "x"), ("same", "x")])
    assert found(made)["W104-labels", "records/label"] == {"count": 1, "shown": ("1 (x) and 3 (y)",)}
    assert found(made)["E101", "records"] == {"count": 1, "shown": ("1 = 5",)}


def test_missing_cells_are_counted_by_field():
    made = suite([("a", "x"), (None, "y"), ("c", None), (None, "x"), ("e", "y")])
    assert found(made) == {
        ("W102", "records/text"): {"empty": 2, "of": 5},
        ("W102", "records/label"): {"empty": 1, "of": 5},
    }


def test_a_field_that_a_split_never_fills_is_named():
    made = suite([("a", "x", "train"), ("b", "y", "train"), ("c", None, "test"), ("d", None, "test")])
    assert found(made)["W102-split", "records/label"] == {"split": "test"}


def test_the_same_text_in_two_splits_is_an_error_and_a_near_one_a_warning():
    near = f"as they say, {LONG} and night"
    made = suite(
        [(LONG, "x", "train"), ("b", "y", "train"), (LONG, "y", "test"), (near, "x", "test"), ("c", "x", "test")]
    )
    told = found(made)
    pools = {"held_out": "test", "learnt": "train", "of": 3, "count": 1}
    assert told["E201-records", "records/train+test"] == {**pools, "shown": ("3 = 1",)}
    assert told["W107", "records/train+test"]["count"] == 1
    assert told["W107", "records/train+test"]["shown"][0].startswith("4 ~ 1 (")


def test_dev_is_compared_with_train_and_with_test():
    made = suite(
        [(LONG, "x", "train"), ("b", "y", "train"), (LONG, "x", "dev"), (LONG, "x", "test"), ("e", "y", "test")]
    )
    places = {place for code, place in found(made) if code == "E201-records"}
    assert places == {"records/train+test", "records/dev+test", "records/train+dev"}


def test_a_label_that_is_in_the_test_split_alone_is_named():
    made = suite([("a", "x", "train"), ("b", "y", "train"), ("c", "z", "test"), ("d", "x", "test")])
    assert found(made)["W108", "records/label"] == {"count": 1, "shown": ("z",)}


def test_a_table_without_texts_is_compared_by_all_that_it_holds():
    kinds = [Field("x", "number"), LABEL]
    rows = [
        {"id": str(n), "x": float(n // 2), "label": "a", ":split": pool} for n, pool in enumerate(["train", "test"])
    ]
    made = fields.suite(fields.records(kinds, rows), id="s")
    assert ("E201-records", "records/train+test") in found(made)
