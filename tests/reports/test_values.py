"""Means over values, not tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from taskloom.core import Example, Item, Number, Ranking, Suite, Task
from taskloom.reports import How, render, summarise
from taskloom.reports.figures import Figure, Value
from taskloom.reports.views.values import Values
from taskloom.scores.tasks import score_task
from taskloom.stats import Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows

CANDIDATES = ("a", "b", "c")
GOLD = (("a", 1.0), ("b", 0.0), ("c", 0.0))
RANKED = Task(
    id="near", instruction="", output=Ranking(), metrics=("map", "ndcg", "p@1"),
    tags={"values": ("map", "ndcg"), "part": ("in-train",)},
)  # fmt: skip
FIRST = Task(id="search", instruction="", output=Ranking(), metrics=("mrr", "p@1"), tags={"part": ("out-of-train",)})
ERRORS = Task(id="year", instruction="", output=Number(), metrics=("mse",))


def suite() -> Suite:
    ranked = [Example(Item(f"i{n}", {"q": str(n)}, CANDIDATES), (GOLD,), str(n)) for n in range(6)]
    numbers = [Example(Item(f"y{n}", {"q": str(n)}), (float(n),), str(n)) for n in range(6)]
    tasks = {task.id: task for task in (RANKED, FIRST, ERRORS)}
    pools = {name: {"test": rows.pool(task, numbers if name == "year" else ranked)} for name, task in tasks.items()}
    return Suite(id="s", tasks=tasks, pools=pools)


def at(place: int) -> tuple[tuple[str, float], ...]:
    """Rank the relevant candidate at a place."""
    others = [name for name in CANDIDATES if name != "a"]
    return tuple((name, float(-rank)) for rank, name in enumerate([*others[:place], "a", *others[place:]]))


def outcome(of: Suite, learner: str, task: str, places: Sequence[int], shots: int = 0) -> Outcome:
    examples = of.pools[task]["test"].take(range(6))
    gold = tuple(e.gold for e in examples)
    answers = tuple(map(float, places)) if task == "year" else tuple(map(at, places))
    return Outcome(
        cell=f"{learner}-{task}-{shots}", task=task, learner=learner, shots=shots, seed=0, index=0, pool="test",
        rows=tuple(range(6)), items=tuple(e.item.id for e in examples), answers=answers, gold=gold,
        scores=score_task(of.tasks[task], gold, answers), counts={}, cost=Cost(),
    )  # fmt: skip


def results(view: Values, *given: tuple[str, str, Sequence[int], int]) -> Results:
    of = suite()
    return Results(
        name="s", command="", suite=of, learners={name: name for name, *_ in given}, baselines=(),
        outcomes=tuple(outcome(of, *one) for one in given), failures=(), missing=0, skipped={}, views=(view,),
    )  # fmt: skip


def shown(view: Values, *given: tuple[str, str, Sequence[int], int]) -> Figure:
    (found,) = summarise(results(view, *given), How(count=200)).figures
    return found


def value(cell: Value) -> float:
    assert isinstance(cell, Estimate)
    return cell.value


ALL = [
    ("one", "near", [1] * 6, 0),  # MAP 1/2, nDCG 1 / log2 3
    ("one", "search", [0, 0, 0, 1, 1, 1], 0),  # MRR 3/4
    ("one", "year", [0, 1, 2, 3, 4, 5], 0),
]


def test_a_task_counts_as_often_as_it_has_values():
    found = shown(Values(by="part"), *ALL)
    assert found.columns == ("learner", "in-train", "out-of-train", "all")
    (name, near, search, together) = found.rows[0]
    gain = 1 / math.log2(3)
    assert name == "one"
    assert value(near) == pytest.approx((1 / 2 + gain) / 2)
    assert value(search) == pytest.approx(3 / 4)
    assert value(together) == pytest.approx((1 / 2 + gain + 3 / 4) / 3)
    assert isinstance(together, Estimate)
    assert together.n == 3
    assert together.low < together.value < together.high
    assert "3 values of 2 tasks" in found.notes[0]
    assert found.notes[-1] == "1 task without a value in points: year"


def test_a_value_is_the_mean_over_settings_of_shots():
    found = shown(Values(), ("one", "search", [0] * 6, 0), ("one", "search", [1] * 6, 5))
    assert value(found.rows[0][1]) == pytest.approx((1 + 1 / 2) / 2)


def test_a_learner_that_lacks_a_setting_of_shots_lacks_the_value():
    """Its mean over the others would be of other questions; what baselines alone are asked does not count."""
    given = [("one", "search", [0] * 6, 0), ("one", "search", [1] * 6, 5), ("two", "search", [1] * 6, 5)]
    found = shown(Values(), *given)
    assert found.rows[1] == ("two", None)
    assert "no mean where values are missing: two (1)" in found.notes
    made = replace(results(Values(), given[1], given[2], ("low", "search", [2] * 6, 0)), baselines=("low",))
    (found,) = summarise(made, How(count=200)).figures
    assert [value(cells[1]) for cells in found.rows[:2]] == [pytest.approx(1 / 2)] * 2


def test_a_learner_that_lacks_values_has_no_mean_of_them():
    found = shown(Values(by="part"), *ALL, ("two", "search", [0] * 6, 0))
    assert [found.rows[1][0], found.rows[1][1], found.rows[1][3]] == ["two", None, None]
    assert value(found.rows[1][2]) == 1.0
    assert "no mean where values are missing: two (2)" in found.notes


def test_reports_have_the_view():
    summary = summarise(results(Values(by="part"), *ALL), How(count=200))
    for form in ("html", "md"):
        assert "Means over values" in render(summary, form)


def test_without_values_it_says_so():
    (found,) = summarise(results(Values(), ALL[2]), How(count=200)).figures
    assert found.notes[0].startswith("not drawn")


def test_published_means_stand_beside_ours_and_are_told_apart():
    found = shown(Values(by="training", paper="scirepeval"), *ALL)
    assert found.columns == ("learner", "all")
    assert ("SPECTER2 base, published", 69.1) in found.rows
    assert any(note.startswith("published: Singh et al. 2023, SciRepEval, table 2") for note in found.notes)
