"""Predictions that were made elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rouge_score.rouge_scorer import RougeScorer

from taskloom.core import Example, Item, Labels, Suite, Task, Text
from taskloom.errors import ScoreError, SourceError
from taskloom.studies.predictions import read, score_predictions
from taskloom.suites import instructions, rows
from taskloom.suites.store import write


def suite() -> Suite:
    texts = Task(id="a", instruction="", output=Text(), metrics=("exact-match",), tags={"category": ("x",)})
    labels = Task(
        id="b", instruction="", output=Labels(("yes", "no")), metrics=("accuracy",), tags={"category": ("x", "y")}
    )
    pools = {
        "a": {"test": rows.pool(texts, [Example(Item(f"a{n}", {"input": str(n)}), (str(n),), "") for n in range(4)])},
        "b": {"all": rows.pool(labels, [Example(Item(f"b{n}", {"input": str(n)}), ("yes",), "") for n in range(2)])},
    }
    return Suite(id="s", tasks={"a": texts, "b": labels}, pools=pools)


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    def written(*values: Any) -> Path:
        path = tmp_path / "predictions.jsonl"
        path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    "line",
    [
        {"item": "a1", "answer": "1"},
        {"id": "a1", "prediction": "1"},
        {"Task": "a", "Instance": {"id": "a1", "input": "1", "output": ["1"]}, "prediction": "1"},
        {"Task": "a", "Instance": {"id": "a1"}, "Prediction": "1"},
    ],
    ids=["taskloom", "leaderboard", "Tk-Instruct", "Tk-Instruct, capital"],
)
def test_three_formats_are_read(lines: Callable[..., Path], line: dict[str, Any]):
    assert read(lines(line)).answers == {"a1": "1"}


def test_all_that_is_wrong_with_lines_is_named(lines: Callable[..., Path]):
    with pytest.raises(SourceError) as refused:
        read(lines({"id": "a1", "prediction": "1"}, "{", [1], {"prediction": "x"}, {"id": "a"}))
    told = str(refused.value)
    for fault in ("line 2: not JSON", "line 3: not an object", "line 4: no id", "line 5: no answer"):
        assert fault in told


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_predictions_is_refused(lines: Callable[..., Path], text: str):
    with pytest.raises(SourceError, match="no predictions"):
        read(lines(text))


def test_a_file_in_another_encoding_is_refused(tmp_path: Path):
    (tmp_path / "p").write_bytes(b'{"id": "\xe9", "prediction": ""}\n')
    with pytest.raises(SourceError, match="not UTF-8"):
        read(tmp_path / "p")


def test_scores_are_over_instances_tasks_and_categories(lines: Callable[..., Path]):
    given = [{"id": f"a{n}", "prediction": str(n)} for n in range(3)] + [{"id": "a3", "prediction": "9"}]
    found = score_predictions(suite(), read(lines(*given)))
    scores = found.metrics["exact-match"]
    assert (scores.micro.value, scores.micro.n) == (0.75, 4)
    assert (scores.macro.value, scores.macro.n) == (0.75, 1)
    assert scores.category_macro is not None
    assert (scores.category_macro.value, math.isnan(scores.category_macro.low)) == (0.75, True)  # of one category
    assert scores.categories["x"].value == 0.75
    assert scores.micro.low < 0.75 <= scores.micro.high
    assert scores.signature.startswith("exact-match|")
    assert (found.untouched, found.missing, found.unknown, found.doubled) == (("b",), {}, 0, 0)


def test_what_is_missing_counts_as_wrong_and_is_told(lines: Callable[..., Path]):
    given = [{"id": "a0", "prediction": "0"}, {"id": "b0", "prediction": "yes"}, {"id": "zz", "prediction": "?"}]
    found = score_predictions(suite(), read(lines(*given, {"id": "a0", "prediction": "0"})))
    assert found.missing == {"a": 3, "b": 1}
    assert found.metrics["exact-match"].micro.value == 0.25
    assert found.metrics["accuracy"].micro.value == 0.5
    assert (found.unknown, found.doubled) == (1, 1)


def test_a_prediction_that_is_no_answer_counts_as_wrong(lines: Callable[..., Path]):
    given = [{"id": "a0", "prediction": None}, {"id": "a1", "prediction": 1}, {"id": "a2", "prediction": ""}]
    assert score_predictions(suite(), read(lines(*given))).metrics["exact-match"].micro.value == 0


def test_predictions_of_another_suite_are_refused(lines: Callable[..., Path]):
    with pytest.raises(ScoreError, match="none of the 1 predictions"):
        score_predictions(suite(), read(lines({"id": "zz", "prediction": "1"})))


def test_other_metrics_can_be_asked_for(lines: Callable[..., Path]):
    found = score_predictions(suite(), read(lines({"id": "a0", "prediction": "0"})), ["rouge-l:published"])
    assert list(found.metrics) == ["rouge-l:published"]


def test_copying_the_input_scores_what_the_reference_package_says(
    real_data: Path, tmp_path: Path, taskloom: Callable[..., Any]
):
    files, splits = instructions.read(real_data / "superni")
    here = [name for name in splits["default"]["test"] if name in {file.name for file in files}]
    few = {"default": {"test": here[:6]}}
    kept = [file for file in files if file.name in few["default"]["test"]]
    write(instructions.suite(kept, few, id="s"), tmp_path / "suite")
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    best, lines = [], []
    for file in kept:
        for instance in file.content["Instances"][: instructions.TEST]:
            lines.append(json.dumps({"id": instance["id"], "prediction": instance["input"]}))
            each = [scorer.score(gold, instance["input"])["rougeL"].fmeasure for gold in instance["output"]]
            best.append(max(each))
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    ran = taskloom("score", tmp_path / "suite", tmp_path / "p.jsonl", "--json")
    found = json.loads(ran.out)["metrics"]["rouge-l:published"]["micro"]
    assert found["n"] == len(best)
    assert found["value"] == pytest.approx(sum(best) / len(best), abs=1e-9)
