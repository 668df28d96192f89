"""Which of two functions that were taught alike a model prefers: the easier one, or the harder one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...benchmarks.published import published
from ...stats import Estimate, student_interval
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, svg
from ..figures import Figure, ReportData, Value
from .composition import PARTS, adaptations

MASSES = {"all answers": ("mass@1", "mass@2"), "the likeliest answer": ("best-mass@1", "best-mass@2")}
SIDES = ("easier", "harder")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two functions that were taught alike, and the probability of their answers: the easier function first."""

    adaptation: str
    of: str  # which answers the probability is of
    task: str
    functions: tuple[str, str]
    masses: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The probability of the answers to the easier and to the harder of two functions, over pairs."""

    metric: str = naming("metric", default="")  # by which one function is easier than another; none: the first
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: pairs of functions that are not scored by themselves are not drawn."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show means over pairs, then each pair."""
        found = list(_pairs(data, self.metric or data.first))
        if not found:
            return
        yield _means(data, found, tuple(_notes(data, found, self.metric or data.first, self.paper)))
        yield Figure(
            title="Probability of the easier and of the harder of two functions, pair by pair",
            columns=("adaptation", "answers", *SIDES, *(f"mass, {side}" for side in SIDES)),
            rows=tuple((p.adaptation, p.of, *p.functions, *(100 * mass for mass in p.masses)) for p in found),
            notes=("in points of probability, measured here",),
        )


def _pairs(data: ReportData, metric: str) -> Iterator[Pair]:
    """Find the pairs whose functions were learnt by themselves too, one of them better than the other."""
    scores = {one.name: one.scores for one in adaptations(data, metric)}
    for of, names in MASSES.items():
        sides = [{one.name: one.scores for one in adaptations(data, name)} for name in names]
        for name, masses in sides[0].items():
            for task, mass in masses.items():
                parts = data.results.suite.tasks[task].tags.get(PARTS, ())
                own = [scores.get(name, {}).get(part) for part in parts]
                if len(parts) == 2 and None not in own and own[0] != own[1]:
                    both = [(own[0], parts[0], mass), (own[1], parts[1], sides[1][name][task])]
                    easier, harder = sorted(both, key=lambda side: -(side[0] or 0.0))
                    yield Pair(name, of, task, (easier[1], harder[1]), (easier[2], harder[2]))


def _means(data: ReportData, found: Sequence[Pair], notes: tuple[str, ...]) -> Figure:
    """Give means over pairs, with intervals for other pairs like these."""
    rows: list[tuple[Value, ...]] = []
    drawn: dict[str, dict[str, Estimate]] = {}
    for name, of in dict.fromkeys((pair.adaptation, pair.of) for pair in found):
        own = [pair.masses for pair in found if (pair.adaptation, pair.of) == (name, of)]
        sides = [student_interval([pair[at] for pair in own], level=data.how.level) for at in (0, 1)]
        apart = student_interval([easier - harder for easier, harder in own], level=data.how.level)
        rows.append((name, of, len(own), *sides, apart))
        drawn[f"{name}, {of}"] = {side: numbers.shown(e, points=True) for side, e in zip(SIDES, sides, strict=True)}
    styles = svg.dot_styles(SIDES)
    about = "Probability of the easier and of the harder of two functions"
    return Figure(
        title=about,
        columns=("adaptation", "answers", "pairs", *SIDES, "difference"),
        rows=tuple(rows),
        notes=notes,
        plot=svg.strips(drawn, styles, about) + svg.dot_key(styles),
    )


def _notes(data: ReportData, found: Sequence[Pair], metric: str, paper: str) -> Iterator[str]:
    yield f"means over pairs, with Student's intervals for other pairs; easier: the function with the higher {metric}"
    yield "both were taught with as many examples; an answer to both counts for both"
    asked = {task.id for task in data.results.suite.tasks.values() if set(MASSES["all answers"]) & set(task.metrics)}
    scored = asked & {o.task for o in data.results.outcomes}
    if without := len(scored - {pair.task for pair in found}):
        yield f"left out, as their functions have no scores or equal ones: {counted(without, 'pair')}"
    if paper and (said := published(paper).said.get("distribution")):
        yield f"published: {published(paper).paper}: {said}; not measured here"
