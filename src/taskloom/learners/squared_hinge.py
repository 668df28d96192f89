"""Linear support vector machines with the squared hinge, many at once: truncated Newton steps for all of them together.

The objective is that of liblinear's primal solver (scikit-learn's `LinearSVC`): for each row of targets y, -1 or 1,

    w'w / 2 + C sum_i max(0, 1 - y_i w'x_i)^2

where x ends in a 1 for the intercept, which is thus held small too. It is solved as in Lin, Weng and Keerthi (2008), by
conjugate gradients in the principal axes of x, where the diagonal is a good preconditioner; or directly, where so few
vectors are inside the margin that this is cheaper.

Vectors are columns, and each problem is a row: a few rows times a wide matrix is the fastest of such products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

NEWTON_STEPS, CONJUGATE_STEPS, HALVINGS = 100, 60, 20  # at most
NEAR = 1e-6  # a problem is solved when the next step would lower its objective by no more than this share of it
USUAL = 10  # conjugate gradients of a step, before any was taken
DIRECT = 3  # for each of them, the products of all vectors with another that a direct solution may cost
ROUGH = 0.3  # of the gradient: what a step may leave of it, for the next step to deal with
BLOCK = 1 << 25  # numbers in an array of work, 128 MB


@dataclass(frozen=True, slots=True)
class Axes:
    """Vectors in their principal axes, and how to get back: distances and products are what they were."""

    vectors: Array  # (r, n): each is a column
    turn: Array  # (d + 1, r)

    def weights(self, turned: Array) -> Array:
        """Give weights as they are for vectors: (p, r) gives (d + 1, p), the last row being the intercepts."""
        return np.asarray(self.turn @ turned.T)


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
    return Axes(turn.T.astype(np.float32) @ full.T, turn)


def path(vectors: Array, targets: Array, costs: Sequence[float], near: float = NEAR) -> list[Array]:
    """Minimise the objective of each problem for each C, the smallest first, from the weights of the one before."""
    found, weights = np.zeros((len(targets), len(vectors)), dtype=np.float32), [np.empty(0)] * len(costs)
    for at in np.argsort(costs, kind="stable").tolist():
        weights[at] = found = minimise(vectors, targets, costs[at], found, near)
    return weights


def minimise(vectors: Array, targets: Array, cost: float, start: Array, near: float = NEAR) -> Array:
    """Minimise the objective of each problem: (r, n), (p, n) of -1 and 1, and (p, r) to start from give (p, r)."""
    most = max(1, BLOCK // max(1, targets.shape[1]))
    parts = [slice(at, at + most) for at in range(0, len(targets), most)]
    return np.vstack([_minimise(vectors, targets[part], cost, start[part], near) for part in parts])


def objective(weights: Array, values: Array, targets: Array, cost: float) -> Array:
    """Give what is minimised, of each problem: weights (p, r), values and targets (p, n) give (p,)."""
    short = np.maximum(1 - targets * values, 0)
    return _squares(weights) / 2 + cost * _squares(short)


def _minimise(vectors: Array, targets: Array, cost: float, start: Array, near: float) -> Array:
    spread = np.square(vectors).sum(1, dtype=np.float64).astype(np.float32)  # (r,): eigenvalues
    found = start.astype(np.float32)
    live = np.arange(len(targets))
    w, y, z, usual = found.copy(), targets, found @ vectors, USUAL
    for _ in range(NEWTON_STEPS):
        inside = y * z < 1  # (p, n): vectors that the margin does not hold off
        slope = w + 2 * cost * ((inside * (z - y)) @ vectors.T)
        step, usual = _newton_step(vectors, inside, slope, cost, spread, usual)
        gain = -np.einsum("pr,pr->p", slope, step, dtype=np.float64) / 2
        value = objective(w, z, y, cost)
        moved = step @ vectors
        size = _step_sizes((w, z, y), (step, moved), cost, value, gain)
        w += size[:, None] * step
        z += size[:, None] * moved
        found[live] = w
        going = (gain > near * value) & (size > 0)
        if not going.any():
            break
        if not going.all():
            live, w, y, z = live[going], w[going], y[going], z[going]
    return found


def _newton_step(
    vectors: Array, inside: Array, slope: Array, cost: float, spread: Array, usual: int
) -> tuple[Array, int]:
    """Solve (I + 2C XAX') step = -slope of each problem: directly where so few vectors count that it is cheaper.

    Also give the conjugate gradients that a rough solution took, which tells what it is cheaper than.
    """
    r, n = vectors.shape
    direct = (inside.sum(1) + r / 3) * r <= DIRECT * usual * n
    step = np.empty_like(slope)
    for at in np.flatnonzero(direct):
        direct[at] = _direct_step(np.compress(inside[at], vectors, axis=1), slope[at], cost, step[at])
    if not direct.all():
        step[~direct], usual = _rough_step(vectors, inside[~direct], slope[~direct], cost, spread)
    return step, usual


def _direct_step(vectors: Array, slope: Array, cost: float, step: Array) -> bool:
    """Solve a problem by Cholesky's method, in as many dimensions as there are vectors (Woodbury's identity) or axes.

    Tell whether there is a solution: rounding may be too much for vectors of great lengths.
    """
    from scipy.linalg.lapack import dposv  # which, unlike `solve`, does not estimate the condition

    axes, count = vectors.shape
    if not count:
        step[:] = -slope
        return True
    by_count = count < axes
    inner = (vectors.T @ vectors if by_count else vectors @ vectors.T).astype(np.float64)
    inner.flat[:: len(inner) + 1] += 1 / (2 * cost)
    _, found, wrong = dposv(inner, slope @ vectors if by_count else slope / (2 * cost), lower=1)
    step[:] = vectors @ found - slope if by_count else -found
    return bool(wrong == 0)


def _rough_step(vectors: Array, inside: Array, slope: Array, cost: float, spread: Array) -> tuple[Array, int]:
    """Solve problems by conjugate gradients, until a share of the slope is left."""
    scale = 1 / (1 + 2 * cost * inside.mean(1, dtype=np.float32)[:, None] * spread)
    step, rest = np.zeros_like(slope), -slope
    way = scale * rest
    left, enough = np.einsum("pr,pr->p", rest, way), ROUGH**2 * _squares(slope)
    for taken in range(1, CONJUGATE_STEPS + 1):
        curved = way + 2 * cost * ((inside * (way @ vectors)) @ vectors.T)
        size = left / np.maximum(np.einsum("pr,pr->p", way, curved), 1e-30)
        step += size[:, None] * way
        rest -= size[:, None] * curved
        if taken == CONJUGATE_STEPS or (_squares(rest) <= enough).all():
            break
        scaled = scale * rest
        before, left = left, np.einsum("pr,pr->p", rest, scaled)
        way = scaled + (left / np.maximum(before, 1e-30))[:, None] * way
    return step, taken


def _step_sizes(
    at: tuple[Array, Array, Array], by: tuple[Array, Array], cost: float, value: Array, gain: Array
) -> Array:
    """Halve the steps of problems until each lowers its objective by a share of what was promised, or is 0."""
    (w, z, y), (step, moved) = at, by
    size = np.ones(len(value), dtype=np.float32)
    wrong = np.arange(len(value))
    for _ in range(HALVINGS):
        part = size[wrong][:, None]
        new = objective(w[wrong] + part * step[wrong], z[wrong] + part * moved[wrong], y[wrong], cost)
        wrong = wrong[new > value[wrong] - 0.01 * size[wrong] * gain[wrong]]
        if not len(wrong):
            return size
        size[wrong] /= 2
    size[wrong] = 0
    return size


def _squares(of: Array) -> Array:
    return np.asarray(np.einsum("pn,pn->p", of, of, dtype=np.float64))
