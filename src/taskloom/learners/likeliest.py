"""Labels by how likely they are: the likeliest, with the log-probability of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..models import Array
from . import Response
from .baselines import first_best

LEAST = 1e-12  # a probability: the log of 0 is not a number


def chosen(names: Sequence[str], logs: Array) -> list[Response]:
    """Choose the likeliest label of each row, the first of those that rounding alone tells apart: (rows, names).

    >>> [one.answer for one in chosen(["a", "b"], np.log([[0.4, 0.6], [0.5, 0.5]]))]
    ['b', 'a']
    """
    best, rows = first_best(logs, 5), logs.tolist()
    return [
        Response(names[place], options=dict(zip(names, row, strict=True)))
        for place, row in zip(best, rows, strict=True)
    ]  # fmt: skip


def logs_of(chances: Array) -> Array:
    """Give the logarithms of probabilities."""
    logs: Array = np.log(np.clip(chances, LEAST, 1.0))
    return logs


def log_softmax(scores: Array) -> Array:
    """Give the log-probabilities that scores stand for, row by row.

    >>> np.exp(log_softmax(np.array([[0.0, np.log(3)]]))).round(2).tolist()
    [[0.25, 0.75]]
    """
    moved = scores - scores.max(1, keepdims=True)
    logs: Array = moved - np.log(np.exp(moved).sum(1, keepdims=True))
    return logs
