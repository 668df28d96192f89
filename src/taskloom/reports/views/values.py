"""Means over values, not tasks: a task that is judged by two metrics counts twice, as in SciRepEval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...benchmarks.published import names, published
from ...errors import UnknownNameError
from ...stats import Estimate, mean_of_values
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, svg
from ..figures import Figure, ReportData
from .published import what_is_published

TITLE = "Means over values"
TAG = "values"  # of a task: the metrics that count; without it, its first
Found: TypeAlias = Mapping[str, Mapping[str, Estimate]]  # task -> metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """Each learner's mean over the values of all tasks, and of those with each value of a tag."""

    by: str = naming("tag of tasks", default="")  # such as one that says which were trained on
    paper: str = naming("paper", default="")  # the benchmark whose published means are shown too
    tables: str = ""  # what its tables are by; "": the tag
    only: str = ""  # tasks with TAG=VALUE alone
    learners: tuple[str, ...] = naming("learner", default=())  # none: all
    title: str = ""

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Name a restriction that is none, and tables that the paper does not have."""
        if self.only and "=" not in self.only:
            yield f"only must be TAG=VALUE: {self.only!r}"
        if self.paper in names() and self.tables not in (known := {"", *(f.by for f in published(self.paper).figures)}):
            yield str(UnknownNameError("table", self.tables, sorted(known - {""})))

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Average values, with those of learners that lack some left out."""
        wanted = {task: own for task, own in wanted_values(data).items() if self._is_shown(data, task)}
        shown = self.learners or tuple(data.results.learners)
        found = {learner: values_of(data, learner, wanted) for learner in shown}
        groups = self._groups(data, wanted)
        means = {name: [mean_of(of, tasks, wanted) for tasks in groups.values()] for name, of in found.items()}
        if any(estimate for own in means.values() for estimate in own):
            printed = published(self.paper).by(self.tables or self.by) if self.paper else []
            theirs = [
                (f"{name}, published", *map(of.get, groups)) for one in printed for name, of in one.values.items()
            ]
            told = [note for one in printed for note in what_is_published(data, one, published(self.paper).paper)]
            yield Figure(
                title=self.title or TITLE, columns=("learner", *groups), notes=(*_notes(found, wanted, data), *told),
                rows=(*((name, *own) for name, own in means.items()), *theirs), plot=_plot(means, list(groups)),
            )  # fmt: skip

    def _is_shown(self, data: ReportData, task: str) -> bool:
        tag, _, value = self.only.partition("=")
        return not self.only or value in data.results.suite.tasks[task].tags.get(tag, ())

    def _groups(self, data: ReportData, wanted: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Give the tasks of each column."""
        groups: dict[str, list[str]] = {}
        for task in wanted:
            for value in data.results.suite.tasks[task].tags.get(self.by, ()) if self.by else ():
                groups.setdefault(value, []).append(task)
        return groups | {"all": list(wanted)}


def _plot(rows: Mapping[str, Sequence[Estimate | None]], columns: Sequence[str]) -> str:
    shown = [(n, [numbers.shown(e, True).value if e else None for e in means], "hue0") for n, means in rows.items()]
    return svg.heat(shown, columns, TITLE)


def wanted_values(data: ReportData) -> dict[str, list[str]]:
    """Give the metrics of each task that count, of those that are shown in points."""
    shown = {(task, board.metric) for board in data.leaderboards if board.points for task in board.tasks}
    found = {}
    for name in dict.fromkeys(o.task for o in data.results.outcomes):
        task = data.results.suite.tasks[name]
        metrics = task.tags.get(TAG, ()) or task.metrics[:1]
        if own := [metric for metric in metrics if (name, metric) in shown]:
            found[name] = own
    return found


def values_of(data: ReportData, learner: str, wanted: Mapping[str, Sequence[str]]) -> Found:
    """Give a learner's values: of a task with several settings of shots the mean over them, none where it lacks one."""
    found: dict[str, dict[str, Estimate]] = {}
    for task, metrics in wanted.items():
        for metric in metrics:
            settings = _settings(data, task, metric)
            known = [e for own in settings if (e := own.get(learner)) and not math.isnan(e.value)]
            if known and len(known) == len(settings):
                found.setdefault(task, {})[metric] = mean_of_values([known])
    return found


def _settings(data: ReportData, task: str, metric: str) -> list[Mapping[str, Estimate]]:
    """Give the scores of a task at each setting of shots that counts: those that more than baselines have."""
    every = [board.tasks[task] for board in data.leaderboards if board.metric == metric and task in board.tasks]
    baselines = data.results.baselines
    asked = [own for own in every if any(n not in baselines and not math.isnan(e.value) for n, e in own.items())]
    return asked or every


def mean_of(of: Found, tasks: Sequence[str], wanted: Mapping[str, Sequence[str]]) -> Estimate | None:
    """Average the values of these tasks; none where some are missing."""
    values = [[of[task][metric] for metric in wanted[task] if metric in of[task]] for task in tasks if task in of]
    complete = sum(map(len, values)) == sum(len(wanted[task]) for task in tasks)
    return mean_of_values(values) if complete and values else None


def _notes(found: Mapping[str, Found], wanted: Mapping[str, Sequence[str]], data: ReportData) -> Iterator[str]:
    count = sum(map(len, wanted.values()))
    yield (
        f"means over {counted(count, 'value')} of {counted(len(wanted), 'task')}, in points; intervals are for these "
        "tasks, and allow for values of one task that err together"
    )
    lacking = {name: count - sum(map(len, of.values())) for name, of in found.items()}
    if some := [f"{name} ({lost:,})" for name, lost in lacking.items() if lost]:
        yield f"no mean where values are missing: {', '.join(some)}"
    points = wanted_values(data)
    unshown = [name for name in dict.fromkeys(o.task for o in data.results.outcomes) if name not in points]
    if unshown:
        yield f"{counted(len(unshown), 'task')} without a value in points: {', '.join(unshown[:5])}"
