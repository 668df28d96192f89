"""What transfers to what: gains of learners that start from meta tasks over one that does not, on each target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...episodes import shots_text
from ...errors import UnknownNameError
from ...messages import Note
from ...stats import Contrast
from ...studies.results import Results
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, plots, svg
from ..contrasts import differs
from ..draws import How
from ..figures import Figure, ReportData, Value
from ..transfer import Gains, gains_of
from ..transfer_bridges import bridges, is_connected
from ..transfer_choice import choice_figure, choices
from ..transfer_plots import STYLES, Arrow, Sure, gain_graph, gain_matrix

ALL = "all targets"  # the column of means
KINDS = ("meta task", "target")
MOST_NODES = 40  # on a side of the graph, above which only those with an arrow are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Gains of learners that start from meta tasks over one that does not, on each target."""

    few: str = naming("learner")
    meta: Mapping[str, tuple[str, ...]]  # learners -> the meta tasks that they start from
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # learners -> those whose tasks they start from
    choose: int = 0  # meta tasks for a target, as learners of `meta`
    among: tuple[int, ...] = ()  # meta tasks and targets that could have been measured

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name learners that the study does not have, and sets of what is no learner that starts from meta tasks."""
        for name in (*self.meta, *self.sets):
            if name not in settings:
                yield str(UnknownNameError("learner", name, settings))
        for name in (name for members in self.sets.values() for name in members):
            if name not in self.meta:
                yield str(UnknownNameError("learner with meta tasks", name, self.meta))

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw the matrix and the graph of gains, bridges where tasks are made of fields, and what to choose."""
        gains = gains_of(data.results, self.few, tuple(self.meta), data.how)
        if not gains:
            return
        yield from self._matrices(data.results, gains)
        yield self._graph(data.results, gains)
        yield from bridges(data.results.suite, gains, self.meta)
        if self.choose:
            together = gains_of(data.results, self.few, tuple(self.sets), data.how) if self.sets else None
            named = {members: name for name, members in self.sets.items()}
            yield choice_figure(gains, choices(gains.values(), self.choose), self.choose, together, named)

    def chosen(self, results: Results) -> dict[str, list[tuple[str, ...]]]:
        """Give what is chosen for each target, and as many at random: sets of learners to be trained together."""
        gains = gains_of(results, self.few, tuple(self.meta), How(count=1))
        made = choices(gains.values(), self.choose) if gains else []
        return {of.target: [of.chosen, of.random] for of in made} if len(made) > 1 else {}

    # --- figures -----------------------------------------------------------------------------------------------------

    def _matrices(self, results: Results, gains: Gains) -> Iterator[Figure]:
        """Lay gains out: targets whose metrics are in points together, with means; others by their metric."""
        groups: dict[str, list[str]] = {}
        for name in sorted(gains.targets, key=lambda name: name not in gains.in_points):
            groups.setdefault("" if name in gains.in_points else gains.metrics[name], []).append(name)
        for metric, targets in groups.items():
            yield self._matrix(results, gains, targets, points=not metric)

    def _matrix(self, results: Results, gains: Gains, targets: Sequence[str], *, points: bool) -> Figure:
        rows = [name for name in gains.learners if any((name, target) in gains.at for target in targets)]
        metrics = ", ".join(dict.fromkeys(gains.metrics[name] for name in targets))
        title = f"Gain of each meta task on each target: {metrics}, {shots_text(gains.shots)}"
        cells = {name: [gains.at.get((name, target)) for target in targets] for name in rows}
        means = gains.overall() if points and len(targets) > 1 else {}
        drawn = [
            _arrow(name, t, c, points=points) for name in rows for t, c in zip(targets, cells[name], strict=True) if c
        ]
        return Figure(
            title=title,
            columns=("meta task", *targets, *([ALL] if means else [])),
            rows=tuple((_bare(name), *cells[name], *([means[name]] if means else [])) for name in rows),
            notes=tuple(self._matrix_notes(results, gains, targets, points=points)),
            points=points,
            plot=_matrix_plot(drawn, rows, targets, means, title),
        )

    def _matrix_notes(self, results: Results, gains: Gains, targets: Sequence[str], *, points: bool) -> Iterator[str]:
        found = [c for (_, target), c in gains.at.items() if target in targets]
        sure = [c.difference > 0 for c in found if differs(c)]
        unit = " in points" if points else ""
        yield f"gain{unit}: the score with training on the meta task less that of {self.few}, paired on the same items"
        counts = f"gains {sum(sure)}, losses {len(sure) - sum(sure)}, of {counted(len(found), 'pair')}"
        yield f"* significant: {counts}; p is corrected for all pairs (Holm)"
        if points and len(targets) > 1:
            yield f"{ALL}: the mean over those that the meta task was measured on"
        single = sum(len(gains.drawn[self.few][name].valued) == 1 for name in targets)
        if single and gains.shots != 0:
            yield str(Note.of("single-episodes", tasks=single, of=len(targets)))
        if sample := self._sample(results):
            yield sample

    def _sample(self, results: Results) -> str:
        """Say what was dropped to fit a budget, before anything was run."""
        asked = {o.task for o in results.outcomes} | {task for _, task, _ in results.not_run}
        sizes = (len(self.meta), len(asked))
        if not self.among or sizes == self.among:
            return ""
        meta, targets = (f"{n} of {counted(of, what)}" for n, of, what in zip(sizes, self.among, KINDS, strict=True))
        return f"a sample, to fit the budget: {meta}, {targets}"

    def _graph(self, results: Results, gains: Gains) -> Figure:
        """List all pairs, and draw those that are sure."""
        title = "What transfers to what"
        connected = {pair: is_connected(results.suite, self.meta[pair[0]], pair[1]) for pair in gains.at}
        of_fields = None not in connected.values()
        order = sorted(gains.at.items(), key=lambda found: (found[0][1] not in gains.in_points, -found[1].difference))
        arrows = [_arrow(*pair, c, points=pair[1] in gains.in_points) for pair, c in order]
        return Figure(
            title=title,
            columns=("meta task", "target", "gain", "p (Holm)", *(["connected"] if of_fields else [])),
            rows=tuple(
                (
                    _bare(name),
                    target,
                    _written(gains, target, c),
                    numbers.p_value(c.p),
                    *_answer(connected[name, target]),
                )
                for (name, target), c in order
            ),
            notes=tuple(_graph_notes(arrows)),
            plot=_graph_plot(arrows, gains, title),
        )


def _bare(learner: str) -> str:
    """Name the meta tasks of a learner."""
    return learner.removeprefix("+")


def _arrow(learner: str, target: str, c: Contrast, *, points: bool) -> Arrow:
    sure: Sure = "significant" if differs(c) else "interval" if c.low > 0 or c.high < 0 else "no"
    gain = 100 * c.difference if points else c.difference
    return Arrow(_bare(learner), target, gain, numbers.score(c, points), sure)


def _matrix_plot(
    drawn: Sequence[Arrow], rows: Sequence[str], targets: Sequence[str], means: Mapping[str, Contrast], title: str
) -> str:
    added = [_arrow(name, ALL, c, points=True) for name, c in means.items()]
    names, columns = [_bare(name) for name in rows], [*targets, *([ALL] if means else [])]
    both = [*drawn, *added]
    return plots.responsive(lambda width: gain_matrix(both, names, columns, title, width=width)) + svg.dot_key(STYLES)


def _written(gains: Gains, target: str, c: Contrast) -> Value:
    return c if target in gains.in_points else numbers.score(c, points=False)


def _answer(connected: bool | None) -> list[str]:
    return [] if connected is None else ["yes" if connected else "no"]


def _graph_notes(arrows: Sequence[Arrow]) -> Iterator[str]:
    weak = sum(arrow.sure == "interval" for arrow in arrows)
    strong = any(arrow.sure == "significant" for arrow in arrows)
    if not strong:
        yield f"no gain and no loss is significant, of {counted(len(arrows), 'pair')}"
    else:
        yield "bands: significant after Holm's correction, as wide as the gain or loss is large"
    if weak:
        yield f"broken lines: only the uncorrected interval leaves out 0 ({weak} of {len(arrows)}); some are by chance"
    elif not strong:
        yield "not drawn: there is nothing to draw an arrow for"


def _graph_plot(arrows: Sequence[Arrow], gains: Gains, title: str) -> str:
    shown = [arrow for arrow in arrows if arrow.sure != "no"]
    if not shown:
        return ""
    starts, ends = [_bare(name) for name in gains.learners], list(gains.targets)
    if max(len(starts), len(ends)) > MOST_NODES:
        starts = [name for name in starts if any(arrow.start == name for arrow in shown)]
        ends = [name for name in ends if any(arrow.end == name for arrow in shown)]
    drawn = plots.responsive(lambda width: gain_graph(shown, starts, ends, title, width=width))
    return drawn + svg.dot_key(STYLES)
