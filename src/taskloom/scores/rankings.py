"""Rankings that were made elsewhere: judgements become a suite of one task, and a run its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Example, Item, Ranking, Suite, Task
from ..sources.trec import Graded
from ..suites import rows
from .predictions import Marked, Prediction

METRICS = ("map", "ndcg", "ndcg@10", "p@10", "mrr")  # unless others are asked for


def judged_suite(name: str, qrels: Graded) -> Suite:
    """Make a task of judgements: each query is an item, and the documents that were judged for it its candidates.

    >>> suite = judged_suite("web", {"q1": {"d1": 1.0, "d2": 0.0}})
    >>> suite.asked_pool("web").take([0])[0].item.candidates
    ('d1', 'd2')
    """
    task = Task(id=name, instruction="Rank documents.", output=Ranking(), metrics=METRICS)
    examples = [
        Example(Item(query, {"query": query}, tuple(grades)), (tuple(grades.items()),), query)
        for query, grades in qrels.items()
    ]
    return Suite(id=name, tasks={name: task}, pools={name: {"test": rows.pool(task, examples)}})


def predictions_of_run(path: Path, run: Graded) -> tuple[Prediction, ...]:
    """Give the ranking of each query as a prediction."""
    return tuple(Prediction(path.name, query, [[*pair] for pair in scores.items()]) for query, scores in run.items())


def nothing_relevant(suite: Suite, marked: Mapping[str, Marked]) -> dict[str, tuple[str, ...]]:
    """Name the queries of each task that have no relevant candidate: no ranking of them is better than another.

    Where a metric asks for higher grades, queries that have none so high are named with it.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, of in marked.items():
        if isinstance(suite.tasks[name].output, Ranking):
            found[name] = tuple(e.item.id for e in of.examples if not any(_relevant(e)))
            for typed, scored in of.scored.items():
                without = tuple(
                    e.item.id for e, unit in zip(of.examples, scored.units, strict=True) if np.isnan(unit[0])
                )
                found[f"{name}, {typed}"] = without if len(without) > len(found[name]) else ()
    return {name: queries for name, queries in found.items() if queries}


def _relevant(example: Example) -> Iterator[bool]:
    graded: Any = example.gold[0]
    return (grade > 0 for _, grade in graded)
