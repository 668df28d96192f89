"""What vectors cost: the parameters of models, and the seconds of encoding, beside what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...stats import Estimate
from ...studies.costs import total
from ...studies.model_settings import PARAMETERS
from ...studies.views import Settings, naming
from .. import numbers
from ..figures import Figure, ReportData
from .values import mean_of, values_of, wanted_values

COLUMNS = ("learner", "mean over values", "parameters", "tokens encoded", "seconds encoding",
           "seconds per 100,000 tokens", "seconds of adapting", "seconds per item")  # fmt: skip
UNIT = 100_000  # tokens
NOTES = (
    "each text is encoded once for all: what an earlier learner, or an earlier run, has encoded is not counted again",
    "seconds of adapting are means per episode; a mean over values is of learners that have them all",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Scores beside parameters and seconds: of encoding, of adapting, and of answering an item."""

    learners: tuple[str, ...] = naming("learner", default=())  # none: all

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
