"""Scores by a tag of tasks, or by how episodes were drawn: their way, their shots, and whether classes have as many."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...benchmarks.published import Figures, published
from ...episodes import Shots, shots_text
from ...stats import Contrast, Estimate
from ...studies.results import Outcome
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, plots
from ..contrasts import corrected, differs
from ..episode_groups import PARTS, DrawPart, Group, Grouping, by_draw, by_setting, by_tag, place_of
from ..figures import Figure, ReportData, Value
from ..group_plots import cut_note, group_strips
from ..group_scores import GroupScore, group_differences, group_scores
from ..leaderboards import ScoreField
from ..printed_means import DATA_SET, data_set_of, other_than_published
from .published import what_is_published

Outcomes: TypeAlias = Mapping[Shots, Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One learner on one group of episodes."""

    group: Group
    shots: Shots
    learner: str
    found: GroupScore


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Scores by tags of tasks, and by how episodes were drawn."""

    tags: tuple[str, ...] = naming("tag of tasks", default=())
    draw: tuple[DrawPart, ...] = ()
    metric: str = naming("metric", default="")  # none: the first
    against: str = naming("learner", default="")  # that all others are compared with
    bins: int = 8  # groups that numbers are put into, where there are more
    paper: str = naming("paper", default="")  # the benchmark whose published figures by the same tag are shown too

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Ask for something to group by, and for two groups or more."""
        if not self.tags and not self.draw:
            yield f"name tags of tasks, or what is drawn ({', '.join(PARTS)})"
        if self.bins < 2:
            yield f"bins must be >= 2: {self.bins}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show a table and a plot for each tag, and for each part of a draw."""
        metric = self.metric or data.first
        outcomes, suite = by_setting(data.results.outcomes, metric), data.results.suite
        groupings = [*(by_tag(suite, tag) for tag in self.tags), *(by_draw(part, self.bins) for part in self.draw)]
        fields = {shots: ScoreField.of(metric, shots, some, data.how) for shots, some in outcomes.items()}
        for grouping in groupings:
            groups = {shots: grouping.groups(some) for shots, some in outcomes.items()}
            rows = list(self._rows(data, groups, fields))
            if rows:
                yield self._figure(data, metric, grouping, rows, outcomes)
            if grouping.is_draw:
                yield from _apart(metric, grouping, groups, fields)

    def _rows(
        self, data: ReportData, groups: Mapping[Shots, Sequence[Group]], fields: Mapping[Shots, ScoreField]
    ) -> Iterator[GroupRow]:
        for shots, some in groups.items():
            for group in some:
                found = group_scores(fields[shots], group, self.against)
                yield from (GroupRow(group, shots, n, found[n]) for n in data.results.learners if n in found)

    def _figure(
        self, data: ReportData, metric: str, grouping: Grouping, rows: Sequence[GroupRow], outcomes: Outcomes
    ) -> Figure:
        points = data.in_points(metric)
        fair = _corrected(rows)
        tested = (f"less {self.against}", "p (Holm)") if fair else ()
        about = f"{metric} by {grouping.title}"
        printed = [] if grouping.is_draw or not self.paper else _printed(self.paper, grouping.name, metric)
        told = [note for one in printed for note in what_is_published(data, one, published(self.paper).paper)]
        others = _others(data, self.paper) if printed and grouping.name == DATA_SET else {}
        theirs = _published_rows([row for row in rows if row.group.name not in others], printed)
        return Figure(
            title=about,
            columns=(grouping.name, "shots", "learner", "tasks", "episodes", metric, *tested),
            rows=(
                *((*_cells(row), *(_tested(fair.get(at)) if tested else ())) for at, row in enumerate(rows)),
                *((*cells, *([None] * len(tested))) for cells in theirs),
            ),
            notes=(*_notes(rows, outcomes, grouping, self.against if fair else ""), *told, *others.values()),
            points=points,
            plot=_plot(rows, about, (grouping.title, metric), data.results.baselines, points=points),
        )


# --- what is shown ---------------------------------------------------------------------------------------------------


def _cells(row: GroupRow) -> tuple[Value, ...]:
    found = row.found
    return row.group.name, row.shots, row.learner, found.tasks, found.episodes, found.score


def _printed(paper: str, tag: str, metric: str) -> list[Figures]:
    """Give the tables of a paper that are by this tag and of this metric."""
    return [figures for figures in published(paper).by(tag) if figures.metric == metric]


def _others(data: ReportData, paper: str) -> dict[str, str]:
    """Say of which data sets published figures are left out, because they are of another task, and why."""
    tasks = [data.results.suite.tasks[name] for name in sorted({o.task for o in data.results.outcomes})]
    found = {data_set_of(task): other_than_published(task, published(paper)) for task in tasks}
    return {name: str(why) for name, why in found.items() if why}


def _published_rows(rows: Sequence[GroupRow], printed: Sequence[Figures]) -> Iterator[tuple[Value, ...]]:
    """Give what a paper says of the groups that are here, each method after the other."""
    for group in dict.fromkeys(row.group.name for row in rows):
        for one in printed:
            for method, values in one.values.items():
                if group in values:
                    yield group, None, f"{method}, published", None, None, values[group]


def _corrected(rows: Sequence[GroupRow]) -> dict[int, Contrast]:
    """Correct all differences of a table as one family of tests: by the number of the row."""
    found = {at: row.found.difference for at, row in enumerate(rows) if row.found.difference}
    return dict(zip(found, corrected(list(found.values())), strict=True))


def _tested(c: Contrast | None) -> tuple[Value, Value]:
    return (c, numbers.p_value(c.p)) if c else (None, None)


def _notes(rows: Sequence[GroupRow], outcomes: Outcomes, grouping: Grouping, against: str) -> Iterator[str]:
    yield "means over the tasks of a group of the means over their episodes there; bars are confidence intervals"
    if any(row.group.is_bin for row in rows):
        yield "episodes with numbers near each other are put together, about as many in each group"
    grouped = {(row.shots, place) for row in rows for place in row.group.places}
    if without := {(shots, place_of(o)) for shots, some in outcomes.items() for o in some} - grouped:
        tasks = counted(len({place[0] for _, place in without}), "task")
        yield f"not shown, as they have no value here: {counted(len(without), 'episode')} of {tasks}"
    yield from cut_note(len({(row.shots, row.group.name) for row in rows if math.isnan(row.group.x)}))
    if grouping.is_draw and _differ_in_tasks(rows):
        yield "groups have different tasks: a difference between groups may be one between tasks"
    if single := sum(row.found.single > 0 for row in rows):
        yield f"some tasks have one episode, whose variance is not covered: in {counted(single, 'row')}"
    if against:
        yield f"less {against}: the paired difference on the same items; p is corrected for all rows (Holm)"


def _differ_in_tasks(rows: Sequence[GroupRow]) -> bool:
    tasks: dict[Shots, set[frozenset[str]]] = {}
    for row in rows:
        tasks.setdefault(row.shots, set()).add(frozenset(place[0] for place in row.group.places))
    return any(len(found) > 1 for found in tasks.values())


def _apart(
    metric: str, grouping: Grouping, groups: Mapping[Shots, Sequence[Group]], fields: Mapping[Shots, ScoreField]
) -> Iterator[Figure]:
    """Compare two groups that have a name, learner by learner."""
    for shots, some in groups.items():
        named = {group.name: group.places for group in some if math.isnan(group.x)}
        found = group_differences(fields[shots], named) if len(named) == 2 else {}
        if found:
            about = f"{metric}: {' less '.join(named)}, {shots_text(shots)}"
            points = fields[shots].kind.points
            drawn = [_difference_row(name, of.contrast, points=points) for name, of in found.items()]
            yield Figure(
                title=about,
                columns=("learner", "tasks", "episodes", "difference", "p (Holm)"),
                rows=tuple(
                    (n, of.tasks, of.episodes, of.contrast, numbers.p_value(of.contrast.p)) for n, of in found.items()
                ),
                notes=(
                    f"of the means over tasks that have both; episodes differ in more than their {grouping.name}",
                    "p is corrected for all learners (Holm)",
                ),
                points=points,
                plot=plots.responsive(functools.partial(_forest, drawn, about)),
            )


def _difference_row(name: str, c: Contrast, *, points: bool) -> plots.Row:
    shown = numbers.shown(Estimate(c.difference, c.low, c.high, c.n), points)
    return plots.Row(name, shown, numbers.score(c, points), "apart" if differs(c) else "")


def _forest(rows: Sequence[plots.Row], about: str, width: int) -> str:
    return plots.forest(rows, about, axis=about, width=width)


def _plot(
    rows: Sequence[GroupRow], about: str, axes: tuple[str, str], baselines: Collection[str], *, points: bool
) -> str:
    if not math.isnan(rows[0].group.x):
        return "".join(_curves(rows, about, axes, baselines, points=points))
    spots = [(row.group.name, row.shots, row.learner, row.found.score) for row in rows]
    return group_strips(spots, about, points=points, baselines=baselines)


def _curves(
    rows: Sequence[GroupRow], about: str, axes: tuple[str, str], baselines: Collection[str], *, points: bool
) -> Iterator[str]:
    """Draw curves over all settings of shots, or for each setting where these share numbers."""
    over, metric = axes
    settings = list(dict.fromkeys(row.shots for row in rows))
    parts = {f"{metric}, {shots_text(n)}": [row for row in rows if row.shots == n] for n in settings}
    xs = [{row.group.x for row in some} for some in parts.values()]
    if len(set().union(*xs)) == sum(map(len, xs)):
        parts = {metric: sorted(rows, key=lambda row: row.group.x)}
    for up, some in parts.items():
        lines: dict[str, list[plots.Spot]] = {}
        for row in some:
            lines.setdefault(row.learner, []).append((row.group.x, numbers.shown(row.found.score, points)))
        drawn = [plots.Curve(name, spots, name in baselines) for name, spots in lines.items()]
        yield plots.responsive(functools.partial(_drawn, drawn, about, over, up))


def _drawn(curves: Sequence[plots.Curve], about: str, over: str, up: str, width: int) -> str:
    return plots.curves(curves, about, over=over, up=up, width=width)
