"""The kinds of cells of a study (a learner on a task with so many shots): what they cost, and how their scores vary.

Costs are those that the ledger has of finished cells, among them those of a pilot. Trials cut training short: their
costs count only where nothing is trained.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from ..databases import is_filled
from ..episodes import ALL, Shots, draw
from ..errors import UsageError
from ..messages import Note
from ..sample_sizes import CORRELATION, DEVIATION, EpisodeCosts, Variation
from .api import LEDGER, Prepared, open_run
from .cells import Cell
from .estimate import Spent, by_likeness, expected_seconds, most_alike, split_cost
from .ledger import Ledger
from .plan import Plan, sampler
from .variation import LEAST_ANSWERS, LEAST_EPISODES, KindKey, Variations, measured_variations

LOADING = "loading"  # what a ledger keeps the seconds of loading models under


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A learner on a task with a number of shots: what an episode takes, and how its answers vary."""

    learner: str
    task: str
    shots: Shots
    costs: EpisodeCosts  # of all its cells of one episode; of an item, as many as are counted as one
    variation: Variation


@dataclass(frozen=True, slots=True)
class Stock:
    """The test items that an episode can have: so many for each that is counted, and so many that can be counted."""

    times: int
    most: int
    is_refused: bool  # whether more are refused; else there are fewer than were asked for


class KnownKinds:
    """What a run has shown so far of a study that is planned."""

    def __init__(self, prepared: Prepared) -> None:
        self.plan, self.left = prepared.plan, prepared.left()
        self.real, self.trials, self.trained = list[Spent](), list[Spent](), list[Spent]()
        self.loaded, self.variations = "", Variations()
        if is_filled(prepared.folder / LEDGER):
            with Ledger(prepared.folder / LEDGER) as ledger:
                self.real = _warm([Spent(*cost) for cost in ledger.costs(trials=False)])
                self.trials = _warm([one for cost in ledger.costs() if not (one := Spent(*cost)).cost.trained])
                self.trained = [Spent(*cost) for cost in ledger.costs("train", trials=False)]
                self.loaded = ledger.about(LOADING)
            self.variations = measured_variations(open_run(prepared.folder))

    @cached_property
    def cells(self) -> dict[KindKey, int]:
        """Give the kinds of cells of the plan, and how many cells each has of an episode."""
        found: dict[KindKey, list[Cell]] = defaultdict(list)
        for cell in run_once(self.plan):
            found[cell.learner, cell.task, cell.shots].append(cell)
        return {kind: len(of) // len({(cell.seed, cell.index) for cell in of}) for kind, of in found.items()}

    @cached_property
    def stock(self) -> dict[tuple[str, Shots], Stock]:
        """Give the items that episodes can have, by task and shots."""
        return {place: _stock(self.plan, *place) for place in dict.fromkeys(kind[1:] for kind in self.cells)}

    def training(self) -> float:
        """Give the seconds of models that have yet to be trained, or refuse those that nothing is known of."""
        left = [cell for cell in self.left if cell.kind == "train"]
        found = expected_seconds(left, self.trained, 0)
        if found is None:
            known = {one.learner for one in self.trained}
            raise UsageError(Note.of("cost-unknown", names=sorted({cell.learner for cell in left} - known)))
        return found

    def loading(self) -> float:
        """Give the seconds of loading models, as a pilot measured them."""
        return float(self.loaded or 0)

    def kinds(self) -> list[Kind]:
        """Give what is known of each kind of cells, or refuse learners whose costs are not."""
        real, trials = by_likeness(self.real), by_likeness(self.trials)
        known = {kind: most_alike(real, *kind) or most_alike(trials, *kind) for kind in self.cells}
        if unknown := sorted({learner for (learner, _, _), costs in known.items() if not costs}):
            raise UsageError(Note.of("cost-unknown", names=unknown))
        return [self._kind(kind, [split_cost(cost) for cost in costs]) for kind, costs in known.items()]

    def _kind(self, kind: KindKey, costs: Sequence[EpisodeCosts]) -> Kind:
        learner, task, shots = kind
        stock, cells = self.stock[task, shots], self.cells[kind]
        fit, item = fmean(cost.fit for cost in costs), fmean(cost.item for cost in costs)
        each = EpisodeCosts(cells * fit, cells * stock.times * item, stock.most)
        variation = self.variations.of(kind, times=stock.times, most=stock.most)
        return Kind(learner=learner, task=task, shots=shots, costs=each, variation=variation)

    def most(self) -> int:
        """Give the most items that can be asked for: what no task refuses, and what some have."""
        refused = [stock.most for stock in self.stock.values() if stock.is_refused]
        return min([*refused, max(stock.most for stock in self.stock.values())])

    def notes(self) -> Iterator[Note]:
        """Say what is assumed because it is not known."""
        kinds, known = self.cells, self.variations
        if not self.loaded and any(of.models for of in self.plan.learners.values()):
            yield Note.of("loading-unknown")
        if count := len(kinds.keys() - known.accuracies.keys()):
            yield Note.of("accuracy-assumed", least=LEAST_ANSWERS, count=count, of=len(kinds))
        if count := len(kinds.keys() - known.deviations.keys()):
            points = f"{100 * DEVIATION:g}"
            yield Note.of("deviation-assumed", points=points, least=LEAST_EPISODES, count=count, of=len(kinds))
        if any(kind[1:] not in known.apart for kind in kinds):
            yield Note.of("difference-assumed", correlation=CORRELATION, least=LEAST_EPISODES)


def _warm(spent: Sequence[Spent]) -> list[Spent]:
    """Leave out the first cell of each learner that has others: it waits for what is imported and compiled once."""
    first: dict[str, int] = {}
    for place, one in enumerate(spent):
        first.setdefault(one.learner, place)
    counts = Counter(one.learner for one in spent)
    return [one for place, one in enumerate(spent) if first[one.learner] != place or counts[one.learner] == 1]


def run_once(plan: Plan) -> list[Cell]:
    """Give the cells of learners; of learners that are equal, those of the first."""
    return list({cell.id: cell for cell in reversed(plan.to_run) if cell.kind == "adapt"}.values())[::-1]


def _stock(plan: Plan, task: str, shots: Shots) -> Stock:
    """Draw an episode with all test items there are, to know how many can be asked for."""
    how = replace(sampler(plan.study, task, shots), query=ALL, shots=1 if shots == ALL else shots)
    drawn = draw(plan.suite, task, how, seed=plan.study.protocol.of(task).seeds[0])
    rows = list(drawn.rows["query"])
    if not how.per_class or not drawn.labels:
        return Stock(1, len(rows), is_refused=True)
    labels = plan.suite.pools[task][drawn.pools["query"]].labels()[rows]
    return Stock(len(drawn.labels), min(Counter(labels.tolist()).values()), is_refused=not how.share)
