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
from taskloom.errors import ScoreError, SourceError, UnknownNameError, UsageError
from taskloom.reports import summarise
from taskloom.reports.predictions import PredictionScores, score_predictions
from taskloom.scores.predictions import Prediction, read, unlike_of
from taskloom.sources import files, task_files
from taskloom.sources.table import Field
from taskloom.studies.api import open_run, run
from taskloom.suites import fields, instructions, rows
from taskloom.suites.store import open_suite, write


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


def over(found: PredictionScores, typed: str, category: str = "") -> float:
    """Give the score over all instances, or over those of a category."""
    scores = found.metrics[typed]
    return (scores.categories[category] if category else scores.micro).value


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


def labelled(**given: tuple[str, str]) -> Suite:
    """Make tasks of labels and gold answers, split at spaces; items of task a are a0, a1 and so on."""
    tasks, pools = {}, {}
    for name, (labels, gold) in given.items():
        output = Labels(tuple(labels.split()))
        metrics = ("accuracy", "macro-f1", "f1:positive=pos")
        tasks[name] = Task(id=name, instruction="", output=output, metrics=metrics, tags={"category": ("all",)})
        examples = [
            Example(Item(f"{name}{n}", {"input": f"{name} {n}"}), (right,), "") for n, right in enumerate(gold.split())
        ]
        pools[name] = {"test": rows.pool(tasks[name], examples)}
    return Suite(id="s", tasks=tasks, pools=pools)


def papers() -> Suite:
    """Make twelve field tasks that share ten records."""
    of = (Field("title", "text"), Field("kind", "label"), Field("words", "list"))
    made = [{"id": f"r{n}", "title": f"number {n}", "kind": "ab"[n % 2], "words": ["x", "y"]} for n in range(10)]
    return fields.suite(fields.records(of, made), id="papers")


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
    assert read(lines(line)) == (Prediction("predictions.jsonl:1", "a1", "1"),)


def test_a_line_may_name_its_task(lines: Callable[..., Path]):
    found = read(lines({"task": "a", "item": "a1", "answer": "1"}, {"task": None, "id": "a2", "prediction": "2"}))
    assert [one.task for one in found] == ["a", ""]


def test_all_that_is_wrong_with_lines_is_named(lines: Callable[..., Path]):
    with pytest.raises(SourceError) as refused:
        read(lines({"id": "a1", "prediction": "1"}, "{", [1], {"prediction": "x"}, {"id": "a"}, {"id": "a", "task": 1}))
    assert refused.value.faults == (
        "predictions.jsonl:2:2: invalid JSON (Expecting property name enclosed in double quotes)",
        "predictions.jsonl:3: must be a JSON object",
        "predictions.jsonl:4: id of the item is missing (item or id)",
        "predictions.jsonl:5: answer is missing (answer or prediction or Prediction)",
        "predictions.jsonl:6: task must be a text, not a number",
    )


def test_half_a_character_is_replaced_and_its_line_counted(lines: Callable[..., Path]):
    given = [{"id": "a0", "prediction": "0\ud800"}, {"id": "a1", "prediction": "1", "input": "\udc00"}]
    metrics = ["exact-match", "exact-match:published", "rouge-l", "rouge-l:published", "bleu-4"]
    found = score_predictions(suite(), read(lines(*given)), metrics)
    assert (over(found, "exact-match"), found.missing, found.unlike) == (0.25, {"a": 2}, {})
    assert (found.surrogates, found.unknown) == (2, 0)
    answers = read(lines(*given, {"id": "a\ud800", "prediction": "1"}, {"id": "a2", "prediction": "2"}))
    assert [one.answer for one in answers] == ["0\ufffd", "1", "1", "2"]
    found = score_predictions(suite(), answers)
    assert (found.surrogates, found.unknown) == (3, 1)  # an id with half a character is that of no item


def test_of_many_faults_the_first_are_named(lines: Callable[..., Path]):
    with pytest.raises(SourceError) as refused:
        read(lines({}, *[[]] * 25))
    assert refused.value.faults[-2:] == ("predictions.jsonl:20: must be a JSON object", "and 6 more")


def test_a_line_has_a_limit(lines: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MAX_LINE", 100)
    with pytest.raises(SourceError, match="jsonl:2: line is longer than 100 characters"):
        read(lines({"id": "a", "prediction": ""}, {"id": "b", "prediction": "x" * 100}))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "p.jsonl")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_predictions_is_refused(lines: Callable[..., Path], text: str):
    with pytest.raises(SourceError, match="no predictions"):
        read(lines(text))


def test_a_file_in_another_encoding_is_refused(tmp_path: Path):
    (tmp_path / "p").write_bytes(b'{"id": "\xe9", "prediction": ""}\n')
    with pytest.raises(SourceError, match="p:1:9: not utf-8; save it as UTF-8; it may be latin-1"):
        read(tmp_path / "p")


def test_scores_are_over_instances_tasks_and_categories(lines: Callable[..., Path]):
    given = [{"id": f"a{n}", "prediction": str(n)} for n in range(3)] + [{"id": "a3", "prediction": "9"}]
    found = score_predictions(suite(), read(lines(*given)))
    scores = found.metrics["exact-match"]
    assert (scores.micro.value, scores.micro.n) == (0.75, 4)
    assert scores.macro == scores.category_macro == scores.micro  # of one task, in one category
    assert over(found, "exact-match", "x") == 0.75
    assert scores.micro.low < 0.75 <= scores.micro.high
    assert [one.partition("|")[0] for one in scores.signatures] == ["exact-match"]
    assert (found.untouched, found.missing, found.unknown, found.doubled) == (("b",), {}, 0, 0)


def test_what_is_missing_counts_as_wrong_and_is_told(lines: Callable[..., Path]):
    given = [{"id": "a0", "prediction": "0"}, {"id": "b0", "prediction": "yes"}, {"id": "zz", "prediction": "?"}]
    found = score_predictions(suite(), read(lines(*given, {"id": "a0", "prediction": "0"})))
    assert found.missing == {"a": 3, "b": 1}
    assert over(found, "exact-match") == 0.25
    assert over(found, "accuracy") == 0.5
    assert (found.unknown, found.doubled) == (1, 1)


def test_a_prediction_that_is_no_answer_counts_as_wrong_and_is_told(lines: Callable[..., Path]):
    values = {"a0": None, "a1": 1, "a2": "", "a3": ["3"], "b0": {"yes": 1}, "b1": "yes"}
    found = score_predictions(suite(), read(lines(*({"id": id_, "prediction": v} for id_, v in values.items()))))
    assert over(found, "exact-match") == 0
    assert over(found, "accuracy") == 0.5
    assert found.missing == {"a": 1}
    assert found.unlike == {
        "a": {"a1": "a number where a text is expected", "a3": "a list where a text is expected"},
        "b": {"b0": "an object where a text is expected"},
    }


def test_answers_that_are_no_label_are_counted(lines: Callable[..., Path], tmp_path: Path, taskloom: Any):
    made = labelled(a=("pos neg", "pos neg pos"))
    path = lines(*({"id": f"a{n}", "prediction": said} for n, said in enumerate(["pos", "perhaps", "POS"])))
    found = score_predictions(made, read(path))
    assert found.unusable == {"label-unknown": {"a1": "perhaps", "a2": "POS"}}
    write(made, tmp_path / "suite")
    assert "2 predictions unusable" in taskloom("score", tmp_path / "suite", path).err


def test_a_task_with_null_alone_is_scored_as_wrong(lines: Callable[..., Path]):
    found = score_predictions(suite(), read(lines({"id": "a0", "prediction": None})))
    assert (found.metrics["exact-match"].macro.value, found.missing) == (0, {"a": 4})


@pytest.mark.parametrize(
    ("output", "value", "told"),
    [
        (Text(), True, "true or false where a text is expected"),
        (Labels(("a",), many=True), ["a"], ""),
        (Labels(("a",), many=True), "a", "a text where a list of texts is expected"),
        (Terms(), ["a", 1], "a list where a list of texts is expected"),
        (Number(), 1, ""),
        (Number(), "1.5", ""),
        (Number(), "one", "a text where a finite number is expected"),
        (Number(), math.nan, "a number where a finite number is expected"),
        (Ranking(), [["a", 1.5]], ""),
        (Ranking(), {"a": 1}, "an object where a list of pairs (candidate, grade) is expected"),
        (Fields({"t": Text(), "n": Number()}), {"t": "x", "n": None}, ""),
        (Fields({"t": Text(), "n": Number()}), {"t": "x"}, "an object without n"),
        (Fields({"t": Text(), "n": Number()}), {"t": [], "n": 1}, "t: a list where a text is expected"),
        (Fields({"t": Text(), "n": Number()}), "x", "a text where an object of t, n is expected"),
    ],
)
def test_what_is_of_another_kind_is_said(output: Output, value: Any, told: str):
    assert unlike_of(output, value) == told


def test_single_answers_do_not_show_how_sure_their_mean_is(lines: Callable[..., Path]):
    given = [{"id": f"t{n}-0", "prediction": "right" if n else "wrong"} for n in range(5)]
    scores = score_predictions(many(5), read(lines(*given))).metrics["exact-match"]
    assert scores.category_macro is not None
    for mean in (scores.macro, scores.category_macro, scores.micro):
        assert (mean.n, mean.value, math.isnan(mean.low), math.isnan(mean.high)) == (5, 0.8, True, True)


SAYS = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Says(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"text", "labels"})
    unaided: ClassVar[frozenset] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return [item.fields["input"][-1] for item in items]
"""


def views() -> Suite:
    """Make tasks of other sizes that ask about the same records."""
    tasks, pools = {}, {}
    for at, size in enumerate((12, 20, 31)):
        output = Labels(("0", "1")) if at else Text()
        metrics = ("accuracy", "macro-f1") if at else ("exact-match",)
        task = Task(
            id=f"t{at}", instruction="", output=output, metrics=metrics, tags={"category": (f"c{at // 2}", "c")}
        )
        examples = [
            Example(Item(f"{at}-{n}", {"input": f"{n} {n * (at + 1) % 7 % 2}"}), (str(n % 5 % 2),), str(n))
            for n in range(size)
        ]
        tasks[task.id], pools[task.id] = task, {"test": rows.pool(task, examples)}
    return Suite(id="s", tasks=tasks, pools=pools)


def test_the_same_answers_have_the_same_intervals_in_a_report_and_as_predictions(tmp_path: Path, taskloom: Any):
    write(views(), tmp_path / "suite")
    (tmp_path / "says.py").write_text(SAYS)
    (tmp_path / "s.yaml").write_text(
        "name: s\nsuite: suite\nbaselines: false\nprotocol: {shots: [0], seeds: 1, query: all}\n"
        'learners: {says: {"says.py:Says": {}}}\n'
    )
    results = run(tmp_path / "s.yaml", tmp_path / "run")
    lines = [
        json.dumps({"task": o.task, "item": item, "answer": answer})
        for o in results.outcomes for item, answer in zip(o.items, o.answers, strict=True)
    ]  # fmt: skip
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    found = score_predictions(open_suite(tmp_path / "suite"), read(tmp_path / "p.jsonl")).metrics
    summary = summarise(open_run(tmp_path / "run"))
    assert (
        {leaderboard.metric for leaderboard in summary.leaderboards}
        == {*found}
        == {"exact-match", "accuracy", "macro-f1"}
    )
    for leaderboard in summary.leaderboards:
        (standing,), scores = leaderboard.standings, found[leaderboard.metric]
        assert (scores.macro, scores.micro) == (standing.score, standing.by_instance)
        assert scores.macro.low < scores.macro.value < scores.macro.high
        assert {task: by["says"] for task, by in leaderboard.tasks.items()} == scores.tasks
    for of in summary.categories:
        assert found[of.leaderboard.metric].categories[of.name] == of.leaderboard.standings[0].by_instance
    assert [(of.name, of.leaderboard.metric) for of in summary.categories] == [
        ("c", "accuracy"), ("c", "exact-match"), ("c0", "accuracy"), ("c0", "exact-match"), ("c1", "accuracy")
    ]  # fmt: skip
    shown = json.loads(taskloom("score", tmp_path / "suite", tmp_path / "p.jsonl", "--json").out)["metrics"]
    leaderboard = next(leaderboard for leaderboard in summary.leaderboards if leaderboard.metric == "accuracy")
    assert shown["accuracy"]["macro"] == vars_of(leaderboard.standings[0].score)


def vars_of(estimate: Any) -> dict[str, float]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "n")}


def test_a_mean_over_categories_counts_each_the_same(lines: Callable[..., Path]):
    given = [{"id": f"{at}-{n}", "prediction": "1"} for at, size in ((0, 12), (1, 20), (2, 31)) for n in range(size)]
    scores = score_predictions(views(), read(lines(*given))).metrics["accuracy"]
    values = [each.value for each in scores.categories.values()]
    assert list(scores.categories) == ["c", "c0", "c1"]
    assert scores.category_macro is not None
    assert scores.category_macro.value == pytest.approx(sum(values) / 3)
    assert scores.category_macro.low < scores.category_macro.value < scores.category_macro.high


def test_tasks_without_predictions_are_told_by_role(lines: Callable[..., Path], tmp_path: Path, taskloom: Any):
    tests = tuple(f"t{n}" for n in range(2, 10))
    made = many(10, folds={"default": {"train": ("t0", "t1"), "test": tests}})
    path = lines({"id": "t2-0", "prediction": ["right"]}, {"id": "t3-0", "prediction": "right"})
    found = score_predictions(made, read(path))
    assert (found.untouched, found.aside) == (tests[2:], ("t0", "t1"))
    write(made, tmp_path / "suite")
    told = " ".join(taskloom("score", tmp_path / "suite", path).err.split())
    assert "means are over the others: t4, t5, t6, t7, t8 and 1 more" in told
    assert "2 tasks that are not test tasks" in told
    assert "1 prediction of the wrong type, counted as wrong (a list where a text is expected)" in told
    assert "(a list where a text is expected): t2-0" in told
    assert "intervals are for these tasks, as in a report" in told
    shown = json.loads(taskloom("score", tmp_path / "suite", path, "--json").out)
    assert shown["unlike"] == {"t2": {"t2-0": "a list where a text is expected"}}


def test_rankings_are_cut_at_their_depth_as_those_of_a_run_are(lines: Callable[..., Path]):
    task = Task(id="t", instruction="", output=Ranking(depth=1), metrics=("mrr",))
    asked = Example(Item("i", {"q": "x"}, ("a", "b")), ((("a", 1.0),),), "g")
    made = Suite(id="s", tasks={"t": task}, pools={"t": {"test": rows.pool(task, [asked])}})
    for grades, expected in (([["a", 2], ["b", 1]], 1.0), ([["a", 1], ["b", 2]], 0.0)):
        found = score_predictions(made, read(lines({"id": "i", "prediction": grades})))
        assert found.metrics["mrr"].macro.value == expected


def test_predictions_of_another_suite_are_refused(lines: Callable[..., Path]):
    with pytest.raises(ScoreError, match=r"its ids are like .*, and that of the first prediction is"):
        score_predictions(suite(), read(lines({"id": "zz", "prediction": "1"})))


def test_other_metrics_can_be_asked_for(lines: Callable[..., Path]):
    found = score_predictions(suite(), read(lines({"id": "a0", "prediction": "0"})), ["rouge-l:published"])
    assert list(found.metrics) == ["rouge-l:published"]


def test_a_label_may_hold_a_slash(lines: Callable[..., Path]):
    made = labelled(a=("pos n/a", "n/a pos"))
    found = score_predictions(made, read(lines({"id": "a0", "prediction": "n/a"})), ["f1:positive=n/a"])
    assert over(found, "f1:positive=n/a") == 1


def test_each_task_is_scored_by_its_own_labels(lines: Callable[..., Path]):
    made = labelled(a=("neg pos", "neg pos " * 3), b=("pos neg", "neg" + " pos" * 5))
    found = score_predictions(
        made, read(lines(*({"id": f"{t}{n}", "prediction": "pos"} for t in "ab" for n in range(6))))
    )
    scores = found.metrics["f1:positive=pos"]
    assert {name: each.value for name, each in scores.tasks.items()} == pytest.approx({"a": 6 / 9, "b": 10 / 11})
    assert scores.macro.value == pytest.approx((6 / 9 + 10 / 11) / 2)
    assert scores.micro == scores.categories["all"]
    assert scores.micro.value == pytest.approx(scores.macro.value)  # for tasks are of one size
    assert len(scores.signatures) == 2
    assert over(found, "accuracy") == over(found, "accuracy", "all") == 8 / 12  # a mean, whatever the labels


def test_tasks_of_other_kinds_and_sizes_are_scored_together(lines: Callable[..., Path]):
    of = labelled(a=("neg pos", "neg pos"), b=("neg pos so-so", "neg pos so-so"))
    text = Task(id="t", instruction="", output=Text(), metrics=("exact-match",))
    first = rows.pool(text, [Example(Item("t0", {"input": "?"}), ("neg",), "")])
    made = Suite(id="s", tasks={"t": text, **of.tasks}, pools={"t": {"test": first}, **of.pools})
    given = [{"id": id_, "prediction": "neg"} for id_ in ("t0", "a0", "a1", "b0", "b1", "b2")]
    found = score_predictions(made, read(lines(*given)))
    f1 = found.metrics["macro-f1"]
    assert {name: each.value for name, each in f1.tasks.items()} == pytest.approx({"a": 1 / 3, "b": 1 / 6})
    assert (over(found, "exact-match"), over(found, "accuracy"), found.instances) == (1, 0.4, 6)
    assert over(found, "macro-f1") == pytest.approx((2 * 1 / 3 + 3 * 1 / 6) / 5)  # tasks weigh as many as they have


def test_answers_of_several_fields_are_scored_part_by_part(lines: Callable[..., Path]):
    answer = {"kind": "a", "words": ["x"]}
    given = [{"task": "title->kind+words", "item": f"r{n}", "answer": answer} for n in range(10)]
    found = score_predictions(papers(), read(lines(*given)))
    assert list(found.metrics) == ["kind/accuracy", "kind/macro-f1", "words/list-f1", "words/bpref"]
    assert (over(found, "kind/accuracy"), over(found, "words/list-f1")) == pytest.approx((0.5, 2 / 3))
    assert over(score_predictions(papers(), read(lines(*given)), ["kind/accuracy"]), "kind/accuracy") == 0.5
    with pytest.raises(UnknownNameError, match=r"unknown field .*: 'kin'; did you mean kind"):
        score_predictions(papers(), read(lines(*given)), ["kin/accuracy"])


def test_predictions_are_for_the_task_that_they_name(lines: Callable[..., Path]):
    given = [
        {"task": t, "item": f"r{n}", "answer": f"number {n}"} for t in ("kind->title", "words->title") for n in (0, 1)
    ]
    again = {"task": "words->title", "item": "r1", "answer": "another"}
    found = score_predictions(
        papers(), read(lines(*given, again, {"task": "words->title", "item": "r99", "answer": ""}))
    )
    scores = {name: each.value for name, each in found.metrics["rouge-l"].tasks.items()}
    assert scores == pytest.approx({"kind->title": 0.2, "words->title": 0.1})
    assert (found.missing, found.unknown, found.doubled) == ({"kind->title": 8, "words->title": 8}, 1, 1)


def test_a_task_is_named_where_several_ask_about_an_item(lines: Callable[..., Path]):
    named = {"task": "kind->title", "item": "r0", "answer": ""}
    with pytest.raises(SourceError) as refused:
        score_predictions(papers(), read(lines(named, {"id": "r1", "prediction": ""}, {"id": "zz", "prediction": ""})))
    assert refused.value.faults == ("predictions.jsonl:2: 12 tasks ask about item 'r1', such as 'title->kind'",)
    assert 'name the task on each line ("task": ...)' in str(refused.value)


def test_a_task_that_the_suite_does_not_have_is_refused_once(lines: Callable[..., Path]):
    given = [{"task": "kind->titel", "item": f"r{n}", "answer": ""} for n in range(3)]
    with pytest.raises(SourceError) as refused:
        score_predictions(papers(), read(lines(*given)))
    (told,) = refused.value.faults
    assert told.startswith("predictions.jsonl:1: unknown task: 'kind->titel'; did you mean kind->title")
    with pytest.raises(SourceError, match="and 2 more"):
        score_predictions(papers(), read(lines(*({"task": str(n), "item": "r0", "answer": ""} for n in range(7)))))


def test_one_unit_has_no_interval(lines: Callable[..., Path], tmp_path: Path, taskloom: Any):
    write(many(1), tmp_path / "suite")
    path = lines({"id": "t0-0", "prediction": "right"})
    shown = json.loads(taskloom("score", tmp_path / "suite", path, "--json").out)["metrics"]["exact-match"]
    one = {"value": 1.0, "low": None, "high": None, "n": 1}
    assert shown["tasks"] == {"t0": one}
    assert shown["micro"] == shown["macro"] == shown["categories"]["c0"] == one
    table = taskloom("score", tmp_path / "suite", path).out.splitlines()
    assert [line.split("\t")[1:] for line in table[1:]] == [["100.00", "none", "1"]] * 4


def test_what_is_no_share_is_shown_as_it_is_and_no_value_as_none(
    lines: Callable[..., Path], tmp_path: Path, taskloom: Any
):
    task = Task(id="n", instruction="", output=Number(), metrics=("mse", "tau-b"))
    examples = [Example(Item(f"n{n}", {"input": str(n)}), (float(n),), "") for n in range(3)]
    write(Suite(id="s", tasks={"n": task}, pools={"n": {"test": rows.pool(task, examples)}}), tmp_path / "suite")
    table = taskloom("score", tmp_path / "suite", lines(*({"id": f"n{n}", "prediction": 3} for n in range(3)))).out
    assert [line.split("\t")[:2] for line in table.splitlines()] == [
        ["mse", "score"], ["all instances", "4.667"], ["mean over tasks", "4.667"],
        ["tau-b", "score"], ["all instances", "no value"], ["mean over tasks", "no value"],
    ]  # fmt: skip


def test_copying_the_input_scores_what_the_reference_package_says(
    real_data: Path, tmp_path: Path, taskloom: Callable[..., Any]
):
    files, splits = task_files.read(real_data / "superni")
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


def test_an_array_a_folder_and_ids_that_are_numbers_are_told_for_what_they_are(tmp_path: Path):
    path = tmp_path / "predictions.jsonl"
    path.write_text('\n[{"id": "a", "prediction": "x"}]')
    with pytest.raises(SourceError) as refused:
        read(path)
    assert (refused.value.note.code, refused.value.faults) == ("json-lines-expected", ())
    path.write_text('{\n "id": "a",\n "prediction": "x"\n}\n' * 2000)
    with pytest.raises(SourceError) as refused:
        read(path)
    assert str(refused.value) == (f"must be JSON Lines, one object on each line (jq -c '.' FILE converts it): {path}")
    path.write_text('{"id": 3, "prediction": "x"}')
    with pytest.raises(SourceError, match="the id must be a text: 3"):
        read(path)
    with pytest.raises(UsageError, match="a folder, not a file"):
        read(tmp_path)
