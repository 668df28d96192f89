"""How the answers of a cell are scored: by every metric of its task, field by field where it has several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core import Fields, Output, Task
from ..errors import UnknownNameError
from . import METRICS, TYPED, Metric, Scored, metric, score, signature
from .mean import MEAN, Mean, joined, mean_of


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


def parts_of(task: Task, metrics: Sequence[str] = ()) -> Iterator[tuple[str, str, Metric]]:
    """Give each metric of a task, or each of these: its name, the field that it is for, and the metric itself."""
    for name in metrics or task.metrics:
        part, typed = split_name(name)
        parts: Mapping[str, Output] = task.output.parts if isinstance(task.output, Fields) else {}
        if part and part not in parts:
            raise UnknownNameError(f"field of metric {name!r}", part, parts)
        if name == MEAN:
            yield name, "", mean_of([of for _, _, of in parts_of(task, _own(task))])
        else:
            yield name, part, metric(typed, parts[part] if part else task.output)


def score_task(
    task: Task, gold: Sequence[Any], answers: Sequence[Any], metrics: Sequence[str] = ()
) -> dict[str, Scored]:
    """Score answers by each metric of their task, or by these; those of several fields part by part."""
    found: dict[str, Scored] = {}
    for name, part, of in parts_of(task, metrics):
        if isinstance(of, Mean):
            found[name] = joined(of, list(score_task(task, gold, answers, _own(task)).values()))
            continue
        rights, givens, output = gold, answers, task.output
        if part and isinstance(output, Fields):
            rights = [tuple(g[part] for g in golds) for golds in gold]
            givens = [given.get(part) if isinstance(given, Mapping) else None for given in answers]
            output = output.parts[part]
        found[name] = score(of, rights, givens, output)
    return found


def _own(task: Task) -> list[str]:
    """Name the metrics that a task's mean is of."""
    return [name for name in task.metrics if name != MEAN]


def score_key(name: str, of: Metric) -> str:
    """Name a kept score: by the field that it is for, and the metric's signature, whatever the release."""
    return f"{split_name(name)[0]}/{signature(of)}".rpartition("|taskloom:")[0]
