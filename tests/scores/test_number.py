from __future__ import annotations

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mean_squared_error

from taskloom.scores import metric, score
from taskloom.scores.number import BLOCK, _in_blocks

CORRELATIONS = ("tau-b", "pearson", "spearman")
ALL = (*CORRELATIONS, "mse")


def reference(name: str, gold: np.ndarray, found: np.ndarray) -> float:
    if name == "mse":
        return float(mean_squared_error(gold, found)) if len(gold) else math.nan
    if len(np.unique(gold)) < 2 or len(np.unique(found)) < 2:
        return math.nan
    of = {"tau-b": stats.kendalltau, "pearson": stats.pearsonr, "spearman": stats.spearmanr}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that are nearly constant
        return float(of(gold, found).statistic)


def pairs(seed: int, size: int) -> np.ndarray:
    """Draw numbers that go together, more or less; by the seed with many ties, skewed, or far apart."""
    rng = np.random.default_rng(seed)
    gold = rng.normal(size=size)
    units = np.stack([gold, gold * rng.choice([-1, 0, 1]) + rng.normal(size=size)], axis=1)
    kinds: list[np.ndarray] = [units, np.round(units), np.exp(5 * units), np.sign(units), units + 1e4]
    return kinds[seed % 5]


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_scored_as_by_the_reference(name):
    sizes = [1, 2, 3, 5, 10, 40, 200]
    for seed in range(210):
        units = pairs(seed, sizes[seed % 7])
        assert metric(name).reduce(units) == pytest.approx([reference(name, *units.T)], rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", ALL)
def test_integer_weights_are_repeated_rows_for_many_resamples_at_once(name):
    for seed in range(12):
        units = pairs(seed, [1, 2, 12, 30][seed % 4])
        weights = np.random.default_rng(seed).integers(0, 4, (25, len(units)))
        expected = [reference(name, *np.repeat(units, row, axis=0).T) for row in weights]
        found = metric(name).reduce(units, weights)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("weighed", [False, True])
def test_correlations_with_what_is_constant_are_nan(name, weighed):
    for constant in (0.0, 0.1, -3.0, 1e6 + 0.1, 1e-300, 1e100):
        for size in (1, 2, 3, 7, 300):
            varied = np.arange(size, dtype=float)
            for units in ([np.full(size, constant), varied], [varied, np.full(size, constant)]):
                both = np.stack(units, axis=1)
                assert np.isnan(metric(name).reduce(both, np.ones((2, size)) if weighed else None)).all()


@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_resample_of_one_row_again_and_again_is_nan(name):
    units = np.array([[0.1, 0.7], [0.2, 0.3], [1e6 + 0.1, 5.0]])
    weights = np.array([[3, 0, 0], [0, 7, 0], [0, 0, 9], [1, 1, 0]])
    assert np.isnan(metric(name).reduce(units, weights)).tolist() == [True, True, True, False]


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_of_two_rows_are_plus_or_minus_1(name):
    assert metric(name).reduce(np.array([[1.0, 10.0], [2.0, 11.0]])) == pytest.approx([1])
    assert metric(name).reduce(np.array([[1.0, 11.0], [2.0, 10.0]]), np.array([[1, 1], [5, 2]])) == pytest.approx(
        [-1, -1]
    )


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e30])
def test_correlations_do_not_depend_on_the_scale(name, scale):
    units = pairs(0, 40)
    for scales in ((scale, 1), (1, scale), (scale, scale)):
        for weights in (None, np.ones((2, 40))):
            assert metric(name).reduce(units * scales, weights) == pytest.approx(reference(name, *units.T))


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300, (1e-100, 1e-100), (1e100, 1e100)])
def test_pearson_does_not_depend_on_the_scale_however_huge_or_tiny(scale):
    units = pairs(0, 40)
    assert metric("pearson").reduce(units * scale) == pytest.approx(reference("pearson", *units.T))


def test_pearson_with_a_huge_constant_is_nan():
    units = np.stack([np.full(1000, 1e300), np.arange(1000.0)], axis=1)
    assert np.isnan(metric("pearson").reduce(units)).all()


def test_pearson_sees_small_differences_of_large_numbers():
    small = np.array([0.0, 3.0, 1.0, 2.0]) / 2**20  # exact, beside 2**24
    units = np.stack([2.0**24 + small, [1.0, 4.0, 2.0, 3.0]], axis=1)
    assert metric("pearson").reduce(units) == pytest.approx([1.0])


@pytest.mark.parametrize("values", [2, 5, 1000])
@pytest.mark.parametrize("size", [2, 3, 8, 33, 200])
def test_tau_b_is_that_of_all_pairs_whatever_the_weights(size, values):
    rng = np.random.default_rng(size)
    units, weights = rng.integers(0, values, (size, 2)).astype(float), rng.random((20, size)) * rng.integers(0, 3, size)
    ours, theirs = (np.sign(side[:, None] - side[None, :]) for side in units.T)
    same, differ, vary = (((weights @ m) * weights).sum(1) for m in (ours * theirs, ours**2, theirs**2))
    expected = [s / math.sqrt(d * v) if d * v else math.nan for s, d, v in zip(same, differ, vary, strict=True)]
    assert metric("tau-b").reduce(units, weights) == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


def test_tau_b_of_many_items_needs_no_table_of_all_pairs():
    units = np.random.default_rng(5).random((20_000, 2))
    tracemalloc.start()
    found = metric("tau-b").reduce(units, np.ones((3, len(units))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == pytest.approx([reference("tau-b", *units.T)] * 3, rel=1e-12, abs=1e-12)
    assert peak < 64 << 20  # a table would take 3.2 GB


def test_weighted_tau_b_of_what_is_constant_is_nan_whatever_the_weights():
    weights = np.random.default_rng(6).random((50, 9))
    for constant in (0, 1):
        units = np.random.default_rng(7).random((9, 2))
        units[:, constant] = 0.1
        assert np.isnan(metric("tau-b").reduce(units, weights)).all()


def test_weighted_tau_b_takes_the_largest_numbers():
    units = np.array([[1e308, 4.0], [-1e308, 1.0], [0.0, 3.0], [1.0, 2.0]])
    assert metric("tau-b").reduce(units, np.ones((1, 4))) == pytest.approx(metric("tau-b").reduce(units))


def test_pearson_of_a_resample_does_not_depend_on_what_is_not_in_it():
    units = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0], [1e14, 5.0]])
    assert metric("pearson").reduce(units, np.array([1, 1, 1, 0])) == pytest.approx([-0.5])


@pytest.mark.parametrize("name", ["tau-b", "spearman"])
def test_order_is_all_that_matters_to_rank_correlations(name):
    units = pairs(1, 60)
    weights = np.random.default_rng(1).integers(0, 3, (10, 60))
    cubes = units**3 * (1e30, 1e-30)
    assert metric(name).reduce(cubes) == pytest.approx(metric(name).reduce(units))
    assert metric(name).reduce(cubes, weights) == pytest.approx(metric(name).reduce(units, weights))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tau-b", (4 - 1) / math.sqrt(5 * 6)),  # of six pairs four agree, one differs, one ties in gold
        ("pearson", 5 / math.sqrt(9 * 5)),
        ("spearman", 3 / math.sqrt(4.5 * 5)),  # ranks 1, 2.5, 2.5, 4
        ("mse", 1.0),
    ],
)
def test_numbers_worked_by_hand(name, expected):
    units = np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 3.0], [5.0, 4.0]])
    assert metric(name).reduce(units) == pytest.approx([expected])
    assert metric(name).reduce(units, np.full((2, 4), 1)) == pytest.approx([expected, expected])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("unusable", [None, math.nan, math.inf, -math.inf, "7", (7.0,)])
def test_what_is_no_finite_number_is_left_out(name, unusable):
    units = pairs(0, 9)
    gold, answers = [(float(g),) for g in units[:, 0]], [float(a) for a in units[:, 1]]
    of = metric(name)
    with_it = score(of, [*gold, (3.0,)], [*answers, unusable])
    assert np.isnan(with_it.units[-1]).all()
    assert with_it.units.shape == (10, 2)
    assert with_it.value == pytest.approx(score(of, gold, answers).value)
    weights = np.arange(10) % 3
    assert of.reduce(with_it.units, weights) == pytest.approx(of.reduce(units, weights[:9]))


@pytest.mark.parametrize("name", ALL)
def test_without_any_number_there_is_nan_for_each_resample(name):
    for units in (np.full((3, 2), np.nan), np.zeros((0, 2))):
        assert np.isnan(metric(name).reduce(units)).tolist() == [True]
        assert np.isnan(metric(name).reduce(units, np.ones((4, len(units))))).tolist() == [True] * 4


def test_an_integer_that_no_float_can_hold_is_left_out():
    assert np.isnan(metric("mse").unit((1.0,), 10**400)).all()


def test_the_first_acceptable_number_is_the_gold_one_and_integers_are_numbers():
    assert metric("mse").unit((2, 9.0), 5) == (2.0, 5.0)


def test_smaller_errors_are_better_and_higher_correlations():
    assert metric("mse").higher_is_better is False
    assert all(metric(name).higher_is_better for name in CORRELATIONS)


def test_blocks_of_work_give_what_one_block_does():
    weights = np.random.default_rng(3).integers(0, 3, (9, BLOCK // 4)).astype(float)  # four rows to a block
    assert _in_blocks(weights, lambda part: part.sum(1)).tolist() == weights.sum(1).tolist()
