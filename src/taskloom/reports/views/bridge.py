"""Bridges of partitions, drawn: whether meta tasks lead from a target's inputs to its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...core import Suite
from ...errors import TaskloomError
from ...studies.results import Results
from ...studies.views import Settings
from ...suites.bridges import Partition, bridge
from ...suites.fields import parse_task_id
from ..bridge_plots import bridge_plot, bridge_text
from ..figures import Figure, ReportData


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridges:
    """Partitions drawn: fields as nodes, meta tasks as arrows, the target dashed."""

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: what has no partition is not drawn."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw the partitions that the study has trained in, or else those that ask about its tasks."""
        found = partitions_of(data.results)
        if not found:
            return
        titles = {field: title for task in data.results.suite.tasks.values() for field, title in task.titles.items()}
        rows = []
        for name, of in found.items():
            shape = bridge(of)
            leaps = shape.leaps if shape.leaps >= 0 else "none"
            rows.append((name, ", ".join(of.meta), of.target, bridge_text(shape), leaps))
        yield Figure(
            title="Bridges between tasks",
            columns=("partition", "meta tasks", "target", "bridge", "leaps"),
            rows=tuple(rows),
            notes=("fields are nodes, meta tasks are arrows, the target is dashed; leaps are fields on the way",),
            plot=_side_by_side(found, titles),
        )


def _side_by_side(found: Mapping[str, Partition], titles: Mapping[str, str]) -> str:
    return f'<div class="panels">{"".join(bridge_plot(name, of, titles) for name, of in found.items())}</div>'


def partitions_of(results: Results) -> dict[str, Partition]:
    """Give the folds of field tasks that models were trained in, or all that ask about a task of the results."""
    asked = {o.task for o in results.outcomes}
    trained = {o.fold for o in results.outcomes if o.fold}
    folds = [name for name in results.suite.folds if name in trained or not trained]
    return {name: of for name in folds if (of := partition_in(results.suite, name)) and of.target in asked}


def partition_in(suite: Suite, fold: str) -> Partition | None:
    """Give a fold as a partition, where it asks about one task, and its tasks are made of fields."""
    roles = suite.folds.get(fold, {})
    meta, targets = roles.get("train", ()), roles.get("test", ())
    try:
        for task in (*meta, *targets):
            parse_task_id(task)
    except TaskloomError:
        return None
    return Partition(meta, targets[0]) if meta and len(targets) == 1 else None
