"""Predictions that were made elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rouge_score.rouge_scorer import RougeScorer

from taskloom.core import Example, Fields, Item, Labels, Number, Output, Ranking, Suite, Task, Terms, Text
from taskloom.errors import ScoreError, SourceError
from taskloom.studies.predictions import read, score_predictions, unlike_of
from taskloom.suites import instructions, rows
from taskloom.suites.store import write


def many(count: int, **given: Any) -> Suite:
    """Make tasks of one instance each, t0, t1 and so on, whose answers are "right"."""
    tasks = {
        f"t{n}": Task(
            id=f"t{n}", instruction="", output=Text(), metrics=("exact-match",), tags={"category": (f"c{n}",)}
        )
        for n in range(count)
    }
    pools = {
        name: {"test": rows.pool(task, [Example(Item(f"{name}-0", {"input": name}), ("right",), "")])}
        for name, task in tasks.items()
    }
    return Suite(id="s", tasks=tasks, pools=pools, **given)


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


def test_a_prediction_that_is_no_answer_counts_as_wrong_and_is_told(lines: Callable[..., Path]):
    values = {"a0": None, "a1": 1, "a2": "", "a3": ["3"], "b0": {"yes": 1}, "b1": "yes"}
    found = score_predictions(suite(), read(lines(*({"id": id_, "prediction": v} for id_, v in values.items()))))
    assert found.metrics["exact-match"].micro.value == 0
    assert found.metrics["accuracy"].micro.value == 0.5
    assert found.missing == {"a": 1}
    assert found.unlike == {
        "a1": "a number where a text is wanted",
        "a3": "a list where a text is wanted",
        "b0": "an object where a text is wanted",
    }


def test_a_task_with_null_alone_is_scored_as_wrong(lines: Callable[..., Path]):
    found = score_predictions(suite(), read(lines({"id": "a0", "prediction": None})))
    assert (found.metrics["exact-match"].macro.value, found.missing) == (0, {"a": 4})


@pytest.mark.parametrize(
    ("output", "value", "told"),
    [
        (Text(), True, "true or false where a text is wanted"),
        (Labels(("a",), many=True), ["a"], ""),
        (Labels(("a",), many=True), "a", "a text where a list of texts is wanted"),
        (Terms(), ["a", 1], "a list where a list of texts is wanted"),
        (Number(), 1, ""),
        (Number(), "1.5", ""),
        (Number(), "one", "a text where a finite number is wanted"),
        (Number(), math.nan, "a number where a finite number is wanted"),
        (Ranking(), [["a", 1.5]], ""),
        (Ranking(), {"a": 1}, "an object where a list of pairs (candidate, grade) is wanted"),
        (Fields({"t": Text(), "n": Number()}), {"t": "x", "n": None}, ""),
        (Fields({"t": Text(), "n": Number()}), {"t": "x"}, "an object without n"),
        (Fields({"t": Text(), "n": Number()}), {"t": [], "n": 1}, "t: a list where a text is wanted"),
        (Fields({"t": Text(), "n": Number()}), "x", "a text where an object of t, n is wanted"),
    ],
)
def test_what_is_of_another_kind_is_said(output: Output, value: Any, told: str):
    assert unlike_of(output, value) == told


@pytest.mark.parametrize(("count", "known"), [(4, False), (5, True)])
def test_a_mean_over_few_tasks_or_categories_has_no_interval(lines: Callable[..., Path], count: int, known: bool):
    given = [{"id": f"t{n}-0", "prediction": "right" if n else "wrong"} for n in range(count)]
    scores = score_predictions(many(count), read(lines(*given))).metrics["exact-match"]
    assert scores.category_macro is not None
    for mean in (scores.macro, scores.category_macro):
        assert (mean.n, mean.value) == (count, 1 - 1 / count)
        assert [math.isnan(mean.low), math.isnan(mean.high)] == [not known] * 2


def test_the_interval_of_a_mean_ends_where_scores_do(lines: Callable[..., Path]):
    given = [{"id": f"t{n}-0", "prediction": "right" if n else "wrong"} for n in range(9)]
    macro = score_predictions(many(9), read(lines(*given))).metrics["exact-match"].macro
    reach = 2.306004 / 9  # Student's of 8 degrees, by the error: sqrt(8 / 9 / 8 / 9)
    assert [macro.low, macro.high] == pytest.approx([8 / 9 - reach, 1.0], abs=1e-6)
    assert macro.high <= 1


def test_tasks_without_predictions_are_told_by_role(lines: Callable[..., Path], tmp_path: Path, taskloom: Any):
    tests = tuple(f"t{n}" for n in range(2, 10))
    made = many(10, folds={"default": {"meta": ("t0", "t1"), "target": tests}})
    path = lines({"id": "t2-0", "prediction": ["right"]}, {"id": "t3-0", "prediction": "right"})
    found = score_predictions(made, read(path))
    assert (found.untouched, found.aside) == (tests[2:], ("t0", "t1"))
    write(made, tmp_path / "suite")
    told = " ".join(taskloom("score", tmp_path / "suite", path).err.split())
    assert "6 test tasks (t4, t5, t6, t7, t8 and 1 more); means are over the others" in told
    assert "2 tasks that are not test tasks" in told
    assert "1 prediction of another kind than the task's answers (a list where a text is wanted)" in told
    assert "they count as wrong; the first: t2-0" in told
    assert "intervals and n: all instances and each category over instances" in told
    shown = json.loads(taskloom("score", tmp_path / "suite", path, "--json").out)
    assert shown["unlike"] == {"t2-0": "a list where a text is wanted"}


def test_the_place_in_a_line_is_a_column(lines: Callable[..., Path]):
    with pytest.raises(SourceError) as refused:
        read(lines({"id": "a", "prediction": ""}, '{"id": "a", "prediction": '))
    assert "line 2: not JSON (Expecting value, column 28)" in str(refused.value)


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
