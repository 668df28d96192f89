"""Linear support vector machines with the squared hinge, many at once: truncated Newton steps for all of them together.

The objective is that of liblinear's primal solver (scikit-learn's `LinearSVC`): for each column of targets y, -1 or 1,

    w'w / 2 + C sum_i max(0, 1 - y_i w'x_i)^2

where x ends in a 1 for the intercept, which is thus held small too. It is solved as in Lin, Weng and Keerthi (2008), by
conjugate gradients in the principal axes of x, where the diagonal is a good preconditioner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

NEWTON_STEPS, CONJUGATE_STEPS, HALVINGS = 100, 60, 20  # at most
NEAR = 1e-6  # a column is solved when the next step would lower its objective by no more than this share of it
ROUGH = 0.1  # of the gradient: what a step may leave of it, for the next step to deal with
BLOCK = 1 << 25  # numbers in an array of work, 128 MB


@dataclass(frozen=True, slots=True)
class Axes:
    """Vectors in their principal axes, and how to get back: distances and products are what they were."""

    rows: Array  # (n, r)
    turn: Array  # (d + 1, r)

    def weights(self, turned: Array) -> Array:
        """Give weights as they are for vectors: (r, p) gives (d + 1, p), the last row being the intercepts."""
        return np.asarray(self.turn @ turned)


def with_intercept(vectors: Array) -> Array:
    """Add a last column of ones."""
    return np.hstack([vectors, np.ones((len(vectors), 1), dtype=vectors.dtype)])


def principal(vectors: Array) -> Axes:
    """Turn vectors, with a 1 for the intercept, to their principal axes; few vectors have few axes."""
    full = with_intercept(np.asarray(vectors, dtype=np.float64))
    if len(full) < full.shape[1]:
        turn = np.linalg.svd(full, full_matrices=False)[2].T
    else:
        turn = np.linalg.eigh(full.T @ full)[1]
    return Axes((full @ turn).astype(np.float32), turn)


def minimise(rows: Array, targets: Array, cost: float, start: Array) -> Array:
    """Minimise the objective of each column: (n, r), (n, p) of -1 and 1, and (r, p) to start from give (r, p)."""
    wide = max(1, BLOCK // max(1, len(rows)))
    parts = [slice(at, at + wide) for at in range(0, targets.shape[1], wide)]
    return np.hstack([_minimise(rows, targets[:, part], cost, start[:, part]) for part in parts])


def objective(weights: Array, values: Array, targets: Array, cost: float) -> Array:
    """Give what is minimised, of each column: weights (r, p), values and targets (n, p) give (p,)."""
    short = np.maximum(1 - targets * values, 0)
    return _squares(weights) / 2 + cost * _squares(short)


def _minimise(rows: Array, targets: Array, cost: float, start: Array) -> Array:
    spread = np.square(rows).sum(0, dtype=np.float64)[:, None].astype(np.float32)  # (r, 1): eigenvalues
    found = start.astype(np.float32)
    live = np.arange(targets.shape[1])
    w, y, z = found.copy(), targets, rows @ found
    for _ in range(NEWTON_STEPS):
        inside = y * z < 1  # (n, p): rows that the margin does not hold off
        slope = w + 2 * cost * (rows.T @ (inside * (z - y)))
        step = _newton_step(rows, inside, slope, cost, spread)
        gain = -np.einsum("rp,rp->p", slope, step, dtype=np.float64) / 2
        value = objective(w, z, y, cost)
        moved = rows @ step
        size = _step_sizes((w, z, y), (step, moved), cost, value, gain)
        w += size * step
        z += size * moved
        found[:, live] = w
        going = (gain > NEAR * value) & (size > 0)
        if not going.any():
            break
        if not going.all():
            live, w, y, z = live[going], w[:, going], y[:, going], z[:, going]
    return found


def _newton_step(rows: Array, inside: Array, slope: Array, cost: float, spread: Array) -> Array:
    """Solve (I + 2C X'AX) step = -slope roughly, each column by conjugate gradients."""
    scale = 1 / (1 + 2 * cost * inside.mean(0, dtype=np.float32) * spread)
    step, rest = np.zeros_like(slope), -slope
    way = scale * rest
    left, enough = np.einsum("rp,rp->p", rest, way), ROUGH**2 * _squares(slope)
    for _ in range(CONJUGATE_STEPS):
        curved = way + 2 * cost * (rows.T @ (inside * (rows @ way)))
        size = left / np.maximum(np.einsum("rp,rp->p", way, curved), 1e-30)
        step += size * way
        rest -= size * curved
        if (_squares(rest) <= enough).all():
            break
        scaled = scale * rest
        before, left = left, np.einsum("rp,rp->p", rest, scaled)
        way = scaled + left / np.maximum(before, 1e-30) * way
    return step


def _step_sizes(
    at: tuple[Array, Array, Array], by: tuple[Array, Array], cost: float, value: Array, gain: Array
) -> Array:
    """Halve the steps of columns until each lowers its objective by a share of what was promised, or is 0."""
    (w, z, y), (step, moved) = at, by
    size = np.ones(len(value), dtype=np.float32)
    wrong = np.arange(len(value))
    for _ in range(HALVINGS):
        new = objective(w[:, wrong] + size[wrong] * step[:, wrong], z[:, wrong] + size[wrong] * moved[:, wrong],
                        y[:, wrong], cost)  # fmt: skip
        wrong = wrong[new > value[wrong] - 0.01 * size[wrong] * gain[wrong]]
        if not len(wrong):
            return size
        size[wrong] /= 2
    size[wrong] = 0
    return size


def _squares(of: Array) -> Array:
    return np.asarray(np.einsum("np,np->p", of, of, dtype=np.float64))
