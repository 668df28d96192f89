"""The simulation of intervals: costs by hand, widths and coverages beside textbook formulas, the same bytes always."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from taskloom import sample_sizes
from taskloom.errors import UsageError
from taskloom.sample_sizes import (
    ACCURACIES,
    EPISODES,
    FINEST,
    Design,
    EpisodeCosts,
    SampleSizes,
    Simulated,
    Variation,
    best_items,
    detectable_difference,
    items_within,
    sample_size,
    simulate,
    total_seconds,
)

FEW, ZERO = EpisodeCosts(96.5, 0.09), EpisodeCosts(2.0, 0.09)  # the middle of what the FLEX paper measured
FLEX = [FEW, ZERO] * 12  # a budget covers its twelve data sets
HOUR = 3600


def one(design: Design, repetitions: int = 1000, seed: int = 0) -> Simulated:
    (found,) = simulate([design], repetitions=repetitions, seed=seed)
    return found


def normal_width(episodes: int, items: int, accuracy: float, deviation: float) -> float:
    """The width of a normal interval, by the variance of a mean of episodes, which the bootstrap divides by n."""
    variance = deviation**2 + (accuracy * (1 - accuracy) - deviation**2) / items
    return 2 * 1.96 * math.sqrt(variance * (episodes - 1)) / episodes


# --- costs -----------------------------------------------------------------------------------------------------------


def test_costs_are_those_of_the_paper():
    # 48 h for 12 data sets are 4 h each: 90 episodes take 160 s, of which 98.5 s are set-up, and 61.5 s / 0.18 s = 341
    assert items_within(48 * HOUR, FLEX, 90) == 341
    assert total_seconds(FLEX, 90, 341) == pytest.approx(12 * 90 * (98.5 + 341 * 0.18))
    assert total_seconds(FLEX, 90, 342) > 48 * HOUR
    # 24 h: 80 s for each of 90 episodes are not enough to set one up
    assert items_within(24 * HOUR, FLEX, 90) == 0


def test_items_that_a_task_does_not_have_cost_nothing():
    scarce, plenty = EpisodeCosts(1.0, 0.1, most=5), EpisodeCosts(1.0, 0.1)
    assert total_seconds([scarce, plenty], 10, 20) == pytest.approx(10 * (2 + 0.5 + 2))
    assert items_within(45.0, [scarce, plenty], 10) == 20
    assert items_within(1e9, [scarce], 10, most=7) == 7


@given(st.floats(0, 100), st.floats(0.001, 10), st.floats(1, 1e5), st.integers(2, 200))
def test_items_fill_the_budget_and_no_more(fit: float, item: float, seconds: float, episodes: int):
    cost = EpisodeCosts(fit, item)
    items = items_within(seconds, [cost], episodes)
    assert not items or cost.seconds(episodes, items) <= seconds * (1 + 1e-9)
    assert items == 10**6 or cost.seconds(episodes, items + 1) > seconds * (1 - 1e-9)


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_costs_that_are_none_are_refused(wrong: float, refused):
    with refused(UsageError, "cost-invalid", name="item"):
        EpisodeCosts(1.0, wrong)


# --- simulation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deviation", [0.0, 0.02, 0.05, 0.08])
@pytest.mark.parametrize(("items", "accuracy"), [(8, 0.5), (100, 0.7), (700, 0.35)])
def test_right_answers_have_the_moments_of_their_distribution(items: int, accuracy: float, deviation: float):
    below = sample_sizes._shares(Design(30, items, accuracy, deviation))
    chances, right = np.diff(below, prepend=0.0), np.arange(items + 1) / items
    mean = chances @ right
    variance = deviation**2 + (accuracy * (1 - accuracy) - deviation**2) / items
    assert mean == pytest.approx(accuracy, abs=1e-4)  # what is cut off at 0 and 1 is next to nothing
    assert chances @ (right - mean) ** 2 == pytest.approx(variance, rel=0.01)


def test_right_answers_are_binomial_where_episodes_do_not_vary():
    below = sample_sizes._shares(Design(30, 12, 0.7, 0.0))
    assert below == pytest.approx(stats.binom(12, 0.7).cdf(np.arange(13)), abs=1e-9)


def test_very_many_items_are_taken_as_normal_without_a_step():
    fine, normal = (one(Design(20, items, 0.8)) for items in (FINEST, FINEST + 1))
    assert normal.width == pytest.approx(fine.width, rel=0.01)
    assert normal.coverage.value == pytest.approx(fine.coverage.value, abs=0.01)


@pytest.mark.parametrize(("episodes", "items", "accuracy"), [(30, 10, 0.5), (60, 100, 0.7), (90, 341, 0.3)])
def test_widths_are_those_of_the_textbook(episodes: int, items: int, accuracy: float):
    found = one(Design(episodes, items, accuracy))
    assert found.width == pytest.approx(normal_width(episodes, items, accuracy, 0.05), rel=0.02)


@pytest.mark.parametrize(("episodes", "least", "most"), [(5, 0.80, 0.88), (15, 0.90, 0.94), (90, 0.93, 0.96)])
def test_intervals_of_few_episodes_hold_the_truth_too_seldom(episodes: int, least: float, most: float):
    found = one(Design(episodes, 300, 0.6), repetitions=2000)
    student = stats.t(episodes - 1)
    expected = 2 * student.cdf(1.96 * math.sqrt((episodes - 1) / episodes)) - 1  # of normal values
    assert least < found.coverage.value < most
    assert found.coverage.value == pytest.approx(expected, abs=0.035)
    assert found.coverage.low < found.coverage.value < found.coverage.high


def test_accuracies_that_are_cut_off_at_1_are_measured_against_the_mean_that_is_left():
    assert one(Design(150, 500, 0.95)).coverage.value > 0.92
    truth = sample_sizes._shares(Design(2, 500, 0.95))
    mean = np.diff(truth, prepend=0.0) @ np.arange(501) / 500
    assert mean == pytest.approx(0.95 - 0.05 * (stats.norm.pdf(1) - stats.norm.sf(1)), abs=1e-4)


def test_the_simulation_is_the_same_as_one_by_numpy_episode_by_episode():
    rng, episodes, items = np.random.default_rng(0), 20, 40
    widths, held = [], 0
    for _ in range(400):
        chances = np.clip(rng.normal(0.7, 0.05, episodes), 0, 1)
        values = rng.binomial(items, chances) / items
        low, high = np.quantile(rng.choice(values, (999, episodes)).mean(1), [0.025, 0.975])
        widths.append(high - low)
        held += low <= 0.7 <= high
    found = one(Design(episodes, items, 0.7))
    assert found.width == pytest.approx(float(np.mean(widths)), rel=0.04)
    assert found.coverage.value == pytest.approx(held / 400, abs=0.04)


def test_more_items_or_episodes_make_narrower_intervals():
    by_items = [found.width for found in simulate([Design(30, items, 0.6) for items in (5, 20, 80, 320, 1280)])]
    by_episodes = [found.width for found in simulate([Design(count, 50, 0.6) for count in EPISODES[1:]])]
    assert by_items == sorted(by_items, reverse=True)
    assert by_episodes == sorted(by_episodes, reverse=True)


def test_the_same_input_gives_the_same_output_whatever_else_is_simulated():
    designs = [Design(15, 30, 0.4), Design(30, 30, 0.4), Design(15, 60, 0.4), Design(15, 30, 0.4)]
    found = simulate(designs, repetitions=100)
    assert found == simulate(designs, repetitions=100)
    assert found[0] == found[3] == one(designs[0], 100)
    assert one(designs[0], 100, seed=1) != found[0]
    golden = [(round(of.width, 9), of.coverage.value) for of in found[:3]]
    assert golden == GOLDEN


# Of Philox and whole numbers: the same on every machine. The truth is 180 right answers: an interval may end there.
GOLDEN = [(0.096222222, 0.91), (0.071011111, 0.92), (0.076144444, 0.9)]


@pytest.mark.parametrize("sign", [-1, 1])
def test_rounding_of_a_processor_changes_nothing(monkeypatch: pytest.MonkeyPatch, sign: int):
    designs = [Design(15, 30, 0.4), Design(30, 50, 0.7)]
    found, shares = simulate(designs, repetitions=100), sample_sizes._shares
    monkeypatch.setattr(sample_sizes, "_shares", lambda of: shares(of) * (1 + sign * 4e-16))
    assert simulate(designs, repetitions=100) == found


def test_sums_of_very_many_episodes_stay_whole():
    assert one(Design(4200, 20, 0.5), 2).width == pytest.approx(normal_width(4200, 20, 0.5, 0.05), rel=0.1)


@pytest.mark.parametrize("wrong", [Design(1, 10, 0.5), Design(5, 0, 0.5)])
def test_what_has_no_interval_is_not_simulated(wrong: Design, refused):
    with refused(UsageError, "design-too-small"):
        simulate([wrong])


def test_no_repetitions_are_refused(refused):
    with refused(UsageError, "whole-number-expected", name="repetitions"):
        simulate([Design(5, 5, 0.5)], repetitions=0)


# --- power -----------------------------------------------------------------------------------------------------------


def test_the_smallest_difference_is_found_with_a_power_of_80_percent():
    # a paired t-test of 30 differences with a deviation of 0.1: by the noncentral t distribution
    smallest = detectable_difference(0.01, 30)
    shift, limit = smallest / (0.1 / math.sqrt(30)), stats.t(29).ppf(0.975)
    assert stats.nct(29, shift).sf(limit) + stats.nct(29, shift).cdf(-limit) == pytest.approx(0.8, abs=0.01)


def test_the_mean_over_tasks_shows_smaller_differences():
    single, four = detectable_difference(0.01, 30), detectable_difference(0.01, 30, tasks=4)
    assert four == pytest.approx(single / 2, rel=0.03)
    assert math.isnan(detectable_difference(0.01, 1))


def test_differences_are_paired_by_hand():
    # episodes: 2 (1 - 0.5) 0.05² = 0.0025; answers: 2 (0.25 - 0.0025) / 50 = 0.0099
    assert Variation(accuracy=0.5).paired_variance(50) == pytest.approx(0.0124)
    assert Variation(accuracy=0.5, times=5).paired_variance(10) == pytest.approx(0.0124)
    assert Variation(accuracy=0.5, most=50).paired_variance(99) == pytest.approx(0.0124)
    assert Variation(accuracy=0.5, apart=(0.001, 0.2)).paired_variance(50) == pytest.approx(0.005)


@pytest.mark.parametrize("wrong", [{"accuracy": 1.1}, {"deviation": -0.1}, {"accuracy": math.nan}])
def test_a_variation_must_be_of_shares(wrong: dict[str, Any], refused):
    with refused(UsageError, "share-expected", name=next(iter(wrong))):
        Variation(**wrong)


# --- the choice ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flex() -> dict[int, SampleSizes]:
    """The paper's case, with fewer accuracies."""
    every = [Variation(accuracy=accuracy) for accuracy in ACCURACIES[::3]]
    return {hours: sample_size(f"{hours}h", FLEX, variations=every, tasks=12, repetitions=400) for hours in (36, 48)}


def test_the_paper_chose_about_what_is_best(flex: dict[int, SampleSizes]):
    assert flex[36].best.episodes == 75
    assert flex[48].best.episodes == 105
    for sizes in flex.values():
        (theirs,) = [choice for choice in sizes.choices if choice.episodes == 90]
        assert theirs.is_covered
        assert 1 <= theirs.width / sizes.best.width < 1.05


def test_what_is_best_lies_near_the_formula_of_cochran(flex: dict[int, SampleSizes]):
    items = best_items(98.5, 0.18, Variation(accuracy=0.7))
    assert items == pytest.approx(math.sqrt(98.5 / 0.18 * (0.21 - 0.0025)) / 0.05)
    best = 4 * HOUR / (98.5 + items * 0.18)
    assert abs(flex[48].best.episodes - best) < 15
    assert best_items(1.0, 0.0, Variation()) == best_items(1.0, 1.0, Variation(deviation=0.0)) == math.inf


def test_a_narrow_interval_that_is_not_covered_is_not_chosen():
    found = sample_size(100.0, [EpisodeCosts(0.0, 0.001)], episodes=[5, 60], variations=[Variation()], repetitions=400)
    few, many = found.choices
    narrow = replace(few, width=many.width / 2)
    assert (few.is_covered, many.is_covered) == (False, True)
    assert replace(found, choices=(narrow, many)).best == many
    assert replace(found, choices=(narrow,)).best == narrow


def test_a_budget_that_is_too_small_says_what_it_takes(refused):
    with refused(UsageError, "budget-short", budget="1 h", episodes=5, needed="1 h 39 min"):
        sample_size("1h", FLEX)
