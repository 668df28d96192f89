"""What was measured while cells learnt: losses over steps, and the scores of answers that were looked at on the way.

Losses stay in the ledger until they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..episodes import Shots
from .items import opened_ledger
from .ledger import Ledger, Planned

if TYPE_CHECKING:
    import pyarrow as pa

    from .results import Outcome, Results

LossSet: TypeAlias = Literal["training", "validation"]
LOSS_SETS: dict[str, LossSet] = {"loss": "training", "validation": "validation"}  # by the name of a trace
PER_FORM = "parameters per form"  # the name of a trace that is one number: see `form_parameters`
WHOLE = ("seed", "episode", "training", "step")  # columns of integers


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTrace:
    """A loss over the steps of one cell: of a learner that is trained, or of a model that is."""

    cell: str
    kind: Literal["adapt", "train"]
    learner: str  # or the model
    what: str  # is trained: all, lora, prompt or adapters
    task: str | None = None  # a model is trained for many
    shots: Shots | None = None
    seed: int
    episode: int = 0
    training: int
    set: LossSet
    points: tuple[tuple[int, float], ...]  # step and loss


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRow:
    """A loss, or a score, at one step of one cell."""

    learner: str
    kind: Literal["adapt", "train"]
    task: str | None
    shots: Shots | None
    seed: int
    episode: int
    training: int
    cell: str
    set: str  # training or validation, of a loss; support or query, of a score
    step: int
    metric: str
    value: float


def loss_traces(results: Results) -> tuple[LossTrace, ...]:
    """Read the losses of a run from its ledger, those of learners first; there is none where nothing was trained."""
    if not is_trained(results):
        return ()
    with opened_ledger(results) as ledger:
        if ledger is None:
            return ()
        kept = ledger.traces(results.trial)
        found = [trace for o in results.outcomes if o.cell in kept for trace in _of_outcome(results, o, kept[o.cell])]
        for one in ledger.planned(results.trial):
            if one.kind == "train" and one.cell in kept:
                found += _of_model(one, kept[one.cell], ledger)
        return tuple(found)


def form_parameters(results: Results) -> dict[str, int]:
    """Read how many parameters each trained encoder has for one form of vectors alone."""
    with opened_ledger(results) as ledger:
        if ledger is None or not results.training:
            return {}
        kept = ledger.traces(results.trial)
        trained = [one for one in ledger.planned(results.trial) if one.kind == "train" and one.cell in kept]
        return {one.learner: int(kept[one.cell][PER_FORM][0][1]) for one in trained if PER_FORM in kept[one.cell]}


def is_trained(results: Results) -> bool:
    """Tell whether anything was trained."""
    return bool(results.training) or any(o.cost.trained for o in results.outcomes)


def _of_outcome(results: Results, o: Outcome, kept: dict[str, list[tuple[int, float]]]) -> Iterator[LossTrace]:
    what = str(results.settings.get(o.learner, {}).get("what", ""))
    for name, points in kept.items():
        if name in LOSS_SETS:
            yield LossTrace(
                cell=o.cell, kind="adapt", learner=o.learner, what=what, task=o.task, shots=o.shots, seed=o.seed,
                episode=o.index, training=o.training, set=LOSS_SETS[name], points=tuple(points),
            )  # fmt: skip


def _of_model(one: Planned, kept: dict[str, list[tuple[int, float]]], ledger: Ledger) -> Iterator[LossTrace]:
    said = ledger.key(one.cell).get("set", {})
    what = str(said.get("tell", said.get("what", "all")))
    for name, points in kept.items():
        if name in LOSS_SETS:
            yield LossTrace(
                cell=one.cell, kind="train", learner=one.learner, what=what, seed=one.seed, training=one.training,
                set=LOSS_SETS[name], points=tuple(points),
            )  # fmt: skip


def curve_rows(results: Results) -> Iterator[CurveRow]:
    """Yield a row for each loss, then one for each score of a look: by cell, set and step."""
    for trace in loss_traces(results):
        for step, value in trace.points:
            yield CurveRow(
                learner=trace.learner, kind=trace.kind, task=trace.task, shots=trace.shots, seed=trace.seed,
                episode=trace.episode, training=trace.training, cell=trace.cell, set=trace.set, step=step,
                metric="loss", value=value,
            )  # fmt: skip
    for o in results.outcomes:
        for look in o.looks:
            for metric, scored in look.scores.items():
                yield CurveRow(
                    learner=o.learner, kind="adapt", task=o.task, shots=o.shots, seed=o.seed, episode=o.index,
                    training=o.training, cell=o.cell, set=look.set, step=look.step, metric=metric, value=scored.value,
                )  # fmt: skip


def curve_table(results: Results) -> pa.Table:
    """Give the rows of curves as an Arrow table; what has no value is null."""
    import pyarrow as pa

    rows = [asdict(row) for row in curve_rows(results)]
    whole = all(isinstance(row["shots"], int | None) for row in rows)
    for row in rows:
        row["value"] = None if math.isnan(row["value"]) else row["value"]
        row["shots"] = row["shots"] if whole or row["shots"] is None else str(row["shots"])
    kinds = {f.name: pa.int64() if f.name in WHOLE else pa.string() for f in fields(CurveRow)}
    kinds |= {"value": pa.float64(), "shots": pa.int64() if whole else pa.string()}
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))
