from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from taskloom.learners.squared_hinge import minimise, objective, principal


def vectors(seed: int, n: int, d: int, k: int, *, apart: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Draw vectors about the means of classes, off the origin and of unequal spread."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, n)
    means = rng.normal(size=(k, d))
    spread = np.geomspace(1, 0.05, d)
    return (means[classes] * apart + rng.normal(size=(n, d))) * spread + 0.5, classes


def solved(rows: np.ndarray, targets: np.ndarray, cost: float) -> np.ndarray:
    axes = principal(rows)
    return axes.weights(minimise(axes.vectors, targets.T, cost, np.zeros((targets.shape[1], len(axes.vectors)))))


def value(weights: np.ndarray, rows: np.ndarray, targets: np.ndarray, cost: float) -> np.ndarray:
    return objective(weights.T, (rows @ weights[:-1] + weights[-1]).T, targets.T, cost)


@pytest.mark.parametrize("direct", [0, 3, 1000])  # steps are solved roughly, as is cheaper, or directly
@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d", "k"), [(300, 20, 4), (40, 90, 3), (500, 8, 2)])
def test_the_objective_is_liblinears(n, d, k, cost, direct, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("taskloom.learners.squared_hinge.DIRECT", direct)
    rows, classes = vectors(n, n, d, k)
    for place in range(k):
        own = np.where(classes == place, 1.0, -1.0)
        theirs = LinearSVC(C=cost, dual=False, tol=1e-10, max_iter=100_000).fit(rows, own)
        best = value(np.append(theirs.coef_[0], theirs.intercept_)[:, None], rows, own[:, None], cost)[0]
        ours = value(solved(rows, own[:, None].astype(np.float32), cost), rows, own[:, None], cost)[0]
        assert ours == pytest.approx(best, rel=2e-6)


def test_columns_are_solved_together_as_each_alone():
    rows, classes = vectors(1, 200, 12, 5)
    targets = np.where(classes[:, None] == np.arange(5), np.float32(1), np.float32(-1))
    together = solved(rows, targets, 10.0)
    for place in range(5):
        alone = solved(rows, targets[:, [place]], 10.0)
        assert together[:, place] == pytest.approx(alone[:, 0], abs=2e-3)


def test_work_is_cut_into_blocks_of_columns(monkeypatch: pytest.MonkeyPatch):
    rows, classes = vectors(2, 100, 6, 7)
    targets = np.where(classes[:, None] == np.arange(7), np.float32(1), np.float32(-1))
    whole = solved(rows, targets, 1.0)
    monkeypatch.setattr("taskloom.learners.squared_hinge.BLOCK", 200)  # two columns
    assert solved(rows, targets, 1.0) == pytest.approx(whole, abs=2e-3)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((6, 3)), np.ones((6, 3)), np.repeat([[1.0, 2.0, 3.0]], 6, axis=0), np.eye(6) * 1e6, np.eye(6) * 1e-6,
        np.repeat([[1e5, 2e5, 3e5]], 6, axis=0),
    ],
)  # fmt: skip
def test_constant_features_and_odd_scales_have_a_solution(rows):
    own = np.array([1.0, -1, 1, -1, 1, 1], dtype=np.float32)[:, None]
    theirs = LinearSVC(C=1.0, dual=False, tol=1e-10, max_iter=100_000).fit(rows, own[:, 0])
    best = value(np.append(theirs.coef_[0], theirs.intercept_)[:, None], rows, own, 1.0)[0]
    assert value(solved(rows, own, 1.0), rows, own, 1.0)[0] <= best * (1 + 1e-5) + 1e-9


def test_a_turn_to_principal_axes_changes_no_product():
    for n, d in ((30, 7), (5, 20)):
        rows = np.random.default_rng(n).normal(size=(n, d))
        axes = principal(rows)
        full = np.hstack([rows, np.ones((n, 1))])
        assert axes.vectors.T @ axes.vectors == pytest.approx(full @ full.T, abs=1e-4)
        assert pytest.approx(full, abs=1e-5) == axes.vectors.T @ axes.turn.T
