"""Probes: linear support vector machines over vectors, each with its C chosen on folds of the training vectors.

- one of several classes: one against the rest with the squared hinge, all at once (`squared_hinge.py`)
- several labels: one against the rest with the plain hinge, each label with its own C (scikit-learn's `LinearSVC`)
- numbers: support vector regression (scikit-learn's `LinearSVR`)

Folds are those of scikit-learn's `GridSearchCV`, so that its choices and these can be compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import LearnerError
from ..messages import Note
from .fitting import fit_counted, on_threads
from .squared_hinge import Array, Axes, minimise, path, principal

Split: TypeAlias = tuple[Array, Array]  # places that are trained on, and those that are held out
ClassScore: TypeAlias = Literal["f1", "accuracy"]  # what C is chosen by; f1 is the mean over classes, or that of one
NumberScore: TypeAlias = Literal["tau-b", "r2"]

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
NUMBER_GRID = (1e-4, 1e-3, *GRID)
USUAL = 1.0  # C where there is nothing to choose it by
FOLDS = 3
SEED = 42
ENOUGH = 1e-4  # how near to its least the objective must be where it is for the choice of C alone
MANY = 40  # classes: half of them are as quick to solve, each, as all


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Linear functions of a vector, and how they were found."""

    weights: Array  # (d, k)
    intercepts: Array  # (k,)
    costs: tuple[float, ...]  # C: the one that was chosen, or that of each label
    grid: tuple[float, ...]  # those that were tried; empty without folds
    scores: Array  # on held-out folds, in the mean: (grid,), or (grid, k) of labels
    known: tuple[int, ...] = ()  # classes, in the order of columns; of two, the column is for the second
    unconverged: int = 0  # fits that did not converge

    def values(self, vectors: Array) -> Array:
        """Give each function's value: (n, d) gives (n, k)."""
        return np.asarray(_checked(vectors) @ self.weights + self.intercepts)

    def classes(self, vectors: Array) -> Array:
        """Give the class of each vector."""
        return np.asarray(self.known)[_best(self.values(vectors))]

    def labels(self, vectors: Array) -> Array:
        """Tell which labels each vector has: (n, d) gives (n, k)."""
        return self.values(vectors) > 0

    def numbers(self, vectors: Array) -> Array:
        """Give the number of each vector."""
        return np.asarray(self.values(vectors)[:, 0])


# --- one of several classes ------------------------------------------------------------------------------------------


def fit_classes(
    vectors: Array, classes: Sequence[int] | Array, *, grid: Sequence[float] = GRID, folds: int = FOLDS,
    by: ClassScore = "f1", positive: int | None = None,
) -> Probe:  # fmt: skip
    """Tell classes apart; `positive` is the one whose F1 counts, or else that of all does. No folds: C is 1.

    >>> probe = fit_classes(np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]]), [3, 3, 3, 8, 8, 8])
    >>> probe.classes(np.array([[0.5], [9.0]])).tolist()
    [3, 8]
    """
    rows, found = _checked(vectors), np.asarray(classes)
    _refuse_lengths(rows, found)
    known, places = np.unique(found, return_inverse=True)
    if len(known) < 2:
        raise LearnerError(Note.of("probe-one-class", count=len(found)))
    counted = known.tolist().index(positive) if positive in known else None
    (axes,), targets = on_threads(principal, [rows]), _targets(places, len(known))
    tried = _tried(axes, targets, _splits(places, folds), grid)
    scores = _mean_scores(tried, axes, places, lambda truth, predicted: _score(by, truth, predicted, counted))
    at = int(np.argmax(scores)) if tried else 0
    cost = grid[at] if tried else USUAL
    start = np.mean([one.weights[at] for one in tried], axis=0) if tried else np.zeros((1, len(axes.vectors)))
    weights = axes.weights(_fitted(axes, targets, cost, start))
    return Probe(
        weights=weights[:-1], intercepts=weights[-1], costs=(cost,), grid=tuple(grid) if tried else (), scores=scores,
        known=tuple(known.tolist()),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tried:
    """What was found on one fold: the weights of each C, and the classes that are not in it."""

    split: Split
    weights: list[Array]  # (p, r) each
    absent: Array  # (p,)


def _tried(axes: Axes, targets: Array, splits: Sequence[Split], grid: Sequence[float]) -> list[_Tried]:
    """Fit all classes to each fold with each C, in parts of a fold and some of the classes."""
    each = _columns(targets)
    parts = [(train, own) for train, _ in splits for own in each]
    found = on_threads(
        lambda part: path(axes.vectors.take(part[0], 1), targets[part[1]].take(part[0], 1), grid, ENOUGH), parts
    )
    tried = []
    for fold, split in enumerate(splits):
        weights = [np.vstack(own) for own in zip(*found[fold * len(each) : (fold + 1) * len(each)], strict=True)]
        present = (targets.take(split[0], 1) > 0).any(1)
        tried.append(_Tried(split, weights, np.asarray(~present & (len(targets) > 1))))
    return tried


def _mean_scores(tried: Sequence[_Tried], axes: Axes, places: Array, score: Callable[[Array, Array], float]) -> Array:
    """Score what each C predicts for held-out vectors: (grid,), and nothing without folds."""
    scores = []
    for one in tried:
        test = one.split[1]
        values = np.vstack(one.weights) @ axes.vectors.take(test, 1)  # (grid * p, n)
        each = np.split(values, len(one.weights))
        scores.append([score(places[test], _best(np.where(one.absent, -np.inf, own.T))) for own in each])
    return np.mean(scores, axis=0) if scores else np.zeros(0)


def _fitted(axes: Axes, targets: Array, cost: float, start: Array) -> Array:
    """Fit all classes to all vectors, from weights that are near."""
    begin = np.broadcast_to(start, (len(targets), len(axes.vectors)))
    found = on_threads(lambda at: minimise(axes.vectors, targets[at], cost, begin[at]), _columns(targets))
    return np.vstack(found)


def _columns(targets: Array) -> list[Array]:
    """Part many classes in two, whatever the number of threads, so that the numbers are the same."""
    count = len(targets)
    return np.array_split(np.arange(count), 2 if count >= MANY else 1)


def _targets(places: Array, count: int) -> Array:
    """Give -1 or 1 for each class, (p, n); for two of them a single row, 1 for the second."""
    marks = (np.arange(count) if count > 2 else np.array([1]))[:, None] == places
    return np.where(marks, np.float32(1), np.float32(-1))


def _best(values: Array) -> Array:
    """Give the column with the highest value, or for a single column 1 where it is above 0."""
    return np.asarray(values.argmax(1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int))


# --- several labels, and numbers -------------------------------------------------------------------------------------


def fit_labels(
    vectors: Array, marks: Array, *, grid: Sequence[float] = GRID, folds: int = FOLDS, by: ClassScore = "f1"
) -> Probe:
    """Tell of each label whether a vector has it; a label that all vectors have, or none, is always so.

    Marks are (n, k), true or false. A fold whose vectors are all alike in a label is taken to be so throughout.
    """
    rows, found = _checked(vectors), np.asarray(marks, dtype=bool)
    _refuse_lengths(rows, found)
    columns = [_searched(_Hinge(rows, column), grid, folds, by) for column in found.T.astype(int)]
    return _together(columns, grid if folds else ())


def fit_numbers(
    vectors: Array, numbers: Sequence[float] | Array, *, grid: Sequence[float] = NUMBER_GRID, folds: int = FOLDS,
    by: NumberScore = "tau-b",
) -> Probe:  # fmt: skip
    """Predict a number; no folds: C is 1."""
    rows, found = _checked(vectors), np.asarray(numbers, dtype=np.float64)
    _refuse_lengths(rows, found)
    if not np.isfinite(found).all():
        raise LearnerError(Note.of("probe-not-finite", rows=np.flatnonzero(~np.isfinite(found)).tolist()))
    return _together([_searched(_Regression(rows, found), grid, folds, by)], grid if folds else ())


@dataclass(frozen=True, slots=True)
class _Found:
    """A linear function: weights and intercept, the C it was found with, and the scores of all that were tried."""

    weights: Array  # (d + 1,)
    cost: float
    scores: Array
    unconverged: int


@dataclass(frozen=True, slots=True)
class _Hinge:
    """A label against all others, by the plain hinge."""

    rows: Array
    targets: Array

    def splits(self, folds: int) -> list[Split]:
        return _splits(self.targets, folds)

    def fit(self, train: Array, cost: float) -> tuple[Array, int]:
        from sklearn.svm import LinearSVC

        own = self.targets[train]
        if len(np.unique(own)) < 2:
            return np.append(np.zeros(self.rows.shape[1]), 1.0 if own.all() else -1.0), 0
        model = LinearSVC(C=cost, loss="hinge", random_state=SEED)
        failed = fit_counted(model, self.rows[train], own)
        return np.append(model.coef_[0], model.intercept_), failed

    def score(self, by: Any, truth: Array, values: Array) -> float:
        return _score(by, truth, (values > 0).astype(int), 1)


@dataclass(frozen=True, slots=True)
class _Regression:
    """Numbers, by support vector regression."""

    rows: Array
    targets: Array

    def splits(self, folds: int) -> list[Split]:
        from sklearn.model_selection import KFold

        return list(KFold(folds).split(self.rows)) if 1 < folds <= len(self.rows) else []

    def fit(self, train: Array, cost: float) -> tuple[Array, int]:
        from sklearn.svm import LinearSVR

        model = LinearSVR(C=cost, random_state=SEED)
        failed = fit_counted(model, self.rows[train], self.targets[train])
        return np.append(model.coef_, model.intercept_), failed

    def score(self, by: Any, truth: Array, values: Array) -> float:
        from scipy.stats import kendalltau
        from sklearn.metrics import r2_score

        found = kendalltau(truth, values).statistic if by == "tau-b" else r2_score(truth, values)
        return -1.0 if np.isnan(found) else float(found)  # all alike: no order at all


def _searched(of: _Hinge | _Regression, grid: Sequence[float], folds: int, by: str) -> _Found:
    """Choose C on folds, the first of those with the best mean, and fit to all vectors with it."""
    failed, splits = 0, of.splits(folds)
    scores = np.zeros((len(splits), len(grid)))
    for fold, (train, test) in enumerate(splits):
        for at, cost in enumerate(grid):
            weights, wrong = of.fit(train, cost)
            failed += wrong
            scores[fold, at] = of.score(by, of.targets[test], of.rows[test] @ weights[:-1] + weights[-1])
    means = scores.mean(0) if splits else np.full(len(grid), np.nan)
    chosen = grid[int(np.argmax(means))] if splits else USUAL
    weights, wrong = of.fit(np.arange(len(of.rows)), chosen)
    return _Found(weights, chosen, means, failed + wrong)


def _together(found: Sequence[_Found], grid: Sequence[float]) -> Probe:
    weights = np.column_stack([one.weights for one in found])
    scores = np.column_stack([one.scores for one in found]) if grid else np.zeros((0, len(found)))
    return Probe(
        weights=weights[:-1], intercepts=weights[-1], costs=tuple(one.cost for one in found), grid=tuple(grid),
        scores=scores, unconverged=sum(one.unconverged for one in found),
    )  # fmt: skip


# --- folds and scores ------------------------------------------------------------------------------------------------


def _splits(places: Array, folds: int) -> list[Split]:
    """Give the folds, as many as the largest class has members, or none where that is one."""
    from sklearn.model_selection import StratifiedKFold

    most = min(folds, int(np.bincount(places).max()))
    if most < 2:
        return []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # it is in some folds alone
        return [split for split in StratifiedKFold(most).split(places, places) if len(split[1])]


def _score(by: str, truth: Array, predicted: Array, positive: int | None) -> float:
    """Give accuracy, or F1: that of the positive class, or the mean over those that occur."""
    if by == "accuracy":
        return float((truth == predicted).mean())
    count = int(max(truth.max(), predicted.max(), positive or 0)) + 1
    hits = np.bincount(truth[truth == predicted], minlength=count)
    total = np.bincount(truth, minlength=count) + np.bincount(predicted, minlength=count)
    each = 2 * hits / np.maximum(total, 1)
    return float(each[total > 0].mean() if positive is None else each[positive])


def _checked(vectors: Array) -> Array:
    """Give vectors as they are used, or refuse those that are not finite or of no use."""
    rows = np.asarray(vectors)
    if rows.ndim != 2 or not rows.size:
        raise LearnerError(Note.of("probe-shape", shape=list(rows.shape)))
    rows = rows.astype(np.float64, copy=False)
    if not np.isfinite(rows).all():
        wrong = np.flatnonzero(~np.isfinite(rows).all(1)).tolist()
        raise LearnerError(Note.of("probe-not-finite", rows=wrong))
    return rows


def _refuse_lengths(rows: Array, targets: Array) -> None:
    if len(rows) != len(targets):
        raise LearnerError(Note.of("probe-lengths", vectors=len(rows), targets=len(targets)))
