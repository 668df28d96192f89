from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from taskloom.core import Labels
from taskloom.reports import How
from taskloom.reports.contrasts import contrast
from taskloom.reports.leaderboards import leaderboard
from taskloom.scores import Scored, metric
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome

QUICK = How(count=400)
F1 = metric("macro-f1", Labels(("no", "yes")))


def outcome(learner, task, units, records=(), *, seed=0, of=None):
    array = np.array(units, dtype=float)
    array = array[:, None] if array.ndim == 1 else array
    items = tuple(f"{n:03}" for n in range(len(array)))
    return Outcome(
        cell="", task=task, learner=learner, shots=0, seed=seed, index=0, pool="all", rows=tuple(range(len(items))),
        items=items, records=tuple(records), answers=(None,) * len(items), gold=((),) * len(items),
        scores={"m": Scored(of or metric("exact-match"), array, {})}, counts={}, cost=Cost(),
    )  # fmt: skip


def rights(key, n=50):
    return (np.random.default_rng(key).random(n) < 0.6).astype(float)


def score(outcomes, how=QUICK):
    return leaderboard("m", 0, outcomes, how=how).standings[0].score


def test_tasks_that_ask_the_same_of_the_same_records_know_no_more_than_one():
    once = score([outcome("a", "t0", rights(0), range(50))])
    views = score([outcome("a", f"t{n}", rights(0), range(50)) for n in range(4)])
    assert (views.low, views.high) == pytest.approx((once.low, once.high))
    others = score([outcome("a", f"t{n}", rights(0), range(50 * n, 50 * n + 50)) for n in range(4)])
    assert others.high - others.low == pytest.approx((once.high - once.low) / 2, rel=0.15)


@pytest.mark.parametrize("seeds", [1, 4])  # of 16 episodes, whole ones would change sides
@pytest.mark.parametrize("of", [None, F1])
def test_learners_are_compared_by_records_however_many_tasks_ask_about_them(seeds, of):
    def answers(learner, tasks, seeds):
        found = rights(learner, 30)
        units = found if of is None else np.stack([found, 1 - found, np.ones(30), np.zeros(30)], 1)
        return [
            outcome("ab"[learner], f"t{task}", units, range(30), seed=seed, of=of)
            for task in range(tasks) for seed in range(seeds)
        ]  # fmt: skip

    once = contrast("a", "b", "m", 0, [*answers(0, 1, 1), *answers(1, 1, 1)], how=QUICK)
    views = contrast("a", "b", "m", 0, [*answers(0, 4, seeds), *answers(1, 4, seeds)], how=QUICK)
    assert views.difference == pytest.approx(once.difference)
    assert (views.p, views.low, views.high) == pytest.approx((once.p, once.low, once.high))


def test_several_items_of_a_record_are_drawn_together():
    twice = score([outcome("a", "t", np.repeat(rights(1), 2), np.repeat(range(50), 2).tolist())])
    once = score([outcome("a", "t", rights(1), range(50))])
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_tasks_without_common_records_are_drawn_as_if_records_were_not_known():
    known = [outcome("a", f"t{n}", rights(n), range(100 * n, 100 * n + 50)) for n in range(3)]
    assert score(known) == score([replace(one, records=()) for one in known])


def test_tasks_are_linked_by_way_of_others():
    links = {"t0": range(50), "t2": range(25, 75), "t1": range(50, 100)}
    made = [outcome("a", task, rights(task[1:] == "2"), records) for task, records in links.items()]
    apart = [replace(one, records=()) for one in made]
    assert score(made).value == score(apart).value
    assert score(made).high - score(made).low > score(apart).high - score(apart).low


def test_the_order_of_outcomes_does_not_matter_where_tasks_share_records():
    made = [outcome(name, f"t{n}", rights((n, ord(name))), range(50)) for n in range(3) for name in "ab"]
    assert leaderboard("m", 0, made, how=QUICK) == leaderboard("m", 0, made[::-1], how=QUICK)
