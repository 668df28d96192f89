"""Texts to pre-train on, from whatever holds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taskloom.core import Suite
from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.models.corpus import read
from taskloom.suites.store import write


def file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("one\ntwo\n three \n", ("one", "two", "three")),
        ("one\ntwo\n\n\nthree\n", ("one\ntwo", "three")),
        ("\n\none\ntwo\n\n", ("one", "two")),  # blank lines around the texts are not between them
    ],
)
def test_a_text_file_has_a_text_a_line_or_a_paragraph(tmp_path: Path, text: str, found: tuple[str, ...]):
    assert read([file(tmp_path, "a.txt", text)]).texts == found
    assert read([file(tmp_path, "a.txt", text)], ["abstract"]).texts == found  # fields are those of tables


def test_a_table_has_a_text_a_row_and_duplicates_are_counted(tmp_path: Path):
    rows = [{"a": "one", "b": ["x", "y"]}, {"a": "two", "b": None}, {"a": " one "}, {"a": ""}, {"a": None, "b": []}]
    table = file(tmp_path, "t.jsonl", "\n".join(map(json.dumps, rows)))
    found = read([table], ["a"])
    assert (found.texts, found.counts) == (("one", "two"), {"text-duplicate": 1, "text-empty": 2})
    assert read([table], ["a", "b"]).texts == ("one\nx; y", "two", "one")
    assert read([file(tmp_path, "t.csv", "text,n\nred,1\nblue,2\n")]).texts == ("red", "blue")
    assert read([file(tmp_path, "t.csv", "text,n\nred,1\nblue,2\n")] * 2).counts == {"text-duplicate": 2}


def test_a_suite_has_the_inputs_of_its_tasks(tmp_path: Path, small_suite: Suite):
    write(small_suite, tmp_path / "suite")
    found = read([str(tmp_path / "suite")])
    assert {"On trees", "On birds", "On fish", "oak; elm", "2001"} <= {*found.texts}
    assert len({*found.texts}) == len(found.texts)
    assert found.counts["texts-of-test-items"] > 0  # each task has a single pool
    assert {*read([str(tmp_path / "suite")], ["title"]).texts} == {"On trees", "On birds", "On fish"}
    with pytest.raises(UnknownNameError, match="did you mean title"):
        read([str(tmp_path / "suite")], ["titel"])


def test_data_of_the_catalogue_is_read_by_name():
    assert len(read(["data:papers"], ["abstract"]).texts) == 80


def test_what_has_no_texts_is_refused(tmp_path: Path, refused):
    with refused(SourceError, "texts-missing"):
        read([file(tmp_path, "a.txt", "\n \n")])
    with pytest.raises(SourceError, match="did you mean abstract"):
        read([file(tmp_path, "t.csv", "abstract\nred\n")], ["abstrct"])
    with pytest.raises(UsageError, match="no such file"):
        read([str(tmp_path / "none.txt")])
    with pytest.raises(UsageError, match="unknown type of file"):
        read([file(tmp_path, "a.doc", "x")])


def test_texts_are_held_out_by_the_seed(tmp_path: Path, refused):
    found = read([file(tmp_path, "a.txt", "\n".join(f"text {n}" for n in range(100)))])
    kept, apart = found.split(None, 1)
    assert (len(kept), len(apart)) == (95, 5)
    assert {*kept, *apart} == {*found.texts}
    assert found.split(None, 1) == (kept, apart)
    assert found.split(None, 2)[1] != apart
    assert found.split(0, 1) == (list(found.texts), [])
    with refused(SourceError, "texts-all-held-out", texts=100, held_out=100):
        found.split(100, 1)


def test_texts_are_named_by_their_content(tmp_path: Path):
    one, other = (read([file(tmp_path, name, text)]) for name, text in (("a.txt", "ab\nc"), ("b.txt", "a\nbc")))
    assert one.digest != other.digest
    assert one.digest == read([file(tmp_path, "c.txt", "ab\nc\nab\n")]).digest
