"""Linear support vector machines with the squared hinge, many at once: truncated Newton steps for all of them together.

The objective is that of liblinear's primal solver (scikit-learn's `LinearSVC`): for each column of targets y, -1 or 1,

    w'w / 2 + C sum_i max(0, 1 - y_i w'x_i)^2

where x ends in a 1 for the intercept, which is thus held small too. It is solved as in Lin, Weng and Keerthi (2008), by
conjugate gradients in the principal axes of x, where the diagonal is a good preconditioner; or directly, where so few
rows are inside the margin that this is cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

NEWTON_STEPS, CONJUGATE_STEPS, HALVINGS = 100, 60, 20  # at most
NEAR = 1e-6  # a column is solved when the next step would lower its objective by no more than this share of it
USUAL = 10  # conjugate gradients of a step, before any was taken
DIRECT = 3  # for each of them, the products of all rows with a vector that a direct solution may cost
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
    full = with_intercept(np.asarray(vectors, dtype=np.float32))
    if len(full) < full.shape[1]:
        turn = np.linalg.svd(full.astype(np.float64), full_matrices=False)[2].T
    else:
        turn = np.linalg.eigh((full.T @ full).astype(np.float64))[1]
    return Axes(full @ turn.astype(np.float32), turn)


def path(rows: Array, targets: Array, costs: Sequence[float]) -> list[Array]:
    """Minimise the objective of each column for each C, the smallest first, from the weights of the one before."""
    found, weights = np.zeros((rows.shape[1], targets.shape[1]), dtype=np.float32), [np.empty(0)] * len(costs)
    for at in np.argsort(costs, kind="stable").tolist():
        weights[at] = found = minimise(rows, targets, costs[at], found)
    return weights


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
    w, y, z, usual = found.copy(), targets, rows @ found, USUAL
    for _ in range(NEWTON_STEPS):
        inside = y * z < 1  # (n, p): rows that the margin does not hold off
        slope = w + 2 * cost * (rows.T @ (inside * (z - y)))
        step, usual = _newton_step(rows, inside, slope, cost, spread, usual)
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


def _newton_step(rows: Array, inside: Array, slope: Array, cost: float, spread: Array, usual: int) -> tuple[Array, int]:
    """Solve (I + 2C X'AX) step = -slope in each column: directly where so few rows count that it is cheaper.

    Also give the conjugate gradients that a rough solution took, which tells what it is cheaper than.
    """
    n, r = rows.shape
    direct = (inside.sum(0) + r / 3) * r <= DIRECT * usual * n
    step = np.empty_like(slope)
    for at in np.flatnonzero(direct):
        step[:, at] = _direct_step(rows[inside[:, at]], slope[:, at], cost)
    if not direct.all():
        step[:, ~direct], usual = _rough_step(rows, inside[:, ~direct], slope[:, ~direct], cost, spread)
    return step, usual


def _direct_step(rows: Array, slope: Array, cost: float) -> Array:
    """Solve a column by Cholesky's method, in as many dimensions as there are rows (Woodbury's identity) or axes."""
    from scipy.linalg import solve

    count, axes = rows.shape
    if count < axes:
        inner = (rows @ rows.T).astype(np.float64) + np.eye(count) / (2 * cost)
        return np.asarray(rows.T @ solve(inner, rows @ slope, assume_a="pos") - slope)
    return np.asarray(-solve(np.eye(axes) + 2 * cost * (rows.T @ rows).astype(np.float64), slope, assume_a="pos"))


def _rough_step(rows: Array, inside: Array, slope: Array, cost: float, spread: Array) -> tuple[Array, int]:
    """Solve columns by conjugate gradients, until a share of the slope is left."""
    scale = 1 / (1 + 2 * cost * inside.mean(0, dtype=np.float32) * spread)
    step, rest = np.zeros_like(slope), -slope
    way = scale * rest
    left, enough = np.einsum("rp,rp->p", rest, way), ROUGH**2 * _squares(slope)
    for taken in range(1, CONJUGATE_STEPS + 1):
        curved = way + 2 * cost * (rows.T @ (inside * (rows @ way)))
        size = left / np.maximum(np.einsum("rp,rp->p", way, curved), 1e-30)
        step += size * way
        rest -= size * curved
        if taken == CONJUGATE_STEPS or (_squares(rest) <= enough).all():
            break
        scaled = scale * rest
        before, left = left, np.einsum("rp,rp->p", rest, scaled)
        way = scaled + left / np.maximum(before, 1e-30) * way
    return step, taken


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
