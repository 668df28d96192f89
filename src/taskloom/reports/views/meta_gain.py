"""What training on the meta tasks of a partition adds on its target, beside published figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ...benchmarks.published import Figures, published
from ...episodes import Shots, shots_order, shots_text
from ...stats import Contrast, Estimate
from ...studies.results import Outcome
from ...studies.views import Settings, naming
from ...suites.bridges import Shape, bridge
from .. import numbers, plots
from ..contrasts import contrast, corrected, differs
from ..figures import Figure, ReportData, Value
from ..leaderboards import mean_scores
from .bridge import partition_in

PARTITION = "partition"  # what published figures are by


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaGain:
    """What training on meta tasks adds on the target, by partition, kind of bridge and shots."""

    over: str = naming("learner")  # the learner whose model was trained on no meta task
    metric: str = naming("metric", default="")  # none: the first
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: a learner that trains in no partition is not shown."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Show gains by partition, their mean by kind of bridge, and bridges against broken ones."""
        metric = self.metric or data.first
        gains = _gains(data, self.over, metric)
        if not gains:
            return
        paper = published(self.paper) if self.paper else None
        asked = {gain.shots for gain in gains}
        tables = [t for t in paper.by(PARTITION) if t.metric == metric and t.shots in asked] if paper else []
        told = tuple(dict.fromkeys(note for table in tables for note in _source(table, paper.paper if paper else "")))
        yield _by_partition(gains, tables, metric, (_said(self.over), *told))
        yield from _by_shape(data, gains, self.over, metric, tables, told)
        yield from _against_broken(data, gains, metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gain:
    """A learner that was trained in a partition, against one that was not, at one number of shots."""

    fold: str
    target: str
    shape: Shape
    shots: Shots
    learner: str
    few: Estimate | None
    meta: Estimate
    contrast: Contrast | None  # none where the other can't be asked, as without examples


def _gains(data: ReportData, over: str, metric: str) -> list[_Gain]:
    """Compare in each partition and at each number of shots, as one family of tests."""
    outcomes = [o for o in data.results.outcomes if metric in o.scores]
    places = sorted(
        {(o.fold, o.learner, o.shots) for o in outcomes if o.fold and o.learner != over},
        key=lambda place: (place[0], shots_order(place[2]), place[1]),
    )
    found = [_gain(data, outcomes, over, metric, *place) for place in places]
    kept = [gain for gain in found if gain]
    tested = [gain for gain in kept if gain.contrast]
    fair = corrected([gain.contrast for gain in tested if gain.contrast])
    changed = {id(gain): one for gain, one in zip(tested, fair, strict=True)}
    return [replace(gain, contrast=changed.get(id(gain))) for gain in kept]


def _gain(
    data: ReportData, outcomes: Sequence[Outcome], over: str, metric: str, fold: str, learner: str, shots: Shots
) -> _Gain | None:
    partition = partition_in(data.results.suite, fold)
    if partition is None:
        return None
    here = [o for o in outcomes if o.task == partition.target and o.shots == shots]
    both = [o for o in here if o.learner == over or (o.learner == learner and o.fold == fold)]
    scores = mean_scores(metric, shots, both, data.how)
    if learner not in scores:  # its model is asked about another task of the fold
        return None
    apart = contrast(learner, over, metric, shots, both, how=data.how) if over in scores else None
    return _Gain(
        fold=fold, target=partition.target, shape=bridge(partition).shape, shots=shots, learner=learner,
        few=scores.get(over), meta=scores[learner], contrast=apart,
    )  # fmt: skip


def _by_partition(gains: Sequence[_Gain], tables: Sequence[Figures], metric: str, notes: tuple[str, ...]) -> Figure:
    models = dict.fromkeys(_model(method) for table in tables for method in table.values)
    rows: list[tuple[Value, ...]] = []
    for gain in gains:
        p = numbers.p_value(gain.contrast.p) if gain.contrast else None
        printed = [_printed(tables, model, gain.fold, gain.shots) for model in models]
        where = (gain.fold, gain.target, gain.shape, gain.shots, gain.learner)
        rows.append((*where, gain.few, gain.meta, gain.contrast, p, *printed))
    drawn = [_row(gain) for gain in gains if gain.contrast]
    about, axis = f"Gain of meta-training by partition: {metric}", f"gain, points of {metric}"
    return Figure(
        title=about,
        columns=(
            "partition",
            "target",
            "bridge",
            "shots",
            "learner",
            "without",
            "with meta tasks",
            "gain",
            "p",
            *(f"{model}, published" for model in models),
        ),
        rows=tuple(rows),
        notes=(*notes, "p is corrected for all rows (Holm)"),
        plot=plots.responsive(lambda width: plots.forest(drawn, about, axis=axis, width=width)) if drawn else "",
    )


def _row(gain: _Gain) -> plots.Row:
    found = gain.contrast
    assert found is not None
    estimate = numbers.shown(Estimate(found.difference, found.low, found.high, found.n), points=True)
    label = f"{gain.fold} ({gain.shape}), {shots_text(gain.shots)}"
    return plots.Row(label, estimate, numbers.score(found, points=True), "apart" if differs(found) else "")


def _by_shape(
    data: ReportData, gains: Sequence[_Gain], over: str, metric: str, tables: Sequence[Figures], told: tuple[str, ...]
) -> Iterator[Figure]:
    """Average over the partitions of each kind of bridge, as the paper's scenarios do."""
    groups: dict[tuple[Shape, Shots, str], list[_Gain]] = {}
    for gain in gains:
        if gain.contrast:
            groups.setdefault((gain.shape, gain.shots, gain.learner), []).append(gain)
    found = []
    for (_, shots, learner), some in groups.items():
        folds = {gain.fold: gain.target for gain in some}
        both = [
            o for o in data.results.outcomes
            if (o.learner == learner and o.fold in folds) or (o.learner == over and o.task in folds.values())
        ]  # fmt: skip
        found.append(contrast(learner, over, metric, shots, both, how=data.how))
    models = dict.fromkeys(_model(method) for table in tables for method in table.values)
    rows: list[tuple[Value, ...]] = []
    for ((shape, shots, learner), some), one in zip(groups.items(), corrected(found), strict=True):
        printed = [_printed_gain(tables, model, shape, shots, data) for model in models]
        rows.append((shape, shots, learner, len(some), one, numbers.p_value(one.p), *printed))
    if rows:
        yield Figure(
            title=f"Mean gain of meta-training by kind of bridge: {metric}",
            columns=("bridge", "shots", "learner", "partitions", "gain", "p", *(f"{m}, published" for m in models)),
            rows=tuple(rows),
            notes=(
                "the mean over partitions of the score with meta tasks minus that without (the paper's delta m)",
                *(["published: the same arithmetic on the printed scores of all its partitions"] if models else []),
                *told,
            ),
        )


def _against_broken(data: ReportData, gains: Sequence[_Gain], metric: str) -> Iterator[Figure]:
    """Compare models of a whole bridge with those of a broken one, on the same target."""
    pairs = [
        (a, b)
        for a in gains
        for b in gains
        if a.shape != "broken" == b.shape and (a.target, a.shots) == (b.target, b.shots) and a.learner != b.learner
    ]
    found = []
    for a, b in pairs:
        folds = {(a.learner, a.fold), (b.learner, b.fold)}
        both = [o for o in data.results.outcomes if o.task == a.target and (o.learner, o.fold) in folds]
        found.append(contrast(a.learner, b.learner, metric, a.shots, both, how=data.how))
    rows = [
        (f"{a.fold} against {b.fold}", a.target, a.shots, a.meta, b.meta, one, numbers.p_value(one.p))
        for (a, b), one in zip(pairs, corrected(found), strict=True)
    ]
    if rows:
        yield Figure(
            title=f"Bridges against broken ones, on the same target: {metric}",
            columns=("partitions", "target", "shots", "bridged", "broken", "difference", "p"),
            rows=tuple(rows),
            notes=("paired, on the same items; p is corrected for all rows (Holm)",),
        )


# --- published -------------------------------------------------------------------------------------------------------


def _said(over: str) -> str:
    return f"gain: the score of a model that was trained on the meta tasks minus that of {over!r}, on the same items"


def _source(table: Figures, paper: str) -> Iterator[str]:
    where = table.where.partition(",")[0]
    yield f"published: {paper}, {where}, as printed there, by the names of its partitions; not measured here"
    yield from table.notes


def _model(method: str) -> str:
    """Give the model of a published row: `T5-base +meta` is T5-base."""
    return method.rpartition(" ")[0]


def _values(tables: Sequence[Figures], model: str, shots: Shots) -> tuple[Mapping[str, float], Mapping[str, float]]:
    at = next((table.values for table in tables if table.shots == shots), {})
    return at.get(f"{model} few", {}), at.get(f"{model} +meta", {})


def _printed(tables: Sequence[Figures], model: str, fold: str, shots: Shots) -> Value:
    few, meta = (found.get(fold) for found in _values(tables, model, shots))
    return None if few is None or meta is None else f"{few:.1f} → {meta:.1f} ({meta - few:+.1f})"


def _printed_gain(tables: Sequence[Figures], model: str, shape: Shape, shots: Shots, data: ReportData) -> Value:
    few, meta = _values(tables, model, shots)
    alike = [fold for fold in few if (of := partition_in(data.results.suite, fold)) and bridge(of).shape == shape]
    return f"{fmean(meta[fold] - few[fold] for fold in alike):+.1f}" if alike else None
