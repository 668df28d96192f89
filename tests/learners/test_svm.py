from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC, LinearSVR

from taskloom.errors import LearnerError
from taskloom.learners.svm import GRID, NUMBER_GRID, _score, fit_classes, fit_labels, fit_numbers
from taskloom.messages import Note


def drawn(seed: int, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, n)
    return rng.normal(size=(k, d))[classes] * 0.6 + rng.normal(size=(n, d)) + 0.3, classes


def searched(estimator: object, grid: tuple[float, ...], scoring: object, rows, targets) -> GridSearchCV:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GridSearchCV(estimator, {"C": grid}, cv=3, scoring=scoring).fit(rows, targets)


@pytest.mark.parametrize("by", ["f1", "accuracy"])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_classes_are_told_apart_as_by_a_grid_search_of_scikit_learn(k, by):
    rows, classes = drawn(k, 400, 15, k)
    scoring = "accuracy" if by == "accuracy" else "f1_macro"
    theirs = searched(LinearSVC(dual=False, tol=1e-8, max_iter=10_000), GRID, scoring, rows[:300], classes[:300])
    ours = fit_classes(rows[:300], classes[:300], by=by)
    assert ours.scores == pytest.approx(theirs.cv_results_["mean_test_score"], abs=1e-9)
    assert ours.costs == (theirs.best_params_["C"],)
    assert (ours.classes(rows[300:]) == theirs.predict(rows[300:])).mean() > 0.99
    assert ours.grid == GRID


def test_the_positive_class_may_be_the_first_and_classes_have_any_numbers():
    rows, classes = drawn(4, 200, 8, 2)
    named = np.where(classes == 1, 40, 7)
    positive = make_scorer(f1_score, pos_label=7)
    theirs = searched(LinearSVC(dual=False, tol=1e-8), GRID, positive, rows, named)
    ours = fit_classes(rows, named, positive=7)
    assert ours.scores == pytest.approx(theirs.cv_results_["mean_test_score"], abs=1e-9)
    assert set(ours.classes(rows).tolist()) == {7, 40}


def test_without_folds_c_is_1_and_nothing_is_chosen():
    rows, classes = drawn(5, 60, 8, 3)
    ours = fit_classes(rows, classes, folds=0)
    assert (ours.costs, ours.grid, ours.scores.size) == ((1.0,), (), 0)
    assert (ours.classes(rows) == LinearSVC(dual=False, tol=1e-8).fit(rows, classes).predict(rows)).all()
    assert fit_numbers(rows, classes, folds=0).costs == (1.0,)
    assert fit_labels(rows, np.eye(3, dtype=bool)[classes], folds=0).costs == (1.0, 1.0, 1.0)


def test_a_class_seen_once_is_learnt_and_never_predicted_by_a_fold_that_lacks_it():
    rows, classes = drawn(6, 60, 8, 3)
    classes = np.append(classes, 3)
    rows = np.vstack([rows, np.full(8, 9.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        theirs = searched(LinearSVC(dual=False, tol=1e-8, max_iter=10_000), GRID, "f1_macro", rows, classes)
    ours = fit_classes(rows, classes)
    assert ours.scores == pytest.approx(theirs.cv_results_["mean_test_score"], abs=1e-9)
    assert ours.classes(np.full((1, 8), 9.0)).tolist() == [3]


@pytest.mark.parametrize(("each", "grid"), [(1, ()), (2, GRID)])
def test_few_examples_of_each_class_have_fewer_folds_or_none(each, grid):
    rows, _ = drawn(7, 4 * each, 8, 2)
    ours = fit_classes(rows, np.repeat(np.arange(4), each))
    assert ours.grid == grid


def test_one_class_is_refused():
    with pytest.raises(LearnerError) as refused:
        fit_classes(np.eye(4), [2, 2, 2, 2])
    assert refused.value.note == Note.of("probe-one-class", count=4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("fit", [fit_classes, fit_labels, fit_numbers])
def test_vectors_that_are_not_finite_are_named_by_row(fit, value):
    rows = np.eye(6)
    rows[[2, 4], 1] = value
    targets = np.eye(6, dtype=bool) if fit is fit_labels else [0, 1, 0, 1, 0, 1]
    with pytest.raises(LearnerError) as refused:
        fit(rows, targets)
    assert refused.value.note == Note.of("probe-not-finite", rows=[2, 4])
    good = fit_classes(np.eye(6), [0, 1, 0, 1, 0, 1])
    with pytest.raises(LearnerError):
        good.values(rows)


def test_numbers_that_are_not_finite_are_named_by_row():
    with pytest.raises(LearnerError) as refused:
        fit_numbers(np.eye(3), [1.0, np.nan, 2.0])
    assert refused.value.note == Note.of("probe-not-finite", rows=[1])


def test_shapes_and_lengths_that_do_not_fit_are_refused():
    with pytest.raises(LearnerError) as refused:
        fit_classes(np.eye(3), [0, 1])
    assert refused.value.note == Note.of("probe-lengths", vectors=3, targets=2)
    with pytest.raises(LearnerError) as refused:
        fit_numbers(np.zeros(3), [0.0, 1.0, 2.0])
    assert refused.value.note == Note.of("probe-shape", shape=[3])


def test_labels_are_told_one_by_one_with_the_plain_hinge_each_with_its_own_c():
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(150, 6))
    marks = rows @ rng.normal(size=(6, 3)) + rng.normal(size=(150, 3)) > [0.0, 1.5, -1.5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(LinearSVC(loss="hinge", random_state=42), {"C": GRID}, cv=3, scoring="f1")
        theirs = OneVsRestClassifier(search).fit(rows[:120], marks[:120].astype(int))
    ours = fit_labels(rows[:120], marks[:120])
    assert ours.costs == tuple(one.best_params_["C"] for one in theirs.estimators_)
    assert ours.labels(rows[120:]).tolist() == theirs.predict(rows[120:]).astype(bool).tolist()
    assert (
        pytest.approx(np.array([one.cv_results_["mean_test_score"] for one in theirs.estimators_]), abs=1e-12)
        == ours.scores.T
    )


def test_a_label_that_all_have_or_none_is_always_so_and_one_seen_once_is_learnt():
    rows = np.vstack([np.random.default_rng(9).normal(size=(20, 4)), np.full((1, 4), 8.0)])
    marks = np.zeros((21, 3), dtype=bool)
    marks[:, 0], marks[20, 2] = True, True
    found = fit_labels(rows, marks).labels(rows)
    assert found[:, 0].all()
    assert not found[:, 1].any()
    assert np.flatnonzero(found[:, 2]).tolist() == [20]


@pytest.mark.parametrize("by", ["tau-b", "r2"])
def test_numbers_are_predicted_as_by_a_grid_search_of_scikit_learn(by):
    rng = np.random.default_rng(10)
    rows = rng.normal(size=(120, 5))
    numbers = rows @ rng.normal(size=5) + rng.normal(size=120)
    scoring = make_scorer(lambda truth, found: kendalltau(truth, found).statistic) if by == "tau-b" else "r2"
    theirs = searched(LinearSVR(random_state=42), NUMBER_GRID, scoring, rows[:90], numbers[:90])
    ours = fit_numbers(rows[:90], numbers[:90], by=by)
    assert ours.costs == (theirs.best_params_["C"],)
    assert ours.numbers(rows[90:]) == pytest.approx(theirs.predict(rows[90:]), abs=1e-9)
    assert ours.scores[:, 0] == pytest.approx(theirs.cv_results_["mean_test_score"], abs=1e-9)


def test_fits_that_do_not_converge_are_counted_and_not_told_by_warnings():
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(60, 3)) * 100
    found = fit_numbers(rows, rng.normal(size=60), grid=(1.0, 100.0))
    assert found.unconverged > 0


def test_constant_vectors_predict_the_larger_class():
    assert fit_classes(np.ones((9, 3)), [0, 0, 0, 0, 0, 0, 1, 1, 1]).classes(np.ones((2, 3))).tolist() == [0, 0]


def test_the_same_vectors_give_the_same_probe():
    rows, classes = drawn(12, 100, 8, 3)
    one, other = fit_classes(rows, classes), fit_classes(rows.copy(), classes.copy())
    assert one.weights.tolist() == other.weights.tolist()


def test_scores_are_scikit_learns():
    rng = np.random.default_rng(13)
    for k in (2, 5):
        for _ in range(20):
            truth, found = rng.integers(0, k, (2, 12))
            macro = f1_score(truth, found, average="macro", zero_division=0)
            assert _score("f1", truth, found, None) == pytest.approx(macro)
            each = f1_score(truth, found, average=None, labels=range(k), zero_division=0)
            assert [_score("f1", truth, found, one) for one in range(k)] == pytest.approx(each.tolist())
            assert _score("accuracy", truth, found, k - 1) == accuracy_score(truth, found)
