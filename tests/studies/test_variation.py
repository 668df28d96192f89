"""How scores vary, measured from the outcomes of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from taskloom.core import Labels, Suite, Task
from taskloom.scores import Scored, metric
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.studies.variation import measured_variations

ACCURACY = metric("accuracy", Labels(("a", "b")))


def outcome(learner: str, seed: int, right: Sequence[float], items: tuple[str, ...] = ()) -> Outcome:
    units = np.array(right, dtype=float)[:, None]
    return Outcome(
        cell="", task="t", learner=learner, shots=4, seed=seed, index=0, pool="", rows=(), answers=(), gold=(),
        items=items or tuple(map(str, range(len(right)))), scores={"accuracy": Scored(ACCURACY, units, {})}, counts={},
        cost=Cost(),
    )  # fmt: skip


def results(outcomes: Sequence[Outcome], baselines: tuple[str, ...] = ()) -> Results:
    task = Task(id="t", instruction="", output=Labels(("a", "b")), metrics=("accuracy",))
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {}})
    return Results(
        name="r", command="", suite=suite, learners={}, baselines=baselines, outcomes=tuple(outcomes), failures=(),
        missing=0, skipped={},
    )  # fmt: skip


def test_the_deviation_of_episodes_is_what_few_items_do_not_explain():
    rng = np.random.default_rng(0)
    chances = np.clip(rng.normal(0.7, 0.1, 400), 0, 1)
    found = measured_variations(results([outcome("m", n, rng.random(40) < p) for n, p in enumerate(chances)]))
    kind = ("m", "t", 4)
    assert found.accuracies[kind] == pytest.approx(0.7, abs=0.02)
    assert found.deviations[kind] == pytest.approx(0.1, abs=0.015)  # and not 0.12, which answers make of it
    assert found.of(kind, times=1, most=9).accuracy == 0.7


def test_episodes_that_do_not_vary_have_no_deviation():
    found = measured_variations(results([outcome("m", n, [0, 1] * 10) for n in range(12)]))
    assert found.deviations == {("m", "t", 4): 0.0}


def test_few_answers_and_few_episodes_say_nothing():
    found = measured_variations(results([outcome("m", n, [1, 0]) for n in range(3)]))
    assert (found.accuracies, found.deviations, found.apart) == ({}, {}, {})
    assumed = found.of(("m", "t", 4), times=3, most=7)
    assert (assumed.accuracy, assumed.deviation, assumed.apart) == (0.5, 0.05, None)
    assert (assumed.times, assumed.most) == (3, 7)


def test_differences_of_learners_are_measured_on_the_same_items_by_hand():
    # d is 1, 0, 0, 0 in even episodes and 0, 0, 0, -1 in odd ones: means 1/4 and -1/4, and within, 1/4 each
    ours = [outcome("a", n, [1, 1, 0, 0]) for n in range(10)]
    theirs = [outcome("b", n, [0, 1, 0, 0] if n % 2 == 0 else [1, 1, 0, 1]) for n in range(10)]
    found = measured_variations(results([*ours, *theirs]))
    between = 10 / 9 / 16 - 1 / 4 / 4
    assert found.apart[("t", 4)] == pytest.approx((between, 1 / 4))
    assert measured_variations(results([*ours, *theirs], baselines=("b",))).apart == {}
    elsewhere = [outcome("b", n, [0, 1, 0, 0], items=("w", "x", "y", "z")) for n in range(10)]
    assert measured_variations(results([*ours, *elsewhere])).apart == {}
