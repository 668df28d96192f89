"""Rank candidates by their vectors: by Euclidean distance or cosine, in blocks, so that any number of them fits.

A grade is the distance below zero, or the cosine. Products are taken in double precision, and grades compared in single
precision as everywhere: candidates with the same vector are ties, and the later one stands first, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..errors import UnknownNameError
from ..sources.embeddings import Embeddings

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Measure: TypeAlias = Literal["euclidean", "cosine"]
MEASURES: tuple[str, ...] = get_args(Measure)

BLOCK = 1 << 25  # grades in a block of queries, 128 MB
ROWS = 8192  # candidates of a product
TOP = 3  # the best members of a candidate, whose mean is its grade
SAME = 1e-12  # of the squared lengths: a squared distance below this share is rounding


def grades(queries: Array, candidates: Array, measure: str = "euclidean") -> Array:
    """Grade each candidate for each query: (q, d) and (c, d) give (q, c), the higher the nearer.

    >>> grades(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[-5.0, -1.0]]
    """
    refuse_measure(measure)
    asked = _ready(queries, measure)
    found = np.empty((len(asked), len(candidates)), dtype=np.float32)
    for at in range(0, len(candidates), ROWS):
        part = _ready(candidates[at : at + ROWS], measure)
        found[:, at : at + ROWS] = asked @ part.T if measure == "cosine" else -_distances(asked, part)
    return found


def nearest(queries: Array, candidates: Array, depth: int, measure: str = "euclidean") -> tuple[Array, Array]:
    """Find the nearest candidates of each query, the nearest first and of equals the later.

    (q, d) and (c, d) give places and grades, (q, depth) each, or (q, c) where there are fewer.
    """
    depth, wide = min(depth, len(candidates)), max(1, BLOCK // max(1, len(candidates)))
    places, found = np.empty((len(queries), depth), dtype=np.int64), np.empty((len(queries), depth), dtype=np.float32)
    for at in range(0, len(queries), wide):
        own = grades(queries[at : at + wide], candidates, measure)
        places[at : at + wide] = best = _best(own, depth)
        found[at : at + wide] = np.take_along_axis(own, best, 1)
    return places, found


def by_members(member_grades: Array, members: Sequence[Sequence[int]], top: int) -> Array:
    """Grade candidates that stand for several documents by the mean of their `top` best: (m,) gives (candidates,).

    >>> by_members(np.array([1.0, 0.0, 0.5, 0.25]), [[0, 1, 2], [3]], top=2).tolist()
    [0.75, 0.25]
    """
    return np.array([np.sort(member_grades[list(own)])[-top:].mean(dtype=np.float64) for own in members])


def graded(
    queries: Array, ids: Sequence[str], vectors: Embeddings, *, members: Sequence[Sequence[str]] = (),
    measure: str = "", top: int = TOP, depth: int = 0,
) -> Iterator[list[tuple[str, float]]]:  # fmt: skip
    """Grade candidates for each query, by the vectors of their ids; only the `depth` nearest where it is set.

    A candidate with members is graded by the mean of its `top` best. Without a measure, that is by cosine where some
    have members, as in SciRepEval, and by Euclidean distance else.
    """
    if any(members):
        standing = [own or (id_,) for id_, own in zip(ids, members, strict=True)]
        named = {id_: at for at, id_ in enumerate(dict.fromkeys(id_ for own in standing for id_ in own))}
        places = [[named[id_] for id_ in own] for own in standing]
        for row in _grade_rows(queries, vectors.rows(list(named)), measure or "cosine"):
            yield list(zip(ids, by_members(row, places, top).tolist(), strict=True))
    elif depth:
        near, best = nearest(queries, vectors.rows(ids), depth, measure or "euclidean")
        for own, found in zip(near.tolist(), best.tolist(), strict=True):
            yield [(ids[at], grade) for at, grade in zip(own, found, strict=True)]
    else:
        for row in _grade_rows(queries, vectors.rows(ids), measure or "euclidean"):
            yield list(zip(ids, row.tolist(), strict=True))


def _grade_rows(queries: Array, candidates: Array, measure: str) -> Iterator[Array]:
    """Yield the grades of each query, made in blocks."""
    wide = max(1, BLOCK // max(1, len(candidates)))
    for at in range(0, len(queries), wide):
        yield from grades(queries[at : at + wide], candidates, measure)


def refuse_measure(measure: str) -> None:
    """Refuse what is no measure, with the nearest names."""
    if measure not in MEASURES:
        raise UnknownNameError("measure", measure, MEASURES)


def _ready(vectors: Array, measure: str) -> Array:
    """Give vectors in double precision, for cosines with a length of one; one without a length keeps none."""
    found = np.asarray(vectors, dtype=np.float64)
    if measure != "cosine":
        return found
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(lengths > 0, lengths, 1)


def _distances(queries: Array, candidates: Array) -> Array:
    lengths = np.square(queries).sum(1)[:, None] + np.square(candidates).sum(1)
    squares = lengths - 2 * (queries @ candidates.T)
    return np.sqrt(np.where(squares < SAME * lengths, 0, squares))


def _best(found: Array, depth: int) -> Array:
    """Give the places of the best of each row: (q, c) gives (q, depth)."""
    count = found.shape[1]
    if depth < count:
        border = np.partition(found, count - depth, axis=1)[:, count - depth]
    else:
        border = found.min(1, initial=np.inf)
    places = np.empty((len(found), depth), dtype=np.int64)
    for row, least in enumerate(border):
        among = np.flatnonzero(found[row] >= least)[::-1]  # the later first
        places[row] = among[np.argsort(-found[row, among], kind="stable")[:depth]]
    return places
