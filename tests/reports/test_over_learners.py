"""Views over learners: correlation of tasks, analysis of variance over seeds, and efficiency."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import f_oneway, pearsonr, spearmanr, tukey_hsd

from taskloom.core import Example, Item, Labels, Number, Suite, Task
from taskloom.reports import How, render, summarise
from taskloom.reports.figures import Figure
from taskloom.reports.views.anova import MARK, Anova
from taskloom.reports.views.correlation import Correlation, clustered
from taskloom.reports.views.efficiency import Efficiency
from taskloom.scores.tasks import score_task
from taskloom.stats import Contrast, Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows

SIZE = 20
Right = Mapping[str, Mapping[str, Sequence[int]]]  # learner -> task -> right answers of SIZE, seed by seed


def suite(tasks: Sequence[str]) -> Suite:
    made = {name: Task(id=name, instruction="", output=Labels(("a", "b")), metrics=("accuracy",)) for name in tasks}
    examples = [Example(Item(f"i{n}", {"q": str(n)}), ("a",), str(n)) for n in range(SIZE)]
    return Suite(id="s", tasks=made, pools={name: {"test": rows.pool(of, examples)} for name, of in made.items()})


def outcome(of: Suite, learner: str, task: str, seed: int, right: int) -> Outcome:
    gold: Any = (("a",),) * SIZE
    answers = tuple("a" if n < right else "b" for n in range(SIZE))
    return Outcome(
        cell=f"{learner}-{task}-{seed}", task=task, learner=learner, shots=1, seed=0, training=seed, index=0,
        pool="test", rows=tuple(range(SIZE)), items=tuple(f"i{n}" for n in range(SIZE)), answers=answers, gold=gold,
        scores=score_task(of.tasks[task], gold, answers), counts={},
        cost=Cost(seconds=3, fitting=1, items=SIZE, encoded=1000, encoding=2.0),
    )  # fmt: skip


def results(view: Any, right: Right, baselines: tuple[str, ...] = ()) -> Results:
    of = suite(list(dict.fromkeys(task for tasks in right.values() for task in tasks)))
    outcomes = [
        outcome(of, learner, task, seed, n)
        for learner, tasks in right.items()
        for task, counts in tasks.items()
        for seed, n in enumerate(counts)
    ]
    return Results(
        name="s", command="", suite=of, learners={name: name for name in right}, baselines=baselines,
        outcomes=tuple(outcomes), failures=(), missing=0, skipped={}, views=(view,),
        settings={name: {"parameters": 22_700_000} for name in right},
    )  # fmt: skip


def shown(view: Any, right: Right, baselines: tuple[str, ...] = ()) -> Figure:
    (found,) = summarise(results(view, right, baselines), How(count=100)).figures
    return found


# --- correlation -----------------------------------------------------------------------------------------------------

SCORES: Mapping[str, Sequence[int]] = {"x": (2, 5, 9, 12, 17), "y": (3, 4, 11, 12, 16), "z": (15, 14, 8, 9, 1)}
RIGHT: Right = {f"m{n}": {task: [scores[n]] for task, scores in SCORES.items()} for n in range(5)}


@pytest.mark.parametrize(("by", "reference"), [("spearman", spearmanr), ("pearson", pearsonr)])
def test_correlations_are_those_of_scipy(by: Any, reference: Any):
    found = shown(Correlation(by=by), RIGHT)
    rows = {str(name): (nearest, value) for name, nearest, value, _ in found.rows}
    assert rows["x"][0] == "y"
    value = rows["x"][1]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(reference(SCORES["x"], SCORES["y"]).statistic)
    assert value.n == 5
    mean = np.mean([reference(SCORES["x"], SCORES[other]).statistic for other in "yz"])
    assert next(cells[3] for cells in found.rows if cells[0] == "x") == f"{mean:.2f}"


def test_near_duplicates_are_named_with_the_number_of_learners():
    found = shown(Correlation(), RIGHT)
    assert any("near-duplicates (correlation >= 0.95): x and y (1.00)" in note for note in found.notes)
    assert "over 5 learners" in found.notes[0]
    assert any("due to chance" in note for note in found.notes)
    assert any("no two tasks are near-duplicates" in note for note in shown(Correlation(near=1.1), RIGHT).notes)


def test_tasks_that_are_alike_stand_together_in_the_heat_map():
    names = ["a", "b", "c", "d"]
    like = {("a", "c"): 0.9, ("b", "d"): 0.8}
    pairs = {
        (one, other): Estimate(like.get((one, other), -0.5), 0, 0, 9)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
    }
    order = clustered(names, pairs)
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset("ac"), frozenset("bd")}
    plot = shown(Correlation(), RIGHT).plot
    assert len(re.findall('class="heat"', plot)) == 9
    assert "x, y: 100" in plot


def test_a_heat_map_of_many_tasks_grows_wider():
    many: Right = {f"m{n}": {f"task{t}": [(n * (t + 3)) % 19] for t in range(25)} for n in range(6)}
    width = re.search('width="([0-9]+)" viewBox', shown(Correlation(), many).plot)
    assert width
    assert int(width[1]) > 25 * 26


def test_baselines_and_learners_that_lack_a_task_are_no_part_of_it():
    right = {**RIGHT, "low": {"x": [0], "y": [0], "z": [0]}, "some": {"x": [1]}}
    found = shown(Correlation(), right, baselines=("low",))
    assert "over 5 learners" in found.notes[0]
    assert "left out, as they lack values: some" in found.notes


def test_a_task_that_all_solve_alike_has_no_correlation():
    right = {name: {**tasks, "w": [7]} for name, tasks in RIGHT.items()}
    found = shown(Correlation(), right)
    assert "left out, as all learners have one score: w" in found.notes
    assert [cells[0] for cells in found.rows if cells[0] == "w"] == []


def test_too_few_learners_and_unknown_measures_are_refused_before_any_work():
    assert [*Correlation().faults({"a": {}, "b": {}})] == [
        "correlations of tasks need 3 learners or more, and there are 2"
    ]
    assert "did you mean pearson" in next(Correlation(by="person").faults({name: {} for name in "abc"}))  # type: ignore[arg-type]


# --- analysis of variance --------------------------------------------------------------------------------------------

SEEDS: Right = {
    "best": {"x": [18, 17, 19], "y": [16, 17, 15]},
    "close": {"x": [17, 18, 17], "y": [16, 15, 17]},
    "worse": {"x": [9, 10, 8], "y": [11, 9, 10]},
}


def means(learner: str) -> list[float]:
    return (np.array([*SEEDS[learner].values()]).mean(0) / SIZE).tolist()  # type: ignore[no-any-return]


def test_the_group_of_the_best_is_that_of_tukeys_test():
    found = shown(Anova(), SEEDS)
    by_name = {str(cells[0]): cells for cells in found.rows}
    assert [*by_name] == ["best", "close", "worse"]
    assert [cells[-1] for cells in found.rows] == [MARK, MARK, ""]
    mean = by_name["close"][1]
    assert isinstance(mean, Estimate)
    assert mean.value == pytest.approx(np.mean(means("close")))
    assert by_name["close"][2] == f"{100 * np.std(means('close'), ddof=1):.2f}"
    groups = [means(name) for name in SEEDS]
    reference, apart = tukey_hsd(*groups), by_name["worse"][4]
    assert isinstance(apart, Contrast)
    interval = reference.confidence_interval()
    assert apart.difference == pytest.approx(reference.statistic[2, 0])
    assert (apart.low, apart.high) == pytest.approx((interval.low[2, 0], interval.high[2, 0]))
    assert f"F(2, 6) = {f_oneway(*groups).statistic:.3g}" in found.notes[0]


def test_what_does_not_vary_is_not_tested_and_single_seeds_are_left_out():
    same = {"a": {"x": [3, 3]}, "b": {"x": [4, 4]}, "c": {"x": [5]}}
    found = shown(Anova(metric="accuracy"), same)
    assert [cells[-1] for cells in found.rows] == ["", ""]  # nothing is said of what was not tested
    assert found.notes == (
        "no test: the scores of each learner are the same at all seeds",
        "left out, having fewer than two seeds with all values: c",
    )
    assert "not drawn" in shown(Anova(), {"a": {"x": [3]}, "b": {"x": [4]}}).notes[0]
    assert "not drawn" in shown(Anova(over="seed"), SEEDS).notes[0]  # all are of one draw


def test_a_seed_that_lacks_a_task_is_left_out_and_told():
    found = shown(Anova(), {**SEEDS, "close": {"x": [17, 18, 17], "y": [16, 15]}})
    assert [cells[3] for cells in found.rows if cells[0] == "close"] == [2]
    assert found.notes[-1] == "seeds left out, as some value is missing there: close (1)"


def test_of_errors_the_least_is_the_best():
    task = Task(id="n", instruction="", output=Number(), metrics=("mse",))
    examples = [Example(Item(f"i{n}", {"q": str(n)}), (0.0,), str(n)) for n in range(SIZE)]
    of = Suite(id="s", tasks={"n": task}, pools={"n": {"test": rows.pool(task, examples)}})
    gold: Any = ((0.0,),) * SIZE
    given = [("good", 0, 1.0), ("good", 1, 1.1), ("poor", 0, 3.0), ("poor", 1, 3.1)]
    outcomes = [
        replace(
            outcome(suite(["n"]), name, "n", seed, 0), answers=(error,) * SIZE, gold=gold,
            scores=score_task(task, gold, (error,) * SIZE),
        )
        for name, seed, error in given
    ]  # fmt: skip
    made = replace(results(Anova(metric="mse"), {"good": {}, "poor": {}}), suite=of, outcomes=tuple(outcomes))
    (found,) = summarise(made, How(count=100)).figures
    assert [cells[0] for cells in found.rows] == ["good", "poor"]
    assert [cells[-1] for cells in found.rows] == [MARK, ""]
    assert not found.points


def test_an_unknown_kind_of_seed_is_refused_before_any_work():
    assert "did you mean training" in next(Anova(over="trainin").faults({}))  # type: ignore[arg-type]


# --- efficiency ------------------------------------------------------------------------------------------------------


def test_parameters_and_seconds_stand_beside_scores():
    (row, *_) = shown(Efficiency(), RIGHT).rows
    # three cells, of three tasks
    assert isinstance(row[1], Estimate)
    assert row[1].value == pytest.approx((2 + 3 + 15) / 3 / SIZE)
    assert row[2:] == (22_700_000, 3000, "6", "200", "1", "0.1")


@pytest.mark.parametrize("form", ["md", "html", "json", "tex", "terminal"])
def test_views_are_written_in_all_forms(form: str):
    for view, right in ((Correlation(), RIGHT), (Anova(), SEEDS), (Efficiency(), RIGHT)):
        assert render(summarise(results(view, right), How(count=100)), form)
