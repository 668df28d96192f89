"""What a study wants to see beside its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from taskloom.core import Example, Item, Suite, Task, Text
from taskloom.reports import How, render, summarise
from taskloom.reports.exhibits import Exhibit
from taskloom.scores import metric, score
from taskloom.stats import Contrast, Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.studies.views import Agreement, Beside, Gain, Matrix, Scaling, View
from taskloom.suites import rows

ROUGE, EXACT = "rouge-l:published", "exact-match:published"
CATEGORIES = {"same": "Textual Entailment", "titles": "Title Generation", "odd <b>": "Textual Entailment"}
GOLD = "one two three four"
RIGHT, HALF, WRONG = GOLD, "one two other words", "nothing of it"
ANSWERS: Mapping[str, Mapping[str, Sequence[str]]] = {  # learner -> task -> answers
    "model": {"same": [RIGHT] * 8, "titles": [HALF] * 8, "odd <b>": [RIGHT] * 4 + [WRONG] * 4},
    "copy-input": {"same": [WRONG] * 8, "titles": [RIGHT] * 6 + [HALF] * 2, "odd <b>": [WRONG] * 8},
    "copy-demonstration": {"same": [HALF] * 8, "titles": [WRONG] * 8, "odd <b>": [RIGHT] * 2 + [WRONG] * 6},
}


def suite() -> Suite:
    tasks = {
        name: Task(id=name, instruction="do", output=Text(), metrics=(ROUGE, EXACT), tags={"category": (category,)})
        for name, category in CATEGORIES.items()
    }
    pools = {
        name: {
            "test": rows.pool(task, [Example(Item(f"{name}{n}", {"input": str(n)}), (GOLD,), str(n)) for n in range(8)])
        }
        for name, task in tasks.items()
    }
    return Suite(id="made up", tasks=tasks, pools=pools)


def outcome(of: Suite, learner: str, task: str, answers: Sequence[str]) -> Outcome:
    examples = of.pools[task]["test"].take(range(8))
    gold = tuple(e.gold for e in examples)
    scores = {name: score(metric(name, Text()), gold, answers, Text()) for name in (ROUGE, EXACT)}
    return Outcome(
        cell=f"{learner}-{task}", task=task, learner=learner, shots=0, seed=0, index=0,
        items=tuple(e.item.id for e in examples), answers=tuple(answers), gold=gold, scores=scores, counts={},
        cost=Cost(),
    )  # fmt: skip


def results(*views: View, answers: Mapping[str, Mapping[str, Sequence[str]]] = ANSWERS, **settings: Any) -> Results:
    of = suite()
    outcomes = [outcome(of, name, task, given) for name, by_task in answers.items() for task, given in by_task.items()]
    return Results(
        name="s", command="taskloom run s", suite=of, learners={name: name for name in answers},
        floors=tuple(name for name in answers if name.startswith("copy")), outcomes=tuple(outcomes),
        failures=(), missing=0, left_out={}, settings=settings, views=views,
    )  # fmt: skip


def shown(*views: View, **more: Any) -> list[Exhibit]:
    found = list(summarise(results(*views, **more), How(count=200)).exhibits)
    for exhibit in found:
        drawn = Xml.fromstring(f"<div>{exhibit.plot}</div>")
        assert drawn.find("svg").get("aria-label")  # type: ignore[union-attr]
        assert all(len(row) == len(exhibit.columns) for row in exhibit.rows)
    return found


def test_scores_stand_beside_published_figures_and_are_told_apart():
    overall, by_category = shown(Beside(paper="natural-instructions"))
    table = {row[0]: row[1:] for row in overall.rows}
    ours, theirs = table["copy-input"]
    assert isinstance(ours, Estimate)
    assert (round(ours.value, 4), theirs) == (0.2917, 14.2)  # (0 + 7/8 + 0) / 3
    assert table["Tk-Instruct 11B"] == (None, 62.0)
    assert table["model"][1] is None
    assert [row[0] for row in overall.rows][:3] == ["supervised upper bound", "model", "Tk-Instruct 11B"]
    assert any("20 random instances" in note for note in overall.notes)
    assert any("not measured here" in note for note in overall.notes)
    rows_of = {row[0]: dict(zip(by_category.columns[1:], row[1:], strict=True)) for row in by_category.rows}
    assert set(rows_of) == {"Textual Entailment", "Title Generation"}
    assert rows_of["Textual Entailment"]["Tk-Instruct 11B, published"] == 65
    assert rows_of["Title Generation"]["copy-input"].value == pytest.approx(0.875)  # type: ignore[union-attr]


def test_a_gain_is_over_the_better_heuristic_of_each_task():
    (gain,) = shown(Gain())
    assert gain.title == "Task by task: model over the better of copy-input, copy-demonstration"
    found = {row[0]: row for row in gain.rows}
    assert [row[0] for row in gain.rows] == ["same", "odd <b>", "titles"]  # the largest first
    assert {task: row[3] for task, row in found.items()} == {
        "same": "copy-demonstration", "odd <b>": "copy-demonstration", "titles": "copy-input"
    }  # fmt: skip
    gains = {task: row[5] for task, row in found.items()}
    assert all(isinstance(c, Contrast) for c in gains.values())
    assert {task: c.difference for task, c in gains.items()} == pytest.approx(  # type: ignore[union-attr]
        {"same": 0.5, "odd <b>": 0.25, "titles": -0.375}
    )
    assert gain.notes[0] == "above the better one on 2 of 3 tasks"
    assert gain.notes[2].startswith("mean gain over tasks 12.5 [")


def test_a_gain_may_be_of_any_learner_over_any():
    (gain,) = shown(Gain(learner="copy-input", over=("model",)))
    assert [row[0] for row in gain.rows] == ["titles", "odd <b>", "same"]


def test_floors_alone_have_no_gain():
    alone = {name: given for name, given in ANSWERS.items() if name != "model"}
    assert shown(Gain(), answers=alone) == []
    (gain,) = shown(Gain(learner="copy-input"), answers=alone)
    assert {row[3] for row in gain.rows} == {"copy-demonstration"}


def test_two_metrics_are_correlated_over_tasks_and_learners():
    (found,) = shown(Agreement(x=EXACT, y=ROUGE, paper="natural-instructions"))
    x = [1, 0, 0.5, 0, 0.75, 0, 0, 0, 0.25]
    y = [1, 0.5, 0.5, 0, 0.875, 0, 0.5, 0, 0.25]
    together = found.rows[-1]
    assert together[:2] == ("all", 9)
    assert together[2].value == pytest.approx(np.corrcoef(x, y)[0, 1])  # type: ignore[union-attr]
    assert found.points is False
    assert any("0.970" in note and "not measured here" in note for note in found.notes)


def test_a_correlation_may_be_of_some_categories_and_may_have_no_value():
    (found,) = shown(Agreement(x=EXACT, y=ROUGE, categories=("Title Generation",)))
    *each, together = found.rows
    assert together[1] == 3
    assert all(math.isnan(row[2].value) for row in each)  # type: ignore[union-attr]
    assert shown(Agreement(x=EXACT, y=ROUGE, categories=("Word Analogy",))) == []
    assert shown(Agreement(x="accuracy", y=ROUGE)) == []


def test_a_matrix_has_a_row_and_a_column_for_each_setting_and_published_rows():
    settings = {"model": {"model": "small", "encoding": "def"}, "copy-input": {"model": "large", "encoding": "pos2"}}
    (matrix,) = shown(Matrix(rows="model", columns="encoding", paper="natural-instructions"), **settings)
    assert matrix.columns == ("model", "def", "pos2")
    small, large, *theirs = matrix.rows
    assert (small[0], round(small[1].value, 4), small[2]) == ("small", 0.6667, None)  # type: ignore[union-attr]
    assert large[:2] == ("large", None)
    assert len(theirs) == 10
    assert theirs[1] == ("trained on def, published", 45.0, 36.4)


def test_scores_go_over_a_setting_that_is_a_number_with_a_trend():
    settings = {
        "model": {"model": "m", "positive": 3, "encoding": "def+pos3"},
        "copy-input": {"model": "m", "positive": 0, "encoding": "def"},
        "copy-demonstration": {"model": "m", "positive": 1, "encoding": "def+pos1"},
    }
    (scaling,) = shown(Scaling(over="positive"), **settings)
    assert scaling.columns == ("learner", "0", "1", "3")
    (row,) = scaling.rows
    assert [round(e.value, 4) for e in row[1:]] == [0.2917, 0.25, 0.6667]  # type: ignore[union-attr]
    assert scaling.notes[0].startswith("m: 18.7 [")  # (66.67 - 29.17) / 2 doublings of 1 + x: 1, 2, 4
    assert shown(Scaling(over="positive"), model={"model": "m"}) == []


def test_all_forms_show_them_and_escape_them():
    views = (Beside(paper="natural-instructions"), Gain(), Agreement(x=EXACT, y=ROUGE))
    summary = summarise(results(*views), How(count=50))
    for form in ("terminal", "md", "tex", "html", "json"):
        text = render(summary, form)
        assert "Task by task" in text
        assert "Tk-Instruct" in text
    assert "odd <b>" not in render(summary, "html")
    assert "<svg" not in render(summary, "json").replace("\\u003c", "<")


def test_nothing_scored_shows_nothing():
    empty = replace(results(Gain(), Beside(paper="natural-instructions")), outcomes=())
    assert summarise(empty).exhibits == ()
