"""Examples in all, with classes as frequent as they are: their sizes, and the folds of SciRepEval's released code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .core import Ints


def shared_sizes(counts: Sequence[int], total: int) -> list[int]:
    """Share so many examples among classes by their frequencies, one for each class first as far as they go.

    By highest averages (Sainte-Lague), so that more in all is never less of a class.

    >>> shared_sizes([60, 30, 10], 16), shared_sizes([60, 30, 10], 2), shared_sizes([2, 1], 9)
    ([9, 5, 2], [1, 1, 0], [2, 1])
    """
    sizes = [0] * len(counts)
    for _ in range(min(total, sum(counts))):
        room = [at for at, count in enumerate(counts) if sizes[at] < count]
        best = max(room, key=lambda at: (not sizes[at], counts[at] / (2 * sizes[at] + 1), -at))
        sizes[best] += 1
    return sizes


def unshuffled_fold(labels: Ints, folds: int, index: int) -> Ints:
    """Give the places of one of so many stratified folds that are not shuffled, as scikit-learn makes them.

    >>> unshuffled_fold(np.array([0, 0, 1, 0, 1, 0]), 2, 1).tolist()
    [3, 4, 5]
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]  # by where they come first
    ordered, found = np.sort(codes), np.empty(len(codes), dtype=np.int64)
    held = [np.bincount(ordered[fold::folds], minlength=len(first)) for fold in range(folds)]
    for code, sizes in enumerate(np.array(held).T):
        found[codes == code] = np.arange(folds).repeat(sizes)
    return np.flatnonzero(found == index)
