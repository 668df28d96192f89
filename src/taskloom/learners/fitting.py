"""Fit linear models, with the same numbers on any number of threads; what does not converge is counted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

Part = TypeVar("Part")
Found = TypeVar("Found")
EXPECTED = "The number of unique classes|The least populated class"  # few examples of each are few-shot
FOLDS = 3  # of a search


def fit_counted(model: Any, rows: Any, targets: Any) -> int:
    """Fit a model on one thread, for more would round otherwise; give 1 where it did not converge, else 0."""
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning

    quick = config_context(assume_finite=True, skip_parameter_validation=True)  # half of a small fit are checks
    with _threads(type(model).__name__).limit(limits=1), quick, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", EXPECTED)
        model.fit(rows, targets)
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return len(caught) - len(others)


@cache
def _threads(kind: str) -> Any:  # noqa: ARG001 (a kind of model loads the libraries that it needs)
    """Find the libraries whose threads are limited, once for each kind of model, for that takes longer than a fit."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def on_threads(work: Callable[[Part], Found], parts: Iterable[Part]) -> list[Found]:
    """Work on parts, each on one thread, for more would round otherwise, and wait for each other where cores are few.

    There are as many threads at once as products of matrices may have here, which a run sets for its workers.
    """
    from threadpoolctl import threadpool_info, threadpool_limits

    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as crew:
        return list(crew.map(work, parts))


def searched(model: Any, settings: Mapping[str, Sequence[float]], rows: Any, targets: Sequence[Any], by: Any) -> Any:
    """Give the model with the settings that are best on three folds, by a score of scikit-learn; of equals, the first.

    Where no class has as many examples there are fewer folds. The model is left as it is with one of each, or one of
    either of two, for a fold has nothing to tell apart then. The search is content with a tolerance of 1e-4.
    """
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV

    sizes = Counter(targets).values() if is_classifier(model) else [len(targets)]
    if (folds := min(FOLDS, max(sizes))) < 2 or (len(sizes) == 2 and min(sizes) == 1):
        return model
    search = GridSearchCV(clone(model).set_params(tol=1e-4), dict(settings), scoring=by, cv=folds, refit=False)
    fit_counted(search, rows, targets)
    return model.set_params(**search.best_params_)


def class_agreement(model: Any, rows: Any, targets: Any) -> float:
    """Score a model of classes by macro F1, or by F1 where the targets are 0 and 1."""
    from sklearn.metrics import f1_score

    average = "binary" if {*model.classes_.tolist()} == {0, 1} else "macro"
    return float(f1_score(targets, model.predict(rows), average=average, zero_division=0))


def rank_agreement(model: Any, rows: Any, targets: Any) -> float:
    """Score a model of numbers by Kendall's tau-b; 0 where it is not defined."""
    import numpy as np
    from scipy.stats import kendalltau

    return float(np.nan_to_num(kendalltau(targets, model.predict(rows)).statistic))
