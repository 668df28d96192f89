from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.sources.files import Row
from taskloom.sources.splits import SPLIT, Split, pool_in_name, pool_of


def rows(*values: object) -> Iterator[tuple[str, Row]]:
    return ((f"t.csv:{n}", {"part": value}) for n, value in enumerate(values, 2))


@pytest.mark.parametrize(
    ("value", "pool"),
    [("train", "train"), ("TRAINING", "train"), (" valid", "dev"), ("validation", "dev"), ("val", "dev"),
     ("dev", "dev"), ("development", "dev"), ("Test", "test"), ("testing", "test"), ("tset", ""), ("", "")],
)  # fmt: skip
def test_usual_values_stand_for_pools(value: str, pool: str):
    assert pool_of(value) == pool


@pytest.mark.parametrize(
    ("name", "pool"),
    [("data/trec_train.jsonl", "train"), ("test.csv.gz", "test"), ("train-00000-of-00002.parquet", "train"),
     ("training.csv", "train"), ("latest.csv", ""), ("contest.csv", ""), ("train-test.csv", ""), ("mr.jsonl", "")],
)  # fmt: skip
def test_a_file_is_known_by_a_whole_word_of_its_name(name: str, pool: str):
    assert pool_in_name(name) == pool


def test_rows_get_the_pool_of_their_value_and_those_to_drop_are_counted():
    dropped: Counter[Note] = Counter()
    split = Split("part", {"A": "train", "B": "test", "C": "drop"})
    found = [row[SPLIT] for _, row in split.rows(rows("A", "B", "C", "dev", "A"), "", dropped)]
    assert found == ["train", "test", "dev", "train"]
    assert dropped == {Note.of("row-of-split", value="C"): 1}


def test_unknown_values_are_named_all_at_once_with_their_counts(refused):
    with refused(
        SourceError, "split-unknown", column="part", values=[("'fold2'", 2), ("''", 1), ("'fold1'", 1)], more=0
    ):
        list(Split("part").rows(rows("train", "fold2", None, "fold1", "fold2"), "", Counter()))


def test_a_missing_column_is_named():
    with pytest.raises(SourceError, match="unknown column: 'prat'; did you mean part"):
        list(Split("prat").rows(rows("train"), "", Counter()))


def test_what_can_not_be_meant_is_refused(refused):
    with refused(UsageError, "pools-without-split"):
        Split("", {"a": "train"})
    with refused(UnknownNameError, "name-unknown", name="tset"):
        Split("part", {"a": "tset"})
    with refused(UsageError, "split-twice", given="t.csv"):
        Split(files={"train": ["a.csv"], "test": ["b.csv"]}).tables("t.csv")
    with refused(SourceError, "split-incomplete", missing=["test"], found=[("train", 3), ("dev", 2)]):
        Split("part").refuse_unfit({"train": 3, "dev": 2})


def test_files_are_read_in_the_order_of_the_pools():
    split = Split(files={"test": ["c.csv"], "train": ["a.csv", "b.csv"]})
    assert split.tables("") == [("a.csv", "train"), ("b.csv", "train"), ("c.csv", "test")]
    assert Split("part").tables("t.csv") == [("t.csv", "")]
