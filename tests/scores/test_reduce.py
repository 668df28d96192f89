from __future__ import annotations

import numpy as np
import pytest

from taskloom.scores.reduce import mean, ratio, sums, weights_or_ones

RNG = np.random.default_rng(0)


def test_without_weights_every_unit_counts_once():
    assert weights_or_ones(np.zeros((3, 2)), None).tolist() == [[1, 1, 1]]
    assert weights_or_ones(np.zeros((3, 2)), np.array([2, 0, 1])).tolist() == [[2, 0, 1]]
    assert weights_or_ones(np.zeros((2, 2)), np.array([[2, 0], [1, 1]])).dtype == np.float64


def test_a_ratio_to_nothing_is_nan_and_warns_of_nothing():
    found = ratio(np.array([1.0, 0.0, 0.0, -3.0]), np.array([0.0, 0.0, 2.0, 2.0]))
    assert np.array_equal(found, [np.nan, np.nan, 0, -1.5], equal_nan=True)


def test_the_mean_is_that_of_numpy_for_each_resample():
    units, weights = RNG.normal(size=(50, 1)), RNG.integers(0, 5, (200, 50))
    expected = [np.average(units[:, 0], weights=row) for row in weights]
    assert mean(units, weights) == pytest.approx(expected)
    assert mean(units) == pytest.approx([units.mean()])


def test_the_mean_leaves_nan_units_out_with_their_weights():
    units = np.array([[1.0], [np.nan], [0.0]])
    assert mean(units).tolist() == [0.5]
    assert mean(units, np.array([[3, 9, 1], [1, 0, 0]])).tolist() == [0.75, 1.0]
    assert np.isnan(mean(units, np.array([0, 5, 0]))).all()


@pytest.mark.parametrize("units", [np.zeros((0, 1)), np.full((3, 1), np.nan)])
def test_the_mean_of_nothing_is_nan(units):
    assert np.isnan(mean(units)).all()
    assert mean(units).shape == (1,)
    assert np.isnan(mean(units, np.ones((4, len(units))))).tolist() == [True] * 4


def test_the_mean_of_zero_weights_is_nan_beside_one_that_is_not():
    assert np.array_equal(mean(np.array([[0.0], [1.0]]), np.array([[0, 0], [1, 0]])), [np.nan, 0], equal_nan=True)


def test_sums_are_those_of_repeated_units():
    units, weights = RNG.normal(size=(20, 3)), RNG.integers(0, 4, (30, 20))
    found = sums(units, weights)
    assert found.shape == (30, 3)
    for row, ours in zip(weights, found, strict=True):
        assert ours == pytest.approx(np.repeat(units, row, axis=0).sum(0))
    assert sums(units) == pytest.approx(units.sum(0)[None, :])
