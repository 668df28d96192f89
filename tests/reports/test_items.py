"""Files of items are read back as they were: no line lost, no formula alive."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from taskloom.core import Example, Item, Suite, Task, Text
from taskloom.errors import UnknownNameError
from taskloom.reports.items import WRITERS, items_csv, write_items
from taskloom.scores.tasks import score_task
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows
from taskloom.texts import alive

ANSWERS = [
    'two\nlines, "quoted"',
    "=1+1",
    "-5",
    "'tis",
    "tab\there\r\nend",
    None,
    "'=2",
    "+12.5",
    "@home",
    "Say yes;=1+1",
    "3, -5",
]


@pytest.fixture(scope="module")
def results() -> Results:
    task = Task(id="t", instruction="?", output=Text(), metrics=("exact-match", "rouge-l"))
    examples = [Example(Item(f"i{n}", {"a": f"=in {n}", "b": "x\ny"}), ("gold", "-7"), "") for n in range(len(ANSWERS))]
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {"all": rows.pool(task, examples)}})
    gold = tuple(example.gold for example in examples)
    outcome = Outcome(
        cell="c", task="t", learner="l", shots=0, seed=0, index=0, pool="all", rows=tuple(range(len(ANSWERS))),
        items=tuple(e.item.id for e in examples), answers=tuple(ANSWERS), gold=gold,
        scores=score_task(task, gold, ANSWERS), counts={}, cost=Cost(),
    )  # fmt: skip
    return Results(
        name="x", command="", suite=suite, learners={"l": ""}, baselines=(), outcomes=(outcome,), failures=(),
        missing=0, skipped={},
    )  # fmt: skip


def read(path: Path) -> list[dict[str, Any]]:
    match path.suffix:
        case ".parquet":
            found: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
            return found
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
    text = path.read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_is_read_back(results: Results, tmp_path: Path, ending: str):
    path = tmp_path / f"items.{ending}"
    assert write_items(results, path) == len(ANSWERS)
    found = read(path)
    plain = ending in ("csv", "tsv")
    answers = [alive(row["answer"]) or None if plain else row["answer"] for row in found]
    assert answers == ANSWERS
    assert [row["input.b"] for row in found] == ["x\ny"] * len(ANSWERS)
    assert json.loads(found[0]["other_gold"]) == ["-7"]
    assert float(found[0]["score.exact-match"]) == 0.0
    assert found[5]["unusable"] == "unparsable"


def test_a_spreadsheet_takes_no_text_for_a_formula_and_numbers_for_numbers(results: Results):
    found = list(csv.DictReader(io.StringIO(items_csv(results), newline="")))
    assert [row["answer"] for row in found][1:4] == ["'=1+1", "-5", "'tis"]
    assert [row["answer"] for row in found][-2:] == ["Say yes;'=1+1", "3, -5"]
    assert found[7]["answer"] == "+12.5"
    assert found[8]["answer"] == "'@home"
    assert found[0]["input.a"] == "'=in 0"


def test_another_ending_is_refused_before_anything_is_written(results: Results, tmp_path: Path):
    with pytest.raises(UnknownNameError, match="xlsx"):
        write_items(results, tmp_path / "items.xlsx")
    assert not list(tmp_path.iterdir())
