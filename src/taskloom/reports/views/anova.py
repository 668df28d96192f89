"""Whether learners differ over seeds: one-way analysis of variance, and Tukey's honest significant differences."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal, TypeAlias, get_args

from ...errors import UnknownNameError
from ...stats import Anova as Analysis
from ...stats import Contrast, anova, student_interval
from ...studies.results import Outcome
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers
from ..figures import Figure, ReportData, Value
from .values import wanted_values

Over: TypeAlias = Literal["training", "seed"]
LEVEL = 0.05
COLUMNS = ("learner", "mean", "standard deviation", "seeds", "difference from the best", "p", "")
MARK = "not significantly different from the best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anova:
    """Means over values for each seed of training, or of draws: which learners differ significantly from the best."""

    over: Over = "training"
    metric: str = naming("metric", default="")  # none: the mean over all values
    learners: tuple[str, ...] = naming("learner", default=())  # none: all but baselines
    by: str = naming("tag of tasks", default="")  # one analysis for each of its values too, and one of all tasks

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Name an unknown kind of seed."""
        if self.over not in get_args(Over):
            yield str(UnknownNameError("seed", self.over, get_args(Over)))

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Compare the means of learners that have all values at two seeds or more."""
        wanted = self._wanted(data)
        tags = {task: data.results.suite.tasks[task].tags.get(self.by, ()) for task in wanted}
        for value in dict.fromkeys(value for own in tags.values() for value in own) if self.by else ():
            some = {task: own for task, own in wanted.items() if value in tags[task]}
            yield from self._figures(data, some, f"{self._what}, {self.by} {value}")
        yield from self._figures(data, wanted, self._what)

    @property
    def _what(self) -> str:
        return self.metric or "mean over values"

    def _figures(self, data: ReportData, wanted: Mapping[str, Sequence[str]], what: str) -> Iterator[Figure]:
        baselines = () if self.learners else data.results.baselines
        names = [n for n in self.learners or data.results.learners if n not in baselines]
        found = {name: self._means(data, name, wanted) for name in names}
        groups = {name: values for name, values in found.items() if len(values) > 1}
        lacking = [name for name in names if name not in groups]
        if len(groups) > 1:
            yield _figure(groups, lacking, self.over, what)

    def _wanted(self, data: ReportData) -> dict[str, list[str]]:
        if not self.metric:
            return wanted_values(data)
        having = dict.fromkeys(o.task for o in data.results.outcomes if self.metric in o.scores)
        return {task: [self.metric] for task in having}

    def _means(self, data: ReportData, learner: str, wanted: Mapping[str, Sequence[str]]) -> list[float]:
        """Give a learner's mean over values at each seed; none at a seed that lacks some."""
        scored: dict[int, dict[tuple[str, str], dict[object, list[float]]]] = defaultdict(dict)
        for o in data.results.outcomes:
            if o.learner == learner:
                for metric in wanted.get(o.task, ()):
                    if metric in o.scores:
                        by_shots = scored[self._seed(o)].setdefault((o.task, metric), {})
                        by_shots.setdefault(o.shots, []).append(o.scores[metric].value)
        count = sum(map(len, wanted.values()))
        means = (
            fmean(fmean(map(fmean, settings.values())) for settings in values.values())
            for _, values in sorted(scored.items())
            if len(values) == count
        )
        return [mean for mean in means if not math.isnan(mean)]

    def _seed(self, of: Outcome) -> int:
        return of.training if self.over == "training" else of.seed


def _figure(groups: Mapping[str, Sequence[float]], lacking: Sequence[str], over: str, what: str) -> Figure:
    found = anova(groups)
    order = sorted(groups, key=lambda name: -fmean(groups[name]))
    rows = [_row(name, groups[name], _from_best(found, order[0], name)) for name in order]
    return Figure(
        title=f"Analysis of variance over seeds of {'training' if over == 'training' else 'draws'}: {what}",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(found, groups, lacking)),
    )


def _row(name: str, values: Sequence[float], apart: Contrast | None) -> tuple[Value, ...]:
    mark = MARK if apart is None or not apart.p < LEVEL else ""
    p = "" if apart is None else numbers.p_value(apart.p)
    return name, student_interval(values), f"{100 * stdev(values):.2f}", len(values), apart, p, mark


def _from_best(found: Analysis, best: str, name: str) -> Contrast | None:
    """Give the difference of a learner from the best, whichever way round the pair stands."""
    for pair in found.pairs:
        if {pair.a, pair.b} == {best, name}:
            if pair.a == name:
                return pair
            return replace(pair, a=name, b=best, difference=-pair.difference, low=-pair.high, high=-pair.low)
    return None


def _notes(found: Analysis, groups: Mapping[str, Sequence[float]], lacking: Sequence[str]) -> Iterator[str]:
    within = sum(map(len, groups.values())) - len(groups)
    if math.isnan(found.f):
        yield "no test: the scores of each learner are the same at all seeds"
    else:
        f = f"{found.f:.3g}" if math.isfinite(found.f) else "infinite"
        yield f"one-way analysis of variance: F({len(groups) - 1}, {within}) = {f}, p {_sign(found.p)}"
        yield (
            f"Tukey's honest significant differences of {counted(len(groups), 'learner')}; p and 95 % intervals are of "
            f"all pairs together; marked: {MARK} at {LEVEL:g}"
        )
    if lacking:
        yield f"left out, having fewer than two seeds with all values: {', '.join(lacking)}"


def _sign(p: float) -> str:
    text = numbers.p_value(p)
    return text if text.startswith("<") else f"= {text}"
