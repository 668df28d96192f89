"""Fit linear models, with the same numbers on any number of threads; what does not converge is counted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Part = TypeVar("Part")
Found = TypeVar("Found")
EXPECTED = "The number of unique classes"  # one example of each is few-shot


def fit_counted(model: Any, rows: Any, targets: Any) -> int:
    """Fit a model on one thread, for more would round otherwise; give 1 where it did not converge, else 0."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", EXPECTED)
        model.fit(rows, targets)
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return len(caught) - len(others)


def on_threads(work: Callable[[Part], Found], parts: Iterable[Part]) -> list[Found]:
    """Work on parts, each on one thread, for more would round otherwise, and wait for each other where cores are few.

    There are as many threads at once as products of matrices may have here, which a run sets for its workers.
    """
    from threadpoolctl import threadpool_info, threadpool_limits

    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as crew:
        return list(crew.map(work, parts))
