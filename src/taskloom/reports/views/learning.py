"""Scores over the steps of training, on the support set and on the query set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ...benchmarks.published import published
from ...episodes import Shots, shots_order, shots_text
from ...stats import Estimate
from ...studies.results import Look, Outcome
from ...studies.views import Settings, naming
from ...texts import counted
from .. import numbers, plots
from ..figures import Figure, ReportData
from ..leaderboards import mean_scores

LookedAt: TypeAlias = Literal["query", "support"]
SETS: Mapping[LookedAt, str] = {"query": "on query items", "support": "on support items (memorisation)"}
Steps: TypeAlias = Mapping[int, Estimate]
REACHED = (0.5, 0.9, 0.99)  # of all that is to be memorised


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Scores over the steps of training, on the support set and on the query set."""

    metric: str = naming("metric", default="")  # none: the first
    by: str = naming("tag of tasks", default="")  # such as kind: each of its values has a curve of its own
    only: str = ""  # tasks with a tag of some value, such as level=atomic
    paper: str = naming("paper", default="")
    finding: str = "learning"  # the paper's finding that is shown

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Name an invalid choice of tasks; what has no looks is not drawn."""
        if self.only and not all(self.only.partition("=")):
            yield f"only must be TAG=VALUE, such as level=atomic: {self.only!r}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw the means over tasks and episodes at each step that was looked at, at the most shots of a learner."""
        metric = self.metric or data.first
        looked = _looked(data, metric, self.by, self.only)
        if not looked:
            return
        whole = {name: _whole(found) for name, found in looked.items()}
        points = all(look.scores[metric].metric.points for o in next(iter(looked.values())) for look in o.looks)
        notes = (*_notes(looked, whole), *_early(data), *self._said())
        for of, told in SETS.items():
            lines = {name: found for name, found in _curves(data, metric, looked, whole, of).items() if found}
            if lines:
                yield _figure(f"{metric} while learning, {told}", metric, lines, notes, points=points)
            if lines and of == "support" and points:
                yield _reached(metric, lines)

    def _said(self) -> Iterator[str]:
        said = published(self.paper).said.get(self.finding) if self.paper else ""
        if said:
            yield f"published: {published(self.paper).paper}: {said}; not measured here"


def _figure(about: str, metric: str, lines: Mapping[str, Steps], notes: tuple[str, ...], *, points: bool) -> Figure:
    steps = sorted({step for found in lines.values() for step in found})
    curves = [
        plots.Curve(name, [(step, numbers.shown(e, points)) for step, e in found.items()])
        for name, found in lines.items()
    ]
    return Figure(
        title=about,
        columns=("learner", *(f"step {step:,}" for step in steps)),
        rows=tuple((name, *(found.get(step) for step in steps)) for name, found in lines.items()),
        notes=notes,
        points=points,
        plot=plots.responsive(lambda width: plots.curves(curves, about, over="steps", up=metric, width=width)),
    )


def _reached(metric: str, lines: Mapping[str, Steps]) -> Figure:
    """Say by which step that was looked at the mean score on support was so high."""
    return Figure(
        title=f"Steps to memorise: {metric} on support items",
        columns=("learner", *(f"{share:.0%}" for share in REACHED), "at the last step"),
        rows=tuple(
            (name, *(_first(found, share) for share in REACHED), found[max(found)]) for name, found in lines.items()
        ),
        notes=(
            "the first step that was looked at with a mean of at least so much; it may have been reached before it",
        ),
    )


def _first(found: Steps, share: float) -> str:
    reached = (step for step, e in sorted(found.items()) if e.value >= share)
    return next((f"{step:,}" for step in reached), f"not by {max(found):,}")


def _looked(data: ReportData, metric: str, by: str, only: str) -> dict[str, list[Outcome]]:
    """Give the outcomes that were looked at, at the most shots of a learner on a task: by learner, and by a tag."""
    tag, _, wanted = only.partition("=")
    tasks = {name for name, task in data.results.suite.tasks.items() if not only or wanted in task.tags.get(tag, ())}
    seen = [o for o in data.results.outcomes if o.looks and metric in o.scores and o.task in tasks]
    most: dict[tuple[str, str], Shots] = {}
    for o in seen:
        most[o.learner, o.task] = max(most.get((o.learner, o.task), 0), o.shots, key=shots_order)
    found: dict[str, list[Outcome]] = {}
    for name in data.results.learners:
        for o in (o for o in seen if o.learner == name and o.shots == most[name, o.task]):
            for value in data.results.suite.tasks[o.task].tags.get(by, ()) if by else [""]:
                label = f"{name}, {value}" if by else name
                found.setdefault(label, []).append(replace(o, learner=label))
    return found


def _whole(outcomes: Sequence[Outcome]) -> list[int]:
    """Give the steps at which all episodes of a learner were looked at: means over others are of fewer episodes."""
    steps = [{look.step for look in o.looks} for o in outcomes]
    return sorted(set.intersection(*steps))


def _curves(
    data: ReportData, metric: str, looked: Mapping[str, Sequence[Outcome]], whole: Mapping[str, Sequence[int]],
    of: LookedAt,
) -> dict[str, dict[int, Estimate]]:  # fmt: skip
    """Score each learner at each step on one set, as its final answers are scored."""
    at: dict[tuple[Shots, int], list[Outcome]] = {}
    for name, outcomes in looked.items():
        shots = max((o.shots for o in outcomes), key=shots_order)  # tasks may have different ones
        for o in outcomes:
            for look in o.looks:
                if look.set == of and look.step in whole[name]:
                    at.setdefault((shots, look.step), []).append(replace(as_looked(o, look), shots=shots))
    found: dict[str, dict[int, Estimate]] = {name: {} for name in looked}
    for (shots, step), outcomes in sorted(at.items(), key=lambda pair: pair[0][1]):
        for name, estimate in mean_scores(metric, shots, outcomes, data.how).items():
            found[name][step] = estimate
    return found


def as_looked(o: Outcome, look: Look) -> Outcome:
    """Give an outcome as it would be if a look had been the end."""
    return replace(
        o, items=look.items, records=look.records, scores=look.scores, rows=(), answers=(), gold=(), looks=()
    )


def _notes(looked: Mapping[str, Sequence[Outcome]], whole: Mapping[str, Sequence[int]]) -> Iterator[str]:
    tasks = len({o.task for found in looked.values() for o in found})
    shots = sorted({o.shots for found in looked.values() for o in found}, key=shots_order)
    at = " or ".join(map(shots_text, shots))
    yield f"means over {counted(tasks, 'task')}, at {at}; bars are confidence intervals"
    yield "a step is asked about before it is made, the last one after it; steps are spaced by their logarithm"
    for name, found in looked.items():
        every = {look.step for o in found for look in o.looks}
        if fewer := sorted(every - set(whole[name])):
            dropped = ", ".join(f"{step:,}" for step in fewer)
            yield f"{name}: not drawn at step {dropped}, which only some of its episodes reached"


def _early(data: ReportData) -> Iterator[str]:
    """Say whose final scores need not be those of the last step."""
    early = [name for name, settings in data.results.settings.items() if settings.get("patience")]
    if early:
        names = ", ".join(early)
        yield f"final scores are of the weights with the lowest validation loss, not of the last step: {names}"
