"""What a study wants to see beside its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from taskloom.core import Example, Item, Number, Suite, Task, Text
from taskloom.reports import How, render, summarise
from taskloom.reports.figures import Figure, Value
from taskloom.reports.views.agreement import Agreement
from taskloom.reports.views.gain import Gain
from taskloom.reports.views.matrix import Matrix
from taskloom.reports.views.published import Beside
from taskloom.reports.views.scaling import Scaling
from taskloom.scores import metric, score
from taskloom.stats import Contrast, Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.studies.views import View
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
    examples = of.pools[task]["test"].take(range(len(answers)))
    gold = tuple(e.gold for e in examples)
    scores = {name: score(metric(name, Text()), gold, answers, Text()) for name in (ROUGE, EXACT)}
    return Outcome(
        cell=f"{learner}-{task}", task=task, learner=learner, shots=0, seed=0, index=0,
        pool="test", rows=tuple(range(len(answers))), items=tuple(e.item.id for e in examples),
        answers=tuple(answers), gold=gold, scores=scores, counts={}, cost=Cost(),
    )  # fmt: skip


def results(*views: View, answers: Mapping[str, Mapping[str, Sequence[str]]] = ANSWERS, **settings: Any) -> Results:
    of = suite()
    outcomes = [outcome(of, name, task, given) for name, by_task in answers.items() for task, given in by_task.items()]
    return Results(
        name="s", command="taskloom run s", suite=of, learners={name: name for name in answers},
        baselines=tuple(name for name in answers if name.startswith("copy")), outcomes=tuple(outcomes),
        failures=(), missing=0, skipped={}, settings=settings, views=views,
    )  # fmt: skip


def shown(*views: View, **more: Any) -> list[Figure]:
    return checked(summarise(results(*views, **more), How(count=200)).figures)


def nothing(*views: View, **more: Any) -> bool:
    (found,) = summarise(results(*views, **more), How(count=200)).figures
    return found.rows == () and found.notes[0].startswith("not drawn")


def checked(found: Sequence[Figure]) -> list[Figure]:
    for figure in found:
        drawn = Xml.fromstring(f"<div>{figure.plot}</div>")
        plot = drawn.find(".//svg")
        assert plot is not None
        assert plot.get("aria-label")
        assert all(len(row) == len(figure.columns) for row in figure.rows)
    return list(found)


def known(cell: Value) -> Estimate:
    assert isinstance(cell, Estimate)
    return cell


def gained(cell: Value) -> Contrast:
    assert isinstance(cell, Contrast)
    return cell


def test_figures_that_are_means_over_instances_stand_beside_such_means():
    fewer = {name: {**by_task, "same": by_task["same"][:2]} for name, by_task in ANSWERS.items()}
    overall, _ = shown(Beside(paper="natural-instructions"), answers=fewer)
    ours = {row[0]: row[3] for row in overall.rows}
    assert known(ours["copy-input"]).value == pytest.approx(7 / 18)  # of 2 + 8 + 8 answers, not of three tasks
    assert any("here: means over instances" in note for note in overall.notes)
    by_shots = summarise(results(answers=fewer), How(count=200)).leaderboards[0]
    assert {s.learner: s.score.value for s in by_shots.standings}["copy-input"] == pytest.approx(0.875 / 3)


def test_scores_stand_beside_published_figures_and_are_told_apart():
    overall, by_category = shown(Beside(paper="natural-instructions"))
    table = {row[0]: row[1:] for row in overall.rows}
    shots, tasks, ours, theirs = table["copy-input"]
    assert isinstance(ours, Estimate)
    assert (shots, tasks, round(ours.value, 4), theirs) == (0, 3, 0.2917, 14.2)  # (0 + 7/8 + 0) / 3
    assert table["Tk-Instruct 11B"] == (None, None, None, 62.0)
    assert table["model"][3] is None
    assert [row[0] for row in overall.rows][:3] == ["supervised upper bound", "model", "Tk-Instruct 11B"]
    assert any("20 random instances" in note for note in overall.notes)
    assert any("not measured here" in note for note in overall.notes)
    rows_of = {row[0]: dict(zip(by_category.columns[1:], row[1:], strict=True)) for row in by_category.rows}
    assert set(rows_of) == {"Textual Entailment", "Title Generation"}
    assert rows_of["Textual Entailment"]["Tk-Instruct 11B, published"] == 65
    assert known(rows_of["Title Generation"]["copy-input"]).value == pytest.approx(0.875)


def test_a_gain_is_over_the_better_heuristic_of_each_task():
    (gain,) = shown(Gain())
    assert gain.title == f"{ROUGE}, task by task: model over the better of copy-input, copy-demonstration"
    found = {row[0]: row for row in gain.rows}
    assert [row[0] for row in gain.rows] == ["same", "odd <b>", "titles"]  # the largest first
    assert {task: row[4] for task, row in found.items()} == {
        "same": "copy-demonstration", "odd <b>": "copy-demonstration", "titles": "copy-input"
    }  # fmt: skip
    gains = {task: row[1] for task, row in found.items()}
    assert {task: gained(c).difference for task, c in gains.items()} == pytest.approx(
        {"same": 0.5, "odd <b>": 0.25, "titles": -0.375}
    )
    assert gain.notes[0] == "better than the better of them on 2 of 3 tasks, 0 shots"
    assert gain.notes[2].startswith("mean gain over tasks 12.5 [")


def test_a_gain_may_be_of_any_learner_over_any():
    (gain,) = shown(Gain(learner="copy-input", over=("model",)))
    assert [row[0] for row in gain.rows] == ["titles", "odd <b>", "same"]


def test_baselines_alone_have_no_gain():
    alone = {name: given for name, given in ANSWERS.items() if name != "model"}
    assert nothing(Gain(), answers=alone)
    (gain,) = shown(Gain(learner="copy-input"), answers=alone)
    assert {row[4] for row in gain.rows} == {"copy-demonstration"}


def test_two_metrics_are_correlated_over_tasks_and_learners():
    (found,) = shown(Agreement(x=EXACT, y=ROUGE, paper="natural-instructions"))
    x = [1, 0, 0.5, 0, 0.75, 0, 0, 0, 0.25]
    y = [1, 0.5, 0.5, 0, 0.875, 0, 0.5, 0, 0.25]
    together = found.rows[-1]
    assert together[:2] == ("all", 9)
    assert known(together[2]).value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found.points is False
    assert any("0.970" in note and "not measured here" in note for note in found.notes)


def test_a_correlation_may_be_of_some_categories_and_may_have_no_value():
    (found,) = shown(Agreement(x=EXACT, y=ROUGE, categories=("Title Generation",)))
    *each, together = found.rows
    assert together[1] == 3
    assert math.isnan(known(together[2]).low)
    assert "too few tasks for an interval" in found.notes[0]
    assert all(math.isnan(known(row[2]).value) for row in each)
    assert nothing(Agreement(x=EXACT, y=ROUGE, categories=("Word Analogy",)))
    assert nothing(Agreement(x="accuracy", y=ROUGE))


def test_a_matrix_has_a_row_and_a_column_for_each_setting_and_published_rows():
    settings = {"model": {"model": "small", "encoding": "def"}, "copy-input": {"model": "large", "encoding": "pos2"}}
    (matrix,) = shown(Matrix(rows="model", columns="encoding", paper="natural-instructions"), **settings)
    assert matrix.columns == ("model", "def", "pos2")
    small, large, *theirs = matrix.rows
    assert (small[0], round(known(small[1]).value, 4), small[2]) == ("small", 0.6667, None)
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
    assert [round(known(e).value, 4) for e in row[1:]] == [0.2917, 0.25, 0.6667]
    assert scaling.notes[1].startswith(("m: 18.7 [", "m: 18.8 ["))  # (66.67 - 29.17) / 2 doublings of 1 + x: 1, 2, 4
    assert nothing(Scaling(over="positive"), model={"model": "m"})


def trained(model: str, tasks: int) -> dict[str, Any]:
    return {"model": model, "base": "m", "training tasks": tasks, "trained": "all", "training": {"steps": 5}}


def test_scores_over_training_stand_beside_the_published_curve_with_a_trend_of_its_own():
    settings = {
        "model": trained("tk-4", 4), "copy-input": trained("tk-1", 1), "copy-demonstration": trained("tk-2", 2)
    }  # fmt: skip
    (scaling,) = shown(Scaling(over="training tasks", paper="natural-instructions"), **settings)
    ours, theirs = scaling.rows
    assert scaling.columns == ("learner", "1", "2", "4", "8", "32", "128", "256", "512", "757")
    assert (ours[0], theirs[0]) == ("m", "Tk-Instruct 3B, published")
    assert theirs[4:] == (43.7, 45.6, 48.4, 51.2, 52.9, 54.3)
    assert scaling.notes[2] == "Tk-Instruct 3B, published: 1.7 for each doubling of 1 + x, by a straight line (R² 0.97)"
    assert any("not measured here" in note for note in scaling.notes)


def test_what_makes_no_other_cells_is_drawn_once():
    settings = {"model": trained("tk-4", 4), "copy-input": trained("tk-1", 1), "copy-demonstration": trained("all", 9)}
    made = results(Scaling(over="training tasks"), **settings)
    same = {(o.learner, o.task): o for o in made.outcomes}
    outcomes = [
        replace(same["model", o.task], learner=o.learner) if o.learner == "copy-demonstration" else o
        for o in made.outcomes
    ]
    (scaling,) = checked(summarise(replace(made, outcomes=tuple(outcomes)), How(count=50)).figures)
    assert scaling.columns == ("learner", "1", "4")
    assert scaling.notes[2] == "m: 9 is not drawn: its cells are those of 4"


def test_a_setting_that_is_not_known_yet_is_no_fault_and_is_not_drawn():
    settings: dict[str, Any] = {"model": {"parameters": None}, "copy-input": {"parameters": None}}
    assert not list(Scaling(over="parameters").faults(settings))
    assert nothing(Scaling(over="parameters"), **settings)
    assert list(Matrix(rows="parameters", columns="parameters").faults(settings))


def test_all_forms_show_them_and_escape_them():
    views = (Beside(paper="natural-instructions"), Gain(), Agreement(x=EXACT, y=ROUGE))
    summary = summarise(results(*views), How(count=50))
    for form in ("terminal", "md", "tex", "html", "json"):
        text = render(summary, form)
        assert "task by task" in text
        assert "Tk-Instruct" in text
    assert "odd <b>" not in render(summary, "html")
    assert "<svg" not in render(summary, "json").replace("\\u003c", "<")


def test_nothing_scored_shows_nothing():
    empty = replace(results(Gain(), Beside(paper="natural-instructions")), outcomes=())
    assert summarise(empty).figures == ()


def test_a_gain_can_be_significant_among_many_tasks():
    small = suite()
    tasks = {f"t{n:02}": replace(small.tasks["same"], id=f"t{n:02}") for n in range(60)}
    examples = [Example(Item(str(n), {"input": str(n)}), (GOLD,), str(n)) for n in range(20)]
    of = Suite(id="many", tasks=tasks, pools={name: {"test": rows.pool(tasks[name], examples)} for name in tasks})
    given = {"model": [RIGHT] * 20, "copy-input": [WRONG] * 20}
    outcomes = [outcome(of, name, task, answers) for name, answers in given.items() for task in tasks]
    made = replace(results(Gain()), suite=of, outcomes=tuple(outcomes))
    (gain,) = checked(summarise(made, How(count=100)).figures)
    assert gain.notes[1].startswith("significantly different on 60: better on 60, worse on 0;")


def test_where_less_is_better_the_lower_score_is_the_gain():
    tasks = {
        name: Task(id=name, instruction="", output=Number(), metrics=("mse",), tags={"category": ("c",)})
        for name in ("a", "b")
    }
    examples = [Example(Item(str(n), {"input": str(n)}), (float(n),), str(n)) for n in range(8)]
    of = Suite(id="numbers", tasks=tasks, pools={name: {"test": rows.pool(tasks[name], examples)} for name in tasks})
    gold = tuple(e.gold for e in examples)
    off = {"model": 0.1, "copy-input": 1.0, "copy-demonstration": 4.0}
    outcomes = [
        Outcome(
            cell=f"{name}-{task}", task=task, learner=name, shots=0, seed=0, index=0, pool="test", rows=tuple(range(8)),
            items=tuple(map(str, range(8))), answers=tuple(n + by for n in range(8)), gold=gold, counts={}, cost=Cost(),
            scores={"mse": score(metric("mse", Number()), gold, [n + by for n in range(8)], Number())},
        )
        for name, by in off.items()
        for task in tasks
    ]  # fmt: skip
    settings: dict[str, Any] = {name: {"model": name, "k": n} for n, name in enumerate(off)}
    views = (Gain(), Matrix(rows="model", columns="k"), Scaling(over="k"))
    made = replace(results(*views, **settings), suite=of, outcomes=tuple(outcomes))
    gain, matrix, _ = checked(summarise(made, How(count=50)).figures)
    assert {row[4] for row in gain.rows} == {"copy-input"}
    assert [round(gained(row[1]).difference, 6) for row in gain.rows] == [0.99, 0.99]
    assert not gain.points
    assert gain.notes[0].startswith("better than the better of them on 2 of 2 tasks")
    assert round(known(matrix.rows[2][3]).value, 6) == 16


def test_learners_with_fewer_shots_are_shown_at_their_own():
    made = results(Gain(learner="model"), Beside(paper="natural-instructions"))
    more = [replace(o, shots=4) for o in made.outcomes if o.learner != "model"]
    gain, overall, _ = checked(summarise(replace(made, outcomes=(*made.outcomes, *more)), How(count=50)).figures)
    assert len(gain.rows) == 3
    assert {row[0]: row[1] for row in overall.rows if row[1] is not None} == {
        "model": 0, "copy-input": 4, "copy-demonstration": 4
    }  # fmt: skip


def test_a_series_has_learners_that_differ_in_one_setting_alone():
    settings = {
        "model": {"learner": "L", "model": "m", "k": 2, "definition": True},
        "copy-input": {"learner": "L", "model": "m", "k": 2, "definition": False},
        "copy-demonstration": {"learner": "L", "model": "m", "k": 1, "definition": False},
    }
    (scaling,) = shown(Scaling(over="k"), **settings)
    assert [row[0] for row in scaling.rows] == ["definition True", "definition False"]
    assert scaling.rows[0][1] is None
    assert scaling.notes[1].endswith("a trend needs three values or more, at one number of shots")


def test_one_task_has_no_interval_of_a_mean_over_tasks():
    one = {name: {"same": given["same"]} for name, given in ANSWERS.items()}
    (gain,) = shown(Gain(), answers=one)
    assert "mean gain over tasks 50.0 [no interval]" in gain.notes[2]
