"""Whether learners differ over seeds: one-way analysis of variance, and Tukey's honest significant differences."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal, TypeAlias, get_args

from ...benchmarks.published import ALL, published
from ...episodes import Shots
from ...errors import UnknownNameError
from ...stats import Anova as Analysis
from ...stats import Contrast, anova, student_interval
from ...studies.results import Outcome
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers
from ..figures import Figure, ReportData, Value
from .published import what_is_published
from .values import wanted_values

Over: TypeAlias = Literal["training", "seed"]
Place: TypeAlias = tuple[str, str, Shots]  # task, metric and setting
Scored: TypeAlias = dict[Place, list[float]]
LEVEL = 0.05
COLUMNS = ("learner", "mean", "standard deviation", "seeds", "difference from the best", "p", "")
MARK = "not significantly different from the best"
DEVIATION = "deviation"  # after what tables of means are by: those of their standard deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Anova:
    """Means over values for each seed of training, or of draws: which learners differ significantly from the best."""

    over: Over = "training"
    metric: str = naming("metric", default="")  # none: the mean over all values
    learners: tuple[str, ...] = naming("learner", default=())  # none: all but baselines
    by: str = naming("tag of tasks", default="")  # one analysis for each of its values too, and one of all tasks
    paper: str = naming("paper", default="")  # the benchmark whose published means over seeds are shown too

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
            yield from self._figures(data, some, value)
        yield from self._figures(data, wanted)

    def _figures(self, data: ReportData, wanted: Mapping[str, Sequence[str]], value: str = ALL) -> Iterator[Figure]:
        baselines = () if self.learners else data.results.baselines
        names = [n for n in self.learners or data.results.learners if n not in baselines]
        scored = {name: self._scored(data, name, wanted) for name in names}
        whole = {at for seeds in scored.values() for values in seeds.values() for at in values}
        found = {name: _means(seeds, whole) for name, seeds in scored.items()}
        groups = {name: values for name, values in found.items() if len(values) > 1}
        if len(groups) < 2:
            return
        higher = not self.metric or next(b.higher for b in data.leaderboards if b.metric == self.metric)
        lost = {name: len(scored[name]) - len(own) for name, own in groups.items()}
        notes = (*_left_out([name for name in names if name not in groups]), *_fewer_seeds(lost))
        points = not self.metric or data.in_points(self.metric)
        made = _figure(groups, self._title(value), notes, higher=higher, points=points)
        theirs, told = self._published(data, value)
        yield replace(made, rows=(*made.rows, *theirs), notes=(*made.notes, *told))

    def _title(self, value: str) -> str:
        of = "training" if self.over == "training" else "draws"
        part = "" if value == ALL else f", {self.by} {value}"
        return f"Analysis of variance over seeds of {of}: {self.metric or 'mean over values'}{part}"

    def _published(self, data: ReportData, value: str) -> tuple[list[tuple[Value, ...]], list[str]]:
        """Give the means and standard deviations of the paper, as rows without a test, and what is said of them."""
        if not self.paper or self.metric:
            return [], []
        of = published(self.paper)
        spread = {name: own for one in of.by(f"{self.by} {DEVIATION}") for name, own in one.values.items()}
        means = [one for one in of.by(self.by) if one.values.keys() & spread.keys()]
        rows: list[tuple[Value, ...]] = [
            (f"{name}, published", own.get(value), f"{spread[name][value]:.2f}", "", None, "", "")
            for one in means for name, own in one.values.items() if value in spread.get(name, ())
        ]  # fmt: skip
        return rows, [note for one in means for note in what_is_published(data, one, of.paper)]

    def _wanted(self, data: ReportData) -> dict[str, list[str]]:
        if not self.metric:
            return wanted_values(data)
        having = dict.fromkeys(o.task for o in data.results.outcomes if self.metric in o.scores)
        return {task: [self.metric] for task in having}

    def _scored(self, data: ReportData, learner: str, wanted: Mapping[str, Sequence[str]]) -> dict[int, Scored]:
        """Give a learner's scores at each seed, by task, metric and setting of shots."""
        scored: dict[int, Scored] = defaultdict(dict)
        for o in data.results.outcomes:
            for metric in wanted.get(o.task, ()) if o.learner == learner else ():
                if metric in o.scores:
                    scored[self._seed(o)].setdefault((o.task, metric, o.shots), []).append(o.scores[metric].value)
        return scored

    def _seed(self, of: Outcome) -> int:
        return of.training if self.over == "training" else of.seed


def _means(seeds: Mapping[int, Scored], whole: Collection[Place]) -> list[float]:
    """Give the mean over values at each seed; none at a seed that lacks one, or a setting of shots of one."""
    means = []
    for _, scored in sorted(seeds.items()):
        settings: dict[tuple[str, str], list[float]] = defaultdict(list)
        for (task, metric, _), values in scored.items():
            settings[task, metric].append(fmean(values))
        means += [fmean(map(fmean, settings.values()))] if scored.keys() == whole else []
    return [mean for mean in means if not math.isnan(mean)]


def _figure(
    groups: Mapping[str, Sequence[float]], title: str, notes: Sequence[str], *, higher: bool, points: bool
) -> Figure:
    found = anova(groups)
    order = sorted(groups, key=lambda name: fmean(groups[name]), reverse=higher)
    is_tested = not math.isnan(found.f)
    rows = []
    for name in order:
        apart = _from_best(found, order[0], name)
        is_marked = is_tested and (apart is None or not apart.p < LEVEL)
        spread = f"{100 * stdev(groups[name]):.2f}" if points else f"{stdev(groups[name]):.3g}"
        p = "" if apart is None else numbers.p_value(apart.p)
        mean = student_interval(groups[name])
        rows.append((name, mean, spread, len(groups[name]), apart, p, MARK if is_marked else ""))
    return Figure(
        title=title,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*_notes(found, groups), *notes),
        points=points,
    )


def _from_best(found: Analysis, best: str, name: str) -> Contrast | None:
    """Give the difference of a learner from the best, whichever way round the pair stands."""
    for pair in found.pairs:
        if {pair.a, pair.b} == {best, name}:
            if pair.a == name:
                return pair
            return replace(pair, a=name, b=best, difference=-pair.difference, low=-pair.high, high=-pair.low)
    return None


def _notes(found: Analysis, groups: Mapping[str, Sequence[float]]) -> Iterator[str]:
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


def _left_out(lacking: Sequence[str]) -> Iterator[str]:
    if lacking:
        yield f"left out, having fewer than two seeds with all values: {', '.join(lacking)}"


def _fewer_seeds(lost: Mapping[str, int]) -> Iterator[str]:
    if told := [f"{name} ({count:,})" for name, count in lost.items() if count]:
        yield f"seeds left out, as some value is missing there: {', '.join(told)}"


def _sign(p: float) -> str:
    text = numbers.p_value(p)
    return text if text.startswith("<") else f"= {text}"
