"""Means over episodes as a paper prints them, data set by data set, with the intervals that their deviations make."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ..benchmarks.published import Figures, Published, published
from ..core import Labels, Suite, Task
from ..episodes import Shots
from ..messages import Note
from ..stats import Estimate, mean_interval
from ..suites.transfer_types import TRANSFER
from .figures import Value
from .group_plots import GroupSpot

DATA_SET = "data set"  # what figures are by, and the tag of tasks that has their name; else it is in a task's id
DEVIATION = "deviation"
STATISTICS = {DEVIATION: 1, "bootstrap below": 2, "bootstrap above": 2, "1.96 errors": 2}  # with digits, in points


@dataclass(frozen=True, slots=True)
class PrintedMeans:
    """The tables of a paper that are by data set."""

    paper: Published
    metric: str
    suite: Suite

    @classmethod
    def of(cls, paper: str, metric: str, suite: Suite) -> PrintedMeans:
        """Read the figures of a paper."""
        return cls(published(paper), metric, suite)

    def rows(self, task: str, shots: Shots) -> Iterator[tuple[Value, ...]]:
        """Give what each method reached on a data set, as it is printed."""
        table, name = self._table(shots), self._data_set(task)
        for method, values in table.values.items() if table else ():
            if table and name in values:
                found = [(digits, self._statistic(of, shots, method, name)) for of, digits in STATISTICS.items()]
                spread = [None if value is None else f"{value:.{digits}f}" for digits, value in found]
                yield task, shots, f"{method}, published", table.episodes or None, values[name], *spread

    def means(self, of: str, tasks: Sequence[str], settings: Sequence[Shots]) -> Iterator[tuple[Value, ...]]:
        """Give the mean of each method over those of some data sets that the paper has."""
        tables = {shots: table for shots in settings if (table := self._table(shots))}
        for method in dict.fromkeys(method for table in tables.values() for method in table.values):
            found = [self._mean(method, tasks, shots) for shots in settings]
            if counts := [count for count, _ in found if count]:
                cells = [cell for _, e in found for cell in _cells(e)]
                yield of, f"{method}, published", max(counts), *cells

    def spots(self, of: str, tasks: Sequence[str], shots: Shots) -> Iterator[GroupSpot]:
        """Give the mean of each method over some data sets, as it is drawn."""
        table = self._table(shots)
        for method in table.values if table else ():
            _, mean = self._mean(method, tasks, shots)
            if mean:
                yield of, shots, f"{method}, published", mean

    def _mean(self, method: str, tasks: Sequence[str], shots: Shots) -> tuple[int, Estimate | None]:
        """Average printed means; their deviations make its standard error."""
        table = self._table(shots)
        values = table.values.get(method, {}) if table else {}
        names = [name for name in map(self._data_set, tasks) if name in values]
        if not table or not names:
            return 0, None
        spread = [self._statistic(DEVIATION, shots, method, name) for name in names]
        known = [deviation for deviation in spread if deviation is not None]
        n = table.episodes if len(known) == len(names) else 0
        error = math.sqrt(sum(d**2 / n for d in known)) / len(names) if n else math.nan
        mean = mean_interval(fmean(values[name] for name in names), error, n * len(names))
        return len(names), Estimate(mean.value / 100, mean.low / 100, mean.high / 100, mean.n)

    def _table(self, shots: Shots) -> Figures | None:
        return next((t for t in self.paper.by(DATA_SET) if (t.metric, t.shots) == (self.metric, shots)), None)

    def _statistic(self, what: str, shots: Shots, method: str, name: str) -> float | None:
        tables = (t for t in self.paper.by(f"{DATA_SET} {what}") if t.shots == shots)
        return next((t.values.get(method, {}).get(name) for t in tables), None)

    def _data_set(self, task: str) -> str:
        """Name the data set of a task as the paper does; nothing where the paper's figures are of another task."""
        return "" if self._other(task) else self._name(task)

    def _name(self, task: str) -> str:
        return data_set_of(self.suite.tasks[task])

    def _other(self, task: str) -> Note | None:
        return other_than_published(self.suite.tasks[task], self.paper)

    def left_out(self, tasks: Iterable[str]) -> list[str]:
        """Say of which tasks published figures are left out, and why."""
        return [str(why) for task in dict.fromkeys(tasks) if (why := self._other(task))]

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what published figures are."""
        tables = [t for t in self.paper.figures if t.by.startswith(DATA_SET)]
        where = ", ".join(dict.fromkeys(t.where.partition(",")[0] for t in tables))
        if not tables:
            return ()
        printed = f"published: {self.paper.paper}, {where}, as printed there, of other episodes; not measured here"
        return printed, *dict.fromkeys(note for t in tables for note in t.notes)

    @property
    def notes_on_means(self) -> tuple[str, ...]:
        """Say how means of published figures are made."""
        made = (
            "published: means over those of these data sets that the paper has, worked out here from its printed means"
        )
        return (f"{made}; in brackets 1.96 standard errors, from its printed deviations", *self.notes[:1])


def data_set_of(task: Task) -> str:
    """Name the data set of a task: by its tag, or else by its id."""
    return next(iter(task.tags.get(DATA_SET, ())), task.id.partition("@")[0])


def other_than_published(task: Task, paper: Published) -> Note | None:
    """Say why a task is not what a paper tested, though it has the same name: other labels, or other transfer."""
    name = data_set_of(task)
    theirs = paper.tasks.get(name)
    if theirs is None:
        return None
    if not isinstance(task.output, Labels) or {*task.output.names} != {*theirs.labels}:
        return Note.of("published-labels", task=task.id, name=name)
    here = task.tags.get(TRANSFER, ())
    if here != (theirs.transfer,):
        told = ", ".join(here) or "not known"
        return Note.of("published-transfer", task=task.id, name=name, here=told, paper=theirs.transfer)
    return None


def _cells(e: Estimate | None) -> tuple[Value, Value]:
    if e is None:
        return None, None
    return e, None if math.isnan(e.low) else f"{100 * (e.high - e.value):.2f}"
