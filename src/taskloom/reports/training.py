"""What was trained, and what that took: a row for each learner and setting or model, and losses over steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..episodes import Shots, shots_order, shots_text
from ..studies.costs import Cost, total
from ..studies.curves import LossSet, LossTrace, is_trained
from ..studies.results import Results

WHAT: Mapping[str, str] = {
    "all": "all weights", "lora": "LoRA", "prompt": "soft prompt", "adapters": "adapters", "none": "nothing",
    "codes": "control codes", "fusion": "adapter fusion", "pals": "PALs",
}  # fmt: skip
MOST = 80  # points of a curve: of more, some that follow each other are one
Trainee: TypeAlias = tuple[str, str, Shots | None]  # kind, name, and shots of a learner
LossPoint: TypeAlias = tuple[float, float, float, float]  # step; the mean over cells, the least and the most


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRow:
    """What it took to train a model, or a learner at one setting; means are over cells."""

    name: str
    is_model: bool  # that a cell of its own trains, for many
    what: str
    shots: Shots | None  # none of a model
    cells: int
    parameters: int  # that were trained
    tokens: float  # that they were trained on, mean
    steps: float  # mean; NaN where no loss was kept
    seconds: float  # mean
    threads: int
    memory: int  # bytes, at the peak
    loss: float  # of the last step, mean

    @property
    def label(self) -> str:
        """Name it, with its shots."""
        return self.name if self.shots is None else f"{self.name}, {shots_text(self.shots)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCurve:
    """A loss over steps: the mean over cells, between the least and the most."""

    label: str
    set: LossSet
    points: tuple[LossPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSummary:
    """All that was trained in a run; models come before the learners that may use them."""

    rows: tuple[TrainingRow, ...] = ()
    losses: tuple[LossCurve, ...] = ()


def training(results: Results, traces: Iterable[LossTrace] | None = None) -> TrainingSummary:
    """Sum up what was trained; losses are read from the ledger unless they are given."""
    if not is_trained(results):
        return TrainingSummary()
    by_trainee: dict[Trainee, list[LossTrace]] = {}
    for trace in results.traces() if traces is None else traces:
        by_trainee.setdefault((trace.kind, trace.learner, trace.shots), []).append(trace)
    costs = _costs(results)
    rows = [_row(results, of, found, by_trainee.get(of, ())) for of, found in costs.items()]
    losses = [
        LossCurve(label=row.label, set=name, points=points)
        for row, of in zip(rows, costs, strict=True)
        for name in ("training", "validation")
        if (points := loss_points([trace.points for trace in by_trainee.get(of, ()) if trace.set == name]))
    ]
    return TrainingSummary(rows=tuple(rows), losses=tuple(losses))


def processor(results: Results) -> str:
    """Say what a run was made on, where that is known."""
    return results.record.environment.get("processor", "") if results.record else ""


def _costs(results: Results) -> dict[Trainee, list[Cost]]:
    """Put the costs of cells that trained together, in the order of the study."""
    found: dict[Trainee, list[Cost]] = {("train", name, None): list(costs) for name, costs in results.training.items()}
    order = {name: at for at, name in enumerate(results.learners)}
    trained = (o for o in results.outcomes if o.cost.trained)
    for o in sorted(trained, key=lambda o: (order.get(o.learner, len(order)), shots_order(o.shots))):
        found.setdefault(("adapt", o.learner, o.shots), []).append(o.cost)
    return found


def _row(results: Results, of: Trainee, costs: Sequence[Cost], traces: Sequence[LossTrace]) -> TrainingRow:
    kind, name, shots = of
    losses = [trace.points for trace in traces if trace.set == "training" and trace.points]
    what = traces[0].what if traces else str(results.settings.get(name, {}).get("what", ""))
    whole = total(costs)
    return TrainingRow(
        name=name, is_model=kind == "train", what=WHAT.get(what, what), shots=shots, cells=len(costs),
        parameters=whole.trained, tokens=_mean([cost.taught for cost in costs]),
        steps=_mean([points[-1][0] + 1 for points in losses]), seconds=_mean([cost.fitting for cost in costs]),
        threads=whole.threads, memory=whole.memory, loss=_mean([points[-1][1] for points in losses]),
    )  # fmt: skip


def _mean(values: Collection[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def loss_points(cells: Sequence[Sequence[tuple[int, float]]]) -> tuple[LossPoint, ...]:
    """Average a loss over cells, step by step, at steps that at least half of them have.

    >>> loss_points([[(0, 3.0), (1, 2.0)], [(0, 1.0), (1, 1.0), (2, 9.0)], [(0, 2.0), (1, 3.0)]])
    ((0.0, 2.0, 1.0, 3.0), (1.0, 2.0, 1.0, 3.0))
    """
    at: dict[int, list[float]] = {}
    for points in cells:
        for step, value in points:
            at.setdefault(step, []).append(value)
    known = sorted((step, values) for step, values in at.items() if 2 * len(values) >= len(cells))
    found = [(float(step), _mean(values), min(values), max(values)) for step, values in known]
    size = math.ceil(len(found) / MOST)
    return tuple(_joined(found[first : first + size]) for first in range(0, len(found), max(1, size)))


def _joined(points: Sequence[LossPoint]) -> LossPoint:
    """Make one point of some that follow each other."""
    steps, means, least, most = zip(*points, strict=True)
    return _mean(steps), _mean(means), min(least), max(most)
