"""Scores of classes against scikit-learn's, and errors in common counted by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from taskloom.core import Example, Fields, Item, Labels, Output, Suite, Task, Text
from taskloom.reports import How, summarise
from taskloom.reports.class_tables import class_tables
from taskloom.reports.classes import OTHER, UNUSABLE, Confusion, class_reports, main_shots, shared_errors
from taskloom.reports.page.tasks import tasks
from taskloom.scores.reduce import wilson
from taskloom.scores.tasks import score_task
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows

NAMES = ("art", "law", "sea", "sky")
MANY = 90


def results(
    output: Output, metrics: Sequence[str], gold: Sequence[Any], answers: dict[str, Sequence[Sequence[Any]]]
) -> Results:
    """Make results of learners, each with a list of answers for every seed."""
    task = Task(id="t", instruction="?", output=output, metrics=tuple(metrics))
    examples = [Example(Item(f"i{n}", {"input": str(n)}), (right,), f"r{n}") for n, right in enumerate(gold)]
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {"all": rows.pool(task, examples)}})
    golds = tuple((right,) for right in gold)
    outcomes = tuple(
        Outcome(
            cell=f"{name}{seed}", task="t", learner=name, shots=4, seed=seed, index=0, pool="all",
            rows=tuple(range(len(gold))), items=tuple(f"i{n}" for n in range(len(gold))), answers=tuple(given),
            gold=golds, scores=score_task(task, golds, given), counts={}, cost=Cost(),
        )
        for name, seeds in answers.items()
        for seed, given in enumerate(seeds)
    )  # fmt: skip
    return Results(
        name="x", command="", suite=suite, learners=dict.fromkeys(answers, ""), baselines=("majority",),
        outcomes=outcomes, failures=(), missing=0, skipped={},
    )  # fmt: skip


@pytest.fixture(scope="module")
def drawn() -> tuple[list[str], list[list[Any]]]:
    bits = np.random.default_rng(7)
    gold = [NAMES[n] for n in bits.integers(0, 3, MANY)]  # no item of class "sky"
    seeds = [
        [g if bits.random() < 0.6 else [*NAMES, None, "no label"][bits.integers(0, 6)] for g in gold] for _ in range(2)
    ]
    return gold, seeds


def test_classes_are_scored_as_scikit_learn_does(drawn):
    gold, seeds = drawn
    (found,) = class_reports(results(Labels(NAMES), ["accuracy"], gold, {"a": seeds}), "t")
    given = [answer if answer in NAMES else "?" for seed in seeds for answer in seed]
    theirs = precision_recall_fscore_support(gold * 2, given, labels=list(NAMES), zero_division=np.nan)
    for at, name in enumerate(("precision", "recall", "f1")):
        ours = [getattr(one, name).value for one in found.classes]
        np.testing.assert_allclose(ours, theirs[at], err_msg=name)
    assert [one.support for one in found.classes] == theirs[3].tolist()
    assert (found.answers, found.unusable) == (2 * MANY, given.count("?"))


def test_confusions_are_those_of_scikit_learn_with_a_column_for_unusable_answers(drawn):
    gold, seeds = drawn
    (found,) = class_reports(results(Labels(NAMES), ["accuracy"], gold, {"a": seeds}), "t")
    given = [answer if answer in NAMES else UNUSABLE for seed in seeds for answer in seed]
    theirs = confusion_matrix(gold * 2, given, labels=[*NAMES, UNUSABLE])
    assert found.confusion is not None
    assert found.confusion.columns == (*NAMES, UNUSABLE)
    np.testing.assert_array_equal(np.array(found.confusion.counts), theirs[:-1])


def test_intervals_are_wilson_s_over_records_not_over_answers(drawn):
    gold, seeds = drawn
    (found,) = class_reports(results(Labels(NAMES), ["accuracy"], gold, {"a": seeds}), "t")
    art = found.classes[0]
    assert (art.recall.low, art.recall.high) == pytest.approx(wilson(art.recall.value, gold.count("art"), 0.95))
    assert art.recall.n == 2 * gold.count("art")
    assert art.f1.low < art.f1.value < art.f1.high
    sky = found.classes[3]
    assert math.isnan(sky.recall.value)
    assert sky.support == 0


def test_classes_of_many_labels_have_no_confusion():
    gold = [("art", "law"), ("law",), ("sea",)]
    given = [("art",), ("law", "sea"), None]
    (found,) = class_reports(results(Labels(NAMES, many=True), ["micro-f1"], gold, {"a": [given]}), "t")
    assert found.confusion is None
    assert [(c.support, c.predicted) for c in found.classes] == [(1, 1), (2, 1), (1, 1), (0, 0)]
    assert found.classes[1].recall.value == 0.5
    assert found.unusable == 1


def test_classes_of_a_field_are_reported_by_its_name():
    output = Fields({"kind": Labels(("x", "y")), "note": Text()})
    gold = [{"kind": "x", "note": "n"}, {"kind": "y", "note": "n"}]
    given = [{"kind": "x", "note": None}, None]
    (found,) = class_reports(results(output, ["kind/accuracy"], gold, {"a": [given]}), "t")
    assert (found.field, found.unusable, [c.support for c in found.classes]) == ("kind", 1, [1, 1])


def test_a_task_without_labels_has_no_classes():
    assert class_reports(results(Text(), ["rouge-l"], ["a"], {"a": [["a"]]}), "t") == ()


def test_a_large_confusion_is_cut_to_what_is_confused_most():
    counts = ((9, 1, 0, 0, 0), (4, 2, 0, 0, 1), (0, 0, 5, 0, 0), (0, 1, 0, 1, 0))
    cut = Confusion(NAMES, (*NAMES, UNUSABLE), counts).cut(3)
    assert cut.rows == ("art", "law", OTHER)
    assert cut.columns == ("art", "law", OTHER, UNUSABLE)
    assert cut.counts == ((9, 1, 0, 0), (4, 2, 0, 1), (0, 1, 6, 0))
    assert Confusion(NAMES, (*NAMES, UNUSABLE), counts).cut(4).rows == NAMES


def test_errors_that_learners_share():
    gold = ["art", "art", "law", "law"]
    given: dict[str, Sequence[Sequence[Any]]] = {
        "a": [["art", "law", "law", "art"], ["art", "law", "law", None]],
        "b": [["art", "law", "art", "art"]],
        "c": [["art", "sea", "art", "law"]],
        "majority": [["art", "art", "art", "art"]],
    }
    found = shared_errors(results(Labels(NAMES), ["accuracy"], gold, given), "t")
    assert found is not None
    assert (found.learners, found.items, found.shots) == (("a", "b", "c"), 4, 4)
    assert [v.item for v in found.all_wrong] == ["i1"]
    assert [(v.item, v.right, v.wrong) for v in found.most_wrong] == [
        ("i2", ("a",), ("b", "c")),
        ("i3", ("c",), ("a", "b")),
    ]
    assert [v.item for v in found.disagree] == ["i2", "i3"]
    assert found.expected == pytest.approx(4 * (2 / 4) * (3 / 4) * (2 / 4))
    assert found.all_wrong[0].answers == {"a": "law", "b": "law", "c": "sea"}


def test_a_single_learner_shares_no_errors():
    assert shared_errors(results(Labels(NAMES), ["accuracy"], ["art"], {"a": [["law"]]}), "t") is None


@pytest.fixture
def settings() -> Results:
    """A language model answers at 4 shots, and two classifiers there and with all examples."""
    gold, given = ["art", "law", "law"], [["art", "law", "art"]]
    made = results(Labels(NAMES), ["accuracy"], gold, {"lm": given, "a": given, "b": given, "majority": given})
    more = [replace(o, cell=f"all-{o.cell}", shots="all") for o in made.outcomes if o.learner != "lm"]
    return replace(made, outcomes=(*made.outcomes, *more))


def test_a_task_is_looked_into_where_the_most_learners_answered(settings):
    assert main_shots(settings, "t") == 4
    found = shared_errors(settings, "t")
    assert found is not None
    assert (found.shots, found.learners) == (4, ("lm", "a", "b"))
    titles = [title for title, _ in class_tables(summarise(settings, How(count=50)))]
    assert titles[0] == "t: F1 of classes, 4 shots"


def test_a_page_has_the_classes_of_every_setting_without_labels_that_no_item_has(settings):
    page = tasks(summarise(settings, How(count=50)), with_items=False)
    assert [part[: part.index("</h3>")] for part in page.split("<h3>Classes, ")[1:]] == ["4 shots", "all examples"]
    assert "<b>lm</b> gold in rows" in page
    assert '<th scope="row">sky</th>' not in page
