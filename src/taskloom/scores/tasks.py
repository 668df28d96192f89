"""How the answers of a cell are scored: by every metric of its task, field by field where it has several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core import Fields, Output, Task
from ..errors import UnknownNameError
from ..scores import METRICS, TYPED, Metric, Scored, metric, score, signature


def split_name(name: str) -> tuple[str, str]:
    """Split the name of a task's metric into the field that it is for, if any, and the metric.

    >>> split_name("kind/f1:positive=n/a"), split_name("f1:positive=n/a")
    (('kind', 'f1:positive=n/a'), ('', 'f1:positive=n/a'))
    """
    before, colon, options = name.partition(":")  # which may hold a slash
    part, _, metric_name = before.rpartition("/")
    return part, f"{metric_name}{colon}{options}"


def is_known(name: str) -> bool:
    """Tell whether there is a metric of a name, whatever its field, depth and options.

    >>> is_known("title/rouge-l:published"), is_known("p@5"), is_known("rouge")
    (True, True, False)
    """
    found = TYPED.fullmatch(split_name(name)[1])
    return found is not None and found["name"] in METRICS


def parts_of(task: Task) -> Iterator[tuple[str, str, Metric]]:
    """Give each metric of a task: its name there, the field that it is for, and the metric itself."""
    for name in task.metrics:
        part, typed = split_name(name)
        parts: Mapping[str, Output] = task.output.parts if isinstance(task.output, Fields) else {}
        if part and part not in parts:
            raise UnknownNameError(f"field of metric {name!r}", part, parts)
        yield name, part, metric(typed, parts[part] if part else task.output)


def score_task(task: Task, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, Scored]:
    """Score answers by each metric of their task; those of several fields part by part."""
    found = {}
    for name, part, of in parts_of(task):
        rights, givens, output = gold, answers, task.output
        if part and isinstance(output, Fields):
            rights = [tuple(g[part] for g in golds) for golds in gold]
            givens = [given.get(part) if isinstance(given, Mapping) else None for given in answers]
            output = output.parts[part]
        found[name] = score(of, rights, givens, output)
    return found


def score_key(name: str, of: Metric) -> str:
    """Name a kept score: by the field that it is for, and the metric's signature, whatever the release."""
    return f"{split_name(name)[0]}/{signature(of)}".rpartition("|taskloom:")[0]
