from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.errors import SourceError, UsageError
from taskloom.sources.table import Field
from taskloom.suites.build import TableOptions, field_suite

FIELDS = (Field("title", "text", "title"), Field("category", "label", "category"))


def build(source: Path, **reading: object):
    return field_suite(TableOptions(source=str(source), fields=FIELDS, **reading), id="s")  # type: ignore[arg-type]


def test_labels_can_come_from_a_map_of_venues(tmp_path: Path):
    (tmp_path / "papers.csv").write_text("title,journal\nOn trees,Forest Letters\nOn cod,Sea News\nOn x,Unknown\n")
    (tmp_path / "venues.csv").write_text("journal,category\nForest Letters,Botany\nSea News,Zoology\n")
    suite = build(tmp_path / "papers.csv", venues=str(tmp_path / "venues.csv"))
    gold = [example.gold[0] for example in suite.pools["title->category"]["all"].take([0, 1])]
    assert gold == ["Botany", "Zoology"]
    assert suite.about["dropped"] == [{"code": "row-unmapped", "values": {"column": "journal"}, "count": 1}]


def test_a_map_of_venues_needs_labels(tmp_path: Path):
    (tmp_path / "papers.csv").write_text("title,journal\nOn trees,Forest Letters\n")
    (tmp_path / "venues.csv").write_text("journal\nForest Letters\n")
    with pytest.raises(SourceError, match="venues needs a column of names"):
        build(tmp_path / "papers.csv", venues=str(tmp_path / "venues.csv"))


def test_rows_can_be_chosen_by_a_column_and_the_others_are_counted(tmp_path: Path):
    (tmp_path / "t.csv").write_text("title,category,language\na,x,en\nb,y,zh\nc,x,en\n")
    suite = build(tmp_path / "t.csv", where={"language": "en"})
    assert len(suite.pools["title->category"]["all"]) == 2
    assert suite.about["dropped"] == [{"code": "row-filtered", "values": {"where": ["language=en"]}, "count": 1}]


def test_what_is_skipped_is_counted_and_named(tmp_path: Path):
    (tmp_path / "t.csv").write_text("title,category\na,x\nb,y,z\n")
    with pytest.raises(SourceError, match=r"t\.csv:3: 3 cells, the header has 2"):
        build(tmp_path / "t.csv")
    suite = build(tmp_path / "t.csv", on_error="skip")
    assert suite.about["dropped"] == [{"code": "row-faulty", "values": {}, "count": 1}]
    assert suite.about["faults"] == ["t.csv:3: 3 cells, the header has 2"]


def test_half_characters_are_replaced_and_their_rows_counted(tmp_path: Path):
    rows = [r'{"title": "a\ud83c", "category": "x"}', r'{"title": "\ud83c\udf33", "category": "y"}']
    (tmp_path / "t.jsonl").write_text("\n".join(rows), encoding="utf-8")
    suite = build(tmp_path / "t.jsonl")
    examples = suite.pools["title->category"]["all"].take([0, 1])
    assert [example.item.fields["title"] for example in examples] == ["a\ufffd", "🌳"]
    assert suite.about["dropped"] == [{"code": "row-surrogates", "values": {}, "count": 1}]


def test_one_field_makes_no_suite(tmp_path: Path):
    with pytest.raises(UsageError, match="at least two fields"):
        field_suite(TableOptions(source="x.csv", fields=FIELDS[:1]), id="s")
