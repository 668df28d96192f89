"""The metrics of a study: those that it names, for every task that they can score, or else the tasks' own.

Scores are derived from answers: other metrics never run a cell again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..core import Fields, Task
from ..errors import TaskloomError
from ..messages import Note
from ..scores.mean import MEAN
from ..scores.tasks import parts_of, split_name


def metrics_of(task: Task, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Name the metrics of a task: those wanted that can score it, or its own where none are.

    A metric without a field scores each field that it can, where answers have several.

    >>> from taskloom.core import Number, Text
    >>> both = Task(id="t", instruction="", output=Fields({"title": Text(), "year": Number()}), metrics=("year/mse",))
    >>> metrics_of(both), metrics_of(both, ["rouge-l", "tau-b", "ndcg"])
    (('year/mse',), ('title/rouge-l', 'year/tau-b'))
    """
    if not wanted:
        return task.metrics
    return tuple(dict.fromkeys(name for one in wanted for name in _names(task, one) if not _misfit(task, name)))


def metric_faults(tasks: Sequence[Task], wanted: Sequence[str]) -> Iterator[Note]:
    """Note the wanted metrics that can score none of the tasks, and tasks that none of them can score."""
    for name in wanted:
        if not any(metrics_of(task, [name]) for task in tasks):
            reasons = (_misfit(task, typed) for task in tasks for typed in _names(task, name))
            yield Note.of("metric-unused", metric=name, reason=next(reasons, None) or Note.of("no-task"))
    if bare := [task.id for task in tasks if wanted and not metrics_of(task, wanted)]:
        own = dict.fromkeys(metric for task in tasks if task.id in bare for metric in task.metrics)
        yield Note.of("task-unscored", tasks=bare, metrics=list(own))


def all_metrics(tasks: Iterable[Task], wanted: Sequence[str] = ()) -> list[str]:
    """Name the metrics that any of the tasks has, each once."""
    return list(dict.fromkeys(name for task in tasks for name in metrics_of(task, wanted)))


def _names(task: Task, name: str) -> list[str]:
    """Name a metric as the task would: for each field where answers have several and none is named."""
    is_whole = not isinstance(task.output, Fields) or split_name(name)[0] or name == MEAN
    return [name] if is_whole else [f"{part}/{name}" for part in task.output.parts]  # type: ignore[union-attr]


def _misfit(task: Task, name: str) -> Note | None:
    """Note why a metric can't score a task, if so."""
    try:
        list(parts_of(task, (name,)))
    except TaskloomError as error:
        return error.note
    return None
