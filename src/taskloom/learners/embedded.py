"""Rankings by vectors that were made elsewhere: predictions for the tasks of a suite whose candidates are documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..core import Example, Ranking, Suite, Task
from ..errors import ScoreError
from ..messages import Note
from ..scores.predictions import Prediction
from ..sources.embeddings import Embeddings
from ..suites.linked import Linked
from .near import graded, refuse_measure

TAKEN = 1024  # rows that are read at a time


def embedded_predictions(suite: Suite, vectors: Embeddings, measure: str = "", place: str = "") -> list[Prediction]:
    """Rank the candidates of each ranking task by vectors of its documents; all that have none are named.

    Without a measure, that is by Euclidean distance, and by cosine where candidates stand for several documents.
    """
    if measure:
        refuse_measure(measure)
    tasks = {name: pool for name in suite.tasks if (pool := _linked(suite, suite.tasks[name]))}
    if not tasks:
        raise ScoreError(Note.of("no-documents-ranked", suite=suite.id))
    if lost := list(dict.fromkeys(id_ for pool in tasks.values() for id_ in _missing(pool, vectors))):
        raise ScoreError(Note.of("vectors-missing", count=len(lost), ids=lost))
    return [
        Prediction(place, item, answer, name)
        for name, pool in tasks.items()
        for block in _blocks(pool)
        for item, answer in _ranked(pool, block, vectors, measure)
    ]


def _linked(suite: Suite, task: Task) -> Linked | None:
    """Give the examples of a task that ranks documents."""
    pool = suite.asked_pool(task.id)
    return pool if isinstance(pool, Linked) and isinstance(task.output, Ranking) and task.output.store else None


def _blocks(pool: Linked) -> Iterator[list[Example]]:
    """Read rows as they are, with ids for queries that are documents."""
    for at in range(0, len(pool), TAKEN):
        yield pool.rows.take(range(at, min(at + TAKEN, len(pool))))


def _key(pool: Linked, example: Example) -> str:
    """Give the id of a query's vector: that of its document, or of the item where the query is a text."""
    return next(iter(example.item.fields.values())) if pool.by_id else example.item.id


def _missing(pool: Linked, vectors: Embeddings) -> Iterator[str]:
    """Yield the ids of queries, and of candidates or their members, that have no vector."""
    for block in _blocks(pool):
        yield from vectors.missing([_key(pool, example) for example in block])
        named = list(dict.fromkeys(id_ for example in block for id_ in example.item.candidates))
        for id_, members in zip(named, pool.store.members(named), strict=True):
            yield from vectors.missing(members or [id_])


def _ranked(
    pool: Linked, block: Sequence[Example], vectors: Embeddings, measure: str
) -> Iterator[tuple[str, list[list[object]]]]:
    """Grade the candidates of each query; queries that share theirs are taken together."""
    output = pool.rows.output
    depth = output.depth if isinstance(output, Ranking) else 0
    for candidates, group in groupby(block, key=lambda example: example.item.candidates):
        asked, ids = list(group), sorted(set(candidates))
        queries = vectors.rows([_key(pool, example) for example in asked])
        found = graded(queries, ids, vectors, members=pool.store.members(ids), measure=measure, depth=depth)
        for example, near in zip(asked, found, strict=True):
            yield example.item.id, [[id_, grade] for id_, grade in near]
