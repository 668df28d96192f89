"""Scores against what was trained: the number of parameters, and the seconds that it took."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...stats import Estimate
from ...studies.costs import Cost, total
from ...studies.results import Results
from ...studies.views import Settings, naming
from .. import numbers, plots
from ..figures import Figure, ReportData, counted_over
from ..leaderboards import Leaderboard, Standing
from ..log_panels import LogPanel, LogPoint, log_panels
from ..training import processor

SAME = 1.05  # budgets whose tokens differ by no more are the same
QUICK = 0.01  # seconds; what takes less has learnt nothing that a plot could show
COLUMNS = ("learner", "score", "trained parameters", "tokens of training", "seconds of training", "seconds per item",
           "peak memory")  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rung:
    """A learner with its score, and what it took: means per episode."""

    name: str
    score: Estimate
    baseline: bool
    parameters: int
    tokens: float
    seconds: float  # of training
    per_item: float  # seconds
    memory: int
    threads: int

    def row(self) -> tuple[str | int | Estimate | None, ...]:
        """Give the row of the table."""
        tokens = round(self.tokens) if self.parameters else None
        costs = (numbers.seconds(self.seconds), numbers.seconds(self.per_item), numbers.memory(self.memory))
        return self.name, self.score, self.parameters, tokens, *costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """Scores against trained parameters, and against seconds of training."""

    metric: str = naming("metric", default="")  # none: the first
    learners: tuple[str, ...] = naming("learner", default=())  # none: all

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: what trains nothing is not drawn."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw each learner at the most of its shots, where at least one was trained."""
        metric = self.metric or data.first
        ours = data.at_most(metric)
        chosen = {n: ours[n] for n in data.results.learners if n in ours and (not self.learners or n in self.learners)}
        rungs = [_rung(data.results, name, board, standing) for name, (board, standing) in chosen.items()]
        if not any(rung.parameters for rung in rungs):
            return
        rungs.sort(key=lambda rung: (rung.baseline, rung.parameters, rung.seconds))
        points = next(iter(chosen.values()))[0].points
        yield Figure(
            title=f"{metric} against trained parameters and seconds of training",
            columns=COLUMNS,
            rows=tuple(rung.row() for rung in rungs),
            notes=tuple(_notes(data.results, rungs, chosen)),
            points=points,
            plot=_plot(metric, rungs, points=points),
        )


def _rung(results: Results, name: str, board: Leaderboard, standing: Standing) -> _Rung:
    found = [o for o in results.outcomes if (o.learner, o.shots) == (name, board.shots) and board.metric in o.scores]
    whole, cells = total([o.cost for o in found]), max(1, len(found))
    asked = whole.items + sum(len(look.items) for o in found for look in o.looks)
    per_item = (whole.seconds - whole.fitting) / asked if asked else math.nan
    return _Rung(
        name, standing.score, standing.baseline, whole.trained, whole.taught / cells, whole.fitting / cells, per_item,
        whole.memory, whole.threads,
    )  # fmt: skip


def _plot(metric: str, rungs: Sequence[_Rung], *, points: bool) -> str:
    """Draw both panels; baselines are lines, for they are not trained."""
    shown = [rung for rung in rungs if not rung.baseline]
    lines = [
        plots.Row(rung.name, numbers.shown(rung.score, points), numbers.number(rung.score.value, points), "baseline")
        for rung in rungs
        if rung.baseline
    ]
    by_parameters, by_seconds = (
        [LogPoint(r.name, x, numbers.shown(r.score, points), numbers.score(r.score, points)) for r, x in found]
        for found in ([(r, float(r.parameters)) for r in shown], [(r, r.seconds) for r in shown])
    )
    panels = [
        LogPanel("trained parameters", by_parameters, "none", counts=True),
        LogPanel("seconds of training per episode", by_seconds, f"< {QUICK}", least=QUICK),
    ]
    about = f"{metric} against trained parameters and seconds of training"
    return plots.responsive(lambda width: log_panels(panels, lines, about, up=metric, width=width), plots.SIDES)


def _notes(
    results: Results, rungs: Sequence[_Rung], chosen: Mapping[str, tuple[Leaderboard, Standing]]
) -> Iterator[str]:
    """Say what the numbers are of, and what they do not show."""
    yield counted_over(chosen.values())
    for name, (_, standing) in chosen.items():
        if standing.missing:
            yield f"{name} has {standing.missing}"
    yield _measured(results, rungs)
    yield from _budget([rung for rung in rungs if rung.parameters])
    for name in chosen:
        model = results.settings.get(name, {}).get("model")
        if isinstance(model, str) and model in results.training:
            costs = results.training[model]
            yield f"{name} starts from {model}, which the study trained before: {_before(costs)}; not in these numbers"
    yield "peak memory is of the whole process, with the models that it has loaded"


def _before(costs: Sequence[Cost]) -> str:
    seconds = sum(cost.seconds for cost in costs) / max(1, len(costs))
    parameters = max((cost.trained for cost in costs), default=0)
    return f"{parameters:,} parameters, {numbers.seconds(seconds)} seconds"


def _measured(results: Results, rungs: Sequence[_Rung]) -> str:
    """Say where seconds were measured."""
    threads = [str(n) for n in sorted({rung.threads for rung in rungs if rung.threads})]
    trained = f"training with {' or '.join(threads)} thread{'' if threads == ['1'] else 's'}" if threads else ""
    where = ", ".join(filter(None, [processor(results), trained]))
    looks = ", without looks at answers on the way" if any(o.looks for o in results.outcomes) else ""
    return f"seconds are of the machine of the run{f' ({where})' if where else ''}{looks}"


def _budget(trained: Sequence[_Rung]) -> Iterator[str]:
    """Say whether all that is trained had the same budget."""
    if len(trained) < 2:
        return
    least, most = (of(trained, key=lambda rung: rung.tokens) for of in (min, max))
    if most.tokens > SAME * least.tokens:
        range_ = f"from {least.tokens:,.0f} ({least.name}) to {most.tokens:,.0f} ({most.name})"
        yield f"budgets differ: tokens of training per episode range {range_}"
    else:
        yield f"all that is trained had the same budget: about {most.tokens:,.0f} tokens of training per episode"
