"""Fit scikit-learn's linear models: on one thread, and with what does not converge counted."""

from __future__ import annotations

import warnings
from typing import Any

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
