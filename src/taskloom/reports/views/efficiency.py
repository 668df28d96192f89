"""What vectors cost: the parameters of models, and the seconds of encoding, beside what they reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...benchmarks.published import published
from ...stats import Estimate
from ...studies.costs import Cost, total
from ...studies.curves import form_parameters
from ...studies.model_settings import PARAMETERS
from ...studies.views import Settings, naming
from .. import numbers
from ..figures import Figure, ReportData
from .values import mean_of, values_of, wanted_values

COLUMNS = ("learner", "mean over values", "parameters of bases", "tokens encoded", "seconds encoding",
           "seconds per 100,000 tokens", "seconds of adapting", "seconds per item")  # fmt: skip
UNIT = 100_000  # tokens
NOTES = (
    "each text is encoded once for all: what an earlier learner, or an earlier run, has encoded is not counted again",
    "seconds of adapting are means per episode; a mean over values is of learners that have them all",
)
RELATIVE = ("learner", "parameters for each format", "training", "inference")
TABLES, PARTS = "efficiency", ("parameters", "training", "inference")  # of a paper: its tables, and their columns
RELATIVE_NOTES = (
    "training: seconds per token that was trained on; inference: seconds per token that was encoded; both relative",
    "of several models together, the sums; of a model that was trained from another, its own training alone",
    "measured on one machine while the study ran: times of a machine that does other work are not comparable",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Scores beside parameters and seconds: of encoding, of adapting, and of answering an item.

    `against` names a learner that the training and inference of others are compared with.
    """

    learners: tuple[str, ...] = naming("learner", default=())  # none: all
    against: str = naming("learner", default="")
    paper: str = naming("paper", default="")  # the benchmark whose published times are shown too

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Find none: what costs nothing has empty cells."""
        yield from ()

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Give a row for each learner."""
        wanted = wanted_values(data)
        names = list(self.learners or data.results.learners)
        means = {name: mean_of(values_of(data, name, wanted), list(wanted), wanted) for name in names}
        if names:
            rows = tuple(_row(data, name, means[name]) for name in names)
            yield Figure(title="Efficiency", columns=COLUMNS, rows=rows, notes=NOTES)
        if self.against:
            yield self._relative(data, names)

    def _relative(self, data: ReportData, names: Sequence[str]) -> Figure:
        """Compare what learners' models took to train and to encode, per token."""
        times, sizes = {name: _times(data, name) for name in {*names, self.against}}, form_parameters(data.results)
        base = times[self.against]
        rows = [
            (name, _per_format(data, name, sizes), *map(_times_as, times[name], base))
            for name in names
            if times[name][0] is not None
        ]
        tables = published(self.paper).by(TABLES) if self.paper else []
        theirs = [
            (f"{name}, published", f"{of['parameters']:,.0f}", *(f"{of[part]:g}x" for part in PARTS[1:]))
            for one in tables
            for name, of in one.values.items()
        ]
        told = [f"published: {published(self.paper).paper}, {one.where}; not measured here" for one in tables]
        return Figure(
            title=f"Time relative to {self.against}", columns=RELATIVE, rows=(*rows, *theirs),
            notes=(*RELATIVE_NOTES, *told),
        )  # fmt: skip


def _row(data: ReportData, name: str, mean: Estimate | None) -> tuple[str | int | Estimate | None, ...]:
    outcomes = [o for o in data.results.outcomes if o.learner == name]
    cost, cells = total([o.cost for o in outcomes]), max(1, len(outcomes))
    parameters = data.results.settings.get(name, {}).get(PARAMETERS)
    per_item = (cost.seconds - cost.fitting) / cost.items if cost.items else 0.0
    return (
        name, mean, parameters if isinstance(parameters, int) else None,
        cost.encoded or None, numbers.seconds(cost.encoding) if cost.encoded else None,
        numbers.seconds(UNIT * cost.encoding / cost.encoded) if cost.encoded else None,
        numbers.seconds(cost.fitting / cells), numbers.seconds(per_item),
    )  # fmt: skip


# --- training and inference, relative --------------------------------------------------------------------------------


def _models(data: ReportData, learner: str) -> list[str]:
    """Name the models of a learner."""
    found = data.results.settings.get(learner, {}).get("model")
    return [found] if isinstance(found, str) else [str(one) for one in found] if isinstance(found, Sequence) else []


def _times(data: ReportData, learner: str) -> tuple[float | None, float | None]:
    """Give the seconds per token of training and of encoding, of all models of a learner together."""
    models = _models(data, learner)
    trained = [_rate(data.results.training.get(model, ()), "fitting", "taught") for model in models]
    encoded = [_rate(_encoding(data, model), "encoding", "encoded") for model in models]
    return _sum(trained), _sum(encoded)


def _encoding(data: ReportData, model: str) -> list[Cost]:
    """Give what cells of learners cost that use this model alone: the first of them encodes for all."""
    alone = {name for name in data.results.learners if _models(data, name) == [model]}
    return [o.cost for o in data.results.outcomes if o.learner in alone]


def _rate(costs: Sequence[Cost], seconds: str, tokens: str) -> float | None:
    count = sum(getattr(cost, tokens) for cost in costs)
    return float(sum(getattr(cost, seconds) for cost in costs) / count) if count else None


def _sum(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known and len(known) == len(rates) else None


def _times_as(own: float | None, base: float | None) -> str | None:
    return f"{own / base:.2f}x" if own is not None and base else None


def _per_format(data: ReportData, learner: str, sizes: dict[str, int]) -> int | None:
    """Add up the parameters that models have for one format alone; none where they have no formats."""
    found = [sizes[model] for model in _models(data, learner) if model in sizes]
    return sum(found) or None
