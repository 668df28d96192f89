"""Compositions against their parts, two functions against each other, and learning by a tag of tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from taskloom.core import Answer, Example, Item, Output, Ranking, Suite, Task, Text, Words
from taskloom.reports import How, render, summarise
from taskloom.reports.figures import Figure
from taskloom.reports.views.composition import Composition, adapted, composition_of
from taskloom.reports.views.distribution import Distribution
from taskloom.reports.views.learning import Learning
from taskloom.scores import metric, score
from taskloom.stats import Estimate, line
from taskloom.studies.costs import Cost
from taskloom.studies.results import Look, Outcome, Results
from taskloom.studies.views import View, view_faults
from taskloom.suites import rows

HOW = How(count=100)
ITEMS = 20
ATOMS = {"a": "lexical", "b": "lexical", "c": "random", "d": "random"}
CHAINS = {f"{x}({y})": (x, y) for x, y in ("ab", "bc", "cd", "ad")}
GRADED = (("one", 1.0), ("two", 2.0))
RIGHT = {"a": 16, "b": 12, "c": 4, "d": 2}  # of twenty items


def declared(name: str, output: Output, metrics: Sequence[str], **tags: Sequence[str]) -> Task:
    return Task(
        id=name, instruction="", output=output, metrics=tuple(metrics), tags={k: tuple(v) for k, v in tags.items()}
    )


def example_of(output: Output) -> Callable[[int], Example]:
    gold: Answer = GRADED if isinstance(output, Ranking) else "yes"
    candidates = ("one", "two") if isinstance(output, Ranking) else ()
    return lambda n: Example(Item(str(n), {"input": f"word {n}"}, candidates), (gold,), str(n))


def suite_of(tasks: Sequence[Task]) -> Suite:
    pools = {task.id: {"test": rows.pool(task, map(example_of(task.output), range(ITEMS)))} for task in tasks}
    return Suite(id="functions", tasks={task.id: task for task in tasks}, pools=pools)


def answered(task: Task, right: int, *, learner: str = "fine-tuning", shots: int = 32) -> Outcome:
    """An outcome with so many right answers."""
    gold = (("yes",),) * ITEMS
    answers = ("yes",) * right + ("no",) * (ITEMS - right)
    scores = {name: score(metric(name, task.output), gold, answers, task.output) for name in task.metrics}
    return Outcome(
        cell=f"{learner}-{task.id}-{shots}", task=task.id, learner=learner, shots=shots, seed=0, index=0, pool="test",
        rows=tuple(range(ITEMS)), items=tuple(map(str, range(ITEMS))), answers=answers, gold=gold, scores=scores,
        counts={}, cost=Cost(),
    )  # fmt: skip


def results_of(suite: Suite, outcomes: Sequence[Outcome], *views: View) -> Results:
    names = dict.fromkeys(o.learner for o in outcomes)
    return Results(
        name="functions", command="taskloom run x", suite=suite, learners={name: name for name in names}, baselines=(),
        outcomes=tuple(outcomes), failures=(), missing=0, skipped={}, views=views,
    )  # fmt: skip


def figures(results: Results) -> list[Figure]:
    found = summarise(results, HOW).figures
    for figure in found:
        assert Xml.fromstring(f"<div>{figure.plot}</div>") is not None
        assert all(len(row) == len(figure.columns) for row in figure.rows)
    return list(found)


def table(figure: Figure) -> list[Any]:
    return list(figure.rows)


@pytest.fixture(scope="module")
def composed() -> Callable[..., Results]:
    tasks = [declared(n, Text(), ["token-accuracy"], kind=[k], level=["atomic"]) for n, k in ATOMS.items()]
    tasks += [
        declared(n, Text(), ["token-accuracy"], kind=["lexical"], level=["word"], composition=["chaining"], parts=parts)
        for n, parts in CHAINS.items()
    ]
    tasks.append(declared("map{e}", Text(), ["token-accuracy"], level=["sequence"], composition=["map"], parts=["e"]))
    right = RIGHT | {name: (RIGHT[x] + RIGHT[y]) // 2 + 1 for name, (x, y) in CHAINS.items()} | {"map{e}": 3}
    outcomes = [answered(task, right[task.id]) for task in tasks]

    def made(*views: View, change: Callable[[Outcome], Outcome] = lambda o: o) -> Results:
        return results_of(suite_of(tasks), [change(o) for o in outcomes], *views)

    return made


def test_a_composition_has_a_line_over_the_mean_of_its_parts(composed):
    *_, figure = figures(composed(Composition()))
    assert figure.columns == ("composition", "tasks", "slope", "intercept", "r2")
    ((name, tasks, *fit),) = table(figure)
    assert (name, tasks) == ("chaining", "4*")
    means = [(RIGHT[x] + RIGHT[y]) / 2 / ITEMS for x, y in CHAINS.values()]
    expected = line(means, [((RIGHT[x] + RIGHT[y]) // 2 + 1) / ITEMS for x, y in CHAINS.values()])
    assert [e.value for e in fit] == pytest.approx([1.0, 0.05, 1.0], abs=0.03)
    assert [(e.value, e.low) for e in fit] == [
        (pytest.approx(e.value), pytest.approx(e.low, nan_ok=True))
        for e in (expected.slope, expected.intercept, expected.r_squared)
    ]
    assert any("fewer than 20 tasks" in note for note in figure.notes)
    assert any("no score: 1 of 5 compositions" in note for note in figure.notes)  # a map, whose part is not there


def test_means_by_level_stand_beside_the_published_ones(composed):
    levels, compositions, *_ = figures(composed(Composition(paper="taskbench")))
    found = {row[:2]: row[2:] for row in table(levels)}
    tasks, here, published = found["atomic", "32-shot fine-tuning"]
    assert (tasks, published) == (4, "33.6 ± 3.8")
    assert here.value == pytest.approx(sum(RIGHT.values()) / 4 / ITEMS)
    assert found["word", "full prompt-tuning"] == (None, None, "28.1 ± 2.4")
    assert [row[0] for row in table(levels)][::4] == ["atomic", "word", "sequence"]  # as the paper has them
    assert {row[0] for row in table(compositions)} == {"chaining", "map"}


def test_regressions_stand_beside_the_published_ones(composed):
    *_, figure = figures(composed(Composition(paper="taskbench")))
    assert table(figure)[0][-3:] == (1.34, 0.07, 0.57)
    (none,) = figures(composed(Composition(), change=lambda o: replace(o, learner="lora")))[2:]
    assert none.title.endswith("32-shot lora")


def test_too_few_tasks_have_no_line_and_all_forms_of_report_say_so(composed):
    made = composed(Composition(paper="taskbench"))
    few = replace(made, outcomes=tuple(o for o in made.outcomes if o.task not in ("a(b)", "b(c)")))
    assert table(figures(few)[-1])[0][2:5] == (None, None, None)
    for form in ("terminal", "md", "json", "html"):
        assert "chaining" in render(summarise(few, HOW), form)


def test_what_is_marked_off_is_another_composition():
    marked = declared("map{a}", Words(" # "), [], composition=["map"])
    assert composition_of(marked) == "map (+separators)"
    assert composition_of(replace(marked, output=Words())) == "map"
    assert [adapted("x", shots) for shots in (32, "all", "drawn")] == ["32-shot x", "full x", "drawn x"]


# --- two functions ---------------------------------------------------------------------------------------------------


def graded(task: Task, masses: tuple[float, float]) -> Outcome:
    gold = ((GRADED,),) * ITEMS
    answers = tuple((("one", math.log(masses[0])), ("two", math.log(masses[1]))) for _ in range(ITEMS))
    scores = {name: score(metric(name, task.output), gold, answers, task.output) for name in task.metrics}
    return replace(
        answered(declared(task.id, Text(), ["token-accuracy"]), 0), gold=gold, answers=answers, scores=scores
    )


@pytest.mark.parametrize("masses", [{"ab": (0.4, 0.2), "ba": (0.1, 0.5), "ac": (0.3, 0.1)}])
def test_the_easier_function_is_the_one_that_is_learnt_better_by_itself(masses: Mapping[str, tuple[float, float]]):
    atoms = [declared(name, Text(), ["token-accuracy"]) for name in "abc"]
    names = ("mass@1", "mass@2", "best-mass@1", "best-mass@2")
    pairs = [declared(name, Ranking(), names, composition=["match"], parts=tuple(name)) for name in masses]
    outcomes = [answered(task, {"a": 16, "b": 12, "c": 16}[task.id]) for task in atoms]
    outcomes += [graded(task, masses[task.id]) for task in pairs]
    made = results_of(suite_of([*atoms, *pairs]), outcomes, Distribution(paper="taskbench"))
    means, each = figures(made)
    assert [row[2] for row in table(means)] == [2, 2]  # a and c are learnt equally well
    easier, harder, apart = table(means)[0][3:]
    assert (easier.value, harder.value, apart.value) == pytest.approx((0.45, 0.15, 0.3))
    assert isinstance(apart, Estimate)
    assert table(each)[1][2:4] == ("a", "b")
    assert table(each)[1][4:] == pytest.approx((50.0, 10.0))
    assert any("equal ones: 1 pair" in note for note in means.notes)
    assert any("13 and 8 %" in note for note in means.notes)


# --- learning --------------------------------------------------------------------------------------------------------


def test_learning_by_a_tag_has_a_curve_for_each_value(composed):
    def looked(o: Outcome) -> Outcome:
        looks = [Look(set="support", step=at, items=o.items, records=(), scores=o.scores) for at in (0, 10)]
        return replace(o, looks=tuple(looks))

    made = composed(Learning(by="kind", only="level=atomic", paper="taskbench"), change=looked)
    curves, reached = figures(made)
    assert [row[0] for row in table(curves)] == ["fine-tuning, lexical", "fine-tuning, random"]
    assert [row[1].value for row in table(curves)] == pytest.approx([0.7, 0.15])
    assert [row[1:4] for row in table(reached)] == [("0", "not by 10", "not by 10"), ("not by 10",) * 3]
    assert any("memorises 1,000 examples" in note for note in curves.notes)
    assert [fault for _, fault in view_faults(Learning(only="atomic"), {})]
