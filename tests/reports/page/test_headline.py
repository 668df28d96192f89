"""The sentence of a leaderboard: who is best, by how much, and against which baselines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskloom.reports.leaderboards import Leaderboard, Standing
from taskloom.reports.page.headline import extent, sentence
from taskloom.stats import Contrast, Estimate

SCORES = {"a": 0.8, "b": 0.6, "majority": 0.3, "random": 0.2}


def standing(name: str, rank: int, best: bool) -> Standing:
    value = SCORES[name]
    e = Estimate(value, value - 0.1, value + 0.1, 100)
    baseline = name in ("majority", "random")
    return Standing(
        learner=name, score=e, by_instance=e, tasks=2, episodes=4, without=0, rank=rank, best=best, baseline=baseline
    )


def contrast(a: str, b: str, significant: bool) -> Contrast:
    apart = SCORES[a] - SCORES[b]
    reach = 0.05 if significant else 2
    return Contrast(a, b, apart, apart - reach, apart + reach, 0.001 if significant else 0.5, 100)


def board(*, apart: bool, above: tuple[bool, ...], names: tuple[str, ...] = ("a", "b")) -> Leaderboard:
    baselines = ("majority", "random")[: len(above)]
    standings = [standing(name, n + 1, n == 0 or not apart) for n, name in enumerate(names)]
    return Leaderboard(
        metric="accuracy", shots=4, higher=True, points=True,
        standings=(*standings, *(standing(name, 0, best=False) for name in baselines)),
        pairs=tuple(contrast("a", name, apart) for name in names[1:]),
        against=tuple(contrast("a", name, sure) for name, sure in zip(baselines, above, strict=True)),
        tasks={}, ranked_on=("t", "u"),
    )  # fmt: skip


def test_a_clear_best_is_named_with_its_lead():
    found = sentence(board(apart=True, above=(True, True)))
    assert found.startswith("<b>a</b> is best with 80.0 [70.0, 90.0], 20.0 points above b [15.0, 25.0]")
    assert "a significant difference" in found
    assert "significantly better than both baselines, the best of which is majority (30.0)" in found


def test_what_is_not_significantly_different_is_said():
    found = sentence(board(apart=False, above=(False, True)))
    assert "but is not significantly different from b (60.0)." in found
    assert "It is not significantly different from the baseline majority (30.0)." in found


def test_one_learner_is_compared_with_its_baselines_alone():
    assert sentence(board(apart=True, above=(True,), names=("a",))) == (
        "<b>a</b> scores 80.0 [70.0, 90.0]. It is significantly better than the baseline majority (30.0)."
    )


@pytest.mark.parametrize("above", [(), (True,)])
def test_no_learner_no_best(above):
    assert "No learner has a score" in sentence(board(apart=True, above=above, names=()))


def test_tasks_in_common_are_named_so_only_where_the_headline_is_about_them():
    whole, part = board(apart=True, above=()), replace(board(apart=True, above=()), ranked_on=("t",))
    assert extent(replace(whole, common=part)).startswith("Mean over the 2 tasks, ")
    single = replace(board(apart=True, above=(), names=("a",)), common=part)
    assert extent(single).startswith("Mean over the 1 task that all learners have in common, ")
