"""Whether learners know when they are right: reliability diagrams, calibration errors and Brier scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core import Labels
from ...episodes import Shots, shots_order, shots_text
from ...stats import Estimate
from ...studies.items import option_scores
from ...studies.results import own_records
from ...studies.views import Settings
from ...texts import counted
from .. import svg
from ..calibration import Beliefs, CalibrationOf, beliefs, calibration
from ..episode_groups import place_of
from ..figures import Figure, ReportData


@dataclass(frozen=True, slots=True)
class Calibrated:
    """One learner at one setting of shots."""

    learner: str
    shots: Shots
    found: CalibrationOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Confidence against accuracy, for tasks that ask for one label."""

    bins: int = 10  # of confidence, all as wide

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Name a number of bins that is too small."""
        if self.bins < 2:
            yield f"bins must be >= 2: {self.bins}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show errors and scores, then the reliability diagram of each learner."""
        found, without = _calibrated(data, self.bins)
        if not found:
            return
        yield _errors(found, without)
        yield _diagrams(found)


def _calibrated(data: ReportData, bins: int) -> tuple[list[Calibrated], list[str]]:
    """Read what models thought of options, setting by setting; and name learners of which nothing is known."""
    tasks = {name for name, task in data.results.suite.tasks.items() if _asks_for_one(task.output)}
    outcomes = [o for o in data.results.outcomes if o.task in tasks]
    outcomes.sort(key=lambda o: shots_order(o.shots))
    found, asked = list[Calibrated](), set[str]()
    for shots, some in itertools.groupby(outcomes, key=lambda o: o.shots):
        by_learner: dict[str, list[Beliefs]] = {}
        for o, options in option_scores(data.results, some):
            records = o.records or own_records(o.task, o.items)
            thought = beliefs(place_of(o), records, options, o.answers, o.gold)
            by_learner.setdefault(o.learner, []).append(thought)
        asked |= by_learner.keys()
        made = calibration(by_learner, data.how, bins)
        found += [Calibrated(name, shots, made[name]) for name in data.results.learners if name in made]
    return found, [name for name in data.results.learners if name in asked - {one.learner for one in found}]


def _asks_for_one(output: object) -> bool:
    return isinstance(output, Labels) and not output.many


def _errors(found: Sequence[Calibrated], without: Sequence[str]) -> Figure:
    return Figure(
        title="Calibration",
        columns=("learner", "shots", "ECE", "Brier", "confidence", "accuracy", "answers", "without"),
        rows=tuple(
            (one.learner, one.shots, of.error, _brier(of.brier), of.confidence, of.accuracy, of.error.n, of.without)
            for one in found
            for of in [one.found]
        ),
        notes=(
            "ECE, the expected calibration error: the mean distance between confidence and accuracy, bin by bin; it is "
            "above 0 by chance alone where answers are few",
            "Brier score: the mean squared distance of the probabilities of all labels from the truth, from 0 to 2; "
            "lower is better",
            "confidence: the mean probability of the answer that was given; accuracy: of the same answers, each of "
            "which counts once",
            "probabilities: as a learner gives them where they sum up to 1, else the softmax of its scores of labels; "
            "without: answers that have none",
            *([f"not shown, as they give no probabilities: {', '.join(without)}"] if without else []),
        ),
    )


def _brier(e: Estimate) -> str:
    return f"{e.value:.3f}" + (f" [{e.low:.3f}, {e.high:.3f}]" if not math.isnan(e.low) else "")


def _diagrams(found: Sequence[Calibrated]) -> Figure:
    rows = [
        (
            one.learner,
            one.shots,
            f"{100 * b.low:.3g} to {100 * b.high:.3g}",
            b.accuracy.n,
            100 * b.confidence,
            b.accuracy,
        )
        for one in found
        for b in one.found.bins
        if b.accuracy.n
    ]
    settings = list(dict.fromkeys(shots_text(one.shots) for one in found))
    plots = [_diagram(name, found, settings) for name in dict.fromkeys(one.learner for one in found)]
    return Figure(
        title="Reliability: accuracy by confidence",
        columns=("learner", "shots", "confidence from", "answers", "mean confidence", "accuracy"),
        rows=tuple(rows),
        notes=(
            "on the dashed line, answers are right as often as their probability says; below it, a learner is too sure",
            "bars are confidence intervals; bins without answers are not drawn",
        ),
        plot=f'<div class="panels">{"".join(plots)}</div>{svg.dot_key(svg.dot_styles(settings))}',
    )


def _diagram(name: str, found: Sequence[Calibrated], settings: Sequence[str]) -> str:
    """Draw one learner; settings that it does not have keep their colour."""
    series: dict[str, list[svg.Point]] = {shots: [] for shots in settings}
    for one in (one for one in found if one.learner == name):
        series[shots_text(one.shots)] += _points(one)
    about, y = f"{name}: accuracy by confidence", f"{name}: accuracy, %"
    return f"<div>{svg.scatter(series, about, x='confidence, %', y=y, ends=(-2, 106))}</div>"


def _points(one: Calibrated) -> Iterator[svg.Point]:
    for b in one.found.bins:
        if not math.isnan(b.accuracy.value):
            label = f"{shots_text(one.shots)}, {counted(b.accuracy.n, 'answer')}"
            low, high = 100 * b.accuracy.low, 100 * b.accuracy.high
            yield svg.Point(100 * b.confidence, 100 * b.accuracy.value, label, low, high)
