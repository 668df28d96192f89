"""How long cells will take."""

from __future__ import annotations

import itertools

import pytest

from taskloom.sample_sizes import EpisodeCosts
from taskloom.studies.cells import Cell
from taskloom.studies.costs import Cost
from taskloom.studies.estimate import Spent, expected_seconds, split_cost

IDS = itertools.count()


def cell(learner: str = "m", task: str = "t", shots: int = 0, limit: int = 0, id: str = "") -> Cell:
    return Cell(
        key="", id=id or f"cell {next(IDS)}", task=task, learner=learner, shots=shots, seed=0, index=0, limit=limit
    )


def test_cells_take_what_the_most_alike_took():
    spent = [
        Spent("m", "t", 0, Cost(seconds=1, items=8)),
        Spent("m", "t", 0, Cost(seconds=3, items=8)),
        Spent("m", "u", 4, Cost(seconds=10, items=8)),
    ]
    assert expected_seconds([cell(), cell()], spent, 8) == 4
    assert expected_seconds([cell(task="v", shots=4)], spent, 8) == 10
    assert expected_seconds([cell(task="v", shots=1)], spent, 8) == pytest.approx(14 / 3)


def test_nothing_is_foretold_of_a_learner_that_was_never_run():
    assert expected_seconds([cell("m"), cell("n")], [Spent("m", "t", 0, Cost(seconds=1, items=8))], 8) is None


def test_a_cell_that_two_learners_share_is_run_once():
    spent = [Spent("m", "t", 0, Cost(seconds=1, items=8))]
    assert expected_seconds([cell("m", id="same"), cell("n", id="same")], spent, 8) == 1


def test_nothing_left_to_run_takes_no_time():
    assert expected_seconds([], [], 8) == 0


def test_a_trial_is_scaled_to_the_items_of_the_real_run():
    spent = [Spent("m", "t", 0, Cost(seconds=2, items=4))]
    assert expected_seconds([cell()], spent, 16) == 8
    assert expected_seconds([cell(limit=2)], spent, 16) == 2
    assert expected_seconds([cell(), cell(task="u", id="u")], spent, 16, {("t", 0): 4}) == 2 + 8


def test_what_prompts_share_is_not_scaled():
    # 4 prompts of 100 shared tokens and 10 of their own; 16 of them compute 100 + 160 tokens
    spent = [Spent("m", "t", 0, Cost(seconds=14, items=4, read=440, computed=140))]
    assert expected_seconds([cell()], spent, 16) == pytest.approx(26)


def test_cells_of_the_same_size_are_better_guides_than_trials():
    spent = [Spent("m", "t", 0, Cost(seconds=1, items=2)), Spent("m", "t", 0, Cost(seconds=3, items=16))]
    assert expected_seconds([cell()], spent, 16) == 3


def test_adapting_is_not_scaled():
    spent = [Spent("m", "t", 0, Cost(seconds=12, fitting=10, items=4))]
    assert expected_seconds([cell()], spent, 16) == 18


def test_a_cost_is_split_into_what_is_done_once_and_what_each_item_takes():
    assert split_cost(Cost(seconds=12, fitting=10, items=4)) == EpisodeCosts(10, 0.5)
    shared = split_cost(Cost(seconds=24, fitting=10, items=4, read=440, computed=140))  # 100 of 140 tokens are shared
    assert (shared.fit, shared.item) == pytest.approx((20, 1))
    assert split_cost(Cost(seconds=3, items=0)) == EpisodeCosts(3, 0)
    assert split_cost(Cost(seconds=1, fitting=2, items=4)) == EpisodeCosts(1, 0)
